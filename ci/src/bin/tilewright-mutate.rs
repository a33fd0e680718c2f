//! Mutation testing of kernels: breaks one thing of their PTX at a time and counts what the
//! emulator notices.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-mutate -- BUNDLE` runs every mutant of
//! every kernel; a folder of launch files may be named instead. The last line is the score. Exit
//! code 0 when every survivor has a reason, 1 when one has not, 2 when it could not run.
//! `ci/mutate.sh` makes the bundle of the shipped kernels and keeps record and table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use tilewright_ci::mutation::campaign::{self, Plan, Source};
use tilewright_ci::mutation::operators::mutants;
use tilewright_ci::mutation::record::{Line, Record};
use tilewright_ci::mutation::score::{Score, table};
use tilewright_ci::mutation::survivors::Rules;
use tilewright_ci::source_tree;
use tilewright_ci::subject::{Failure, Subject};
use tilewright_runtime::{Device, Runtime};

/// Breaks kernels and counts what the emulator notices.
#[derive(Debug, Parser)]
struct Args {
    /// Bundles, and folders with launch files
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only subjects whose name starts so; may be given several times
    #[arg(long)]
    kernel: Vec<String>,
    /// Only mutants with these words in the line that `--list` prints
    #[arg(long)]
    mutant: Option<String>,
    /// This many mutants of each subject, drawn by the seed
    #[arg(long)]
    sample: Option<usize>,
    /// The seed of the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Schedules of each launch
    #[arg(long, default_value_t = 4)]
    schedules: usize,
    /// Append fates to this file, and skip those it has
    #[arg(long)]
    record: Option<PathBuf>,
    /// Write the table of kernels and reasons to this file
    #[arg(long)]
    table: Option<PathBuf>,
    /// List the mutants instead of running them
    #[arg(long)]
    list: bool,
}

impl Args {
    /// What a table is about.
    fn head(&self) -> String {
        let which = match self.sample {
            None => "Every mutant".to_owned(),
            Some(count) => format!("At least {count} mutants, drawn by the seed {},", self.seed),
        };
        let schedules = self.schedules;
        format!("# {which} of each kernel, under {schedules} schedules: `ci/mutate.sh`.\n")
    }

    /// Whether nothing is left out.
    fn takes_all(&self) -> bool {
        self.kernel.is_empty() && self.mutant.is_none() && self.sample.is_none()
    }

    fn takes(&self, name: &str) -> bool {
        self.kernel.is_empty() || self.kernel.iter().any(|start| name.starts_with(start))
    }
}

/// The kernels of bundles.
fn of_bundles<'a>(runtimes: &'a [Runtime], args: &Args) -> Vec<Source<'a>> {
    let kernels = runtimes.iter().flat_map(|runtime| {
        runtime
            .kernels()
            .iter()
            .map(move |kernel| (runtime, kernel))
    });
    kernels
        .filter(|(_, kernel)| args.takes(&kernel.id))
        .map(|(runtime, kernel)| Source::of_kernel(runtime, kernel))
        .collect()
}

/// Prints survivors without a reason, then what was counted.
fn print(score: &Score, rules: &Rules) {
    for line in &score.unexplained {
        let Line {
            subject,
            mutant,
            was,
            meaning,
            nth,
            is,
            fate,
            ..
        } = line;
        println!("{subject} {mutant} | {was} | {is} | {fate} | #{nth} {meaning}");
    }
    for (id, count) in &score.by {
        println!("{count:>6} by {id}");
    }
    for (rule, count) in &score.rules {
        let reason = rules.0.get(*rule).map_or("", |rule| &rule.reason);
        println!("{count:>6} equal: {reason}");
    }
    println!("{}", score.closing_line());
}

fn run(args: &Args) -> Result<bool, Failure> {
    let (files, bundles): (Vec<_>, Vec<_>) = args
        .paths
        .iter()
        .partition(|path| path.join("cases").is_dir());
    let open = |path: &&PathBuf| Runtime::open(path.as_path(), Device::emulator());
    let runtimes: Vec<Runtime> = bundles.iter().map(open).collect::<Result<_, _>>()?;
    let mut sources = of_bundles(&runtimes, args);
    for folder in files {
        let subjects = Subject::of_launch_files(folder)?.into_iter();
        sources.extend(subjects.filter(|one| args.takes(&one.name)).map(Source::of));
    }
    if args.list {
        for source in &sources {
            for mutant in mutants(&source.ptx) {
                let name = &source.name;
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
        only: args.mutant.clone(),
    };
    let record = args.record.as_deref().map(Record::open).transpose()?;
    let done = AtomicUsize::new(0);
    let judged = campaign::run(&sources, &plan, &record.unwrap_or_default(), |line| {
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(100) {
            eprintln!("{count} mutants, at {}", line.subject);
        }
    })?;
    if let Some(path) = &args.table {
        std::fs::write(path, format!("{}{}", args.head(), table(&judged, &rules)))?;
    }
    let score = Score::of(judged.iter().flat_map(|one| &one.lines), &rules);
    print(&score, &rules);
    if args.takes_all() {
        let unused = rules.0.iter().enumerate();
        for (_, rule) in unused.filter(|(place, _)| !score.rules.contains_key(place)) {
            println!("speaks of nothing: {rule}");
        }
    }
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
