#!/usr/bin/env bash
# Builds the command as it is shipped, into target/release/tilewright: LLVM, libffi, zlib, zstd and
# the C++ runtime are linked into it, so that it needs nothing but the C library of a Linux.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Linkers take the first library of a name that they find: these folders have archives alone.
archives=$PWD/target/archives
rm -rf "$archives"
mkdir -p "$archives"
for name in libffi.a libz.a libzstd.a libstdc++.a libgcc_eh.a; do
    file=$("${CXX:-c++}" -print-file-name="$name")
    [ -f "$file" ] || {
        printf 'error: there is no %s: apt install libffi-dev zlib1g-dev libzstd-dev g++\n' \
            "$name" >&2
        exit 2
    }
    ln -s "$(realpath "$file")" "$archives/$name"
done
# What unwinds is asked for by the name of the shared library.
mv "$archives/libgcc_eh.a" "$archives/libgcc_s.a"
CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols cargo rustc --release --locked \
    --package tilewright --bin tilewright -- -L "native=$archives"
command=${CARGO_TARGET_DIR:-$PWD/target}/release/tilewright
needed=$(readelf --dynamic "$command" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
    case $library in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*) ;;
    *)
        printf 'error: %s needs %s, which a machine may not have\n' "$command" "$library" >&2
        exit 1
        ;;
    esac
done
