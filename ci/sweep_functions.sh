#!/usr/bin/env bash
# Runs functions of formulas, as elements are compiled to for sm_90a, on the emulator for every f32
# of a range of magnitudes and both signs, and reports how far they are from the reference; a sample
# is proved by a test. Arguments are expressions over x[i], each with the ends of its range:
# `ci/sweep_functions.sh 'erf(x[i])' 0.0005 4.5`. `all` in place of the ends takes all 2^32 words,
# some ten minutes on eight cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

exec nice cargo run --quiet --release --locked --package tilewright-codegen \
    --example sweep_functions -- "$@"
