//! The generator in this very process.
//!
//! LLVM ends its process on what it cannot select: the build then ends with LLVM's own message.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tilewright_bundle::Bundle;
use tilewright_codegen::error::Error as CodegenError;
use tilewright_codegen::kept::Kept;
use tilewright_codegen::ptx::ptxas;
use tilewright_codegen::spec::{Point, SpecFile};
use tilewright_codegen::{LineInfo, Making, catalogue, pack};

use crate::error::Error;
use crate::left_out;
use crate::lock::{Checked, Inputs, Lock, SpecText};

/// What is to be generated.
pub(crate) struct Request<'a> {
    pub files: &'a [PathBuf],
    pub cache: &'a Path,
    pub path: &'a Path,
    pub archs: &'a [String],
    pub ptxas: Option<&'a OsStr>,
    pub cubin: Option<&'a str>,
    pub cubin_only: bool,
    pub jobs: Option<NonZeroUsize>,
    pub line_info: bool,
    pub lock: Option<&'a Path>,
}

/// What was generated.
pub(crate) struct Generated {
    /// How it was compared with the lock, if there is one.
    pub checked: Option<Checked>,
    /// What is legal in the specs and may not be meant; a line for each point that has no kernel,
    /// of files that have others; and that nothing was judged, where nothing was.
    pub warnings: Vec<String>,
}

/// What is told where no assembler has looked at the kernels.
pub fn unjudged() -> String {
    let way_out = ptxas::WAY_OUT;
    format!("without ptxas no kernel was judged (spills, local memory, warnings): {way_out}")
}

/// What is told of the points that GPUs of these architectures do not run, where there are others.
pub fn left_out_by_arch(files: &[SpecFile], archs: &[String]) -> Option<String> {
    let points = files.iter().flat_map(|file| {
        let points = file.points.iter().map(|point| point.spec.problem.arch);
        points.map(move |arch| (file.spec.problem.name.as_str(), arch))
    });
    let others = points.filter(|(_, arch)| matches!(catalogue::runs_on(arch, archs), Ok(false)));
    left_out::line(others.map(|(spec, arch)| (spec, arch.to_string())), archs)
}

/// Writes the bundle, and compares it with the lock.
pub(crate) fn generate(request: &Request<'_>) -> Result<Generated, Error> {
    let policy = request.ptxas.unwrap_or(OsStr::new("if-found"));
    let line_info = match request.line_info {
        true => LineInfo::Directives,
        false => LineInfo::Beside,
    };
    let cubin = (request.cubin.unwrap_or("never"), request.cubin_only);
    let making = Making::chosen(line_info, policy, cubin).map_err(one)?;
    let mut files = catalogue::load(request.files).map_err(all)?;
    files.iter_mut().for_each(catalogue::doubt);
    let points = points(&files, request.archs)?;
    let kept = Kept::open(request.cache, making.ptxas.as_deref()).map_err(one)?;
    let built = catalogue::compile(&points, &making, &kept, request.jobs).map_err(all)?;
    let left_out = built.left_out.iter().map(|(point, why)| {
        let limits = why.to_string();
        let first = limits.lines().next().unwrap_or_default();
        format!("left out {point} ({}): {first}", why.first_code())
    });
    let unjudged = making.ptxas.is_none().then(unjudged);
    let doubtful = catalogue::warned(&files).into_iter();
    let other_archs = left_out_by_arch(&files, request.archs);
    let warnings = doubtful.chain(left_out).chain(other_archs);
    let warnings = warnings.chain(unjudged).collect();
    let provenance = pack::provenance(making.ptxas.as_deref());
    let writer = pack::writer(built.artifacts, provenance).map_err(one)?;
    writer
        .write(request.path)
        .map_err(Error::bundle(request.path))?;
    kept.done("", request.path, Vec::new());
    let mut checked = None;
    if let Some(path) = request.lock {
        let bundle = Bundle::open(request.path).map_err(Error::bundle(request.path))?;
        let now = lock_of(path, &files, &making, request.archs, &bundle);
        checked = Some(Lock::read(path)?.check(path, &now)?);
    }
    Ok(Generated { checked, warnings })
}

/// The lock, to lie at `path`, of a bundle that was made of these files.
pub fn lock_of(
    path: &Path,
    files: &[SpecFile],
    making: &Making,
    archs: &[String],
    bundle: &Bundle,
) -> Lock {
    let provenance = bundle.provenance();
    let inputs = Inputs {
        generator: provenance.generator.clone(),
        facts: pack::facts(),
        llvm: provenance.llvm.clone().unwrap_or_default(),
        ptxas: provenance.ptxas.clone(),
        line_info: making.line_info == LineInfo::Directives,
        archs: archs.to_vec(),
        cubin: making.machine_code.map(|code| code.to_string()),
    };
    let specs: Vec<SpecText<'_>> = files.iter().map(text).collect();
    Lock::of(path, inputs, &specs, bundle)
}

fn text(file: &SpecFile) -> SpecText<'_> {
    SpecText {
        path: Path::new(&file.path),
        name: &file.spec.problem.name,
        text: &file.text,
    }
}

/// The points that the devices run.
fn points<'f>(
    files: &'f [SpecFile],
    archs: &[String],
) -> Result<Vec<(&'f SpecFile, &'f Point)>, Error> {
    let mut points = Vec::new();
    for file in files {
        for point in &file.points {
            if catalogue::runs_on(&point.spec.problem.arch, archs).map_err(one)? {
                points.push((file, point));
            }
        }
    }
    match points.is_empty() {
        false => Ok(points),
        true => Err(Error::Request(catalogue::none_runs(files, archs))),
    }
}

fn one(error: CodegenError) -> Error {
    all(vec![error])
}

fn all(errors: Vec<CodegenError>) -> Error {
    let reports = errors.iter().map(|error| error.report(false)).collect();
    Error::Specs { reports }
}
