//! What is told while kernels are verified: each failure at once, and a line for each kernel when
//! its problems are done.
//!
//! In: outcomes as they come. Out: failures on stderr; on stdout, unless it is to hold JSON, a
//! kernel's id, what passed and failed, how large errors were, and the extents of its problems, in
//! columns as wide as the longest id of the run.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use tilewright_bundle::Kernel;
use tilewright_lab::verify::{Data, Outcome};

use crate::progress::{self, Progress};
use crate::terminal;

/// Tells of a run, above a progress bar.
#[derive(Debug)]
pub struct Told<'k> {
    kernels: &'k [&'k Kernel],
    columns: Columns,
    bar: Progress,
    /// Findings that were told: of each its kernel, kind and line.
    findings: BTreeSet<(String, String)>,
    /// Whether stdout is to hold JSON alone.
    json: bool,
    written: io::Result<()>,
}

impl<'k> Told<'k> {
    /// Of so many problems for each of these kernels.
    pub fn new(kernels: &'k [&'k Kernel], problems: usize, json: bool) -> Told<'k> {
        let mut told = Told {
            kernels,
            columns: Columns::of(kernels),
            bar: progress::bar("verifying", (kernels.len() * problems) as u64),
            findings: BTreeSet::new(),
            json,
            written: Ok(()),
        };
        told.line(&told.columns.head());
        told
    }

    /// Counts a problem, and tells its failure.
    pub fn outcome(&mut self, outcome: &Outcome) {
        self.bar.set_message(outcome.kernel.clone());
        if outcome.added {
            self.bar.inc_length(1);
        }
        self.bar.inc(1);
        if let Some(reason) = &outcome.failure {
            let reason = self.once(&outcome.kernel, reason);
            let (kernel, problem, data) = (&outcome.kernel, &outcome.problem, outcome.data);
            // What does not load has not come to a problem.
            let text = match problem.is_empty() {
                true => format!("{kernel}: {reason}"),
                false => format!("{kernel} {problem} ({data}): {reason}"),
            };
            self.bar.suspend(|| super::tell("FAIL", &text));
        }
    }

    /// A failure, where the emulator found something with the first finding that is new of the
    /// kernel in full, and of the others what and where.
    fn once(&mut self, kernel: &str, reason: &str) -> String {
        const FOUND: &str = "the emulator found ";
        let Some((before, found)) = reason.split_once(FOUND) else {
            return reason.to_owned();
        };
        let findings = findings(found);
        let known = findings.iter().map(|one| {
            let key = (kernel.to_owned(), place(one));
            !self.findings.insert(key)
        });
        let known: Vec<bool> = known.collect();
        let first = known.iter().position(|known| !known);
        let others = findings.iter().enumerate();
        let others = others.filter(|(at, _)| Some(*at) != first);
        let others: Vec<String> = others.map(|(_, one)| place(one)).collect();
        let mut list: Vec<&str> = others.iter().take(PLACES).map(String::as_str).collect();
        let more = format!("{} more", others.len().saturating_sub(PLACES));
        if others.len() > PLACES {
            list.push(&more);
        }
        let list = list.join(", ");
        match first.and_then(|first| findings.get(first)) {
            None => format!("{before}{FOUND}again {list}"),
            Some(first) if others.is_empty() => format!("{before}{FOUND}{first}"),
            Some(first) => format!("{before}{FOUND}{first}; and {list}"),
        }
    }

    /// Tells of a kernel that is done, given all of its problems.
    pub fn kernel(&mut self, outcomes: &[Outcome]) {
        let id = outcomes.first().map(|outcome| outcome.kernel.as_str());
        let kernel = self
            .kernels
            .iter()
            .find(|kernel| Some(kernel.id.as_str()) == id);
        if let Some(kernel) = kernel {
            self.line(&self.columns.line(kernel, outcomes));
        }
    }

    /// Tells something of the run itself, on stderr.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| terminal::diagnose(text));
    }

    /// Whether everything could be written so far.
    pub fn is_heard(&self) -> bool {
        self.written.is_ok()
    }

    /// Removes the bar.
    pub fn finish(self) -> io::Result<()> {
        progress::finish(&self.bar);
        self.written
    }

    fn line(&mut self, text: &str) {
        if !self.json && self.written.is_ok() {
            self.written = self.bar.suspend(|| terminal::print_line(text));
        }
    }
}

/// Most findings of a problem whose places are told.
const PLACES: usize = 6;

/// The findings of a failure, one by one.
fn findings(found: &str) -> Vec<&str> {
    let next = ["; error: ", "; warning: "];
    let (mut rest, mut all) = (found, Vec::new());
    while let Some(at) = next.iter().filter_map(|next| rest.find(next)).min() {
        let (one, behind) = rest.split_at(at);
        all.push(one);
        rest = behind.trim_start_matches("; ");
    }
    all.push(rest);
    all
}

/// What a finding is, and the line of the PTX: `misaligned at line 90`.
fn place(finding: &str) -> String {
    let mut words = finding.split(": ");
    let kind = words.nth(1).unwrap_or(finding);
    let line = finding.rsplit_once("ptx line ");
    let line = line.map(|(_, behind)| behind.split(|c: char| !c.is_ascii_digit()).next());
    match line.flatten() {
        Some(line) => format!("{kind} at line {line}"),
        None => kind.to_owned(),
    }
}

/// Columns of the lines of a run.
#[derive(Debug, Clone, Copy)]
struct Columns {
    id: usize,
}

