//! `build`: specs become a bundle.
//!
//! Every spec is checked before anything is compiled. Points of a tuning space that have no plan
//! are left out, listed on stderr and counted by reason. A point that compiles badly (it spills,
//! the assembler warns, the compiler dies) fails the build, or is left out as well with
//! `--keep-going`. Workers compile in parallel, and the bundle is written only when all of the rest
//! is good; it takes the place of an earlier one, and a selection table that goes with that is
//! told, as are functions of which no kernel takes every problem. With `--cache` a catalogue that
//! is the same is known by its hashes, and of one that is not the changed specs are compiled.

mod locked;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tilewright_bundle::{Bundle, Kernel, Tuning, without_last_resort};
use tilewright_codegen::kept::Kept;
use tilewright_codegen::pack::Artifact;
use tilewright_codegen::spec::SpecFile;
use tilewright_codegen::{Making, catalogue, plan};

use crate::args;
use crate::jobs::{self, Compiled, DIED, Dropped, Infeasible, Job, Want};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::specs;
use crate::terminal::{self, GOOD};
use crate::worker::WorkerPool;

/// Builds the bundle.
pub fn run(args: &args::Build) -> Outcome {
    let line_info = jobs::line_info(args.line_info);
    let cubin = (args.cubin.as_str(), args.cubin_only);
    let making = Making::chosen(line_info, &args.ptxas, cubin).map_err(specs::failure)?;
    let paths = specs::find(&args.specs.paths)?;
    let kept = match &args.cache {
        Some(folder) => Some(Kept::open(folder, making.ptxas.as_deref()).map_err(specs::failure)?),
        None => None,
    };
    let request = kept.as_ref().map(|_| asked(args, &paths));
    let last = kept.as_ref().zip(request.as_deref());
    if let Some(told) = last.and_then(|(kept, request)| kept.last(request, &args.output)) {
        return tell_result(&told, "unchanged");
    }
    let files = load_all(&paths)?;
    if making.ptxas.is_none() {
        terminal::diagnose("no ptxas: the kernels are not assembled; run ci/setup.sh to have it");
    }
    let (artifacts, dropped) = compile(args, &files, &making, kept.as_ref())?;
    let mut told = tell(&dropped, args.dropped);
    if artifacts.is_empty() {
        return Err(Failure::Rejected("no point has a kernel".to_owned()));
    }
    told.extend(uncovered(&artifacts, args.require_last_resort)?);
    told.extend(without_code(&artifacts, &making));
    let kernels = artifacts.len();
    let tuned = Bundle::open(&args.output)
        .ok()
        .and_then(|earlier| earlier.tuning().map(Tuning::points));
    let hash = locked::write(args, &files, artifacts, &making)?;
    let path = args.output.display();
    let counted = counted(&dropped);
    told.push(format!("{path}, {kernels} kernels{counted}, sha256 {hash}"));
    if let Some(problems) = tuned {
        terminal::diagnose(&format!(
            "note: {path} had a selection table of {problems} problems, which is gone: `tune` with \
             the same --records makes it again, without measuring kernels that are the same"
        ));
    }
    if let Some((kept, request)) = kept.as_ref().zip(request) {
        // What was locked is part of what was asked, and may have been written just now.
        let request = match args.lock.is_some() {
            true => asked(args, &paths),
            false => request,
        };
        kept.done(&request, &args.output, told.clone());
    }
    tell_result(&told, "good")
}

/// Everything that a build is asked, but for the tools: its arguments, and the texts of its files.
fn asked(args: &args::Build, paths: &[PathBuf]) -> String {
    let files = paths.iter().chain(&args.lock);
    let read = |path: &PathBuf| (path.clone(), std::fs::read(path).unwrap_or_default());
    let files: Vec<(PathBuf, Vec<u8>)> = files.map(read).collect();
    let hashes = files.iter().map(|(path, bytes)| {
        let hash = tilewright_bundle::Sha256Hex::of(bytes);
        format!("{} {hash}", path.display())
    });
    let hashes: Vec<String> = hashes.collect();
    format!("{args:?}\n{}", hashes.join("\n"))
}

/// Tells what came of it: notes on the way, and the result, which is the last line.
fn tell_result(told: &[String], word: &str) -> Outcome {
    let Some((result, notes)) = told.split_last() else {
        return Ok(Verdict::Good);
    };
    for note in notes {
        terminal::diagnose(note);
    }
    terminal::print_line(&format!("{}: {result}", terminal::paint(GOOD, word)))?;
    Ok(Verdict::Good)
}

