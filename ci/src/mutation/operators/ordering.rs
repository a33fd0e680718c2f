//! Instructions that order others: barriers, waits, fences, commits, arrivals.

use super::{Mutant, id};
use crate::mutation::statement::{Statement, accesses, orders};

/// Weaker forms: what stands in the opcode, and what it becomes.
const WEAKER: [(&str, &str); 9] = [
    ("bar.sync", "bar.warp.sync"),
    ("barrier.sync", "bar.warp.sync"),
    ("barrier.cta.sync", "bar.warp.sync"),
    ("fence.proxy.async", "fence.acq_rel.cta"),
    (".release", ".relaxed"),
    (".acquire", ".relaxed"),
    ("fence.sc", "fence.acq_rel"),
    (".cluster", ".cta"),
    (".gpu", ".cta"),
];

pub(super) fn mutate(all: &[Statement<'_>], index: usize, mutants: &mut Vec<Mutant>) {
    let one = &all[index];
    if !orders(one) {
        return;
    }
    let waits = one.is("mbarrier.try_wait") || one.is("mbarrier.test_wait");
    let gone = match one.operands.first() {
        // A wait that is gone has succeeded.
        Some(result) if waits => format!("setp.eq.u32 {result}, 0, 0;"),
        _ => String::new(),
    };
    mutants.push(Mutant::replace(one, "drop", "", gone));
    if !waits {
        let twice = format!("{} {}", one.text(), one.text());
        mutants.push(Mutant::replace(one, "duplicate", "", twice));
    }
    weaken(one, mutants);
    numbers(one, mutants);
    moves(all, index, mutants);
}

fn weaken(one: &Statement<'_>, mutants: &mut Vec<Mutant>) {
    for (strong, weak) in WEAKER {
        if !one.opcode.contains(strong) {
            continue;
        }
        let opcode = one.opcode.replacen(strong, weak, 1);
        let is = if weak == "bar.warp.sync" {
            format!("{}bar.warp.sync -1;", one.guard_text())
        } else if weak == "fence.acq_rel.cta" {
            format!("{}{weak};", one.guard_text())
        } else {
            format!("{}{opcode} {};", one.guard_text(), one.operands.join(", "))
        };
        let detail = weak.trim_matches('.');
        mutants.push(Mutant::replace(one, "weaken", detail, is));
    }
    let counts = [
        "cp.async.wait_group",
        "cp.async.bulk.wait_group",
        "wgmma.wait_group",
    ];
    if counts.iter().any(|name| one.is(name))
        && let Some(pending) = one.operands.first().and_then(|n| n.parse::<u32>().ok())
    {
        let is = format!("{}{} {};", one.guard_text(), one.opcode, pending + 1);
        mutants.push(Mutant::replace(one, "weaken", "pending", is));
    }
    if one.is("cp.async.wait_all") {
        let is = format!("{}cp.async.wait_group 1;", one.guard_text());
        mutants.push(Mutant::replace(one, "weaken", "pending", is));
    }
}

/// Byte counts, parities and arrival counts.
fn numbers(one: &Statement<'_>, mutants: &mut Vec<Mutant>) {
    let last = one.operands.len().wrapping_sub(1);
    let mut change = |operator, detail: &str, at: usize, operation: &str, by: &str| {
        if let Some(is) = with_operand(one, at, operation, by) {
            mutants.push(Mutant::replace(one, operator, detail, is));
        }
    };
    if one.opcode.contains("expect_tx") || one.is("mbarrier.complete_tx") {
        change("bytes", "more", last, "add.u32", "16");
        change("bytes", "fewer", last, "sub.u32", "16");
    }
    if one.opcode.contains(".parity") {
        change("parity", "", 2, "xor.b32", "1");
    }
    if one.is("mbarrier.init") {
        change("count", "more", 1, "add.u32", "1");
        change("count", "fewer", 1, "sub.u32", "1");
    }
    if one.is("bar.sync") || one.is("bar.arrive") || one.is("barrier.sync") {
        change("count", "other", 0, "add.u32", "1");
        if one.operands.len() > 1 {
            change("count", "more", 1, "add.u32", "32");
            change("count", "fewer", 1, "sub.u32", "32");
        }
    }
    let arrives = one.is("mbarrier.arrive") && !one.opcode.contains("expect_tx");
    if arrives && one.operands.len() > 2 {
        change("count", "more", 2, "add.u32", "1");
    }
}

/// An instruction with one of its 32-bit operands changed, whether number or register.
pub(super) fn with_operand(
    one: &Statement<'_>,
    at: usize,
    operation: &str,
    by: &str,
) -> Option<String> {
    let operand = *one.operands.get(at)?;
    let number = |operand: &str| operand.parse::<i64>().ok();
    let mut operands: Vec<String> = one.operands.iter().map(|one| (*one).to_owned()).collect();
    if let (Some(value), Some(by)) = (number(operand), number(by)) {
        let value = match operation {
            "add.u32" => value + by,
            "sub.u32" => value - by,
            _ => value ^ by,
        };
        operands[at] = value.to_string();
        return Some(format!(
            "{}{} {};",
            one.guard_text(),
            one.opcode,
            operands.join(", ")
        ));
    }
    if !operand.starts_with('%') && !operand.chars().all(char::is_alphanumeric) {
        return None;
    }
    operands[at] = "%mutant".to_owned();
    Some(format!(
        "{{ .reg .b32 %mutant; {operation} %mutant, {operand}, {by}; {}{} {}; }}",
        one.guard_text(),
        one.opcode,
        operands.join(", ")
    ))
}

/// Behind the next and before the previous access of its block, where that has another meaning.
fn moves(all: &[Statement<'_>], index: usize, mutants: &mut Vec<Mutant>) {
    let one = &all[index];
    let near = |other: &&Statement<'_>| other.block == one.block;
    // The order of initialisations among themselves means nothing.
    let inits = |other: &Statement<'_>| one.is("mbarrier.init") && other.is("mbarrier.init");
    let meets = |other: &&Statement<'_>| accesses(other) && !inits(other);
    let differs = |other: &&Statement<'_>| other.text() != one.text();
    let next = all[index + 1..].iter().take_while(near).find(meets);
    let next = next.filter(differs);
    let previous = all[..index].iter().rev().take_while(near).find(meets);
    let previous = previous.filter(differs);
    let places = [
        ("down", next.map(|other| (other, other.span.end))),
        ("up", previous.map(|other| (other, other.span.start))),
    ];
    for (way, place) in places {
        let Some((other, place)) = place else {
            continue;
        };
        mutants.push(Mutant {
            id: id(one, "move", way),
            operator: "move",
            was: one.text(),
            meaning: String::new(),
            nth: 1,
            is: format!("moved {way} over {}", other.text()),
            edits: vec![
                (one.span.clone(), String::new()),
                (place..place, format!(" {} ", one.text())),
            ],
        });
    }
}
