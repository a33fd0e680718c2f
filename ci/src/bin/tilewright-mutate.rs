//! Mutation testing of kernels: breaks one thing of their PTX at a time and counts what the
//! emulator notices.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-mutate -- BUNDLE` runs every mutant of
//! every kernel; a folder of launch files may be named instead. The last line is the score. Exit
//! code 0 when every survivor has a reason, 1 when one has not, 2 when it could not run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use tilewright_ci::mutation::campaign::{self, Plan};
use tilewright_ci::mutation::operators::mutants;
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::source_tree;
use tilewright_ci::subject::{Failure, Subject, Telling};
use tilewright_runtime::{Device, Runtime};

/// Breaks kernels and counts what the emulator notices.
#[derive(Debug, Parser)]
struct Args {
    /// Bundles, and folders with launch files
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only subjects whose name starts so
    #[arg(long)]
    kernel: Option<String>,
    /// This many mutants of each subject, drawn by the seed
    #[arg(long)]
    sample: Option<usize>,
    /// The seed of the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Schedules of each launch
    #[arg(long, default_value_t = 5)]
    schedules: usize,
    /// Append fates to this file, and skip those it has
    #[arg(long)]
    record: Option<PathBuf>,
    /// List the mutants instead of running them
    #[arg(long)]
    list: bool,
}

fn subjects(args: &Args) -> Result<Vec<Subject>, Failure> {
    let mut subjects = Vec::new();
    for path in &args.paths {
        if path.join("cases").is_dir() {
            subjects.extend(Subject::of_launch_files(path)?);
        } else {
            subjects.extend(of_bundle(path)?);
        }
    }
    if let Some(start) = &args.kernel {
        subjects.retain(|one| one.name.starts_with(start));
    }
    Ok(subjects)
}

fn of_bundle(path: &Path) -> Result<Vec<Subject>, Failure> {
    let runtime = Runtime::open(path, Device::emulator())?;
    let kernels = runtime.kernels().iter();
    kernels
        .map(|kernel| Subject::of_kernel(&runtime, kernel, &Telling::of(kernel)))
        .collect()
}

fn run(args: &Args) -> Result<bool, Failure> {
    let subjects = subjects(args)?;
    if args.list {
        for subject in &subjects {
            for mutant in mutants(&subject.ptx) {
                let name = &subject.name;
                println!("{name} {} | {} | {}", mutant.id, mutant.was, mutant.is);
            }
        }
        return Ok(true);
    }
    let rules = source_tree::root().join("ci/data/mutants/survivors.txt");
    let rules = Rules::parse(&std::fs::read_to_string(rules)?)?;
    let plan = Plan {
        schedules: args.schedules,
        sample: args.sample.map(|count| (count, args.seed)),
        record: args.record.clone(),
    };
    let done = AtomicUsize::new(0);
    let result = campaign::run(&subjects, &plan, |line| {
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(100) {
            eprintln!("{count} mutants, at {}", line.subject);
        }
    })?;
    let score = result.score(&rules);
    for line in &score.unexplained {
        println!(
            "{} {} | {} | {} | {}",
            line.subject, line.mutant, line.was, line.is, line.fate
        );
    }
    for (id, count) in &score.by {
        println!("{count:>6} by {id}");
    }
    for (rule, count) in &score.rules {
        let reason = rules.0.get(*rule).map_or("", |rule| &rule.reason);
        println!("{count:>6} equal: {reason}");
    }
    println!("{}", score.closing_line());
    Ok(score.unexplained.is_empty())
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
