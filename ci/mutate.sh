#!/usr/bin/env bash
# The mutation campaign over every shipped kernel: breaks each of them in every way, one thing at a
# time, and counts what the emulator notices. It takes hours on two cores; stopped, it goes on where
# it was. Fates are in target/mutants.jsonl, the table in ci/data/mutants/scores.txt; exit code 1
# when a survivor has no reason in ci/data/mutants/survivors.txt. Arguments go to the campaign:
# `ci/mutate.sh --kernel gemm_sm90_bf16 --sample 50`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh

target=${CARGO_TARGET_DIR:-target}
cargo build --release --locked --package tilewright --package tilewright-ci \
    --bin tilewright --bin tilewright-mutate
rm -rf "$target/mutants.bundle"
"$target/release/tilewright" build specs --output "$target/mutants.bundle"
exec nice "$target/release/tilewright-mutate" "$target/mutants.bundle" \
    --record "$target/mutants.jsonl" --table ci/data/mutants/scores.txt "$@"
