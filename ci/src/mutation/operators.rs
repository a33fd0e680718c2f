//! What can be broken in a kernel: each operator makes mutants of the instructions it knows.
//!
//! | operator | breaks |
//! |---|---|
//! | `drop` | a barrier, wait, fence, commit, arrival or initialisation is gone |
//! | `duplicate` | it stands there twice |
//! | `weaken` | it waits for less, or orders less |
//! | `move` | it stands behind the next, or before the previous access that it orders |
//! | `bytes` | an announced number of bytes, or that of a copy, is another one |
//! | `parity` | a wait names the other phase |
//! | `count` | a barrier counts another number of arrivals, or is another barrier |
//! | `guard` | a predicate is negated, or forgotten |
//! | `compare` | a comparison takes in its boundary or leaves it out, conditions join wrongly |
//! | `constant` | a stride, mask, shift, swizzle or offset is another one |

mod constants;
mod ordering;
mod predicates;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use super::meaning::meanings;
use super::statement::{Statement, statements};

/// A text with one thing broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// `line:operator`, with a detail where an operator has several.
    pub id: String,
    /// The operator.
    pub operator: &'static str,
    /// The instruction as it was.
    pub was: String,
    /// What it computes, whatever its registers are called.
    pub meaning: String,
    /// Which instruction of those that compute this, from 1.
    pub nth: usize,
    /// What it has become; for a move, where it went.
    pub is: String,
    edits: Vec<(Range<usize>, String)>,
}

impl Mutant {
    /// A mutant that replaces an instruction.
    fn replace(one: &Statement<'_>, operator: &'static str, detail: &str, is: String) -> Mutant {
        Mutant {
            id: id(one, operator, detail),
            operator,
            was: one.text(),
            meaning: String::new(),
            nth: 1,
            edits: vec![(one.span.clone(), is.clone())],
            is,
        }
    }

    /// The broken text.
    pub fn apply(&self, text: &str) -> String {
        let mut edits: Vec<&(Range<usize>, String)> = self.edits.iter().collect();
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        let (mut broken, mut at) = (String::with_capacity(text.len() + 64), 0);
        for (span, new) in edits {
            broken.push_str(&text[at..span.start]);
            broken.push_str(new);
            at = span.end;
        }
        broken.push_str(&text[at..]);
        broken
    }
}

fn id(one: &Statement<'_>, operator: &str, detail: &str) -> String {
    if detail.is_empty() {
        return format!("{}:{operator}", one.line);
    }
    format!("{}:{operator}:{detail}", one.line)
}

/// Every mutant of a text, in its order.
pub fn mutants(text: &str) -> Vec<Mutant> {
    let all = statements(text);
    let meanings = meanings(&all);
    let mut mutants = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, (one, meaning)) in all.iter().zip(meanings).enumerate() {
        let first = mutants.len();
        ordering::mutate(&all, index, &mut mutants);
        predicates::mutate(one, &mut mutants);
        constants::mutate(one, &mut mutants);
        let nth = seen.entry(meaning.clone()).or_default();
        *nth += 1;
        for mutant in &mut mutants[first..] {
            mutant.meaning.clone_from(&meaning);
            mutant.nth = *nth;
        }
    }
    // Two instructions may share a line.
    for index in 1..mutants.len() {
        let same = mutants[..index]
            .iter()
            .filter(|one| one.id == mutants[index].id);
        let same = same.count();
        if same > 0 {
            mutants[index].id.push_str(&format!("#{}", same + 1));
        }
    }
    mutants
}