/// The kernels of all points that have one, and the points that have none.
fn compile(
    args: &args::Build,
    files: &[SpecFile],
    making: &Making,
    kept: Option<&Kept>,
) -> Result<(Vec<Artifact>, Vec<Dropped>), Failure> {
    let Feasible {
        jobs,
        kept: mut artifacts,
        mut dropped,
    } = feasible(files, args, making, kept)?;
    let pool = WorkerPool::of_this_binary(args.jobs, args.limit.time())?;
    let bar = progress::bar("compiling", jobs.len() as u64);
    let mut made = match jobs.is_empty() {
        true => Compiled::default(),
        false => jobs::artifacts(&pool, &jobs, || bar.inc(1)),
    };
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
    if let Some(kept) = kept {
        for artifact in &made.artifacts {
            let has = |file: &&SpecFile| file.points.iter().any(|p| p.id == artifact.kernel.id);
            if let Some(file) = files.iter().find(has) {
                kept.keep(file, artifact, making);
            }
        }
    }
    if let Some(failure) = Failure::all(made.failures) {
        return Err(failure);
    }
    dropped.append(&mut made.dropped);
    artifacts.append(&mut made.artifacts);
    Ok((artifacts, dropped))
}

/// Notes on the functions that have no kernel for every problem, or a failure.
fn uncovered(artifacts: &[Artifact], is_required: bool) -> Result<Vec<String>, Failure> {
    let kernels: Vec<&Kernel> = artifacts.iter().map(|one| &one.kernel).collect();
    let found = without_last_resort(&kernels);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    if is_required {
        return Err(Failure::Rejected(format!(
            "{}\nadd for each a spec that assumes nothing, or leave --require-last-resort out",
            lines.join("\n")
        )));
    }
    let notes = lines.iter().map(|line| format!("note: {line}"));
    let out =
        "note: other problems are refused at run time; a spec that assumes nothing takes them";
    Ok(notes.chain([out.to_owned()]).collect())
}

/// A note on the kernels that have no machine code where others do.
fn without_code(artifacts: &[Artifact], making: &Making) -> Option<String> {
    let code = making.machine_code?;
    let lacking = artifacts.iter().filter(|one| one.cubin.is_none()).count();
    let first = artifacts.iter().find(|one| one.cubin.is_none())?;
    Some(format!(
        "note: {lacking} of {} kernels have PTX alone, such as {}: they do not run on {code}",
        artifacts.len(),
        first.kernel.id
    ))
}

/// Lines on the points that have no kernel, by reason: on each, or the first for each reason.
fn tell(dropped: &[Dropped], all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reasons: BTreeMap<&str, Vec<&Dropped>> = BTreeMap::new();
    for one in dropped {
        reasons.entry(&one.why.code).or_default().push(one);
    }
    for (code, points) in reasons {
        let told = if all { points.len() } else { 1 };
        for Dropped { point, why } in points.iter().take(told) {
            let limits = why.limits.lines().next().unwrap_or_default();
            lines.push(format!("left out {point} ({code}): {limits}"));
        }
        if points.len() > told {
            let others = points.len() - told;
            lines.push(format!(
                "left out {others} more ({code}): --dropped lists them"
            ));
        }
    }
    lines
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
fn load_all(paths: &[PathBuf]) -> Result<Vec<SpecFile>, Failure> {
    let mut files = Vec::new();
    let mut failures = Vec::new();
    for path in paths {
        match specs::load(path) {
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

/// Points by what is to be done with them.
#[derive(Default)]
struct Feasible {
    /// Those to compile.
    jobs: Vec<Job>,
    /// The kernels of those that were made before.
    kept: Vec<Artifact>,
    /// Those that have no plan.
    dropped: Vec<Dropped>,
}

/// What is to be done with every point that the devices run. A spec all of whose points have no
/// plan is at fault.
fn feasible(
    files: &[SpecFile],
    args: &args::Build,
    making: &Making,
    kept: Option<&Kept>,
) -> Result<Feasible, Failure> {
    let mut found = Feasible::default();
    let mut failures = Vec::new();
    for file in files {
        let count = |found: &Feasible| found.jobs.len() + found.kept.len();
        let before = count(&found);
        let mut refused = Vec::new();
        for point in &file.points {
            if !catalogue::runs_on(&point.spec.arch, &args.arch).map_err(specs::failure)? {
                continue;
            }
            let known = kept.and_then(|kept| kept.find(file, point, making));
            if let Some(artifact) = known {
                found.kept.push(artifact);
                continue;
            }
            match plan::plan(point) {
                Ok(_) => {
                    let want = Want::Artifact(making.clone());
                    found.jobs.push(Job::new(file, point, want));
                }
                Err(error) => match Infeasible::of(&error) {
                    Some(why) => refused.push((Dropped::new(&point.id, why), error)),
                    None => failures.push(specs::failure_at(file, point, error)),
                },
            }
        }
        if count(&found) > before {
            let dropped = refused.into_iter().map(|(dropped, _)| dropped);
            found.dropped.extend(dropped);
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
        None => Ok(found),
    }
}
