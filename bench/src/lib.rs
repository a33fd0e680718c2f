//! Benches of the CPU parts live in `benches/`; measurements of GPUs in `results/`; specs of one
//! technique more at a time in `ladder/`. This crate turns measurements into tables and plots: rows
//! in (one JSON object a line, see the design of result rows), Markdown or SVG out.
//!
//! ```
//! let row = concat!(
//!     r#"{"gpu":"NVIDIA H200","family":"copy","kernel":"copy_x@1x2-abc","#,
//!     r#""problem":{"m":8,"n":8,"k":1},"dtype":{"a":"f32"},"mode":"rested","ours_us":2.0,"#,
//!     r#""best_us":3.0,"peer":"cuMemcpyDtoDAsync","ratio_best":1.5,"ratio_default":1.5,"#,
//!     r#""aa_ratio":1.0,"tflops":0.0,"tbps":3.0,"rel_err":0.0,"max_err":0.0}"#,
//! );
//! let table = tilewright_bench::markdown(row)?;
//! assert!(table.contains("| copy_x@1x2-abc | 8x8 | rested | 2.00 | 3.000 TB/s | 1.500 |"));
//! # Ok::<(), tilewright_bench::Error>(())
//! ```

mod drawing;
pub mod bars;
pub mod ladder;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

/// A line that is no result row.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is no result row: {source}")]
pub struct Error {
    /// Line, from 1.
    pub line: usize,
    /// What the parser says.
    pub source: serde_json::Error,
}

/// The fields of a result row that tables show; others are ignored.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    /// When it was measured; its first ten characters are the day.
    #[serde(default)]
    date: String,
    gpu: String,
    family: String,
    kernel: String,
    problem: Extents,
    mode: String,
    ours_us: f64,
    peer: String,
    ratio_best: Option<f64>,
    ratio_default: Option<f64>,
    aa_ratio: Option<f64>,
    /// Absent from rows of before slices were interleaved, as is the next.
    ratio_spread: Option<f64>,
    aa_spread: Option<f64>,
    #[serde(default)]
    layout: String,
    #[serde(default)]
    dtype: Types,
    /// What became of a tuned kernel; only `measured` ones have times beside the peer.
    outcome: Option<String>,
    tflops: f64,
    tbps: f64,
    rel_err: f64,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Types {
    a: Option<String>,
}

/// Elements of a block along n and k that has a scale of its own.
const SCALED_BLOCK: u64 = 128;

/// A problem: extents and strides. Rows of before strides were written have none of these.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Extents {
    m: u64,
    n: u64,
    k: u64,
    /// Blocks of [`SCALED_BLOCK`] elements along n and k, of products with scales by blocks.
    #[serde(default)]
    h: u64,
    #[serde(default)]
    g: u64,
    #[serde(default)]
    strides: BTreeMap<String, Vec<i64>>,
}

impl Extents {
    /// Whether rows of a, b or d lie farther apart than they are long.
    fn is_padded(&self) -> bool {
        let of = [
            ("a", [self.m, self.k]),
            ("b", [self.n, self.k]),
            ("d", [self.m, self.n]),
        ];
        of.iter().any(|(name, [rows, columns])| {
            match self.strides.get(*name).map(Vec::as_slice) {
                Some([1, apart]) => u64::try_from(*apart) != Ok(*rows),
                Some([apart, 1]) => u64::try_from(*apart) != Ok(*columns),
                // Of a batch, or of a row that says none.
                _ => false,
            }
        })
    }

    /// How far apart the rows of each operand lie: ` ld a 4104 b 4104`, or nothing.
    fn leading(&self) -> String {
        let largest = |strides: &Vec<i64>| strides.iter().copied().max().unwrap_or(1);
        let one = |(name, strides): (&String, &Vec<i64>)| format!(" {name} {}", largest(strides));
        let all: String = self.strides.iter().map(one).collect();
        match all.is_empty() {
            true => all,
            false => format!(" ld{all}"),
        }
    }
}

/// A family of kernels whose problems are not m by n by k alone.
struct Family {
    name: &'static str,
    /// What its class is called.
    class: &'static str,
    /// A problem as a table has it.
    problem: fn(&Extents) -> String,
}

const FAMILIES: [Family; 3] = [
    Family {
        name: "copy",
        class: "copies",
        problem: |of| format!("{}x{}{}", of.m, of.n, of.leading()),
    },
    Family {
        name: "scaled_gemm",
        class: "fp8 with scales by blocks",
        problem: |of| format!("{}x{}x{}", of.m, of.h * SCALED_BLOCK, of.g * SCALED_BLOCK),
    },
    Family {
        name: "bmm",
        class: "batched products",
        problem: |of| format!("{} of {}x{}x{}", of.g, of.m, of.n, of.k),
    },
];

impl Row {
    fn problem(&self) -> String {
        if let Some(family) = self.named_family() {
            return (family.problem)(&self.problem);
        }
        let Extents { m, n, k, .. } = &self.problem;
        let order = format!("{m}x{n}x{k} {}", self.layout);
        order.trim_end().to_owned() + &self.problem.leading()
    }

