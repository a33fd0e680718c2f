//! `emulate`: launch files executed on the CPU, their buffers and findings compared.
//!
//! In: a manifest, or a folder with `cases/*/manifest.json`. Out: a line per launch file with what
//! went wrong, then `N passed, N failed`. With `--json` stdout holds only JSON and that line goes
//! to stderr.

use std::path::Path;

use serde::Serialize;
use tilewright_emulator::{Options, Sanitize};
use tilewright_runtime::launch_file::{self, LaunchFile};

use crate::args;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::terminal::{self, BAD, GOOD};

/// One launch file and what came of it.
#[derive(Debug, Serialize)]
struct Case {
    manifest: String,
    passed: bool,
    /// Why it could not be run at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    outcome: Option<launch_file::Outcome>,
}

/// What `emulate --json` prints.
#[derive(Debug, Serialize)]
struct Summary {
    passed: usize,
    failed: usize,
    cases: Vec<Case>,
}

/// Runs every launch file and prints what came of each.
pub fn run(args: &args::Emulate) -> Outcome {
    let manifests = launch_file::find_manifests(&args.path).map_err(Failure::could_not_run)?;
    let schedules = launch_file::default_schedules(Sanitize::Default);
    let bar = progress::bar("emulating", manifests.len() as u64);
    let mut cases = Vec::with_capacity(manifests.len());
    for manifest in &manifests {
        bar.set_message(manifest.display().to_string());
        let case = run_one(manifest, &schedules);
        if !args.json {
            bar.suspend(|| terminal::print(&lines(&case)))?;
        }
        cases.push(case);
        bar.inc(1);
    }
    progress::finish(&bar);
    summarize(args.json, cases)
}

fn run_one(manifest: &Path, schedules: &[Options]) -> Case {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let result = LaunchFile::read(manifest).and_then(|file| file.run(folder, schedules));
    let (error, outcome) = match result {
        Ok(outcome) => (None, Some(outcome)),
        Err(error) => (Some(error.to_string()), None),
    };
    let passed = outcome.as_ref().is_some_and(|outcome| outcome.passed);
    Case {
        manifest: manifest.display().to_string(),
        passed,
        error,
        outcome,
    }
}

/// The lines of a case: its name, then each reason it failed for.
fn lines(case: &Case) -> String {
    let (style, word) = if case.passed {
        (GOOD, "pass")
    } else {
        (BAD, "FAIL")
    };
    let name = case
        .outcome
        .as_ref()
        .map_or(case.manifest.as_str(), |outcome| &outcome.id);
    let mut text = format!("{} {name}\n", terminal::paint(style, word));
    let reasons = case.outcome.iter().flat_map(|outcome| &outcome.reasons);
    for reason in case.error.iter().chain(reasons) {
        text.push_str(&format!("     {reason}\n"));
    }
    text
}

fn summarize(json: bool, cases: Vec<Case>) -> Outcome {
    let passed = cases.iter().filter(|case| case.passed).count();
    let failed = cases.len() - passed;
    let closing = format!("{passed} passed, {failed} failed");
    if json {
        terminal::print_json(&Summary {
            passed,
            failed,
            cases,
        })?;
        terminal::diagnose(&closing);
    } else {
        terminal::print_line(&closing)?;
    }
    Ok(Verdict::from_good(failed == 0))
}