impl Columns {
    /// Columns for these kernels.
    fn of(kernels: &[&Kernel]) -> Columns {
        let ids = kernels.iter().map(|kernel| kernel.id.chars().count());
        Columns {
            id: ids.max().unwrap_or(0).max("kernel".len()),
        }
    }

    /// What stands above the lines.
    fn head(self) -> String {
        let width = self.id;
        format!(
            "{:<width$}  passed  failed  rel err  of bound  problems",
            "kernel"
        )
    }

    /// The line of a kernel.
    fn line(self, kernel: &Kernel, outcomes: &[Outcome]) -> String {
        let width = self.id;
        let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
        let failed = outcomes.len() - passed;
        // What did not run to its end was not compared.
        let compared = || {
            outcomes
                .iter()
                .filter(|one| one.passed() || one.max_err > 0.0)
        };
        let largest = |of: fn(&Outcome) -> f64| compared().map(of).fold(0.0, f64::max);
        let (rel_err, of_bound) = match compared().next() {
            None => ("-".to_owned(), "-".to_owned()),
            Some(_) => (
                format!("{:.1e}", rel_err(compared().collect())),
                match largest(|outcome| outcome.max_err) {
                    far @ 1000.0.. => format!("{far:.1e}"),
                    near => format!("{near:.2}"),
                },
            ),
        };
        let mut line = format!(
            "{:<width$}  {passed:>6}  {failed:>6}  {rel_err:>7}  {of_bound:>8}  {}",
            kernel.id,
            names(kernel)
        );
        for outcome in outcomes.iter().filter(|one| !one.extents.is_empty()) {
            let plus = if outcome.added { "+" } else { "" };
            let _ = write!(line, " {plus}{}", extents(kernel, outcome));
        }
        if kernel.certificate.is_edited() {
            line.push_str(EDITED);
        }
        line
    }
}

/// What is said of a kernel whose PTX is not what its certificate was made of.
const EDITED: &str = "; edited: no certificate proves anything of this PTX";

/// The largest relative error of problems of usual numbers; of all where none has such.
fn rel_err(outcomes: Vec<&Outcome>) -> f64 {
    let is_usual = |one: &&&Outcome| Data::from_text(one.data).is_none_or(Data::is_usual);
    let mut usual: Vec<&Outcome> = outcomes.iter().filter(is_usual).copied().collect();
    if usual.is_empty() {
        usual = outcomes;
    }
    usual.iter().map(|one| one.rel_err).fold(0.0, f64::max)
}

/// The names of a kernel's extents as problems are written: those of an output, in its order, then
/// those that are summed.
fn in_order(kernel: &Kernel) -> Vec<&str> {
    let names: Vec<&str> = kernel.free_extents().map(|(_, name)| name).collect();
    let operands = kernel.semantics.operands.iter();
    let output = operands
        .filter(|operand| operand.role.is_written())
        .max_by_key(|one| one.layout.rank());
    let shape = output.iter().flat_map(|operand| &operand.layout.shape);
    let of_output =
        shape.filter_map(|extent| names.iter().copied().find(|name| *name == extent.text()));
    let mut all: Vec<&str> = of_output.collect();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The names of a kernel's extents, and how it cuts them where that is known: `m×n×k by
/// 128×256×4*64`, of which four steps of 64 are in flight, and a dot where nothing is cut.
fn names(kernel: &Kernel) -> String {
    let names = in_order(kernel);
    let Some(traits) = &kernel.traits else {
        return format!("{}:", names.join("×"));
    };
    let cut = |name: &&str| match (traits.tile.get(*name), traits.step.get(*name)) {
        (Some(tile), _) => tile.to_string(),
        (None, Some(step)) if traits.stages > 1 => format!("{}*{step}", traits.stages),
        (None, Some(step)) => step.to_string(),
        (None, None) if traits.outer.iter().any(|mode| mode == name) => "1".to_owned(),
        (None, None) => "·".to_owned(),
    };
    let cuts: Vec<String> = names.iter().map(cut).collect();
    format!("{} by {}:", names.join("×"), cuts.join("×"))
}

/// The extents of a problem in that order.
fn extents(kernel: &Kernel, outcome: &Outcome) -> String {
    let names = in_order(kernel).into_iter();
    let extents = names.filter_map(|name| outcome.extents.get(name));
    let extents: Vec<String> = extents.map(i64::to_string).collect();
    extents.join("×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_a_failure_are_told_once_and_named_again() {
        let one = |id: &str, line: u32| {
            format!("error: {id}: cta 0; cta 1: too far [kernel k, ptx line {line}, cta (0,0,0)]")
        };
        let reason = |lines: &[u32]| {
            let all: Vec<String> = lines.iter().map(|line| one("oob_global", *line)).collect();
            format!("k: the emulator found {}", all.join("; "))
        };
        let mut told = Told::new(&[], 1, true);
        let first = told.once("k", &reason(&[7, 9]));
        let full = one("oob_global", 7);
        assert_eq!(
            first,
            format!("k: the emulator found {full}; and oob_global at line 9")
        );
        let again = "k: the emulator found again oob_global at line 7, oob_global at line 9";
        assert_eq!(told.once("k", &reason(&[7, 9])), again);
        let full = one("oob_global", 8);
        let new = format!("k: the emulator found {full}; and oob_global at line 7");
        assert_eq!(told.once("k", &reason(&[7, 8])), new);
        let many = told.once("other", &reason(&[1, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert!(many.ends_with("oob_global at line 7, 2 more"), "{many}");
        assert_eq!(
            told.once("k", "3 of 4 elements are wrong"),
            "3 of 4 elements are wrong"
        );
    }
}
