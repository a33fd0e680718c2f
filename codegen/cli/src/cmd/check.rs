//! `check`: every problem of every spec, and how many points of its tuning space have a kernel.
//!
//! Problems go to stderr with their source lines, verdicts to stdout, a line per spec; of what is
//! bad, or with `--choices`, the forms that a written formula has not a line each, with what of it
//! does not fit them. With `--json` stdout holds it all.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tilewright_codegen::error::{Error, Problem, Span};
use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, SpecFile};

use crate::args;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::specs;
use crate::terminal::{self, BAD, GOOD};

/// One spec and what was found.
#[derive(Debug, Default, Serialize)]
struct Checked {
    path: String,
    good: bool,
    /// Points that have a kernel.
    points: usize,
    /// Points that have none, counted by each limit they violate.
    dropped: BTreeMap<String, usize>,
    #[serde(skip)]
    dropped_count: usize,
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
        for one in &checked {
            terminal::print_line(&line(one))?;
            let of_forms = one.form.iter().filter(|_| args.choices || !one.good);
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

fn check(path: &Path) -> (Checked, Option<SpecFile>) {
    let mut checked = Checked {
        path: path.display().to_string(),
        ..Checked::default()
    };
    let file = match spec::load(path) {
        Ok(file) => {
            checked.form = Some(form(&file));
            checked.points_of(&file);
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
    let computes = &file.spec.compute;
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

impl Checked {
    /// Plans every point. Points without a kernel are only wrong when no other is left.
    fn points_of(&mut self, file: &SpecFile) {
        let mut refused = Vec::new();
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
    }

    /// Notes an error that so many points come to; one that is not the spec's own ends the command.
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
        "{} {}: {} points",
        terminal::paint(style, word),
        one.path,
        one.points
    );
    if let Some(told) = &one.form {
        line.push_str(&format!(", form {}", told.form));
    }
    if dropped > 0 {
        let reasons: Vec<String> = one
            .dropped
            .iter()
            .map(|(code, count)| format!("{count} {code}"))
            .collect();
        line.push_str(&format!(
            ", {dropped} have no kernel ({})",
            reasons.join(", ")
        ));
    }
    line
}
