//! Result rows: one JSON object for one kernel on one problem in one mode.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tilewright_bundle::{Kernel, Operand};
use tilewright_formula::form::Form;

use super::extent::{Extent, MATRIX, names};
use tilewright_runtime::Problem;

/// What the caller knows about a run and this crate does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp {
    /// When, as RFC 3339.
    pub date: String,
    /// The commit of the program.
    pub commit: String,
    /// The `ptxas` that checked the kernels; empty when the driver compiled them unchecked.
    pub ptxas: String,
}

/// How launches follow each other while they are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Bursts of 5 to 10 ms, each after 0.3 s of rest: what the clocks allow.
    Rested,
    /// Slices without a gap after half a second of load: what the power limit allows.
    Sustained,
    /// Each launch after a write to more than twice the second-level cache.
    Cold,
    /// The host's time from the call of a launch to its return.
    Launch,
}

impl Mode {
    /// The spelling in reports and rows.
    pub const fn text(self) -> &'static str {
        match self {
            Mode::Rested => "rested",
            Mode::Sustained => "sustained",
            Mode::Cold => "cold",
            Mode::Launch => "launch",
        }
    }
}

/// Extents and scalars of a row's problem, by name; the extents of matrices are always there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowProblem {
    /// Rows of the output; 1 where there is no such extent.
    pub m: i64,
    /// Columns of the output.
    pub n: i64,
    /// The contracted extent; 1 for a copy.
    pub k: i64,
    /// Problems in one launch.
    pub batch: i64,
    /// Strides in elements of each operand, in the order of its axes; packed operands have none.
    /// Rows of versions that did not write them are of the smallest that their kernel took.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub strides: BTreeMap<String, Vec<i64>>,
    /// Scalars, as the shortest text that is read back as the same number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scalars: BTreeMap<String, String>,
    /// Every extent of another name.
    #[serde(flatten)]
    pub more: BTreeMap<String, i64>,
}

impl RowProblem {
    /// The extents and scalars of a problem.
    pub fn of(problem: &Problem) -> RowProblem {
        let [m, n, k, batch] = problem.matrix_extents();
        let extents = problem.extents();
        let more = extents.filter(|(name, _)| !["m", "n", "k", "batch"].contains(name));
        RowProblem {
            m,
            n,
            k,
            batch,
            strides: BTreeMap::new(),
            scalars: problem
                .scalars()
                .map(|(name, value)| (name.to_owned(), value.to_string()))
                .collect(),
            more: more.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// The extents of a kernel's problem as rows, columns and summed extent, whatever the kernel
    /// calls them, its strides and its scalars.
    pub(crate) fn of_kernel(kernel: &Kernel, problem: &Problem) -> RowProblem {
        let own: Vec<Option<&str>> = names(kernel).collect();
        let extents = problem.extents().map(|(name, extent)| {
            let at = own.iter().position(|own| *own == Some(name));
            let name = at.and_then(|at| MATRIX.get(at).copied()).unwrap_or(name);
            (name.to_owned(), extent)
        });
        let scalars = problem.scalars();
        let renamed = scalars.fold(Problem::of(extents), |problem, (name, value)| {
            problem.with_scalar(name, value)
        });
        let strides = problem.operands();
        let strides = strides.map(|(operand, strides)| (operand.to_owned(), strides.to_vec()));
        RowProblem {
            strides: strides.collect(),
            ..RowProblem::of(&renamed)
        }
    }

    /// Its extents by name: those of other names, then m, n and k.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&str, i64)> {
        let batch = (self.batch != 1).then_some(("batch", self.batch));
        let more = self.more.iter();
        let more = more.map(|(name, extent)| (name.as_str(), *extent));
        let matrix = MATRIX.into_iter().zip([self.m, self.n, self.k]);
        batch.into_iter().chain(more).chain(matrix)
    }

    /// Whether it has these extents, as far as its kernel has them.
    pub fn is_at(&self, extent: &Extent) -> bool {
        extent.sizes.iter().all(|(name, size)| match name.as_str() {
            "m" => self.m == *size,
            "n" => self.n == *size,
            "k" => self.k == *size || self.k == 1,
            "batch" => self.batch == *size,
            other => self.more.get(other) == Some(size),
        })
    }

    /// The extents as a table has them: `4096x512x64`, or by name where there are others.
    pub fn extents_text(&self) -> String {
        let (m, n, k) = (self.m, self.n, self.k);
        if self.batch == 1 && self.more.is_empty() {
            return format!("{m}x{n}x{k}");
        }
        let is_there = |(name, extent): &(&str, i64)| *extent != 1 || !MATRIX.contains(name);
        let all = self.sizes().filter(is_there);
        let all: Vec<String> = all
            .map(|(name, extent)| format!("{name}={extent}"))
            .collect();
        all.join(",")
    }

    /// The strides as a table has them: `a (4104,1) b (4104,1)`.
    pub fn strides_text(&self) -> String {
        let one = |(operand, strides): (&String, &Vec<i64>)| {
            let strides: Vec<String> = strides.iter().map(i64::to_string).collect();
            format!("{operand} ({})", strides.join(","))
        };
        let all: Vec<String> = self.strides.iter().map(one).collect();
        all.join(" ")
    }

    /// The problem of these extents, scalars and strides.
    pub fn problem(&self) -> Problem {
        let mut problem = Problem::new(self.m, self.n, self.k);
        if self.batch != 1 {
            problem = problem.with_extent("batch", self.batch);
        }
        let more = self.more.iter();
        let problem = more.fold(problem, |problem, (name, value)| {
            problem.with_extent(name.clone(), *value)
        });
        let scalars = self.scalars.iter();
        let scalars = scalars.filter_map(|(name, value)| Some((name, value.parse().ok()?)));
        let problem = scalars.fold(problem, |problem, (name, value): (_, f64)| {
            problem.with_scalar(name, value)
        });
        let strides = self.strides.iter();
        strides.fold(problem, |problem, (operand, strides)| {
            problem.with_strides(operand, strides.clone())
        })
    }
}

/// Element types of a row, `null` where there is no such operand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTypes {
    /// Of the first factor of a product, of anything else of the first operand that is read.
    pub a: Option<String>,
    /// Of the second factor.
    pub b: Option<String>,
    /// Of what is added; none so far.
    pub c: Option<String>,
    /// Of the output, the first of some.
    pub d: Option<String>,
    /// Of the accumulator.
    pub acc: Option<String>,
}

