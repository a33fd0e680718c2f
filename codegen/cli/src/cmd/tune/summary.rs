//! What a tuning run found: the fastest kernel of each problem, and what became of all others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tilewright_bundle::{Bundle, Contiguous, TunedPoint, Tuning, TuningTable};
use tilewright_lab::bench::{Extent, Row};
use tilewright_lab::tune::{Outcome, Record, Tally, Tuned};
use tilewright_runtime::{Backend, Problem, Request, Runtime};

use crate::device;
use crate::quantity::{counted as so_many, decimal};
use crate::terminal::Table;

/// What `tune --json` prints.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    device: String,
    /// What the times of the winners and of the records count: `us`, or `thread instructions`.
    unit: String,
    /// The tuned bundle's folder.
    pub bundle: String,
    /// Its hash.
    pub sha256: String,
    /// Whether it was there before and was left as it is, as nothing was measured.
    kept: bool,
    winners: Vec<Winner>,
    tally: Tally,
    /// Pairs of a kernel and a problem that do not fit, by reason.
    unfit: BTreeMap<String, u64>,
    /// Of each problem how many kernels want rows farther apart, and the least `pad` that helps.
    #[serde(default)]
    padded: BTreeMap<String, (usize, i64)>,
    /// Problems in the selection table, of this and earlier runs.
    problems: usize,
    /// Problems asked for that no kernel was measured on.
    missing: Vec<String>,
    /// Of each problem why the first of the kernels that do not take it does not.
    #[serde(default)]
    refused: BTreeMap<String, String>,
}

/// The fastest kernel of one problem of one class.
#[derive(Debug, Serialize, Deserialize)]
struct Winner {
    problem: String,
    strides: String,
    kernel: String,
    us: f64,
    ratio_best: Option<f64>,
    ratio_default: Option<f64>,
    aa_ratio: Option<f64>,
    ratio_spread: f64,
}

impl Summary {
    /// What tables and records say of the problems that were asked for.
    pub fn new(
        runtime: &Runtime,
        extents: &[Extent],
        records: &[Record],
        tuned: &Tuned,
        tables: &Tuning,
    ) -> Summary {
        let mut summary = Summary {
            device: device::describe(runtime.device()),
            unit: unit(runtime.device().info().backend).to_owned(),
            tally: tuned.tally.clone(),
            problems: tables.points(),
            padded: tuned.padded.clone(),
            refused: tuned.refused.clone(),
            ..Summary::default()
        };
        for (kind, count) in &tuned.unfit {
            summary.unfit.insert((*kind).to_owned(), *count);
        }
        for extent in extents {
            let before = summary.winners.len();
            summary.winners_of(runtime, extent, records, tables);
            if summary.winners.len() == before {
                summary.missing.push(extent.to_string());
            }
        }
        summary
    }

    fn winners_of(
        &mut self,
        runtime: &Runtime,
        extent: &Extent,
        records: &[Record],
        tables: &Tuning,
    ) {
        for table in &tables.tables {
            let kernels = runtime.kernels().iter();
            let kernels = kernels.filter(|k| k.semantics.function == table.function);
            let device = runtime.device().info();
            // Kernels of a function may lie differently in memory: each class is a table's own, in
            // which problems are as tensors ask for them. Records have them as they were measured.
            let here: Vec<(Problem, Problem)> = kernels
                .filter_map(|kernel| {
                    let problem = extent.problem(kernel, device).ok()?;
                    let asked = Request::as_of_tensors(kernel, problem.clone());
                    Some((problem, asked))
                })
                .collect();
            let found = table.points.iter().find_map(|point| {
                let mut here = here.iter();
                let (problem, _) = here.find(|(_, asked)| is_of(asked, table, point))?;
                Some((problem, point.choices.first()?))
            });
            let Some((measured, choice)) = found else {
                continue;
            };
            let is_it = |record: &&Record| {
                let problem = &record.row.problem;
                record.outcome == Outcome::Measured
                    && record.content_hash == choice.content_hash.as_str()
                    && problem.is_at(extent)
                    && (problem.strides.iter())
                        .all(|(name, own)| measured.strides(name) == Some(own.as_slice()))
                    && extent.letters.is_none_or(|letters| {
                        // Rows of products that do more than multiply have no letters.
                        [letters.text(), Row::NO_ORDER].contains(&record.row.layout.as_str())
                    })
            };
            let Some(record) = records.iter().rev().find(is_it) else {
                continue;
            };
            let row = &record.row;
            self.winners.push(Winner {
                problem: format!("{} {}", extent.sizes_text(), row.layout),
                strides: row.problem.strides_text(),
                kernel: choice.kernel.clone(),
                us: choice.us,
                ratio_best: choice.ratio_best,
                ratio_default: row.ratio_default,
                aa_ratio: row.aa_ratio,
                ratio_spread: row.ratio_spread,
            });
        }
    }

