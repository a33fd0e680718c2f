//! Findings of the emulator with what their line of the PTX comes from.

use tilewright_bundle::Kernel;
use tilewright_emulator::Finding;

/// A finding on one line: with the tile operation and the line of the spec, where the kernel's
/// manifest entry knows them.
pub(crate) fn told(kernel: &Kernel, finding: &Finding) -> String {
    let lines = kernel.lines.as_ref();
    match lines.and_then(|lines| lines.describe(finding.line)) {
        Some(origin) => format!("{finding}, from {origin}"),
        None => finding.to_string(),
    }
}
