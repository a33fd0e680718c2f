//! `build`: specs become a bundle.
//!
//! Every spec is checked before anything is compiled. Points of a tuning space that plan or
//! assembler refuse are left out, listed on stderr and counted by reason; a file of which nothing
//! is left fails the build. So does a point that the compiler dies of or takes too long for, which
//! is left out as well with `--keep-going`. Workers compile in parallel, and the bundle is written
//! only when all of the rest is good; it takes the place of an earlier one, and a selection table
//! that goes with that is told, as are functions of which no kernel takes every problem. With
//! `--cache` a catalogue that is the same is known by its hashes, and of one that is not the
//! changed specs are compiled.

mod locked;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tilewright_build::{Lock, left_out_by_arch, unjudged};
use tilewright_bundle::{
    Bundle, Capability, Kernel, LAST_RESORT, Sha256Hex, Tuning, may_write, shared_words,
    without_last_resort,
};
use tilewright_codegen::arch::{ARCHES, Arch};
use tilewright_codegen::kept::Kept;
use tilewright_codegen::pack::Artifact;
use tilewright_codegen::spec::SpecFile;
use tilewright_codegen::{Making, catalogue, plan};

use crate::args;
use crate::cmd::compiled::{self, How, compile};
use crate::jobs::{self, Dropped};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::quantity::counted;
use crate::specs;
use crate::terminal::{self, GOOD};

