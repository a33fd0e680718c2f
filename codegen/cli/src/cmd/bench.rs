//! `bench`: the kernels of a bundle beside their peers, cuBLASLt and memcpy.
//!
//! Rows come as a table on stdout, or as JSON lines; `-o` appends each to a file of rows as soon as
//! it is measured, so that one that is stopped loses nothing. What was left out is told on stderr
//! with its reason. A row whose output broke the correctness rule makes the verdict negative.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tilewright_bundle::Kernel;
use tilewright_lab::bench::{self, Event, Extent, Options, Row, Stamp};
use tilewright_runtime::{Device, Error, Runtime};

use crate::args::{self, Mode};
use crate::cmd::bundle;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::output::{self, Kind};
use crate::progress;
use crate::quantity::Bytes;
use crate::terminal::{self, Table};

/// Measures what was asked for.
pub fn run(args: &args::Bench) -> Outcome {
    if let Some(path) = &args.output {
        output::check(path, Kind::Rows)?;
    }
    let device = Device::cuda(0).map_err(no_device)?;
    let runtime = Runtime::new(bundle::open(&args.source)?, device);
    let kernels = bundle::choose(runtime.bundle(), &args.kernel)?;
    let rows = measure(&runtime, &kernels, args, &options(&runtime, args))?;
    if args.json {
        terminal::print(&lines(&rows)?)?;
    } else {
        terminal::print(&table(&rows).render())?;
    }
    Ok(Verdict::from_good(
        !rows.is_empty() && rows.iter().all(Row::is_correct),
    ))
}

/// Why there is nothing to measure on; the emulator is no way out, as it has no time.
fn no_device(error: Error) -> Failure {
    match error {
        Error::NoDriver => Failure::CouldNotRun(
            "bench needs an NVIDIA GPU, and libcuda was not found: the emulator has no time; \
             `tune --device emulator` counts instructions, `verify` runs there as well"
                .to_owned(),
        ),
        error => Failure::could_not_run(error),
    }
}

/// How to measure, and what to write into every row.
fn options(runtime: &Runtime, args: &args::Bench) -> Options {
    let stamp = stamp(runtime, args.commit.clone());
    let mut options = if args.quick {
        Options::quick(stamp)
    } else {
        Options::full(stamp)
    };
    if !args.mode.is_empty() {
        options.modes = args.mode.iter().map(|mode| of(*mode)).collect();
    }
    if let Some(rounds) = args.rounds {
        (options.rounds, options.rested_rounds) = (rounds.get(), rounds.get());
    }
    options.seed = args.seed;
    options
}

/// What every row says of the run.
pub(super) fn stamp(runtime: &Runtime, asked: Option<String>) -> Stamp {
    let ptxas = runtime.bundle().provenance().ptxas.clone();
    Stamp {
        date: jiff::Timestamp::now().to_string(),
        commit: asked.unwrap_or_else(commit),
        ptxas: ptxas.unwrap_or_default(),
    }
}

/// The mode as the runtime has it.
pub(super) fn of(mode: Mode) -> bench::Mode {
    match mode {
        Mode::Rested => bench::Mode::Rested,
        Mode::Sustained => bench::Mode::Sustained,
        Mode::Cold => bench::Mode::Cold,
        Mode::Launch => bench::Mode::Launch,
    }
}

/// The commit of the working folder, or nothing where there is no repository.
fn commit() -> String {
    let answer = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let text = answer
        .ok()
        .filter(|answer| answer.status.success())
        .map(|answer| answer.stdout);
    String::from_utf8_lossy(&text.unwrap_or_default())
        .trim()
        .to_owned()
}

