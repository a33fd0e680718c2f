//! Every launch file of `ci/data/tensor_cores`: what an H200's tensor cores wrote, bit for bit.
//!
//! Each holds one instruction on tiles with NaN, infinities, subnormals, zeros of both signs,
//! cancellation and exponents far apart.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use tilewright_emulator::Sanitize;
use tilewright_lab::launch_file::{self, LaunchFile, Schedule};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/data/tensor_cores")
}

#[test]
fn the_tensor_cores_give_the_bits_of_an_h200() {
    let manifests = launch_file::find_manifests(&data()).unwrap();
    assert_eq!(manifests.len(), 44);
    let schedules = Schedule::first(2).into_iter();
    let schedules: Vec<_> = schedules.map(|s| s.options(Sanitize::Strict)).collect();
    let mut wrong = Vec::new();
    for manifest in manifests {
        let file = LaunchFile::read(&manifest).unwrap();
        match file.run(manifest.parent().unwrap(), &schedules) {
            Ok(outcome) if outcome.passed => {}
            Ok(outcome) => wrong.push(format!("{}: {}", file.id, outcome.reasons.join("\n  "))),
            Err(error) => wrong.push(format!("{}: {error}", file.id)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} fail\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
