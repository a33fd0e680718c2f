//! The campaign over mutants of thread programs: which of them the certificate accepts.
//!
//! In: points of specs. Out: for each the number of mutants judged, and those accepted that no line
//! of `ci/data/mutants/guards.txt` speaks of. A line is `kernel | mutant | expression | proof`, as
//! in `survivors.txt`; the proof says why the mutant changes no access.

use std::collections::BTreeSet;

use tilewright_codegen::ir::tile::build;
use tilewright_codegen::spec::Point;
use tilewright_codegen::{certify, error, lower, plan};

use super::guards::Mutant;
use super::record::Line;
use super::survivors::Rules;

/// What became of a kernel's mutants.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// The kernel.
    pub kernel: String,
    /// Mutants it has.
    pub mutants: usize,
    /// Of those judged, the ones refused.
    pub refused: usize,
    /// The ones accepted, each with a proof that it changes no access.
    pub listed: usize,
    /// Lines that speak of an accepted mutant, by their places in the list.
    pub lines: BTreeSet<usize>,
    /// The ones accepted without one: `kernel | mutant | was -> is`.
    pub open: Vec<String>,
}

/// Judges every `step`-th mutant of a point, beginning at `first`.
///
/// # Errors
/// When the point is no kernel, or is refused itself.
pub fn judge(
    point: &Point,
    rules: &Rules,
    (first, step): (usize, usize),
) -> Result<Judged, error::Error> {
    let plan = plan::plan(point)?;
    let program = lower::lower(&plan, &build::build(&plan)?)?;
    certify::guards_of(&plan, &program)?;
    let mutants = Mutant::all(&program);
    let mut judged = Judged {
        kernel: point.id.clone(),
        mutants: mutants.len(),
        ..Judged::default()
    };
    for mutant in mutants.iter().skip(first).step_by(step.max(1)) {
        let broken = mutant.of(&program);
        if certify::guards_of(&plan, &broken).is_err() {
            judged.refused += 1;
            continue;
        }
        let (was, is) = (mutant.text(&program), mutant.text(&broken));
        let line = Line {
            subject: point.id.clone(),
            ptx: String::new(),
            mutant: mutant.id(&program),
            was,
            meaning: String::new(),
            nth: 0,
            is,
            fate: "accepted".to_owned(),
        };
        match rules.find(&line) {
            Some(rule) => {
                judged.listed += 1;
                judged.lines.insert(rule);
            }
            None => judged.open.push(format!(
                "{} | {} | {} -> {}",
                line.subject, line.mutant, line.was, line.is
            )),
        }
    }
    Ok(judged)
}
