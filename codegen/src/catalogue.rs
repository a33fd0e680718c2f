//! Many specs at once, in this process: what a build script compiles.
//!
//! Comes in: spec files, how they are to be made, kernels made before. Goes out: every kernel, with
//! the points that have none; or every spec's errors in the order of the files. LLVM runs in
//! this process: what it cannot select ends it with LLVM's own message. The command has workers for
//! that.

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use tilewright_bundle::Capability;

use crate::Making;
use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::pack::{self, Artifact};
use crate::plan::{doubts, plan};
use crate::spec::{self, Point, SpecFile};

/// Reads and checks spec files.
///
/// # Errors
/// Every file's errors, in the order of the files.
pub fn load(files: &[PathBuf]) -> std::result::Result<Vec<SpecFile>, Vec<Error>> {
    let (mut loaded, mut errors) = (Vec::new(), Vec::new());
    for file in files {
        match spec::load(file) {
            Ok(file) => loaded.push(file),
            Err(error) => errors.push(error),
        }
    }
    match errors.is_empty() {
        true => Ok(loaded),
        false => Err(errors),
    }
}

/// Adds what the plans of a file's points are slow by to what the file is warned of. What has no
/// plan is refused by who compiles it.
pub fn doubt(file: &mut SpecFile) {
    let plans = file.points.iter();
    let plans: Vec<_> = plans
        .filter_map(|point| Some((point, plan(point).ok()?)))
        .collect();
    let found = doubts(file, &plans).unwrap_or_default();
    file.warnings.extend(found);
}

/// What is legal in specs and may not be meant: the report of each file that has any, in the order
/// of the files. Builds tell it and go on.
pub fn warned(files: &[SpecFile]) -> Vec<String> {
    let reports = files.iter().map(|file| file.warned(false));
    reports.filter(|report| !report.is_empty()).collect()
}

/// Whether a GPU of one of these architectures runs what is made for that one; without any, all do.
///
/// # Errors
/// [`Error::Unsupported`] for a name that is none.
pub fn runs_on(arch: &Arch, devices: &[String]) -> Result<bool> {
    let mut runs = devices.is_empty();
    for name in devices {
        let device = Capability::of_arch(name).ok_or_else(|| Error::Unsupported {
            feature: format!("architecture {name:?}"),
            arch: "any GPU".to_owned(),
            hint: "say sm_80, sm_90, sm_100 …".to_owned(),
        })?;
        runs |= pack::capability(arch).allows(device.min_sm);
    }
    Ok(runs)
}

/// What is said where GPUs of these architectures run none of what is made of the files.
pub fn none_runs(files: &[SpecFile], devices: &[String]) -> String {
    let points = files.iter().flat_map(|file| &file.points);
    let made: BTreeSet<&str> = points.map(|point| point.spec.problem.arch.name).collect();
    let made: Vec<&str> = made.into_iter().collect();
    format!(
        "no spec has a kernel that {} runs: those of these specs are for {}, and run on newer GPUs \
         too, but for names that end in `a`; ask for one of these, or change `arch` in a spec",
        devices.join(" or "),
        made.join(", ")
    )
}

/// What came of one point.
#[derive(Debug)]
pub enum End<R> {
    /// Its kernel.
    Made(Box<Artifact>),
    /// It has none: plan or assembler refuse it.
    Refused(R),
}

/// What came of the points of several files.
#[derive(Debug)]
pub struct Sifted<R> {
    /// The kernels, in the order of the points.
    pub artifacts: Vec<Artifact>,
    /// Points that have none, of files that have others.
    pub left_out: Vec<(String, R)>,
    /// Points of files that have none at all, file after file.
    pub none_left: Vec<Vec<(String, R)>>,
}

