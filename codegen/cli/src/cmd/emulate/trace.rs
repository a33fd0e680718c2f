//! The trace of one warp: line, lanes, instruction, and the values of the registers it names.

use std::fmt::Write as _;

use tilewright_emulator::{TraceOperand, TraceStep};

use super::Case;
use super::operands::values;
use crate::terminal::{FAINT, STRONG, paint, plain};

/// The trace under the first schedule. `:=` marks a register that the instruction changed.
pub fn lines(case: &Case) -> String {
    let Some(schedule) = case.first_schedule() else {
        return String::new();
    };
    let head = format!("     trace under {}", schedule.name);
    let mut text = format!("{}\n", paint(STRONG, head));
    if schedule.trace.is_empty() {
        text.push_str("     no such warp, or it executed nothing\n");
    }
    for step in &schedule.trace {
        let _ = writeln!(
            text,
            "{:>8}  {:08x}  {}{}",
            step.line,
            step.active,
            plain(&case.line(step.line)),
            if step.waits { "  (waits)" } else { "" }
        );
        if !step.operands.is_empty() {
            let operands: Vec<String> = step.operands.iter().map(|one| show(step, one)).collect();
            let line = format!("{:20}{}", "", operands.join("  "));
            let _ = writeln!(text, "{}", paint(FAINT, line));
        }
    }
    text
}

fn show(step: &TraceStep, operand: &TraceOperand) -> String {
    let sign = if changed(step, operand) { ":=" } else { "=" };
    format!(
        "{}{sign}{}",
        operand.name,
        values(&operand.after, step.lanes)
    )
}

/// Whether a lane of the step has another value behind it.
pub(super) fn changed(step: &TraceStep, operand: &TraceOperand) -> bool {
    let pairs = operand.before.iter().zip(&operand.after).enumerate();
    pairs
        .into_iter()
        .any(|(lane, (before, after))| step.lanes >> lane & 1 == 1 && before != after)
}
