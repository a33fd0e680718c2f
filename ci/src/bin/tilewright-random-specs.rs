//! Draws specs at random over the whole schema, or as users write them (`--written`), judges each
//! from its text to results on the emulator, and counts what became of them.
//!
//! `cargo run --release -p tilewright-ci --bin tilewright-random-specs -- --count 20000` is the
//! whole campaign; `--budget-s 60` draws for that long; `--show SEED` prints one spec and its
//! verdict. Faults are written into the folder `--out` as specs that hold no key too many, each
//! with what was said of it beside it. Faults and counts are told on stderr as they come. Exit code
//! 0 when there is no fault and ptxas refused no more than it may, 1 otherwise, 2 when it could not
//! run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Parser;
use tilewright_ci::random_specs::campaign::{Judged, WorkerPool, serve};
use tilewright_ci::random_specs::draft::Draft;
use tilewright_ci::random_specs::judge::{End, JudgeOptions, Verdict, judge};
use tilewright_ci::random_specs::tally::Tally;
use tilewright_ci::random_specs::{draw, formulas, written};

/// Specs between two lines of counts.
const TOLD_EVERY: usize = 25;

/// Draws specs and judges what the generator makes of them.
#[derive(Debug, Parser)]
struct Args {
    /// The first seed; each spec takes the next one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many specs
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Begin no spec after so many seconds
    #[arg(long)]
    budget_s: Option<u64>,
    /// Processes at once [default: one per core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Problems of each kernel on the emulator
    #[arg(long, default_value_t = 2)]
    problems: usize,
    /// Longest time for one spec, in seconds
    #[arg(long, default_value_t = 120)]
    limit_s: u64,
    /// Have ptxas judge the kernels as well
    #[arg(long)]
    assemble: bool,
    /// Write faults into this folder
    #[arg(long)]
    out: Option<PathBuf>,
    /// Most faults of one kind that are made small and written
    #[arg(long, default_value_t = 2)]
    most: usize,
    /// Draw formulas and keys as users write them, in place of the whole schema of products and
    /// copies
    #[arg(long)]
    written: bool,
    /// Draw functions of elements that are folded, pass after pass, and deep expressions
    #[arg(long, conflicts_with = "written")]
    formulas: bool,
    /// Print the spec of this seed and its verdict, judged in this very process
    #[arg(long)]
    show: Option<u64>,
    /// Judge specs from stdin, one JSON object a line
    #[arg(long, hide = true)]
    worker: bool,
}

fn run(args: &Args) -> io::Result<bool> {
    let how = JudgeOptions {
        problems: args.problems,
        seed: args.seed,
        assemble: args.assemble,
    };
    let draw: fn(u64) -> Draft = match (args.written, args.formulas) {
        (true, _) => written::write,
        (false, true) => formulas::draw,
        (false, false) => draw::draw,
    };
    if args.worker {
        return serve().map(|()| true);
    }
    if let Some(seed) = args.show {
        let text = draw(seed).yaml();
        println!("{text}");
        let verdict = judge(&text, how);
        println!(
            "# {} {}\n{}",
            verdict.end.name(),
            verdict.code,
            verdict.text
        );
        return Ok(!verdict.end.is_fault());
    }
    let pool = WorkerPool {
        program: std::env::current_exe()?,
        size: match args.jobs {
            Some(jobs) => jobs,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        },
        limit: Duration::from_secs(args.limit_s),
        how,
        draw,
    };
    let begun = Instant::now();
    let budget = args.budget_s.map(Duration::from_secs);
    let go_on =
        |number| number < args.count && budget.is_none_or(|budget| begun.elapsed() < budget);
    let seen = Mutex::new(Tally::default());
    let all = pool.run(args.seed, go_on, |one| {
        let mut seen = seen.lock().unwrap_or_else(|poison| poison.into_inner());
        seen.add(one);
        tell(one, &seen, begun);
    });
    let tally = Tally::of(&all);
    print!("{}", tally.table());
    let faults: Vec<&Judged> = all
        .iter()
        .filter(|one| one.verdict.end.is_fault())
        .collect();
    if let Some(folder) = &args.out {
        write_faults(&pool, &faults, args.most, folder)?;
    }
    println!("{} faults in {} specs", tally.faults(), tally.total());
    Ok(!tally.is_exceeded())
}

/// Tells of a fault and of what the assembler refused at once, and the counts now and then, so that
/// a campaign that is stopped has told what it saw.
fn tell(one: &Judged, seen: &Tally, begun: Instant) {
    let Verdict { end, code, text } = &one.verdict;
    if end.is_fault() || *end == End::RefusedByAssembler {
        eprintln!("seed {}: {} {code}\n{text}", one.seed, end.name());
    }
    if seen.total().is_multiple_of(TOLD_EVERY) {
        eprintln!("{:.0?}: {}", begun.elapsed(), seen.line());
    }
}

/// Writes each kind of fault, made small, with what was said of it.
fn write_faults(
    pool: &WorkerPool,
    faults: &[&Judged],
    most: usize,
    folder: &Path,
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut written: Vec<&Judged> = Vec::new();
    for fault in faults {
        let class = fault.verdict.class();
        if written
            .iter()
            .filter(|one| one.verdict.class() == class)
            .count()
            >= most
        {
            continue;
        }
        written.push(fault);
        let small = pool.shrink(fault);
        let stem = format!("drawn_{}", fault.seed);
        let head = format!("# {} {}\n", fault.verdict.end.name(), fault.verdict.code);
        fs::write(folder.join(format!("{stem}.yaml")), head + &small.yaml())?;
        fs::write(folder.join(format!("{stem}.txt")), &fault.verdict.text)?;
    }
    Ok(())
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
