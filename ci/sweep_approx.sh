#!/usr/bin/env bash
# Proves the emulator's approximate functions on all 2^32 inputs, and the 16-bit forms on all 65536,
# against hashes of what an H200 computed (ci/data/mufu/sweep_hash.bin). It takes some minutes; a
# sample is proved by a test. Exit code 1 when an output differs. Arguments are names of functions:
# `ci/sweep_approx.sh ex2_ftz tanh`. RAYON_NUM_THREADS says on how many cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

exec nice cargo run --quiet --release --locked --package tilewright-emulator \
    --example sweep_approx -- ci/data/mufu/sweep_hash.bin "$@"
