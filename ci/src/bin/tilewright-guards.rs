//! Mutants of thread programs against the certificate: weakens, drops or swaps one test on the way
//! to global memory at a time, in every kernel of some specs.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-guards -- specs` judges all of them. Exit
//! code 0 when each is refused or listed in `ci/data/mutants/guards.txt`, 1 when one is not, 2 when
//! it could not run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use rayon::prelude::*;
use tilewright_ci::mutation::refused::{Judged, judge};
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::source_tree;
use tilewright_codegen::spec::{self, Point};

/// Weakens tests of thread programs and counts what certificates refuse.
#[derive(Debug, Parser)]
struct Args {
    /// Specs, and folders with specs
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only kernels whose name starts so; may be given several times
    #[arg(long)]
    kernel: Vec<String>,
    /// Only every so-manieth mutant
    #[arg(long, default_value_t = 1)]
    every: usize,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let path = source_tree::root().join("ci/data/mutants/guards.txt");
    let rules = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let rules = Rules::parse(&rules)?;
    let mut points = Vec::new();
    for path in &args.paths {
        collect(path, &mut points)?;
    }
    let wanted = |point: &Point| {
        let mut starts = args.kernel.iter();
        args.kernel.is_empty() || starts.any(|start| point.id.starts_with(start))
    };
    points.retain(wanted);
    let judged = points.par_iter().map(|point| {
        let judged = judge(point, &rules, (0, args.every)).map_err(|error| error.report(false))?;
        let (kernel, open) = (&judged.kernel, judged.open.len());
        println!(
            "{kernel}: {} refused, {} listed, {open} open",
            judged.refused, judged.listed
        );
        Ok(judged)
    });
    let done = judged.collect::<Result<Vec<Judged>, String>>()?;
    let sum = |of: fn(&Judged) -> usize| done.iter().map(of).sum::<usize>();
    let open: Vec<&String> = done.iter().flat_map(|judged| &judged.open).collect();
    open.iter().for_each(|line| println!("{line}"));
    println!(
        "{} mutants of {} kernels: {} refused, {} listed, {} open",
        sum(|judged| judged.refused + judged.listed + judged.open.len()),
        done.len(),
        sum(|judged| judged.refused),
        sum(|judged| judged.listed),
        open.len()
    );
    Ok(open.is_empty())
}

/// Every point of the specs at and below a path.
fn collect(path: &Path, points: &mut Vec<Point>) -> Result<(), String> {
    let shown = path.display();
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| format!("{shown}: {error}"))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| !path.ends_with("atoms"));
        paths.sort();
        return paths.iter().try_for_each(|path| collect(path, points));
    }
    if path.extension().is_none_or(|extension| extension != "yaml") {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let file = spec::parse(&shown.to_string(), &text).map_err(|error| error.report(false))?;
    points.extend(file.points);
    Ok(())
}
