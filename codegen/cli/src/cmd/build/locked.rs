//! The bundle of a build, and its lock: written, or compared with what was locked.

use tilewright_build::{Lock, lock_of};
use tilewright_bundle::{Bundle, BundleWriter, Sha256Hex};
use tilewright_codegen::Making;
use tilewright_codegen::pack::{self, Artifact};
use tilewright_codegen::spec::SpecFile;

use crate::args;
use crate::outcome::Failure;
use crate::specs;
use crate::terminal;

/// Writes the bundle: its hash. With a lock the lock is written as well; with `--locked` neither is
/// unless the kernels are those of the lock.
pub fn write(
    args: &args::Build,
    files: &[SpecFile],
    artifacts: Vec<Artifact>,
    making: &Making,
) -> Result<Sha256Hex, Failure> {
    let provenance = pack::provenance(making.ptxas.as_deref());
    let writer = pack::writer(artifacts, provenance).map_err(specs::failure)?;
    let Some(path) = &args.lock else {
        return writer.write(&args.output).map_err(Failure::could_not_run);
    };
    let now = lock_of(path, files, making, &args.arch, &opened(&writer)?);
    if args.locked {
        let locked = Lock::read(path).map_err(Failure::could_not_run)?;
        let checked = locked.check(path, &now);
        let checked = checked.map_err(|error| Failure::Rejected(error.to_string()))?;
        terminal::diagnose(&format!("{}: {}", path.display(), checked.text()));
    }
    let hash = writer.write(&args.output).map_err(Failure::could_not_run)?;
    if !args.locked {
        now.write(path).map_err(Failure::could_not_run)?;
    }
    Ok(hash)
}

/// The bundle that a writer has, in memory.
fn opened(writer: &BundleWriter) -> Result<Bundle, Failure> {
    let files = writer.to_files().map_err(Failure::could_not_run)?;
    let files = files.iter();
    let files = files.map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
    Bundle::from_files(files).map_err(Failure::could_not_run)
}