    /// Whether there is nothing to put into a table.
    pub fn is_empty(&self) -> bool {
        self.winners.is_empty()
    }

    /// The output stays this bundle, which has tables already.
    pub fn keep(&mut self, bundle: &Bundle) {
        self.kept = true;
        self.sha256 = bundle.hash().to_string();
        self.problems = bundle.tuning().map_or(0, Tuning::points);
    }

    /// Whether every problem that was asked for has a kernel.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// The winners, a row each.
    fn table(&self) -> Table {
        let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |r| decimal(r, 3));
        let heads = [
            "problem",
            "strides",
            "kernel",
            &self.unit,
            "over best",
            "spread",
            "over default",
            "A/A",
        ];
        let mut table = Table::new(heads);
        for winner in &self.winners {
            table.row([
                winner.problem.clone(),
                winner.strides.clone(),
                winner.kernel.clone(),
                match self.unit == unit(Backend::Cuda) {
                    true => decimal(winner.us, 2),
                    false => decimal(winner.us, 0),
                },
                ratio(winner.ratio_best),
                format!("{}%", decimal(100.0 * winner.ratio_spread, 2)),
                ratio(winner.ratio_default),
                ratio(winner.aa_ratio),
            ]);
        }
        table
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let mut text = self.table().render();
        let Tally {
            known,
            measured,
            screened,
            unseen,
            no_memory,
            ..
        } = self.tally;
        let no_memory = match no_memory {
            0 => String::new(),
            pairs => format!("{pairs} for want of memory, "),
        };
        text.push_str(&format!(
            "\n{measured} measured, {screened} screened out, {known} known before, {unseen} not \
             reached, {no_memory}{} dropped{}, {} do not fit{}\n",
            self.tally.dropped.values().sum::<usize>(),
            counted(&self.tally.dropped),
            self.unfit.values().sum::<u64>(),
            counted(&self.unfit),
        ));
        for (problem, (kernels, pad)) in &self.padded {
            let kernels = so_many(*kernels, "kernel");
            let more = if problem.contains(':') { ',' } else { ':' };
            text.push_str(&format!(
                "{problem}: left out {kernels} whose rows would lie farther apart; \
                 {problem}{more}pad={pad} is a problem of theirs\n"
            ));
        }
        for problem in &self.missing {
            let why = self.refused.get(problem);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            text.push_str(&format!("{problem}: no kernel was measured{why}\n"));
        }
        let (bundle, sha256) = (&self.bundle, &self.sha256);
        let problems = so_many(self.problems, "problem");
        let device = &self.device;
        if self.kept {
            text.push_str(&format!(
                "{bundle} is left as it was, with {problems} in its table, sha256 \
                 {sha256}\n"
            ));
            return text;
        }
        text.push_str(&format!(
            "{bundle}: {problems} in its table, tuned on {device}, sha256 {sha256}\n"
        ));
        text
    }
}

/// Whether a point of a table is a problem.
fn is_of(problem: &Problem, table: &TuningTable, point: &TunedPoint) -> bool {
    let mut extents = table.extents.iter().zip(&point.extents);
    let mut operands = table.operands.iter().enumerate();
    extents.all(|(name, extent)| problem.extent(name) == Some(*extent))
        && operands.all(|(at, operand)| {
            let own = problem.strides(&operand.name).unwrap_or_default();
            let measured = point.strides.get(at);
            Contiguous::of(own) == operand.contiguous && measured.is_none_or(|one| one == own)
        })
}

/// What time is on a device.
fn unit(backend: Backend) -> &'static str {
    match backend {
        Backend::Cuda => "us",
        Backend::Emulator => "thread instructions",
    }
}

/// Counts as ` (load 2, wrong 1)`.
fn counted<N: std::fmt::Display>(counts: &BTreeMap<String, N>) -> String {
    let parts: Vec<String> = counts
        .iter()
        .map(|(kind, n)| format!("{kind} {n}"))
        .collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    }
}