impl RowTypes {
    pub(crate) fn of(kernel: &Kernel) -> RowTypes {
        let of = |operand: Option<&Operand>| operand.map(|o| o.dtype.text().to_owned());
        let operands = &kernel.semantics.operands;
        let read = operands.iter().find(|operand| operand.role.is_read());
        let written = operands.iter().find(|operand| operand.role.is_written());
        let [a, b, d] = match (kernel.product(), kernel.form()) {
            (Some(operands), _) => operands.map(Some),
            (None, Some(Form::Contraction(form))) => {
                let factors = [&form.factors[0], &form.factors[1]];
                let [a, b] = factors.map(|factor| operands.get(factor.operand?));
                [a, b, written]
            }
            (None, _) => [read, None, written],
        };
        RowTypes {
            a: of(a),
            b: of(b),
            c: None,
            d: of(d),
            acc: kernel.accumulator().map(|d| d.text().to_owned()),
        }
    }
}

/// One measured kernel. `ratio_*` is the peer's time over ours: above 1 we are faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// When, as RFC 3339.
    pub date: String,
    /// The commit of the program.
    pub commit: String,
    /// The device's name.
    pub gpu: String,
    /// The driver's version.
    pub driver: String,
    /// cuBLASLt's version; `null` for copies.
    pub cublaslt: Option<String>,
    /// The `ptxas` that checked the kernel.
    pub ptxas: String,
    /// Clock of the multiprocessors under load.
    pub sm_clock_mhz: Option<u32>,
    /// Power drawn under load.
    pub power_w: Option<f64>,
    /// The spec's word for the kernel: `gemm`, `copy`.
    pub family: String,
    /// The kernel's id.
    pub kernel: String,
    /// Extents.
    pub problem: RowProblem,
    /// Element types.
    pub dtype: RowTypes,
    /// `TN`, `NN`, `NT` or `TT`; `row` for copies.
    pub layout: String,
    /// How launches followed each other.
    pub mode: Mode,
    /// Median time of one launch.
    pub ours_us: f64,
    /// The same of the peer's own first choice.
    pub default_us: Option<f64>,
    /// The same of the peer's fastest candidate.
    pub best_us: f64,
    /// What the fastest candidate is.
    pub peer: String,
    /// Median over the rounds of the default's time over ours.
    pub ratio_default: Option<f64>,
    /// Median over the rounds of the peer's fastest candidate's time over ours.
    pub ratio_best: f64,
    /// The peer's fastest candidate against itself: the noise of a ratio.
    pub aa_ratio: Option<f64>,
    /// Arithmetic rate.
    pub tflops: f64,
    /// Bytes read and written by the definition of the problem, per time.
    pub tbps: f64,
    /// `‖out − ref‖ / ‖ref‖` of the timed kernel's output.
    pub rel_err: f64,
    /// Largest error over allowed error; above 1 the output is wrong.
    pub max_err: f64,
    /// Rounds the medians are of.
    pub rounds: usize,
    /// Interquartile range over median of our times.
    pub spread: f64,
    /// The same of `ratio_best` over the rounds.
    #[serde(default)]
    pub ratio_spread: f64,
    /// The same of `aa_ratio`.
    pub aa_spread: Option<f64>,
    /// Ways of the peer that were measured to find its fastest.
    #[serde(default)]
    pub candidates: usize,
    /// Which release the peer is of, where it is no library of the driver's: `torch 2.11.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_version: Option<String>,
    /// Largest error over allowed error of the peer's output, where it was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_max_err: Option<f64>,
    /// The allowed error, where it does not follow from the kernel's formula.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// Whether the peer's launches were replayed from a graph, where that differs by peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
}

