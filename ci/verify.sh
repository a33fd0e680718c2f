#!/usr/bin/env bash
# Every shipped kernel, rung of the ladder and taken plan on 24 random problems each, on the
# emulator under every schedule, and every problem that a GPU's results were recorded of, compared
# bit for bit. The tests do a part of it, by a budget. Arguments come in place of the problems' own:
# `ci/verify.sh --problems 100 --seed 7`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh
export TILEWRIGHT_PTXAS="${TILEWRIGHT_PTXAS:-$PWD/.tools/bin/ptxas}"

cargo build --release --locked --package tilewright
tilewright="${CARGO_TARGET_DIR:-target}/release/tilewright"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

[ $# -gt 0 ] || set -- --problems 24 --seed 2026
"$tilewright" build specs -o "$out/shipped"
"$tilewright" build bench/ladder -o "$out/ladder"
"$tilewright" build ci/data/plans_taken/copy ci/data/plans_taken/gemm -o "$out/taken"
for bundle in shipped ladder taken; do
    "$tilewright" verify "$out/$bundle" --device emulator "$@"
done
# What names its elements tells where each arrives: one problem says it.
"$tilewright" build ci/data/probes/gemm -o "$out/probes"
"$tilewright" verify "$out/probes" --device emulator --inputs indices --problems 1
for rows in ci/data/captures/*.jsonl; do
    "$tilewright" verify "$out/shipped" --device emulator --against "$rows"
done
