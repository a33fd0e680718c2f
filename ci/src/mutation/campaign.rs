//! Many mutants of many kernels on every core.
//!
//! A subject is made only when one of its mutants has no fate in the record. With a sample, the
//! mutants of each subject are drawn by a seed.

use rayon::prelude::*;
use tilewright_bundle::{Kernel, Sha256Hex};
use tilewright_runtime::Runtime;

use super::Subject;
use super::judge::{Fate, Judge, Rasters};
use super::operators::{Mutant, mutants};
use super::record::{Line, Record};
use crate::subject::{DistinguishingProblems, Failure, launches};

/// A kernel whose launches are not made yet.
pub struct Source<'a> {
    /// The kernel's id, or the launch file's.
    pub name: String,
    /// The PTX.
    pub ptx: String,
    /// Makes the launches.
    pub make: Box<dyn Fn() -> Result<Subject, Failure> + Send + Sync + 'a>,
    /// Makes launches of many tiles.
    pub rasters: Box<Rasters<'a>>,
}

impl<'a> Source<'a> {
    /// A kernel of a bundle on the problems that tell.
    pub fn of_kernel(runtime: &'a Runtime, kernel: &'a Kernel) -> Source<'a> {
        Source {
            name: kernel.id.clone(),
            ptx: runtime.bundle().ptx(kernel).to_owned(),
            make: Box::new(|| {
                let problems = DistinguishingProblems::of(kernel, runtime.device().info());
                Subject::of_kernel(runtime, kernel, &problems)
            }),
            rasters: Box::new(|| {
                let device = runtime.device().info();
                let problems = DistinguishingProblems::of(kernel, device);
                launches(device, kernel, &problems.rasters)
            }),
        }
    }

    /// A subject that is ready.
    pub fn of(subject: Subject) -> Source<'a> {
        Source {
            name: subject.name.clone(),
            ptx: subject.ptx.clone(),
            make: Box::new(move || Ok(subject.clone())),
            rasters: Box::new(|| Ok(Vec::new())),
        }
    }
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Schedules of each launch.
    pub schedules: usize,
    /// Mutants of each subject, and the seed they are drawn by; all without it.
    pub sample: Option<(usize, u64)>,
    /// Only mutants with these words in `id | instruction | what it became`.
    pub only: Option<String>,
}

/// What became of the mutants of one source.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The kernel's id, or the launch file's.
    pub subject: String,
    /// The hash of its text.
    pub ptx: String,
    /// How many mutants it has.
    pub all: usize,
    /// Those that were to be judged.
    pub lines: Vec<Line>,
}

/// Runs the mutants of all sources; `progress` is called with each that is judged.
///
/// # Errors
/// When a subject is not right without a change, or the record cannot be written.
pub fn run(
    sources: &[Source<'_>],
    plan: &Plan,
    record: &Record,
    progress: impl Fn(&Line) + Sync,
) -> Result<Vec<Judged>, Failure> {
    let judged = sources
        .par_iter()
        .map(|source| one(source, plan, record, &progress));
    judged.collect()
}

/// The mutants of one source.
fn one(
    source: &Source<'_>,
    plan: &Plan,
    record: &Record,
    progress: &(impl Fn(&Line) + Sync),
) -> Result<Judged, Failure> {
    let ptx = Sha256Hex::of(source.ptx.as_bytes()).to_string();
    let all = mutants(&source.ptx);
    let count = all.len();
    let known = |mutant: &Mutant| record.fate(&source.name, &ptx, &mutant.id);
    let mutants = chosen(source, plan, all, |mutant| known(mutant).is_some());
    let new = |mutant: &&Mutant| known(mutant).is_none();
    let new: Vec<Mutant> = mutants.iter().filter(new).cloned().collect();
    let subject = match new[..] {
        [] => None,
        _ => Some((source.make)()?),
    };
    let judge = |one| Judge::new(one, &new, plan.schedules, &*source.rasters);
    let judge = subject.as_ref().map(judge).transpose()?;
    let lines = mutants.par_iter().map(|mutant| {
        let told = known(mutant).map(Fate::parse);
        let place = new.iter().position(|one| one.id == mutant.id);
        let fate = match (&told, &judge, place) {
            (None, Some(judge), Some(place)) => judge.judge(place)?,
            (told, ..) => told.clone().unwrap_or(Fate::Equal),
        };
        let line = Line {
            subject: source.name.clone(),
            ptx: ptx.clone(),
            mutant: mutant.id.clone(),
            was: mutant.was.clone(),
            meaning: mutant.meaning.clone(),
            nth: mutant.nth,
            is: mutant.is.clone(),
            fate: fate.text().to_owned(),
        };
        if told.is_none() {
            record.append(&line)?;
        }
        progress(&line);
        Ok(line)
    });
    Ok(Judged {
        subject: source.name.clone(),
        lines: lines.collect::<Result<_, Failure>>()?,
        all: count,
        ptx,
    })
}

/// The mutants to run: all, or as many as the sample asks for, and those that are known.
fn chosen(
    source: &Source<'_>,
    plan: &Plan,
    mut all: Vec<Mutant>,
    known: impl Fn(&Mutant) -> bool,
) -> Vec<Mutant> {
    if let Some(words) = &plan.only {
        all.retain(|one| format!("{} | {} | {}", one.id, one.was, one.is).contains(words));
    }
    let Some((count, seed)) = plan.sample else {
        return all;
    };
    // The order of hashes is as good as drawing lots, and does not depend on other mutants.
    let lot = |one: &Mutant| {
        let text = format!("{seed} {} {}", source.name, one.id);
        Sha256Hex::of(text.as_bytes()).to_string()
    };
    all.sort_by_cached_key(lot);
    let drawn = all.into_iter().enumerate();
    let kept = drawn.filter(|(place, one)| *place < count || known(one));
    kept.map(|(_, one)| one).collect()
}
