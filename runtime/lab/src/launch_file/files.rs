//! The files of a launch: regular ones of a bounded size, those that a manifest names below its own
//! folder.
//!
//! Nothing is read before it is known to be a file and how long it is: a FIFO waits for ever, a
//! device never ends.

use std::io;
use std::path::{Component, Path, PathBuf};

use tilewright_bundle::read_plain_file;

use super::{LaunchFileError, io};

/// Bytes of a manifest at most.
pub(super) const MOST_MANIFEST_BYTES: u64 = 16 << 20;
/// Bytes of a PTX file at most, as many as the emulator reads.
pub(super) const MOST_PTX_BYTES: u64 = 64 << 20;

/// The path of a file that a manifest names; `folder` is what it is relative to.
pub(super) fn below(folder: &Path, name: &str) -> Result<PathBuf, LaunchFileError> {
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(name).components().all(inside) {
        return Err(LaunchFileError::Path(name.to_owned()));
    }
    Ok(folder.join(name))
}

/// The length of a plain file.
pub(super) fn length(path: &Path) -> Result<u64, LaunchFileError> {
    let about = std::fs::metadata(path).map_err(|source| io(path, source))?;
    if about.is_file() {
        return Ok(about.len());
    }
    let problem = "is no plain file";
    Err(io(
        path,
        io::Error::new(io::ErrorKind::InvalidInput, problem),
    ))
}

/// Reads a plain file of at most `most` bytes.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, LaunchFileError> {
    read_plain_file(path, most).map_err(|source| io(path, source))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_stay_below_their_folder() {
        let folder = Path::new("cases/a");
        assert_eq!(below(folder, "x.bin").unwrap(), folder.join("x.bin"));
        assert_eq!(
            below(folder, "./in/x.bin").unwrap(),
            folder.join("./in/x.bin")
        );
        for name in ["", "/dev/zero", "../b/x.bin", "in/../../x.bin", ".."] {
            let error = below(folder, name).unwrap_err().to_string();
            let wanted = "a file of a launch is named by a relative path without `..`";
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn what_is_no_file_or_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bin");
        std::fs::write(&path, [7; 9]).unwrap();
        assert_eq!(read(&path, 9).unwrap(), [7; 9]);
        let error = read(&path, 8).unwrap_err().to_string();
        assert!(
            error.ends_with("x.bin: has 9 bytes; at most 8 are read"),
            "{error}"
        );
        for (path, told) in [
            (Path::new("/dev/zero"), "is no plain file"),
            (folder.path(), "is a folder"),
        ] {
            let error = read(path, 8).unwrap_err().to_string();
            assert!(error.ends_with(told), "{error}");
        }
    }
}
