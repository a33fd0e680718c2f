//! `check`: every problem of every spec, and how many points of its tuning space have a kernel.
//!
//! Problems go to stderr with their source lines, verdicts to stdout, a line per spec; of what no
//! kernel of its form does, or with `--choices`, the forms that a written formula has not a line
//! each, with what of it does not fit them. With `--json` stdout holds it all. With `--build`
//! points count as having a kernel that `build` makes: the assembler has its say.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use serde::Serialize;
use serde_json::json;
use tilewright_build::unjudged;
use tilewright_codegen::catalogue::End;
use tilewright_codegen::error::{Error, Problem, Span};
use tilewright_codegen::spec::{self, SpecFile};
use tilewright_codegen::{LineInfo, Making, plan};

use crate::args;
use crate::cmd::compiled::{self, How};
use crate::jobs::{DIED, Infeasible};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::quantity::counted;
use crate::specs;
use crate::terminal::{self, BAD, GOOD};

mod extents;

/// One spec and what was found.
#[derive(Debug, Default, Serialize)]
struct Checked {
    path: String,
    good: bool,
    /// Points that have a kernel.
    points: usize,
    /// What extents every kernel is for, by mode: conditions that launches have to meet.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extents: BTreeMap<String, String>,
    /// What extents have to be for some kernel to take operands without gaps: alignment of rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_gaps: Vec<String>,
    /// Points that have none, counted by each limit they violate.
    dropped: BTreeMap<String, usize>,
    #[serde(skip)]
    dropped_count: usize,
    /// What became of those that have one: with `--build`.
    #[serde(skip_serializing_if = "Option::is_none")]
    built: Option<Built>,
    /// The form of its formula, and why it is no other; nothing of a file that is no spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<Told>,
    /// What is wrong, where something is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<serde_json::Value>,
    /// Every point that has none, and why: with `--dropped`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped_points: Vec<String>,
    /// What was chosen among several candidates, by point: with `--choices`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    choices: BTreeMap<String, Vec<String>>,
    /// What is legal and may not be meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Problem>,
    #[serde(skip)]
    reports: Vec<String>,
    #[serde(skip)]
    failures: Vec<Failure>,
}

/// Kernels that were compiled.
#[derive(Debug, Serialize)]
struct Built {
    /// Whether an assembler took them all; without one nothing was judged.
    assembled: bool,
    /// The fewest and the most registers of a thread, as that says.
    #[serde(skip_serializing_if = "Option::is_none")]
    registers: Option<[u32; 2]>,
}

/// The form of a formula.
#[derive(Debug, Serialize)]
struct Told {
    /// Its name.
    form: &'static str,
    /// Whether the formula is written; else it is the default one of its word.
    written: bool,
    /// Why it is no other.
    others: Vec<Unfit>,
}

/// A form that a formula has not.
#[derive(Debug, Serialize)]
struct Unfit {
    /// Its name.
    form: &'static str,
    /// What of the formula does not fit.
    why: String,
    /// Where that stands, in formulas that are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Span>,
}

/// Checks every spec before it says which ones are good.
pub fn run(args: &args::Check) -> Outcome {
    let paths = specs::find(&args.specs.paths)?;
    let mut files = Vec::new();
    let mut checked: Vec<Checked> = Vec::new();
    let bar = progress::bar("checking", paths.len() as u64);
    for path in &paths {
        bar.set_message(path.display().to_string());
        let (one, file) = check(path);
        checked.push(one);
        files.extend(file);
        bar.inc(1);
    }
    progress::finish(&bar);
    if args.build {
        build(args, &mut checked, &files)?;
    }
    let twice = specs::twice(&files);
    let reports = checked.iter().flat_map(|one| &one.reports);
    for report in reports.chain(&twice) {
        terminal::diagnose(report);
    }
    if args.dropped {
        for line in checked.iter().flat_map(|one| &one.dropped_points) {
            terminal::diagnose(line);
        }
    } else {
        checked
            .iter_mut()
            .for_each(|one| one.dropped_points.clear());
    }
    if !args.choices {
        checked.iter_mut().for_each(|one| one.choices.clear());
    }
    if args.json {
        terminal::print_json(&checked)?;
    } else {
        for one in checked.iter().filter(|one| one.is_read()) {
            terminal::print_line(&line(one))?;
            let of_forms = one.form.iter().filter(|_| args.choices || one.lacks_form());
            for told in of_forms.filter(|told| told.written) {
                terminal::print_line(&unfit(told))?;
            }
            for (point, choices) in &one.choices {
                terminal::print_line(&format!("{point}\n{}", choices.join("\n")))?;
            }
        }
    }
    let all_good = twice.is_empty() && checked.iter().all(|one| one.good);
    let failures = checked.into_iter().flat_map(|one| one.failures);
    match Failure::all(failures.collect()) {
        Some(failure) => Err(failure),
        None => Ok(Verdict::from_good(all_good)),
    }
}