    /// What is told otherwise of its family.
    fn named_family(&self) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.name == self.family)
    }

    fn rate(&self) -> String {
        if self.family == "copy" {
            format!("{:.3} TB/s", self.tbps)
        } else {
            format!("{:.1} TFLOP/s", self.tflops)
        }
    }
}

/// The rows of a text, tuning records that were not measured left out.
fn parse(text: &str) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let lines = text.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let row: Row = serde_json::from_str(line).map_err(|source| Error {
            line: index + 1,
            source,
        })?;
        if row.outcome.as_deref().is_none_or(|what| what == "measured") {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// One Markdown table for each GPU and kind of kernel: problems in order, fastest kernel first.
///
/// # Errors
/// [`Error`] with the first line that is no row.
pub fn markdown(rows: &str) -> Result<String, Error> {
    let mut tables: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
    for row in parse(rows)? {
        let spec = row.kernel.split('@').next().unwrap_or_default();
        let kind = if row.family == "copy" {
            row.family.as_str()
        } else {
            spec
        };
        let key = (row.gpu.clone(), kind.to_owned());
        tables.entry(key).or_default().push(row);
    }
    let mut text = String::new();
    for ((gpu, kind), mut rows) in tables {
        rows.sort_by(|a, b| {
            (&a.problem, &a.mode)
                .cmp(&(&b.problem, &b.mode))
                .then(a.ours_us.total_cmp(&b.ours_us))
        });
        // Writing to a string cannot fail.
        let _ = writeln!(text, "### {kind} on {gpu}\n");
        text.push_str("| kernel | problem | mode | us | rate | over best | over default ");
        text.push_str(
            "| A/A | rel. error | peer |\n|---|---|---|---:|---:|---:|---:|---:|---:|---|\n",
        );
        for row in rows {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.2} | {} | {} | {} | {} | {:.1e} | {} |",
                row.kernel,
                row.problem(),
                row.mode,
                row.ours_us,
                row.rate(),
                ratio(row.ratio_best, row.ratio_spread),
                ratio(row.ratio_default, None),
                ratio(row.aa_ratio, row.aa_spread),
                row.rel_err,
                row.peer
            );
        }
        text.push('\n');
    }
    Ok(text)
}

/// One Markdown table for each GPU, mode and type of products: of each problem the kernel with the
/// largest ratio over the peer's best, and the geometric means below. Of several rows of a kernel
/// the last counts.
///
/// # Errors
/// [`Error`] with the first line that is no row.
pub fn best(rows: &str) -> Result<String, Error> {
    type Problems = BTreeMap<(Extents, String), BTreeMap<String, Row>>;
    let mut tables: BTreeMap<(String, String, String), Problems> = BTreeMap::new();
    for row in parse(rows)?.into_iter().filter(|row| row.family == "gemm") {
        let dtype = row.dtype.a.clone().unwrap_or_default();
        let table = tables.entry((row.gpu.clone(), row.mode.clone(), dtype));
        let problem = table
            .or_default()
            .entry((row.problem.clone(), row.layout.clone()));
        problem.or_default().insert(row.kernel.clone(), row);
    }
    let mut text = String::new();
    for ((gpu, mode, dtype), problems) in tables {
        let fastest = |kernels: &BTreeMap<String, Row>| {
            let over = |row: &Row| row.ratio_best.unwrap_or(0.0);
            let mut rows = kernels.values();
            let first = rows.next().cloned();
            first.map(|first| {
                rows.fold(first, |best, row| {
                    if over(row) > over(&best) {
                        row.clone()
                    } else {
                        best
                    }
                })
            })
        };
        let rows: Vec<Row> = problems.values().filter_map(fastest).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "### {dtype} on {gpu}, {mode}\n");
        text.push_str("| problem | us | rate | over best | over default | A/A | kernel |\n");
        text.push_str("|---|---:|---:|---:|---:|---:|---|\n");
        for row in &rows {
            let _ = writeln!(
                text,
                "| {} | {:.2} | {} | {} | {} | {} | {} |",
                row.problem(),
                row.ours_us,
                row.rate(),
                ratio(row.ratio_best, row.ratio_spread),
                ratio(row.ratio_default, None),
                ratio(row.aa_ratio, row.aa_spread),
                row.kernel
            );
        }
        let means = [
            geomean(rows.iter().filter_map(|row| row.ratio_best)),
            geomean(rows.iter().filter_map(|row| row.ratio_default)),
        ];
        let [best, default] = means.map(|mean| ratio(mean, None));
        let _ = writeln!(text, "| geometric mean | | | {best} | {default} | | |\n");
    }
    Ok(text)
}

/// The geometric mean of positive values.
fn geomean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
    let count = logs.len();
    (count > 0).then(|| (logs.iter().sum::<f64>() / count as f64).exp())
}

/// A ratio, with its interquartile range over median where the row has one.
fn ratio(value: Option<f64>, spread: Option<f64>) -> String {
    match (value, spread) {
        (None, _) => "-".to_owned(),
        (Some(value), None) => format!("{value:.3}"),
        (Some(value), Some(spread)) => format!("{value:.3} ±{:.1}%", 100.0 * spread),
    }
}
