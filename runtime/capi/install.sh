#!/usr/bin/env bash
# Puts the C library with its headers into a folder, as linkers and loaders look for them.
#
#   runtime/capi/install.sh PREFIX         what cargo built in release mode: tilewright-capi
#   runtime/capi/install.sh PREFIX BUILT   what lies in the folder BUILT
#
# PREFIX/include has the headers. PREFIX/lib has the library under the name that programs look for
# (libtilewright.so.0), the link that linkers look for (libtilewright.so), the archive, and files
# for pkg-config and CMake, which name no folder: PREFIX may be moved.
set -euo pipefail
prefix=$(mkdir -p "${1:?runtime/capi/install.sh PREFIX}" && cd "$1" && pwd)
built=${2:-}
[ -z "$built" ] || built=$(cd "$built" && pwd)
cd -P "$(dirname "${BASH_SOURCE[0]}")/../.."
built=${built:-${CARGO_TARGET_DIR:-$PWD/target}/release}

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
library=libtilewright.so
name=$library.${version%%.*}
[ -f "$built/$library" ] || {
    printf 'error: %s is not there: cargo build --release --package tilewright-capi\n' \
        "$built/$library" >&2
    exit 2
}
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/tilewright"
install -m 644 runtime/capi/include/tilewright.{h,hpp} "$prefix/include/"
install -m 755 "$built/$library" "$prefix/lib/$name"
ln -sf "$name" "$prefix/lib/$library"
[ ! -f "$built/libtilewright.a" ] || install -m 644 "$built/libtilewright.a" "$prefix/lib/"
for file in runtime/capi/cmake/*.cmake; do
    sed -e "s/@library@/$name/; s/@version@/$version/; s/@major@/${version%%.*}/" "$file" \
        >"$prefix/lib/cmake/tilewright/$(basename "$file")"
done
cat >"$prefix/lib/pkgconfig/tilewright.pc" <<EOF
prefix=\${pcfiledir}/../..
Name: tilewright
Description: Kernels of a Tilewright bundle from C and C++
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -ltilewright
Libs.private: -pthread -ldl -lm
EOF
printf 'installed %s\n' "$prefix"