/// Compiles every point of the files that are good so far, and counts anew which have a kernel.
fn build(args: &args::Check, checked: &mut [Checked], files: &[SpecFile]) -> Result<(), Failure> {
    let chosen = Making::chosen(LineInfo::Beside, OsStr::new("if-found"), ("never", false));
    let making = chosen.map_err(specs::failure)?;
    if making.ptxas.is_none() {
        terminal::diagnose(&format!("note: {}", unjudged()));
    }
    let how = How {
        archs: &[],
        jobs: None,
        time: args.limit.time(),
        keep_going: true,
    };
    let is_good = |file: &&SpecFile| checked.iter().any(|one| one.good && one.path == file.path);
    let good: Vec<SpecFile> = files.iter().filter(is_good).cloned().collect();
    let (ends, failures) = compiled::ends(&how, &good, &making, None)?;
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    for one in checked.iter_mut().filter(|one| one.good) {
        let path = one.path.clone();
        let of_file = ends.iter().filter(|((file, _), _)| file.path == path);
        let of_file = of_file.map(|((_, point), end)| (point.id.as_str(), end));
        let refused = one.built(making.ptxas.is_some(), of_file);
        if one.points == 0 && !refused.is_empty() {
            let report = compiled::none_left(&how, &good, &making, refused)?;
            one.reports.push(report);
        }
        one.good = one.errors.is_empty() && one.failures.is_empty();
    }
    Ok(())
}

fn check(path: &Path) -> (Checked, Option<SpecFile>) {
    let mut checked = Checked {
        path: path.display().to_string(),
        ..Checked::default()
    };
    let file = match spec::load(path) {
        Ok(mut file) => {
            checked.form = Some(form(&file));
            let doubts = checked.points_of(&file);
            file.warnings.extend(doubts);
            checked.warnings.clone_from(&file.warnings);
            checked.reports.extend(specs::warned(&file));
            Some(file)
        }
        Err(error) => {
            checked.fail(specs::failure, error, 1);
            None
        }
    };
    checked.good = checked.errors.is_empty();
    (checked, file)
}

/// The form of a spec's formula.
fn form(file: &SpecFile) -> Told {
    let computes = &file.spec.problem.compute;
    let others = computes.others.iter().map(|(form, why, part)| Unfit {
        form,
        why: why.clone(),
        span: file.part(part.clone()),
    });
    Told {
        form: computes.form.name(),
        written: file.part(0..0).is_some(),
        others: others.collect(),
    }
}

/// Why a formula has no other form, a line each.
fn unfit(told: &Told) -> String {
    let lines = told.others.iter().map(|other| {
        let place = other.span.as_ref().map_or(String::new(), |span| {
            format!(", line {} column {}", span.line, span.column)
        });
        format!("     not {}: {}{place}", other.form, other.why)
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.assembled {
            true => "; built by ptxas",
            false => "; compiled, judged by no ptxas",
        })?;
        match self.registers {
            Some([least, most]) if least == most => write!(f, " with {most} registers a thread"),
            Some([least, most]) => write!(f, " with {least} to {most} registers a thread"),
            None => Ok(()),
        }
    }
}

impl Checked {
    /// Plans every point. Points without a kernel are only wrong when no other is left. What all
    /// kernels are slow by, and may not be meant.
    fn points_of(&mut self, file: &SpecFile) -> Vec<Problem> {
        let (mut refused, mut plans) = (Vec::new(), Vec::new());
        for point in &file.points {
            match plan::plan(point) {
                Ok(plan) => {
                    self.points += 1;
                    let told = plan.taken.iter().chain(&plan.choices);
                    let told = told.filter(|one| !one.left_out.is_empty());
                    let told: Vec<String> = told.map(ToString::to_string).collect();
                    if !told.is_empty() {
                        self.choices.insert(point.id.clone(), told);
                    }
                    plans.push((point, plan));
                }
                Err(error) => match &error {
                    Error::Plan { .. } => {
                        self.dropped_count += 1;
                        for code in error.codes() {
                            *self.dropped.entry(code.to_owned()).or_default() += 1;
                        }
                        let line = specs::dropped_line(&point.id, &error);
                        self.dropped_points.push(line);
                        refused.push(error);
                    }
                    _ => self.fail(|error| specs::failure_at(file, point, error), error, 1),
                },
            }
        }
        if self.points == 0 {
            for (error, count) in specs::by_reason(file, refused) {
                self.fail(specs::failure, error, count);
            }
        }
        self.extents = extents::most(&plans);
        self.without_gaps = extents::without_gaps(&plans);
        match plan::doubts(file, &plans) {
            Ok(doubts) => doubts,
            Err(error) => {
                self.fail(specs::failure, error, 1);
                Vec::new()
            }
        }
    }

