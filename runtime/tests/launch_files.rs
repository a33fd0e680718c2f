//! Every launch file of `ci/data/ptx` under every schedule, and those of `ci/data/mufu`, which hold
//! what an H200 computed with approximate instructions.
//!
//! The cases that are not supported yet are listed: one that is not listed must pass, and one
//! that is listed must fail, so the list is always the truth.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use tilewright_emulator::{Options, Sanitize};
use tilewright_runtime::launch_file::{self, LaunchFile, Schedule};

/// Cases that need the race detector.
const NOT_YET: &[&str] = &[];

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../ci/data")
        .join(folder)
}

/// The name of a case, whether it passes, and what does not.
fn outcome(manifest: &Path) -> (String, bool, String) {
    let folder = manifest.parent().unwrap();
    let file = LaunchFile::read(manifest).unwrap();
    let schedules = Schedule::first(6).into_iter();
    let schedules: Vec<Options> = schedules.map(|s| s.options(Sanitize::Default)).collect();
    match file.run(folder, &schedules) {
        Ok(outcome) => (file.id, outcome.passed, outcome.reasons.join("\n  ")),
        Err(error) => (file.id, false, error.to_string()),
    }
}

#[test]
fn launch_files_behave_as_they_say() {
    let manifests = launch_file::find_manifests(&data("ptx")).unwrap();
    assert_eq!(manifests.len(), 36);
    let mut wrong = Vec::new();
    for manifest in manifests {
        let (id, passed, reasons) = outcome(&manifest);
        match (passed, NOT_YET.contains(&id.as_str())) {
            (true, false) | (false, true) => {}
            (false, false) => wrong.push(format!("{id} fails:\n  {reasons}")),
            (true, true) => wrong.push(format!("{id} passes now: take it off the list")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn approximate_instructions_give_what_an_h200_gave() {
    let manifests = launch_file::find_manifests(&data("mufu")).unwrap();
    assert_eq!(manifests.len(), 23);
    for manifest in manifests {
        let (id, passed, reasons) = outcome(&manifest);
        assert!(passed, "{id} fails:\n  {reasons}");
    }
}
