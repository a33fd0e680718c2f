//! `build`: specs become a bundle.
//!
//! Every spec is checked before anything is compiled. Points of a tuning space that have no kernel
//! are dropped and counted; a point that compiles badly fails the build. Workers compile in
//! parallel, and the bundle is written only when all of it is good.

use tilewright_codegen::error::Error;
use tilewright_codegen::pack;
use tilewright_codegen::plan;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::SpecFile;

use crate::args;
use crate::jobs::{self, Job, Want};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::progress;
use crate::specs;
use crate::terminal::{self, GOOD};
use crate::worker::Crew;

/// Builds the bundle.
pub fn run(args: &args::Build) -> Outcome {
    let files = load_all(args)?;
    let (jobs, dropped) = feasible(&files)?;
    if ptxas::find().is_none() {
        terminal::diagnose("no ptxas: the kernels are not assembled; run ci/setup.sh to have it");
    }
    let crew = Crew::of_this_binary(args.jobs)?;
    let bar = progress::bar("compiling", jobs.len() as u64);
    let (artifacts, failures) = jobs::artifacts(&crew, &jobs, || bar.inc(1));
    progress::finish(&bar);
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    let kernels = artifacts.len();
    let hash = pack::write(artifacts, pack::provenance(), &args.output).map_err(specs::failure)?;
    let (good, path) = (terminal::paint(GOOD, "good"), args.output.display());
    let dropped = match dropped {
        0 => String::new(),
        count => format!(", {count} points without a kernel left out"),
    };
    terminal::print_line(&format!(
        "{good}: {path}, {kernels} kernels{dropped}, sha256 {hash}"
    ))?;
    Ok(Verdict::Good)
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
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok(files),
    }
}

/// A job for every point that has a kernel, and how many points have none. A spec all of whose
/// points have none is at fault.
fn feasible(files: &[SpecFile]) -> Result<(Vec<Job>, usize), Failure> {
    let mut jobs = Vec::new();
    let mut dropped = 0;
    let mut failures = Vec::new();
    for file in files {
        let before = jobs.len();
        let mut infeasible = Vec::new();
        for point in &file.points {
            match plan::plan(point) {
                Ok(_) => jobs.push(Job::new(file, point, Want::Artifact)),
                Err(error @ Error::Plan { .. }) => infeasible.push(error),
                Err(error) => failures.push(specs::failure(error)),
            }
        }
        if jobs.len() > before {
            dropped += infeasible.len();
        } else {
            failures.extend(infeasible.into_iter().map(specs::failure));
        }
    }
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => Ok((jobs, dropped)),
    }
}
