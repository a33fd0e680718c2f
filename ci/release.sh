#!/usr/bin/env bash
# Makes what a release has: checks first, then every artefact with its checksum in a folder.
#
#   ci/release.sh             all of it, into target/release-VERSION
#   ci/release.sh --no-checks the artefacts alone, of a tree whose checks have passed
#
# Checks: nothing uncommitted, a heading of CHANGELOG.md for the version, cargo deny (licences,
# sources, advisories: wants a network), ci/test.sh. Artefacts: the command, the same without LLVM,
# the C library with its headers, the wheel, every crate as it is published, the sources, what the
# command is made of (SBOM, CycloneDX), and SHA256SUMS over them. Nothing is uploaded and no tag is
# made: the last lines say how.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
target=$(rustc -vV | sed -n 's/^host: //p')
into=$PWD/target/release-$version
name=tilewright-$version
step() { printf '\n== %s\n' "$*"; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

[ -n "$version" ] || fail "Cargo.toml has no version under [workspace.package]"
case ${1:-} in
'')
    step "the tree"
    [ -z "$(git status --porcelain)" ] || fail "there is something uncommitted: commit it first"
    grep -q "^## $version" CHANGELOG.md ||
        fail "CHANGELOG.md has no heading '## $version': say what is new"
    step "licences, sources, advisories"
    cargo deny --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-deny
    cargo deny --locked check
    ci/test.sh
    ;;
--no-checks) ;;
*) fail "ci/release.sh takes --no-checks or nothing, not $1" ;;
esac

# Archives are the same for the same contents: names in order, no owners, the time of the commit.
packed() { # packed ARCHIVE FOLDER: the folder as its root
    tar --create --gzip --file "$into/$1" --directory "$(dirname "$2")" --sort=name --owner=0 \
        --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" "$(basename "$2")"
}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
rm -rf "$into"
mkdir -p "$into"
export CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols

step "the command"
ci/command.sh
mkdir "$stage/$name-$target"
cp target/release/tilewright README.md CHANGELOG.md LICENSE-* "$stage/$name-$target/"
ci/made_of.sh notices "$stage/$name-$target/licenses" command
packed "$name-$target.tar.gz" "$stage/$name-$target"

step "the command without LLVM"
cargo clippy --package tilewright --no-default-features --locked -- -D warnings
cargo clippy --package tilewright-runtime --no-default-features --locked -- -D warnings
cargo build --release --locked --package tilewright --no-default-features \
    --target-dir target/without-llvm
mkdir "$stage/$name-runtime-$target"
cp target/without-llvm/release/tilewright README.md LICENSE-* "$stage/$name-runtime-$target/"
ci/made_of.sh notices "$stage/$name-runtime-$target/licenses" command-without-llvm
packed "$name-runtime-$target.tar.gz" "$stage/$name-runtime-$target"

step "the C library"
cargo build --release --locked --package tilewright-capi
runtime/capi/install.sh "$stage/lib$name-$target"
# The archive is for who builds here.
rm "$stage/lib$name-$target/lib/libtilewright.a"
cp LICENSE-* "$stage/lib$name-$target/"
ci/made_of.sh notices "$stage/lib$name-$target/licenses" library
packed "lib$name-$target.tar.gz" "$stage/lib$name-$target"

step "the wheel"
TILEWRIGHT=target/release/tilewright ci/python.sh --wheel "$into"

step "programs with the C library of the wheel"
"$PWD/target/python-venv/bin/pip" install --quiet --disable-pip-version-check cmake twine
"$PWD/target/python-venv/bin/twine" check --strict "$into"/*.whl
cmake=$PWD/target/python-venv/bin/cmake
"$cmake" -S runtime/examples/cpp -B "$stage/cmake" \
    -Dtilewright_DIR="$("$PWD/target/python-venv/bin/python" -m tilewright --cmake-dir)" >/dev/null
"$cmake" --build "$stage/cmake" >/dev/null
target/release/tilewright build specs/gemm/simt_f32.yaml --output "$stage/gemm.zip"
for program in gemm gemm_c; do "$stage/cmake/$program" "$stage/gemm.zip"; done
if [ "$(id -u)" = 0 ]; then
    step "the wheel in an empty system"
    ci/try_wheel.sh "$into"/*.whl
fi

step "what is in the command"
ci/made_of.sh sbom "$into" command
mv "$into/tilewright.cyclonedx.json" "$into/$name.cdx.json"

step "the generator in a build script"
cargo run --quiet --locked --manifest-path runtime/examples/rust/Cargo.toml

step "the crates"
# Those that are published: what is left out may be what only others left out depend on.
unpublished=$(cargo metadata --no-deps --format-version 1 --locked | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] == []:
        print(package["name"])')
exclude=()
for package in $unpublished; do exclude+=(--exclude "$package"); done
rm -rf target/package
cargo package --workspace "${exclude[@]}" --locked --allow-dirty --no-verify --quiet
cp target/package/*-"$version".crate "$into/"

step "the sources"
git archive --format=tar.gz --prefix="$name/" --output "$into/$name-src.tar.gz" HEAD

(cd "$into" && sha256sum -- * >SHA256SUMS)
step "$into"
cat "$into/SHA256SUMS"
printf "\nto publish: git tag -s v%s; git push origin v%s; cargo publish --workspace --locked\n" \
    "$version" "$version"
