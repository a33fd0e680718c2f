#!/usr/bin/env bash
# Tells what is linked into the things that are shipped: the notices that the licences of others
# want, and a list for scanners (SBOM, CycloneDX).
#
#   ci/made_of.sh notices FOLDER THING...   into FOLDER: for each thing its crates with the texts of
#                                           their licences; Rust's library; what C and C++ is in it
#   ci/made_of.sh sbom FOLDER THING...      into FOLDER, a file for each thing
#   ci/made_of.sh check FILE THING          fails where these notices of a thing leave something out
#
# A THING is command, command-without-llvm, module (of Python) or library (of C). Notices are made
# by cargo-about, by about.toml, lists by cargo-cyclonedx. Both are built into target/tools, once,
# which takes minutes.
set -euo pipefail
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}
[ $# -ge 3 ] || fail "ci/made_of.sh takes notices|sbom FOLDER THING... or check FILE THING"
what=$1
place=$(realpath -m "$2")
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")/.."

about=cargo-about@0.9.3
cyclonedx=cargo-cyclonedx@0.5.9
tools=$PWD/target/tools
target=$(rustc -vV | sed -n 's/^host: //p')

# Where the package of a thing is, and the features that it is shipped with.
look_up() { # look_up THING
    features=()
    case $1 in
    command) package=tilewright folder=codegen/cli ;;
    command-without-llvm) package=tilewright folder=codegen/cli features=(--no-default-features) ;;
    module) package=tilewright-python folder=runtime/python ;;
    library) package=tilewright-capi folder=runtime/capi ;;
    *) fail "$1 is nothing that is shipped: command, command-without-llvm, module or library" ;;
    esac
}

# One that is there in this version stays.
install_tool() { # install_tool PACKAGE@VERSION [OPTION...]
    CARGO_PROFILE_RELEASE_LTO=off cargo install --locked --quiet --root "$tools" "$@"
}

check() { # check FILE: of the package that was looked up
    local tree linked told missing
    tree=$(cargo tree --locked --manifest-path "$folder/Cargo.toml" "${features[@]}" \
        --edges normal --target "$target" --prefix none --format '{p}')
    linked=$(sed '/(\//d; s/^\([^ ]*\) v\([^ ]*\).*/\1 \2/' <<<"$tree" | sort -u)
    told=$(sed -n 's/^\([A-Za-z0-9_-]* [0-9][^ ]*\): .*/\1/p' "$1" | sort -u)
    missing=$(comm -23 <(printf '%s\n' "$linked") <(printf '%s\n' "$told"))
    [ -z "$missing" ] || fail "$1 has no notice of $missing"
    # The text of a licence as it is where a package has none: nobody is named in it.
    ! grep -nE '<(year|owner|copyright holders?)>' "$1" >&2 ||
        fail "$1 has a licence without its owner: say in about.toml where its text is"
}

notices() { # notices THING
    local file=$place/THIRD-PARTY-$1.txt
    "$tools/bin/cargo-about" generate --locked --fail --target "$target" "${features[@]}" \
        --manifest-path "$folder/Cargo.toml" --output-file "$file" ci/notices.hbs
    check "$file"
    [ "$1" != command ] || native
}

# What ci/command.sh links, as the packages say that it is from.
native() {
    local package cpp
    cpp=$(dpkg-query --search "$(realpath "$("${CXX:-c++}" -print-file-name=libstdc++.a)")")
    for package in llvm-22-dev libffi-dev zlib1g-dev libzstd-dev "${cpp%%:*}"; do
        cp "/usr/share/doc/$package/copyright" "$place/$package"
    done
}

# The tool writes one beside each manifest of the workspace, whichever it is asked for.
sbom() {
    local name=made-of-$$
    cargo cyclonedx --quiet --format json --target "$target" "${features[@]}" \
        --manifest-path "$folder/Cargo.toml" --override-filename "$name"
    mv "$folder/$name.json" "$place/$package.cyclonedx.json"
    find . -path ./target -prune -o -name "$name.json" -exec rm {} +
}

case $what in
notices)
    install_tool "$about" --features cli
    mkdir -p "$place"
    for thing; do
        look_up "$thing"
        notices "$thing"
    done
    cp "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" \
        "$place/rust-standard-library.html"
    ;;
sbom)
    install_tool "$cyclonedx"
    mkdir -p "$place"
    PATH=$tools/bin:$PATH
    for thing; do
        look_up "$thing"
        sbom
    done
    ;;
check)
    look_up "$1"
    check "$place"
    ;;
*) fail "ci/made_of.sh takes notices, sbom or check, not $what" ;;
esac
