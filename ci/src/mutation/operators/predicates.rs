//! Guards, comparisons and the joining of conditions.

use super::Mutant;
use crate::mutation::statement::Statement;

/// Comparisons and the one that differs at the boundary only.
const BOUNDARY: [(&str, &str); 10] = [
    ("lt", "le"),
    ("le", "lt"),
    ("gt", "ge"),
    ("ge", "gt"),
    ("eq", "ne"),
    ("ne", "eq"),
    ("lo", "ls"),
    ("ls", "lo"),
    ("hi", "hs"),
    ("hs", "hi"),
];

pub(super) fn mutate(one: &Statement<'_>, mutants: &mut Vec<Mutant>) {
    if let Some(guard) = one.guard {
        let sign = if one.negated { "" } else { "!" };
        let negated = format!("@{sign}{guard} {};", one.body());
        mutants.push(Mutant::replace(one, "guard", "negated", negated));
        let always = format!("{};", one.body());
        mutants.push(Mutant::replace(one, "guard", "always", always));
        // A branch that is never taken; other instructions that are never executed are `drop`s of
        // ordering ones, and stores that are missing.
        if one.is("bra") || one.is("st") || one.is("cp") || one.is("red") {
            mutants.push(Mutant::replace(one, "guard", "never", String::new()));
        }
    }
    let rewritten =
        |opcode: String| format!("{}{opcode} {};", one.guard_text(), one.operands.join(", "));
    if one.is("setp")
        && let Some(compare) = one.opcode.split('.').nth(1)
        && let Some((_, other)) = BOUNDARY.iter().find(|(name, _)| *name == compare)
    {
        let opcode = one.opcode.replacen(compare, other, 1);
        mutants.push(Mutant::replace(one, "compare", other, rewritten(opcode)));
    }
    for (name, other) in [("or.pred", "and.pred"), ("and.pred", "or.pred")] {
        if one.opcode == name {
            let is = rewritten(other.to_owned());
            mutants.push(Mutant::replace(one, "compare", "join", is));
        }
    }
    if one.is("selp")
        && let [dst, yes, no, p] = one.operands[..]
    {
        let is = format!(
            "{}{} {dst}, {no}, {yes}, {p};",
            one.guard_text(),
            one.opcode
        );
        mutants.push(Mutant::replace(one, "compare", "swapped", is));
    }
}