/// What is left of the points of several files, one file's behind one another: a point that is
/// refused is left out where its file has another, as tuning spaces have them; a file of which
/// nothing is left is at fault. It is the one policy of the command and of build steps.
pub fn sifted<'f, R>(
    points: impl IntoIterator<Item = ((&'f SpecFile, &'f Point), End<R>)>,
) -> Sifted<R> {
    let mut sifted = Sifted {
        artifacts: Vec::new(),
        left_out: Vec::new(),
        none_left: Vec::new(),
    };
    let mut points = points.into_iter().peekable();
    while let Some(((file, point), end)) = points.next() {
        let mut ends = vec![(point, end)];
        while let Some(((_, point), end)) =
            points.next_if(|((other, _), _)| std::ptr::eq(*other, file))
        {
            ends.push((point, end));
        }
        let (before, mut refused) = (sifted.artifacts.len(), Vec::new());
        for (point, end) in ends {
            match end {
                End::Made(artifact) => sifted.artifacts.push(*artifact),
                End::Refused(why) => refused.push((point.id.clone(), why)),
            }
        }
        match sifted.artifacts.len() > before {
            true => sifted.left_out.append(&mut refused),
            false => sifted.none_left.push(refused),
        }
    }
    sifted
}

/// The kernels of a catalogue, and what it does without.
#[derive(Debug)]
pub struct Built {
    /// The kernels, in the order of the points.
    pub artifacts: Vec<Artifact>,
    /// Points that have none, with why, of files that have others.
    pub left_out: Vec<(String, Error)>,
}

/// Compiles these points, `jobs` at a time, but for those that are kept. Points of one file stand
/// behind one another.
///
/// # Errors
/// What keeps files from having any kernel, with a way out that was tried; everything that is no
/// refusal of a point.
pub fn compile(
    points: &[(&SpecFile, &Point)],
    making: &Making,
    kept: &Kept,
    jobs: Option<NonZeroUsize>,
) -> std::result::Result<Built, Vec<Error>> {
    // No number of threads is as many as there are cores.
    let jobs = jobs.map_or(0, NonZeroUsize::get).min(points.len());
    let pool = ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| {
        let (path, source) = ("threads".to_owned(), io::Error::other(error));
        vec![Error::Io { path, source }]
    })?;
    let made: Vec<Result<Artifact>> = pool.install(|| {
        let points = points.par_iter();
        let made = points.map(|(file, point)| one(file, point, making, kept));
        made.collect()
    });
    let (mut ends, mut errors) = (Vec::new(), Vec::new());
    for (at, one) in points.iter().zip(made) {
        match one {
            Ok(artifact) => ends.push((*at, End::Made(Box::new(artifact)))),
            Err(error @ Error::Plan { .. }) => ends.push((*at, End::Refused(error))),
            Err(error) => errors.push(error),
        }
    }
    let sifted = sifted(ends);
    for refused in sifted.none_left {
        errors.extend(first_of_each(points, making, refused));
    }
    match errors.is_empty() {
        true => Ok(Built {
            artifacts: sifted.artifacts,
            left_out: sifted.left_out,
        }),
        false => Err(errors),
    }
}

/// The first error of each kind, with a way out.
fn first_of_each(
    points: &[(&SpecFile, &Point)],
    making: &Making,
    refused: Vec<(String, Error)>,
) -> Vec<Error> {
    let mut known: Vec<&str> = Vec::new();
    let mut errors = Vec::new();
    for (id, error) in refused {
        let code = error.first_code();
        if known.contains(&code) {
            continue;
        }
        known.push(code);
        let at = points.iter().find(|(_, point)| point.id == id);
        errors.push(match at {
            Some((file, point)) => file.place(crate::with_way_out(point, making, error)),
            None => error,
        });
    }
    errors
}

fn one(file: &SpecFile, point: &Point, making: &Making, kept: &Kept) -> Result<Artifact> {
    if let Some(artifact) = kept.find(file, point, making) {
        return Ok(artifact);
    }
    let artifact = crate::artifact(file, point, making).map_err(|error| file.place(error))?;
    kept.keep(file, &artifact, making);
    Ok(artifact)
}
