//! Spec files of a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Spec files below a folder, sorted by path: those whose names end in `.yaml` or `.yml`, in small
/// or capital letters, and begin with no dot. Symbolic links are followed, and a folder that is
/// reached in two ways is read once. What is no folder is itself.
///
/// # Errors
/// [`Error::Missing`] when nothing is there, [`Error::Io`] when a folder cannot be read, or a link
/// leads nowhere.
pub fn spec_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let about = std::fs::metadata(folder);
    if about.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        let path = folder.to_owned();
        return Err(Error::Missing { path });
    }
    if folder.is_file() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let mut files = Vec::new();
    let mut seen = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let place = folder.canonicalize().map_err(Error::io(&folder))?;
        if !seen.insert(place) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let entry = entry.map_err(Error::io(&folder))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let named = is_spec_name(&path);
            match std::fs::metadata(&path) {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if named => files.push(path),
                Err(error) if named => return Err(Error::Io { path, error }),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_spec_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|is| {
        let known = ["yaml", "yml"];
        known.iter().any(|known| is.eq_ignore_ascii_case(known))
    })
}
