#!/usr/bin/env bash
# Checks the whole workspace as continuous integration does: set-up, formatting, lints, what would
# be published, documentation with its examples, then every test. The tests' own closing line comes
# last. The command without LLVM, whose dependencies have other features and are checked anew for
# it, is linted by ci/release.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh

# Everything is compiled once and for all: nothing is kept for another build, nothing is debugged.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false

step() { printf '\n== %s (after %s s)\n' "$*" "$SECONDS"; }

step formatting
cargo fmt --all --check

step lints
cargo clippy --workspace --all-targets --locked -- -D warnings

# A build of all of them takes minutes: `cargo publish --workspace --dry-run` by hand.
step packages
cargo publish --workspace --dry-run --no-verify --locked --allow-dirty --quiet

step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# All that the steps below run, at once: libraries alone would have other features, and be compiled
# again for the tests.
step build
cargo build --workspace --lib --bins --tests --locked --quiet

step "documentation examples"
cargo test --workspace --doc --locked --quiet

step "the Python module"
TILEWRIGHT=target/debug/tilewright ci/python.sh --library target/debug/lib_tilewright.so

step tests
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --lib --bins --tests --locked --no-fail-fast
else
    cargo test --workspace --lib --bins --tests --locked --no-fail-fast
fi
