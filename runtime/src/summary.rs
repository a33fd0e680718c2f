//! What a launch on the emulator says about itself: its findings, with what their line of the PTX
//! comes from.

use tilewright_bundle::Kernel;
use tilewright_emulator::{self as emulator, Finding};

use crate::error::Error;
use crate::launch::LaunchReport;

/// The report of a launch.
///
/// # Errors
/// [`Error::Faults`] with the first findings of level error.
pub(crate) fn summarize(kernel: &Kernel, report: &emulator::Report) -> Result<LaunchReport, Error> {
    let errors: Vec<String> = report
        .errors()
        .take(8)
        .map(|one| told(kernel, one))
        .collect();
    if !errors.is_empty() {
        return Err(Error::Faults {
            kernel: kernel.id.clone(),
            findings: errors,
        });
    }
    let warnings = report
        .findings
        .iter()
        .filter(|f| f.level == emulator::Level::Warning);
    Ok(LaunchReport {
        thread_instructions: report.thread_instructions,
        warnings: warnings.map(|one| told(kernel, one)).collect(),
        tensor_cores: report.tensor_cores,
        profile: report.profile.clone(),
    })
}

/// A finding on one line: with the tile operation and the line of the spec, where the kernel's
/// manifest entry knows them.
fn told(kernel: &Kernel, finding: &Finding) -> String {
    let lines = kernel.lines.as_ref();
    match lines.and_then(|lines| lines.describe(finding.line)) {
        Some(origin) => format!("{finding}, from {origin}"),
        None => finding.to_string(),
    }
}
