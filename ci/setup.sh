#!/usr/bin/env bash
# Installs what the build and the tests need and this machine lacks: LLVM 22 with its static
# libraries, C and C++ compilers to link them, and the ptxas assembler. Safe to run again: what
# is there stays as it is.
#
#   LLVM_SYS_221_PREFIX   an LLVM 22 of your own; used as it is, none is installed
#   TILEWRIGHT_PTXAS      a ptxas of your own; used as it is, none is installed
#
# Exit code: 0 everything is there, 2 something could not be installed (stderr says what to do).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ptxas_package=nvidia-cuda-nvcc
ptxas_version=13.0.88

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 2
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "root rights are needed for: $*" "run it as root, or install sudo"
    fi
}

apt_lists_are_fresh=no
apt_update() {
    [ "$apt_lists_are_fresh" = yes ] && return
    # A third-party source that is down must not hide the packages of the ones that are up.
    as_root apt-get update -qq || say "apt-get update reported errors; going on with what it has"
    apt_lists_are_fresh=yes
}

has_package() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Whether apt knows a version of the package to install.
apt_offers() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

apt_install() {
    local missing=() package
    for package in "$@"; do
        has_package "$package" || missing+=("$package")
    done
    [ "${#missing[@]}" -eq 0 ] && return
    command -v apt-get >/dev/null || fail "no apt-get here; install these by hand: ${missing[*]}"
    apt_update
    for package in "${missing[@]}"; do
        apt_offers "$package" || fail \
            "no apt source offers $package" \
            "LLVM 22 comes from Debian's security archive, or from https://apt.llvm.org (Ubuntu):" \
            "see codegen/docs/install.md, or set LLVM_SYS_221_PREFIX to an LLVM 22"
    done
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

llvm_major() { "$1/bin/llvm-config" --version 2>/dev/null | cut -d. -f1; }

# Linking LLVM takes a C++ compiler's runtime; its own system libraries come with llvm-22-dev, but
# for zstd and zlib, which its static archives name and its package does not depend on.
setup_llvm() {
    if [ -n "${LLVM_SYS_221_PREFIX:-}" ] && [ "$LLVM_SYS_221_PREFIX" != /usr/lib/llvm-22 ]; then
        [ "$(llvm_major "$LLVM_SYS_221_PREFIX")" = 22 ] || fail \
            "LLVM_SYS_221_PREFIX is $LLVM_SYS_221_PREFIX, where bin/llvm-config is not an LLVM 22"
        command -v c++ >/dev/null || apt_install g++
        say "LLVM $("$LLVM_SYS_221_PREFIX/bin/llvm-config" --version) at $LLVM_SYS_221_PREFIX"
        return
    fi
    command -v c++ >/dev/null || apt_install g++
    apt_install llvm-22-dev libpolly-22-dev libzstd-dev zlib1g-dev
    say "LLVM $(/usr/lib/llvm-22/bin/llvm-config --version) at /usr/lib/llvm-22"
}

# The wheel is unpacked beside the repository's own files, never into a Python environment, so an
# externally managed Python (PEP 668) has no say in it.
fetch_ptxas() {
    local home="$root/.tools/ptxas-$ptxas_version" unpacked
    if [ ! -x "$home/ptxas" ]; then
        python3 -m pip --version >/dev/null 2>&1 || apt_install python3-pip
        say "fetching ptxas $ptxas_version"
        mkdir -p "$root/.tools"
        unpacked=$(mktemp -d -p "$root/.tools")
        # shellcheck disable=SC2064  # the folder's name is wanted as it is now
        trap "rm -rf '$unpacked'" EXIT
        PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check \
            --no-deps --only-binary=:all: --target "$unpacked" "$ptxas_package==$ptxas_version" ||
            fail "pip could not fetch $ptxas_package==$ptxas_version" \
                "set TILEWRIGHT_PTXAS to a ptxas of CUDA 13.0 or later"
        mkdir -p "$home"
        cp "$unpacked/nvidia/cu13/bin/ptxas" "$home/ptxas.part"
        find "$unpacked" -name 'License*' -exec cp {} "$home/" \;
        chmod 755 "$home/ptxas.part"
        mv "$home/ptxas.part" "$home/ptxas"
    fi
    mkdir -p "$root/.tools/bin"
    ln -sfn "../ptxas-$ptxas_version/ptxas" "$root/.tools/bin/ptxas"
}

setup_ptxas() {
    local named=${TILEWRIGHT_PTXAS:-} path="$root/.tools/bin/ptxas"
    if [ -n "$named" ] && [ "$named" != "$path" ]; then
        "$named" --version >/dev/null || fail "TILEWRIGHT_PTXAS is $named, which does not run"
        path=$named
    else
        fetch_ptxas
    fi
    say "$("$path" --version | sed -n 's/.*, V/ptxas /p') at $path"
}

# The tests of the C library compile programs, and look into the library with nm.
setup_c() {
    command -v "${CC:-cc}" >/dev/null || apt_install gcc libc6-dev
    command -v "${CXX:-c++}" >/dev/null || apt_install g++
    command -v nm >/dev/null || apt_install binutils
}

# The tests of the Python module have an environment of their own.
setup_python() {
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv
}

# The example that is a service of its own has crates that the workspace has not.
setup_examples() {
    local example="$root/runtime/examples/service/Cargo.toml"
    cargo fetch --locked --quiet --manifest-path "$example" ||
        fail "the crates of $example could not be fetched"
}

command -v cargo >/dev/null || fail "cargo is not on the PATH; get it from https://rustup.rs"
setup_llvm
setup_ptxas
setup_c
setup_python
setup_examples
