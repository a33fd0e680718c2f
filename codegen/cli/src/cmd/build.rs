//! `build`: specs become a bundle.
//!
//! Every spec is checked before anything is compiled. Points of a tuning space that have no plan
//! are left out, listed on stderr and counted by reason. A point that compiles badly (it spills,
//! the assembler warns, the compiler dies) fails the build, or is left out as well with
//! `--keep-going`. Workers compile in parallel, and the bundle is written only when all of the rest
//! is good; it takes the place of an earlier one, and a selection table that goes with that is
//! told, as are functions of which no kernel takes every problem.

use std::collections::BTreeMap;

use tilewright_bundle::{Bundle, Kernel, Tuning, without_last_resort};
use tilewright_codegen::pack::{self, Artifact};
use tilewright_codegen::plan;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::SpecFile;

use crate::args;
use crate::jobs::{self, DIED, Dropped, Infeasible, Job, Want};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::specs;
use crate::terminal::{self, GOOD};
use crate::worker::WorkerPool;

/// Builds the bundle.
pub fn run(args: &args::Build) -> Outcome {
    let files = load_all(args)?;
    let (jobs, mut dropped) = feasible(&files, Want::Artifact(jobs::line_info(args.line_info)))?;
    if ptxas::find().is_none() {
        terminal::diagnose("no ptxas: the kernels are not assembled; run ci/setup.sh to have it");
    }
    let pool = WorkerPool::of_this_binary(args.jobs, args.limit.time())?;
    let bar = progress::bar("compiling", jobs.len() as u64);
    let mut made = jobs::artifacts(&pool, &jobs, || bar.inc(1));
    progress::finish(&bar);
    if !args.keep_going {
        let failed = made
            .dropped
            .drain(..)
            .map(|one| match one.why.code.as_str() {
                DIED => Failure::Bug(one.why.report),
                _ => Failure::Rejected(one.why.report),
            });
        made.failures.extend(failed);
    }
    if let Some(failure) = Failure::all(made.failures) {
        return Err(failure);
    }
    dropped.append(&mut made.dropped);
    tell(&dropped, args.dropped);
    if made.artifacts.is_empty() {
        return Err(Failure::Rejected("no point has a kernel".to_owned()));
    }
    tell_uncovered(&made.artifacts, args.require_last_resort)?;
    let kernels = made.artifacts.len();
    let tuned = Bundle::open(&args.output)
        .ok()
        .and_then(|earlier| earlier.tuning().map(Tuning::points));
    let hash =
        pack::write(made.artifacts, pack::provenance(), &args.output).map_err(specs::failure)?;
    let (good, path) = (terminal::paint(GOOD, "good"), args.output.display());
    terminal::print_line(&format!(
        "{good}: {path}, {kernels} kernels{}, sha256 {hash}",
        counted(&dropped)
    ))?;
    if let Some(problems) = tuned {
        terminal::diagnose(&format!(
            "note: {path} had a selection table of {problems} problems, which is gone: `tune` with \
             the same --records makes it again, without measuring kernels that are the same"
        ));
    }
    Ok(Verdict::Good)
}

/// Tells of the functions that have no kernel for every problem, or fails.
fn tell_uncovered(artifacts: &[Artifact], is_required: bool) -> Result<(), Failure> {
    let kernels: Vec<&Kernel> = artifacts.iter().map(|one| &one.kernel).collect();
    let found = without_last_resort(&kernels);
    if found.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    if is_required {
        return Err(Failure::Rejected(format!(
            "{}\nadd for each a spec that assumes nothing, or leave --require-last-resort out",
            lines.join("\n")
        )));
    }
    for line in lines {
        terminal::diagnose(&format!("note: {line}"));
    }
    terminal::diagnose(
        "note: other problems are refused at run time; a spec that assumes nothing takes them",
    );
    Ok(())
}

/// Tells of the points that have no kernel, by reason: of each, or of the first for each reason.
fn tell(dropped: &[Dropped], all: bool) {
    let mut reasons: BTreeMap<&str, Vec<&Dropped>> = BTreeMap::new();
    for one in dropped {
        reasons.entry(&one.why.code).or_default().push(one);
    }
    for (code, points) in reasons {
        let told = if all { points.len() } else { 1 };
        for Dropped { point, why } in points.iter().take(told) {
            let limits = why.limits.lines().next().unwrap_or_default();
            terminal::diagnose(&format!("left out {point} ({code}): {limits}"));
        }
        if points.len() > told {
            let others = points.len() - told;
            terminal::diagnose(&format!(
                "left out {others} more ({code}): --dropped lists them"
            ));
        }
    }
}

/// How many points were left out, by reason: `, 3 points left out (smem-capacity 2, registers 1)`.
fn counted(dropped: &[Dropped]) -> String {
    if dropped.is_empty() {
        return String::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in dropped {
        *counts.entry(&one.why.code).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(code, n)| format!("{code} {n}"))
        .collect();
    format!(", {} points left out ({})", dropped.len(), parts.join(", "))
}

/// Loads every spec, so that the problems of all of them are told at once.
fn load_all(args: &args::Build) -> Result<Vec<SpecFile>, Failure> {
    let mut files = Vec::new();
    let mut failures = Vec::new();
    for path in specs::find(&args.specs.paths)? {
        match specs::load(&path) {
            Ok(file) => files.push(file),
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(specs::twice(&files).into_iter().map(Failure::Rejected));
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok(files),
    }
}

/// A job for every point that has a plan, and the points that have none. A spec all of whose points
/// have none is at fault.
fn feasible(files: &[SpecFile], want: Want) -> Result<(Vec<Job>, Vec<Dropped>), Failure> {
    let mut jobs = Vec::new();
    let mut dropped = Vec::new();
    let mut failures = Vec::new();
    for file in files {
        let before = jobs.len();
        let mut refused = Vec::new();
        for point in &file.points {
            match plan::plan(point) {
                Ok(_) => jobs.push(Job::new(file, point, want)),
                Err(error) => match Infeasible::of(&error) {
                    Some(why) => refused.push((Dropped::new(&point.id, why), error)),
                    None => failures.push(specs::failure_at(file, point, error)),
                },
            }
        }
        if jobs.len() > before {
            dropped.extend(refused.into_iter().map(|(dropped, _)| dropped));
        } else {
            let errors = refused.into_iter().map(|(_, error)| error);
            let reasons = specs::by_reason(file, errors.collect()).into_iter();
            failures.extend(
                reasons.map(|(error, count)| Failure::Rejected(specs::report_of(&error, count))),
            );
        }
    }
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok((jobs, dropped)),
    }
}
