#!/usr/bin/env bash
# Every mutant of the tests that keep accesses to global memory inside, over every shipped kernel:
# the certificate has to refuse each, but for those in ci/data/mutants/guards.txt. Arguments go to
# the campaign: `ci/mutate_guards.sh --kernel gemm_sm90_bf16 --every 10`. A test judges a sample.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ci/setup.sh

exec nice cargo run --release --locked --package tilewright-ci --bin tilewright-guards -- specs "$@"