/// Builds the bundle.
pub fn run(args: &args::Build) -> Outcome {
    let line_info = jobs::line_info(args.line_info);
    let cubin = (args.cubin.as_str(), args.cubin_only);
    let making = Making::chosen(line_info, &args.ptxas, cubin).map_err(specs::failure)?;
    let paths = specs::find(&args.specs.paths)?;
    may_write(&args.output).map_err(Failure::could_not_run)?;
    if let Some(lock) = args.lock.iter().find(|_| !args.locked) {
        Lock::may_write(lock).map_err(Failure::could_not_run)?;
    }
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
    let how = How {
        archs: &args.arch,
        jobs: args.jobs,
        time: args.limit.time(),
        keep_going: args.keep_going,
    };
    let (artifacts, dropped) = compile(&how, &files, &making, kept.as_ref())?;
    let mut told = tell(&dropped, args.dropped);
    if artifacts.is_empty() {
        return Err(Failure::Rejected(match dropped.is_empty() {
            true => catalogue::none_runs(&files, &args.arch),
            false => "no point has a kernel".to_owned(),
        }));
    }
    if args.dropped {
        told.extend(artifacts.iter().flat_map(taken));
    }
    told.extend(uncovered(&artifacts, args.require_last_resort.as_deref())?);
    told.extend(of_one_word(&artifacts));
    told.extend(without_code(&artifacts, &making));
    let other_archs = left_out_by_arch(&files, &args.arch);
    told.extend(other_archs.map(|line| format!("note: {line}")));
    if making.ptxas.is_none() {
        told.push(format!("note: {}", unjudged()));
    }
    let kernels = counted(artifacts.len(), "kernel");
    let tuned = Bundle::open(&args.output)
        .ok()
        .and_then(|earlier| earlier.tuning().map(Tuning::points));
    let hash = locked::write(args, &files, artifacts, &making)?;
    let path = args.output.display();
    let left_out = left_out(&dropped);
    told.push(format!("{path}, {kernels}{left_out}, sha256 {hash}"));
    if let Some(problems) = tuned {
        let problems = counted(problems, "problem");
        terminal::diagnose(&format!(
            "note: {path} had a selection table of {problems}, which is gone: `tune` with \
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
    // What is no file is refused by who reads it as a spec, and may wait for a writer.
    let text = |path: &PathBuf| match path.is_file() {
        true => std::fs::read(path).unwrap_or_default(),
        false => Vec::new(),
    };
    let read = |path: &PathBuf| (path.clone(), text(path));
    let files: Vec<(PathBuf, Vec<u8>)> = files.map(read).collect();
    let hashes = files.iter().map(|(path, bytes)| {
        let hash = Sha256Hex::of(bytes);
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

/// Notes on what a kernel takes where the first value that its plan has does not do.
fn taken(artifact: &Artifact) -> Vec<String> {
    let id = &artifact.kernel.id;
    let taken = artifact.taken.iter();
    taken.map(|one| format!("note: {id} takes {one}")).collect()
}

/// Notes on the functions of several specs that have no kernel for every problem; or a failure,
/// where one is required on GPUs from `required` on, or on those that its kernels are for.
fn uncovered(artifacts: &[Artifact], required: Option<&str>) -> Result<Vec<String>, Failure> {
    let kernels: Vec<&Kernel> = artifacts.iter().map(|one| &one.kernel).collect();
    let is_required = required.is_some();
    let least = required.filter(|name| !name.is_empty());
    let least = least.map(capability).transpose()?;
    let mut found = without_last_resort(&kernels, least);
    // Who has written one spec of a function knows what it takes.
    found.retain(|one| is_required || one.specs.len() > 1);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    let is_possible = found.iter().any(|one| one.why_none.is_none());
    if is_required {
        let way_out = match is_possible {
            true => format!("add for each that may have one {LAST_RESORT}, or "),
            false => String::new(),
        };
        return Err(Failure::Rejected(format!(
            "{}\n{way_out}leave --require-last-resort out",
            lines.join("\n")
        )));
    }
    let notes = lines.iter().map(|line| format!("note: {line}"));
    if !is_possible {
        return Ok(notes.collect());
    }
    let out = format!("note: other problems are refused at run time; {LAST_RESORT} takes them");
    Ok(notes.chain([out]).collect())
}

/// The devices that an architecture's name stands for.
fn capability(name: &str) -> Result<Capability, Failure> {
    let known = || ARCHES.iter().map(|arch| arch.name).collect::<Vec<_>>();
    let arch = Arch::parse(name).ok_or_else(|| {
        Failure::CouldNotRun(format!(
            "--require-last-resort={name}: no architecture of this name: there are {}",
            known().join(", ")
        ))
    })?;
    Ok(Capability {
        min_sm: arch.sm,
        exact: arch.exact,
    })
}

/// A note on the first word and types that several functions share, by the specs they come from.
fn of_one_word(artifacts: &[Artifact]) -> Option<String> {
    let kernels: Vec<&Kernel> = artifacts.iter().map(|one| &one.kernel).collect();
    let shared = shared_words(&kernels);
    let (first, others) = shared.split_first()?;
    let others = match others.len() {
        0 => String::new(),
        others => format!("; so is it with {}", counted(others, "more word")),
    };
    Some(format!("note: {first}{others}"))
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
fn left_out(dropped: &[Dropped]) -> String {
    if dropped.is_empty() {
        return String::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in dropped.iter().flat_map(|one| &one.why.codes) {
        *counts.entry(code).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(code, n)| format!("{code} {n}"))
        .collect();
    let points = counted(dropped.len(), "point");
    format!(", {points} left out ({})", parts.join(", "))
}

/// Loads every spec, so that the problems of all of them are told at once.
fn load_all(paths: &[PathBuf]) -> Result<Vec<SpecFile>, Failure> {
    let mut files = Vec::new();
    let mut failures = Vec::new();
    for path in paths {
        match specs::load(path) {
            Ok(mut file) => {
                catalogue::doubt(&mut file);
                if let Some(report) = specs::warned(&file) {
                    terminal::diagnose(&report);
                }
                files.push(file);
            }
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(specs::twice(&files).into_iter().map(Failure::Rejected));
    if !failures.is_empty() {
        let has_plan = |file: &&SpecFile| file.points.iter().any(|point| plan::plan(point).is_ok());
        let good = files.iter().filter(has_plan).map(|file| file.path.as_str());
        let way_on = compiled::way_on(&good.collect::<Vec<_>>(), paths.len());
        failures.extend(way_on.map(Failure::Rejected));
    }
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok(files),
    }
}
