//! `check`: every problem of every spec, and how many points of its tuning space have a kernel.
//!
//! Problems go to stderr with their source lines, verdicts to stdout, a line per spec. With
//! `--json` stdout holds it all.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tilewright_codegen::error::Error;
use tilewright_codegen::{plan, spec};

use crate::args;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::specs;
use crate::terminal::{self, BAD, GOOD};

/// One spec and what was found.
#[derive(Debug, Default, Serialize)]
struct Checked {
    path: String,
    good: bool,
    /// Points that have a kernel.
    points: usize,
    /// Points that have none, counted by the first limit they violate.
    dropped: BTreeMap<String, usize>,
    /// What is wrong, where something is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<serde_json::Value>,
    #[serde(skip)]
    reports: Vec<String>,
    #[serde(skip)]
    failure: Option<Failure>,
}

/// Checks every spec before it says which ones are good.
pub fn run(args: &args::Check) -> Outcome {
    let paths = specs::find(&args.specs.paths)?;
    let checked: Vec<Checked> = paths.iter().map(|path| check(path)).collect();
    for report in checked.iter().flat_map(|one| &one.reports) {
        terminal::diagnose(report);
    }
    if args.json {
        terminal::print_json(&checked)?;
    } else {
        for one in &checked {
            terminal::print_line(&line(one))?;
        }
    }
    let all_good = checked.iter().all(|one| one.good);
    match checked.into_iter().find_map(|one| one.failure) {
        Some(failure) => Err(failure),
        None => Ok(Verdict::from_good(all_good)),
    }
}

fn check(path: &Path) -> Checked {
    let mut checked = Checked {
        path: path.display().to_string(),
        ..Checked::default()
    };
    let mut infeasible = Vec::new();
    match spec::load(path) {
        Ok(file) => {
            for point in &file.points {
                match plan::plan(point) {
                    Ok(_) => checked.points += 1,
                    Err(error) => match &error {
                        Error::Plan { violations, .. } => {
                            let code = violations.first().map_or("", |violation| violation.code);
                            *checked.dropped.entry(code.to_owned()).or_default() += 1;
                            infeasible.push(error);
                        }
                        _ => checked.fail(error),
                    },
                }
            }
        }
        Err(error) => checked.fail(error),
    }
    // Points without a kernel are only wrong when no other is left.
    if checked.points == 0 {
        infeasible.into_iter().for_each(|error| checked.fail(error));
    }
    checked.good = checked.errors.is_empty();
    checked
}

impl Checked {
    /// Notes an error; one that is not the spec's own ends the command.
    fn fail(&mut self, error: Error) {
        self.errors.push(error.json());
        match specs::failure(error) {
            Failure::Rejected(report) => self.reports.push(report),
            other => self.failure = Some(other),
        }
    }
}

fn line(one: &Checked) -> String {
    let (style, word) = if one.good {
        (GOOD, "good")
    } else {
        (BAD, "bad ")
    };
    let dropped: usize = one.dropped.values().sum();
    let mut line = format!(
        "{} {}: {} points",
        terminal::paint(style, word),
        one.path,
        one.points
    );
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
