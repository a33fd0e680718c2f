//! Where the `ptxas` assembler is and which version it has.
//!
//! In: the environment. Out: a path and a version, or the reason there is none. `TILEWRIGHT_PTXAS`
//! names one; otherwise the first `ptxas` on the `PATH` is taken.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names an assembler.
pub const VARIABLE: &str = "TILEWRIGHT_PTXAS";

/// An assembler that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptxas {
    /// The program.
    pub path: PathBuf,
    /// Its version as it prints it, such as `13.0.88`.
    pub version: String,
}

/// Why there is no assembler.
#[derive(Debug, thiserror::Error)]
pub enum PtxasError {
    /// Neither the variable nor the `PATH` leads to one.
    #[error("no ptxas on the PATH and {VARIABLE} is not set: run ci/setup.sh, or set {VARIABLE}")]
    Missing,
    /// What was named or found does not run.
    #[error("{path} does not run as ptxas ({reason}): run ci/setup.sh, or set {VARIABLE}")]
    Unusable {
        /// The program that was tried.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
}

/// Finds the assembler and asks it for its version.
///
/// # Errors
///
/// [`PtxasError::Missing`] when there is none, [`PtxasError::Unusable`] when the one there is
/// fails.
pub fn find() -> Result<Ptxas, PtxasError> {
    let path = locate(
        env::var_os(VARIABLE).map(PathBuf::from),
        env::var_os("PATH").as_deref(),
    )
    .ok_or(PtxasError::Missing)?;
    match Command::new(&path).arg("--version").output() {
        Err(error) => Err(PtxasError::Unusable {
            path,
            reason: error.to_string(),
        }),
        Ok(answer) => match version_in(&String::from_utf8_lossy(&answer.stdout)) {
            Some(version) => Ok(Ptxas { path, version }),
            None => Err(PtxasError::Unusable {
                path,
                reason: "it prints no version".to_owned(),
            }),
        },
    }
}

fn locate(named: Option<PathBuf>, search: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    named
        .filter(|path| !path.as_os_str().is_empty())
        .or_else(|| {
            env::split_paths(search?)
                .map(|folder| folder.join("ptxas"))
                .find(|path| is_file(path))
        })
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file())
}

/// The version in `Cuda compilation tools, release 13.0, V13.0.88`.
fn version_in(text: &str) -> Option<String> {
    let tail = text.split_once(", V")?.1;
    let version = tail.split_whitespace().next()?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_banner() {
        let banner = "ptxas: NVIDIA (R) Ptx optimizing assembler\n\
                      Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0\n";
        assert_eq!(version_in(banner).as_deref(), Some("13.0.88"));
        assert_eq!(version_in("hello"), None);
    }

    #[test]
    fn the_variable_goes_before_the_path() {
        let named = PathBuf::from("/opt/ptxas");
        assert_eq!(locate(Some(named.clone()), None), Some(named));
        assert_eq!(locate(Some(PathBuf::new()), None), None);
        assert_eq!(locate(None, None), None);
    }
}
