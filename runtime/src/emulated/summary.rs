//! What a launch on the emulator says about itself: its findings, with what their line of the PTX
//! comes from.

use std::sync::Arc;

use tilewright_bundle::Kernel;
use tilewright_emulator::{self as emulator, Finding};

use crate::error::{Fault, FoundBy, Work};
use crate::launch::fit::LaunchReport;

/// The report of a launch.
///
/// # Errors
/// The fault with the first findings of level error.
pub(crate) fn summarize(
    kernel: &Kernel,
    work: &Work,
    report: &emulator::Report,
) -> Result<LaunchReport, Arc<Fault>> {
    let findings: Vec<String> = report
        .errors()
        .take(8)
        .map(|one| told(kernel, one))
        .collect();
    if !findings.is_empty() {
        return Err(Arc::new(Fault {
            by: FoundBy::Emulator { findings },
            suspects: vec![work.clone()],
            earlier: 0,
            is_sticky: false,
        }));
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
