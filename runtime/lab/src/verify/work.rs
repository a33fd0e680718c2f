//! How much work a problem is, before it is done: threads on the emulator, terms for the reference.
//!
//! Extents alone do not tell: a tile of 8x1024 over an extent of one takes the time of the whole
//! tile, and a mode of a constant extent is as long as another.

use tilewright_bundle::Kernel;
use tilewright_formula::form::Form;

use tilewright_runtime::Fit;

/// Instructions of a thread whose PTX has no table of lines.
const USUAL_LINES: u64 = 256;
/// Most thread instructions of a problem on the emulator, where the kernel takes smaller ones: some
/// seconds of one core.
pub(super) const MOST_INSTRUCTIONS: u64 = 1 << 29;

/// Largest product of the extents that the reference computes on the host in good time: elements
/// of rows, terms of sums of a product that is computed further; `None` of plain products, whose
/// reference is a fast routine.
pub(super) fn most_of_reference(kernel: &Kernel) -> Option<i64> {
    match kernel.form() {
        _ if kernel.product().is_some() => None,
        Some(Form::Rows(_)) | None => Some(1 << 22),
        Some(_) => Some(1 << 30),
    }
}

/// Thread instructions of a kernel's launches, about: every thread goes once through its PTX, whose
/// loops over tiles inside are unrolled.
pub(super) fn instructions(kernel: &Kernel, fit: &Fit) -> u64 {
    let table = kernel.lines.as_ref();
    let last = table.and_then(|table| table.starts.last());
    let lines = last.map_or(USUAL_LINES, |(line, _)| u64::from(*line));
    let launches = kernel.launches.iter().map(|launch| {
        let extents = launch.grid.iter().map(|expr| {
            let ctas = expr.eval(&fit.env).unwrap_or(1);
            u64::try_from(ctas).unwrap_or(1)
        });
        let ctas = extents.fold(1u64, u64::saturating_mul);
        ctas.saturating_mul(launch.threads())
    });
    let threads = launches.fold(0u64, u64::saturating_add);
    threads.saturating_mul(lines)
}