impl Row {
    /// The layout of what has no order of factors.
    pub const NO_ORDER: &str = "row";

    /// A row of a kernel that says nothing of its times yet.
    pub(crate) fn blank(kernel: &Kernel, gpu: &str, driver: String, stamp: &Stamp) -> Row {
        Row {
            date: stamp.date.clone(),
            commit: stamp.commit.clone(),
            gpu: gpu.to_owned(),
            driver,
            cublaslt: None,
            ptxas: stamp.ptxas.clone(),
            sm_clock_mhz: None,
            power_w: None,
            family: kernel.kernel.clone(),
            kernel: kernel.id.clone(),
            problem: RowProblem::of(&Problem::new(0, 0, 1)),
            dtype: RowTypes::of(kernel),
            layout: Row::NO_ORDER.to_owned(),
            mode: Mode::Sustained,
            ours_us: 0.0,
            default_us: None,
            best_us: 0.0,
            peer: String::new(),
            ratio_default: None,
            ratio_best: 0.0,
            aa_ratio: None,
            tflops: 0.0,
            tbps: 0.0,
            rel_err: 0.0,
            max_err: 0.0,
            rounds: 0,
            spread: 0.0,
            ratio_spread: 0.0,
            aa_spread: None,
            candidates: 0,
            peer_version: None,
            peer_max_err: None,
            bound: None,
            replayed: None,
        }
    }

    /// Whether the timed kernel's output obeyed the correctness rule.
    pub fn is_correct(&self) -> bool {
        self.max_err <= 1.0
    }

    /// Whether a line is one of a file of rows. A record of `tune` is no such line: it is a row
    /// with more before it, and files of records have a format that a row says nothing of.
    pub fn is_line(line: &str) -> bool {
        let row = serde_json::from_str::<serde_json::Value>(line);
        row.is_ok_and(|row| {
            let has = |key: &&str| row.get(key).is_some();
            ["kernel", "problem", "ours_us"].iter().all(has) && !has(&"format")
        })
    }

    /// The row as one line of JSON.
    ///
    /// # Errors
    /// Never for rows this crate makes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Median of some values; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Interquartile range over median.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    if middle == 0.0 {
        return 0.0;
    }
    (quantile(values, 0.75) - quantile(values, 0.25)) / middle
}

/// A quantile, linear between neighbours.
fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = at * last as f64;
    let low = place.floor() as usize;
    let high = (low + 1).min(last);
    sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_any_names_are_told() {
        let row = |problem: Problem| RowProblem::of(&problem);
        let plain = row(Problem::new(8, 16, 32));
        assert_eq!(plain.extents_text(), "8x16x32");
        let batched = Problem::new(8, 16, 32).with_extent("g", 4);
        assert_eq!(row(batched).extents_text(), "g=4,m=8,n=16,k=32");
        let rows = Problem::of([("rows", 8), ("d_model", 16)]);
        assert_eq!(row(rows).extents_text(), "d_model=16,rows=8");
    }

    #[test]
    fn quantiles() {
        let values = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(median(&values), 3.0);
        assert_eq!(spread(&values), 2.0 / 3.0);
        assert_eq!(median(&[1.0, 2.0]), 1.5);
        assert_eq!(median(&[]), 0.0);
    }
}
