//! What becomes of the points of specs: planned, compiled by workers, assembled.
//!
//! Points that the compiler dies of or takes too long for are at fault, unless they are to be left
//! out; a file of which nothing is left is.

use std::num::NonZeroUsize;
use std::time::Duration;

use tilewright_codegen::catalogue::{self, End};
use tilewright_codegen::kept::Kept;
use tilewright_codegen::pack::Artifact;
use tilewright_codegen::spec::{Point, SpecFile};
use tilewright_codegen::{Making, plan};

use crate::jobs::{self, Answer, DIED, Dropped, Infeasible, Job, Want};
use crate::outcome::Failure;
use crate::progress;
use crate::specs;
use crate::worker::WorkerPool;

/// How points are compiled.
#[derive(Debug)]
pub struct How<'a> {
    /// The GPUs whose points are, by architecture; all where there is none.
    pub archs: &'a [String],
    /// Workers at once; one per core where it is not said.
    pub jobs: Option<NonZeroUsize>,
    /// The longest time of a kernel.
    pub time: Duration,
    /// Whether points are left out that the compiler dies of.
    pub keep_going: bool,
}

/// The kernels of all points that have one, and the points that have none.
pub fn compile(
    how: &How<'_>,
    files: &[SpecFile],
    making: &Making,
    kept: Option<&Kept>,
) -> Result<(Vec<Artifact>, Vec<Dropped>), Failure> {
    let (ends, mut failures) = ends(how, files, making, kept)?;
    let made = |path: &str| {
        let mut own = ends.iter().filter(|((file, _), _)| file.path == path);
        own.any(|(_, end)| matches!(end, End::Made(_)))
    };
    let paths = files.iter().map(|file| file.path.as_str());
    let good: Vec<&str> = paths.filter(|path| made(path)).collect();
    // Points that the compiler dies of are at fault, unless all that have none are left out.
    let (ends, failed): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, end)| match end {
        End::Refused(why) => how.keep_going || !why.is_the_workers(),
        End::Made(_) => true,
    });
    failures.extend(failed.into_iter().filter_map(|(_, end)| match end {
        End::Refused(why) if why.code == DIED => Some(Failure::Bug(why.report)),
        End::Refused(why) => Some(Failure::Rejected(why.report)),
        End::Made(_) => None,
    }));
    let sifted = catalogue::sifted(ends);
    let dropped = |(point, why): (String, Infeasible)| Dropped::new(&point, why);
    let mut left_out: Vec<Dropped> = sifted.left_out.into_iter().map(dropped).collect();
    for refused in sifted.none_left {
        let of_workers = refused.iter().any(|(_, why)| why.is_the_workers());
        match how.keep_going && of_workers {
            true => left_out.extend(refused.into_iter().map(dropped)),
            false => failures.push(Failure::Rejected(none_left(how, files, making, refused)?)),
        }
    }
    if let Some(way_on) = way_on(&good, files.len()).filter(|_| !failures.is_empty()) {
        failures.push(Failure::Rejected(way_on));
    }
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok((sifted.artifacts, left_out)),
    }
}

/// Most specs that are named of those that a build might be of.
const NAMED: usize = 8;

/// How to go on where some of so many specs have no kernel; none where no other is left.
pub fn way_on(good: &[&str], all: usize) -> Option<String> {
    if good.is_empty() || good.len() == all {
        return None;
    }
    let some: Vec<&str> = good.iter().take(NAMED).copied().collect();
    let more = good.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Some(format!(
        "no bundle is written while a spec is refused: {} of {all} are good and can be built \
         without the others: {}{more}",
        good.len(),
        some.join(" ")
    ))
}

/// A point of a file.
pub type At<'f> = (&'f SpecFile, &'f Point);
/// Points with what came of them.
pub type Ends<'f> = Vec<(At<'f>, End<Infeasible>)>;

/// What came of every point that the devices run, in their order; and what went wrong besides.
pub fn ends<'f>(
    how: &How<'_>,
    files: &'f [SpecFile],
    making: &Making,
    kept: Option<&Kept>,
) -> Result<(Ends<'f>, Vec<Failure>), Failure> {
    let (mut ends, mut failures) = (Vec::new(), Vec::new());
    let (mut at, mut jobs) = (Vec::new(), Vec::new());
    for (file, point) in (files.iter()).flat_map(|file| file.points.iter().map(move |p| (file, p)))
    {
        if !catalogue::runs_on(&point.spec.problem.arch, how.archs).map_err(specs::failure)? {
            continue;
        }
        let known = kept.and_then(|kept| kept.find(file, point, making));
        let end = match (known, plan::plan(point)) {
            (Some(artifact), _) => Some(End::Made(Box::new(artifact))),
            (None, Ok(_)) => {
                at.push(ends.len());
                jobs.push(Job::new(file, point, Want::Artifact(making.clone())));
                None
            }
            (None, Err(error)) => match Infeasible::of(&error) {
                Some(_) => Infeasible::of(&file.place(error)).map(End::Refused),
                None => {
                    failures.push(specs::failure_at(file, point, error));
                    continue;
                }
            },
        };
        ends.push(((file, point), end));
    }
    for (at, answer) in at.into_iter().zip(made(how, &jobs)?) {
        let ((file, _), end) = &mut ends[at];
        *end = match answer {
            Answer::Made(artifact) => {
                if let Some(kept) = kept {
                    kept.keep(file, &artifact, making);
                }
                Some(End::Made(artifact))
            }
            Answer::Refused(why) => Some(End::Refused(why)),
            Answer::Failed(failure) => {
                failures.push(failure);
                None
            }
        };
    }
    let ends = ends.into_iter();
    let ends = ends.filter_map(|(at, end)| Some((at, end?))).collect();
    Ok((ends, failures))
}

/// What workers make of these jobs.
fn made(how: &How<'_>, jobs: &[Job]) -> Result<Vec<Answer>, Failure> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let pool = WorkerPool::of_this_binary(how.jobs, how.time)?;
    let bar = progress::bar("compiling", jobs.len() as u64);
    let answers = jobs::artifacts(&pool, jobs, || bar.inc(1));
    progress::finish(&bar);
    Ok(answers)
}

/// The reports of a file of which nothing is left: the first point of each kind of refusal, with
/// what builds where there is an assembler, and how many there are.
pub fn none_left(
    how: &How<'_>,
    files: &[SpecFile],
    making: &Making,
    refused: Vec<(String, Infeasible)>,
) -> Result<String, Failure> {
    let mut kinds: Vec<(String, Infeasible, usize)> = Vec::new();
    for (point, why) in refused {
        match kinds
            .iter_mut()
            .find(|(_, known, _)| known.code == why.code)
        {
            Some((.., count)) => *count += 1,
            None => kinds.push((point, why, 1)),
        }
    }
    let job = |point: &str| {
        let at = files
            .iter()
            .find_map(|file| Some((file, file.point(point)?)));
        at.map(|(file, point)| Job::new(file, point, Want::WayOut(making.clone())))
    };
    let mut reports = String::new();
    for (point, why, count) in kinds {
        let is_judged = making.ptxas.is_some();
        let jobs: Vec<Job> = is_judged
            .then(|| job(&point))
            .flatten()
            .into_iter()
            .collect();
        // A way out that takes too long is none.
        let found = made(how, &jobs)?.into_iter().next();
        let why = match found {
            Some(Answer::Refused(found)) if !found.is_the_workers() => found,
            _ => why,
        };
        reports.push_str(&specs::with_count(why.report, count));
    }
    Ok(reports)
}
