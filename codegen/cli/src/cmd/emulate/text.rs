//! What came of a launch file, for a person: its verdict, then each finding with its place in the
//! PTX and both sides of a race.

use std::fmt::Write as _;

use tilewright_lab::RulesRecord;
use tilewright_lab::launch_file::{FindingRecord, OtherRecord, Outcome, Summary};

use super::Case;
use crate::profile::{Origin, shorten};
use crate::quantity::counted;
use crate::terminal::{BAD, FAINT, GOOD, STRONG, paint, plain, plain_lines};

/// The lines of a case. Findings are shown when it failed, or when it is the `only` one.
pub fn lines(case: &Case, only: bool) -> String {
    let (style, word) = match (&case.result, case.passed()) {
        (_, true) => (GOOD, "pass"),
        _ => (BAD, "FAIL"),
    };
    let mut text = format!("{} {}", paint(style, word), plain(&case.id));
    if let Some(count) = untold(case, only) {
        let told = format!(
            "({}: emulate this one alone, or --json)",
            counted(count, "warning")
        );
        let _ = write!(text, " {}", paint(STRONG, told));
    }
    text.push('\n');
    match &case.result {
        Err(reason) => text.push_str(&format!("     {}\n", plain_lines(reason))),
        Ok(outcome) => {
            for reason in reasons(outcome) {
                text.push_str(&format!("     {}\n", plain(reason)));
            }
            for note in &outcome.notes {
                text.push_str(&format!("     {}\n", paint(STRONG, note)));
            }
            if let Some(rules) = unproved(outcome) {
                let note = paint(FAINT, format_args!("{rules}"));
                text.push_str(&format!("     {note}\n"));
            }
            if only || !outcome.passed {
                for group in groups(case, outcome.findings()) {
                    if let Some((first, others)) = group.split_first() {
                        text.push_str(&finding(case, outcome, first));
                        text.push_str(&like_it(others));
                    }
                }
            }
        }
    }
    text
}

/// Most lines that are named of findings that are like one that is told.
const LINES: usize = 8;

/// Findings of one kind, instruction and buffer, as an unrolled loop has many: the first of each is
/// told, in their order.
fn groups<'o>(case: &Case, findings: Vec<Summary<'o>>) -> Vec<Vec<Summary<'o>>> {
    let key = |summary: &Summary<'_>| {
        let one = summary.finding;
        let text = case.line(one.line);
        let mut words = text.split_whitespace();
        let opcode = words.find(|word| !word.starts_with('@'));
        let opcode = opcode.unwrap_or_default().to_owned();
        (one.id.clone(), opcode, one.space, one.buffer.clone())
    };
    let mut groups: Vec<Vec<Summary<'o>>> = Vec::new();
    for summary in findings {
        let own = key(&summary);
        let known = groups.iter_mut();
        let mut known = known.filter(|group| group.first().is_some_and(|one| key(one) == own));
        match known.next() {
            Some(group) => group.push(summary),
            None => groups.push(vec![summary]),
        }
    }
    groups
}

/// Where the others of a group are.
fn like_it(others: &[Summary<'_>]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let lines = others.iter().map(|one| one.finding.line.to_string());
    let mut lines: Vec<String> = lines.take(LINES).collect();
    if others.len() > LINES {
        lines.push("…".to_owned());
    }
    let (count, lines) = (counted(others.len(), "finding"), lines.join(", "));
    let told = format!("and {count} like it, at line {lines}: --json has all");
    format!("       {}\n", paint(FAINT, told))
}

/// How many findings of a case that passed among others are not shown; none where all are.
fn untold(case: &Case, only: bool) -> Option<usize> {
    let outcome = case.result.as_ref().ok()?;
    let count = outcome.findings().len();
    (!only && outcome.passed && count > 0).then_some(count)
}

/// The arithmetic that the bytes depend on and that nobody has compared with the hardware.
fn unproved(outcome: &Outcome) -> Option<RulesRecord> {
    let mut rules = outcome.schedules.iter().filter_map(|one| one.tensor_cores);
    rules.find(|rules| !rules.proved)
}

/// The reasons that are no finding: those have their own lines.
fn reasons(outcome: &Outcome) -> impl Iterator<Item = &String> {
    let is_finding = |reason: &str| reason.contains(": error: ");
    outcome.reasons.iter().filter(move |one| !is_finding(one))
}

fn finding(case: &Case, outcome: &Outcome, summary: &Summary<'_>) -> String {
    let one = summary.finding;
    let style = if one.level == "error" { BAD } else { STRONG };
    let head = paint(style, format_args!("{}[{}]", one.level, one.id));
    let mut text = format!("     {head}: {}\n", plain(&one.message));
    if one.line > 0 {
        let _ = writeln!(text, "       at {}", place(case, one.line));
        text.push_str(&source(outcome, one.line));
    }
    let _ = writeln!(text, "          {}", plain(&whereabouts(one)));
    if let Some(other) = &one.other {
        let _ = writeln!(text, "       and {}", place(case, other.line));
        text.push_str(&source(outcome, other.line));
        let _ = writeln!(text, "          {}", other_side(other));
    }
    let all = outcome.schedules.len();
    let under = if summary.schedules.len() == all {
        format!("all {all} schedules")
    } else {
        summary.schedules.join(", ")
    };
    let _ = writeln!(
        text,
        "       {}",
        paint(FAINT, format_args!("under {under}"))
    );
    text
}

/// Where a line comes from, if the PTX says so.
fn source(outcome: &Outcome, line: u32) -> String {
    let origin = Origin::in_text(&outcome.sources, line);
    origin.map_or_else(String::new, |origin| {
        format!("          from {}\n", origin.place())
    })
}

/// `ptx/k.ptx:12: ld.shared.u32 …`.
fn place(case: &Case, line: u32) -> String {
    let (ptx, instruction) = (plain(&case.ptx), plain(&case.line(line)));
    format!("{ptx}:{line}: {}", shorten(&instruction, 80))
}

fn whereabouts(one: &FindingRecord) -> String {
    let mut text = format!(
        "kernel {}, {}",
        one.kernel,
        threads(one.cta, one.warp, one.lanes)
    );
    if one.function != one.kernel {
        let _ = write!(text, ", function {}", one.function);
    }
    if let (Some(space), Some(offset)) = (one.space, one.offset_bytes) {
        let _ = match &one.buffer {
            Some(buffer) => write!(text, ", {space} {buffer}{offset:+}"),
            None => write!(text, ", {space} {:#x}", one.address.unwrap_or(0)),
        };
    }
    if one.count > 1 {
        let _ = write!(text, ", {} times", one.count);
    }
    text
}

fn other_side(other: &OtherRecord) -> String {
    match (other.cta, other.warp, other.lanes) {
        (Some(cta), Some(warp), Some(lanes)) => threads(cta, warp, lanes),
        _ => "an asynchronous operation that it issued".to_owned(),
    }
}

fn threads([x, y, z]: [u32; 3], warp: u32, lanes: u32) -> String {
    let who = match lanes.count_ones() {
        0 => "no lane".to_owned(),
        1 => format!("lane {}", lanes.trailing_zeros()),
        32 => "all lanes".to_owned(),
        _ => format!("lanes {lanes:#010x}"),
    };
    format!("cta ({x},{y},{z}), warp {warp}, {who}")
}
