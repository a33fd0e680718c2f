//! Many specs at once, in this process: what a build script compiles.
//!
//! Comes in: spec files, how they are to be made, kernels made before. Goes out: every kernel, or
//! every spec's errors in the order of the files. LLVM runs in this process: what it cannot select
//! ends it with LLVM's own message. The command has workers for that.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::Making;
use crate::arch::Arch;
use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::pack::{self, Artifact};
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

/// Whether a GPU of one of these architectures runs what is made for that one; without any, all do.
///
/// # Errors
/// [`Error::Unsupported`] for a name that is none.
pub fn runs_on(arch: &Arch, devices: &[String]) -> Result<bool> {
    let mut runs = devices.is_empty();
    for name in devices {
        let device = Arch::parse(name).ok_or_else(|| Error::Unsupported {
            feature: format!("architecture {name:?}"),
            arch: "any GPU".to_owned(),
            hint: "say sm_80, sm_90, sm_100 …".to_owned(),
        })?;
        runs |= pack::capability(arch).allows(device.sm);
    }
    Ok(runs)
}

/// Compiles these points, `jobs` at a time, but for those that are kept.
///
/// # Errors
/// The errors of all points, in their order.
pub fn compile(
    points: &[(&SpecFile, &Point)],
    making: &Making,
    kept: &Kept,
    jobs: Option<NonZeroUsize>,
) -> std::result::Result<Vec<Artifact>, Vec<Error>> {
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
    let (mut artifacts, mut errors) = (Vec::new(), Vec::new());
    for one in made {
        match one {
            Ok(artifact) => artifacts.push(artifact),
            Err(error) => errors.push(error),
        }
    }
    match errors.is_empty() {
        true => Ok(artifacts),
        false => Err(errors),
    }
}

fn one(file: &SpecFile, point: &Point, making: &Making, kept: &Kept) -> Result<Artifact> {
    if let Some(artifact) = kept.find(file, point, making) {
        return Ok(artifact);
    }
    let artifact = crate::artifact(file, point, making).map_err(|error| file.place(error))?;
    kept.keep(file, &artifact, making);
    Ok(artifact)
}
