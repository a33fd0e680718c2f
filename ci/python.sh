#!/usr/bin/env bash
# Builds the Python module as a wheel and runs its tests on the emulator, with NumPy and no GPU.
#
#   ci/python.sh                      a debug build, the tests
#   ci/python.sh --wheel FOLDER       a release build, its wheel kept in FOLDER, the tests
#   ci/python.sh --library FILE       the tests alone, of a library that cargo has built
#
#   TILEWRIGHT              the command that builds the tests' bundle; by default cargo builds it
#   TILEWRIGHT_TEST_BUNDLE  a bundle that is there already
#   PYTHON                  the interpreter, 3.9 or later; by default python3
#
# Tools from PyPI go into an environment in target/, never into the system's Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools="maturin==1.16.0 numpy ml_dtypes pytest"
environment=$PWD/target/python-venv
stamp=$environment/tools.txt

profile=dev
wheels=$PWD/target/python-wheels
library=
case ${1:-} in
--wheel)
    profile=release
    wheels=$(mkdir -p "${2:?ci/python.sh --wheel FOLDER}" && cd "$2" && pwd)
    ;;
--library) library=${2:?ci/python.sh --library target/debug/lib_tilewright.so} ;;
esac

if [ "$(cat "$stamp" 2>/dev/null)" != "$tools" ]; then
    rm -rf "$environment"
    "${PYTHON:-python3}" -m venv "$environment"
    # shellcheck disable=SC2086  # a list of packages
    "$environment/bin/pip" install --quiet --disable-pip-version-check $tools
    printf '%s\n' "$tools" >"$stamp"
fi

bundle=${TILEWRIGHT_TEST_BUNDLE:-}
if [ -z "$bundle" ]; then
    bundle=$PWD/target/python-tests.bundle
    rm -rf "$bundle"
    specs=(specs/copy specs/gemm/{bf16_tn,simt_bf16,simt_f32,sm90_bf16_tn,sm90_bf16_packed}.yaml
        specs/rmsnorm/bf16_add_narrow.yaml specs/dequantize)
    if [ -n "${TILEWRIGHT:-}" ]; then
        "$TILEWRIGHT" build "${specs[@]}" --output "$bundle"
    else
        cargo run --quiet --locked --package tilewright -- build "${specs[@]}" --output "$bundle"
    fi
fi

run_tests() {
    TILEWRIGHT_TEST_BUNDLE=$bundle "$environment/bin/python" -m pytest --quiet -p no:cacheprovider \
        --rootdir python python/tests
}

if [ -n "$library" ]; then
    package=$PWD/target/python-package
    rm -rf "$package"
    mkdir -p "$package/tilewright"
    cp python/tilewright/*.py "$package/tilewright/"
    cp "$library" "$package/tilewright/_tilewright.abi3.so"
    PYTHONPATH=$package run_tests
    exit
fi

mkdir -p "$wheels"
rm -f "$wheels"/tilewright-*.whl
"$environment/bin/maturin" build --quiet --locked --manifest-path python/Cargo.toml \
    --profile "$profile" --out "$wheels"
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    "$wheels"/tilewright-*.whl
run_tests