/// Products at the extents, copies at the sizes.
fn measure(
    runtime: &Runtime,
    kernels: &[&Kernel],
    args: &args::Bench,
    options: &Options,
) -> Result<Vec<Row>, Failure> {
    let all = || kernels.iter().copied();
    let (copies, others): (Vec<_>, Vec<_>) = all().partition(|kernel| kernel.copied().is_some());
    let extents: &[Extent] = &args.problem;
    let sizes: Vec<u64> = args.sizes.iter().map(|Bytes(bytes)| *bytes).collect();
    let spinner = progress::spinner("measuring");
    let mut measured = 0usize;
    let mut file = args.output.as_deref().map(RowFile::open).transpose()?;
    let mut report = |event: Event<'_>| match event {
        Event::Next {
            what,
            extent,
            kernel,
            kernels,
        } => spinner.set_message(next(what, extent, (kernel, kernels), measured)),
        Event::Row(row) => {
            measured += 1;
            if let Some(file) = &mut file {
                file.add(row);
            }
        }
        Event::Skipped {
            kernel,
            extent,
            error,
        } => spinner.suspend(|| {
            let padding = kernels.iter().find(|one| one.id == kernel);
            let padding = padding.and_then(|one| extent.padding(one, runtime.device().info()));
            let help = padding.map(|pad| format!("; it takes the problem with pad={pad}"));
            let help = help.unwrap_or_default();
            terminal::diagnose(&format!("left out {kernel} at {extent}: {error}{help}"));
        }),
    };
    let mut rows = Vec::new();
    if !others.is_empty() {
        let found = bench::bench(runtime, &others, extents, options, &mut report);
        rows.extend(found.map_err(Failure::could_not_run)?);
    }
    if !copies.is_empty() {
        let found = bench::bench_copies(runtime, &copies, &sizes, options, &mut report);
        rows.extend(found.map_err(Failure::could_not_run)?);
    }
    progress::finish(&spinner);
    match file.and_then(|file| file.failure) {
        Some(failure) => Err(failure),
        None => Ok(rows),
    }
}

/// The line for what is measured next.
fn next(what: &str, extent: &Extent, (kernel, kernels): (&str, usize), measured: usize) -> String {
    let others = match kernels {
        0 | 1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    format!("{extent}: {what}, {measured} rows: {kernel}{others}")
}

/// The rows as JSON, one a line.
fn lines(rows: &[Row]) -> Result<String, Failure> {
    let mut text = String::new();
    for row in rows {
        text.push_str(
            &row.to_json()
                .map_err(|error| Failure::Bug(error.to_string()))?,
        );
        text.push('\n');
    }
    Ok(text)
}

/// A file that rows are added to.
struct RowFile {
    path: PathBuf,
    file: File,
    /// Why a row could not be added; none is after it.
    failure: Option<Failure>,
}

impl RowFile {
    fn open(path: &Path) -> Result<RowFile, Failure> {
        output::check(path, Kind::Rows)?;
        let failed = |error| Failure::io(path.display(), &error);
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.map_err(failed)?;
        let last = std::fs::read(path).map_err(failed)?.last().copied();
        if last.is_some_and(|byte| byte != b'\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(RowFile {
            path: path.to_owned(),
            file,
            failure: None,
        })
    }

    /// Adds a row; what goes wrong is told when all are measured.
    fn add(&mut self, row: &Row) {
        if self.failure.is_some() {
            return;
        }
        let added = lines(std::slice::from_ref(row)).and_then(|text| {
            let written = self.file.write_all(text.as_bytes());
            written.map_err(|error| Failure::io(self.path.display(), &error))
        });
        self.failure = added.err();
    }
}

/// A row per measurement; ratios are the peer's time over ours.
fn table(rows: &[Row]) -> Table {
    let heads = [
        "kernel", "problem", "strides", "mode", "us", "TB/s", "TFLOP/s", "peer us", "ratio",
        "spread",
    ];
    let mut table = Table::new(heads.into_iter().chain(["A/A", "default", "max err"]));
    let ratio = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
    for row in rows {
        let problem = &row.problem;
        table.row([
            row.kernel.clone(),
            format!("{} {}", problem.extents_text(), row.layout),
            problem.strides_text(),
            row.mode.text().to_owned(),
            format!("{:.2}", row.ours_us),
            format!("{:.3}", row.tbps),
            format!("{:.1}", row.tflops),
            format!("{:.2}", row.best_us),
            ratio(Some(row.ratio_best)),
            format!("{:.2}%", 100.0 * row.ratio_spread),
            ratio(row.aa_ratio),
            ratio(row.ratio_default),
            format!("{:.2}", row.max_err),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_kernel_and_counts_are_told() {
        let extent = Extent::product(4096, 512, 64);
        let line = next("sustained", &extent, ("gemm@a", 5), 12);
        assert_eq!(line, "4096x512x64: sustained, 12 rows: gemm@a and 4 more");
        assert_eq!(
            next("load", &extent, ("gemm@a", 1), 0),
            "4096x512x64: load, 0 rows: gemm@a"
        );
    }
}