    /// Counts anew by what came of each point. Those that were refused, if no other is left.
    fn built<'e>(
        &mut self,
        assembled: bool,
        ends: impl Iterator<Item = (&'e str, &'e End<Infeasible>)>,
    ) -> Vec<(String, Infeasible)> {
        (self.points, self.dropped_count) = (0, 0);
        self.dropped.clear();
        self.dropped_points.clear();
        let (mut refused, mut registers) = (Vec::new(), Vec::new());
        for (point, end) in ends {
            match end {
                End::Made(artifact) => {
                    self.points += 1;
                    registers.extend(artifact.kernel.resources.registers);
                }
                End::Refused(why) if why.code == DIED => {
                    self.failures.push(Failure::Bug(why.report.clone()));
                }
                End::Refused(why) => {
                    self.dropped_count += 1;
                    for code in &why.codes {
                        *self.dropped.entry(code.clone()).or_default() += 1;
                    }
                    let limits = why.limits.replace('\n', " ");
                    let line = format!("dropped {point} ({}): {limits}", why.codes.join(", "));
                    self.dropped_points.push(line);
                    refused.push((point.to_owned(), why.clone()));
                }
            }
        }
        let least = registers.iter().min().copied();
        let most = registers.iter().max().copied();
        self.built = (self.points > 0).then(|| Built {
            assembled,
            registers: least.zip(most).map(Into::into),
        });
        if self.points == 0 {
            let error = |(point, why): &(String, Infeasible)| {
                let (codes, message) = (&why.codes, &why.limits);
                json!({ "kind": "build", "kernel": point, "codes": codes, "message": message })
            };
            self.errors.extend(refused.iter().map(error));
        }
        refused
    }

    /// Whether another form is what its formula lacks: kernels of its own do not do it yet.
    fn lacks_form(&self) -> bool {
        let of_form = |limit: &plan::Limit| self.dropped.contains_key(limit.code);
        !self.good && plan::LIMITS.iter().any(of_form)
    }

    /// Notes an error that so many points come to; one that is not the spec's own ends the command.
    /// Whether there was a file to check: what could not be read is told by its own message alone.
    fn is_read(&self) -> bool {
        let is_missing = |one: &Failure| matches!(one, Failure::CouldNotRun(_));
        self.form.is_some() || !self.failures.iter().any(is_missing)
    }

    fn fail(&mut self, failure: impl Fn(Error) -> Failure, error: Error, count: usize) {
        self.errors.push(error.json());
        let report = specs::report_of(&error, count);
        match failure(error) {
            Failure::Rejected(_) => self.reports.push(report),
            other => self.failures.push(other),
        }
    }
}

fn line(one: &Checked) -> String {
    let (style, word) = if one.good {
        (GOOD, "good")
    } else {
        (BAD, "bad ")
    };
    let dropped = one.dropped_count;
    let mut line = format!(
        "{} {}: {}",
        terminal::paint(style, word),
        one.path,
        counted(one.points, "point")
    );
    if let Some(told) = &one.form {
        line.push_str(&format!(", form {}", told.form));
    }
    for condition in one.extents.values() {
        line.push_str(&format!(", for {condition}"));
    }
    if !one.without_gaps.is_empty() {
        let conditions = one.without_gaps.join(" and ");
        line.push_str(&format!(", rows without gaps for {conditions}"));
    }
    if dropped > 0 {
        let reasons: Vec<String> = one
            .dropped
            .iter()
            .map(|(code, count)| format!("{count} {code}"))
            .collect();
        line.push_str(&format!(
            ", {dropped} without a kernel ({})",
            reasons.join(", ")
        ));
    }
    if let Some(built) = &one.built {
        line.push_str(&built.to_string());
    }
    line
}
