#!/usr/bin/env bash
# The whole way once, in front of your eyes: the shipped specs become a bundle, the bundle is
# checked, every kernel in it is verified against f64, and one of them runs. On a machine with an
# NVIDIA GPU the kernels run there, elsewhere on the emulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh
export TILEWRIGHT_PTXAS="${TILEWRIGHT_PTXAS:-$PWD/.tools/bin/ptxas}"

cargo build --release --locked --package tilewright
tilewright() {
    printf '\n$ tilewright %s\n' "$*"
    "${CARGO_TARGET_DIR:-target}/release/tilewright" "$@"
}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

tilewright doctor
tilewright check specs/copy specs/gemm
tilewright build specs/copy specs/gemm -o "$out/bundle"
tilewright bundle verify "$out/bundle"
tilewright bundle show "$out/bundle"
tilewright verify "$out/bundle" --problems 3
tilewright run "$out/bundle" gemm_bf16_tn --m 200 --n 136 --k 72
