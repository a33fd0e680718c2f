#!/usr/bin/env bash
# The mutation campaign over every shipped kernel: breaks each of them in every way, one thing at a
# time, and counts what the emulator notices. It takes about an hour on two cores; stopped, it goes
# on where it was. Fates are in target/mutants.jsonl, which belongs to the texts of the kernels, the
# problems and the emulator: remove it when one of the last two has changed. The table goes to
# ci/data/mutants/scores.txt; exit code 1 when a survivor has no reason in
# ci/data/mutants/survivors.txt. Arguments go to the campaign, which then writes no table:
# `ci/mutate.sh --kernel gemm_sm90_bf16 --sample 50`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh

target=${CARGO_TARGET_DIR:-target}
if [ $# -eq 0 ]; then
    set -- --table ci/data/mutants/scores.txt
fi
cargo build --release --locked --package tilewright --package tilewright-ci \
    --bin tilewright --bin tilewright-mutate
rm -rf "$target/mutants.bundle"
"$target/release/tilewright" build specs --output "$target/mutants.bundle"
exec nice "$target/release/tilewright-mutate" "$target/mutants.bundle" \
    --record "$target/mutants.jsonl" "$@"
