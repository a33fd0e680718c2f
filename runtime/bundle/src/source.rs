//! Where a bundle's bytes come from: a folder, or files held in memory.
//!
//! A folder is read without following links, and never outside itself.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, shorten};

/// The name of the manifest in every bundle.
pub(crate) const MANIFEST: &str = "manifest.json";
/// Largest manifest: an entry of a shipped kernel has some 6 KB, so this is over 20,000 of them.
/// Opened, it takes about three times its size of memory.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 128 << 20;
/// Largest PTX or cubin.
pub(crate) const MAX_FILE_BYTES: u64 = 64 << 20;
/// Largest sum of the files.
pub(crate) const MAX_TOTAL_BYTES: u64 = 4 << 30;
/// Longest path of a file.
const MAX_PATH_BYTES: usize = 240;

/// Something that holds a bundle's files.
pub(crate) enum Source<'a> {
    Folder(PathBuf),
    Memory(BTreeMap<&'a str, &'a [u8]>),
}

impl Source<'_> {
    /// The content of `path`, which must pass [`safe_path`] and hold at most `limit` bytes.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        safe_path(path).map_err(|message| Error::invalid(shorten(path), message))?;
        match self {
            Source::Memory(files) => {
                let bytes = files
                    .get(path)
                    .ok_or_else(|| Error::invalid(shorten(path), "the file is missing"))?;
                check_size(path, bytes.len() as u64, limit)?;
                Ok(bytes.to_vec())
            }
            Source::Folder(root) => read_below(root, path, limit),
        }
    }
}

fn check_size(path: &str, bytes: u64, limit: u64) -> Result<(), Error> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::invalid(
        shorten(path),
        format!("the file has {bytes} bytes; at most {limit} are expected"),
    ))
}

/// Reads `path` below `root`, refusing links at every step.
fn read_below(root: &Path, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
    let mut at = root.to_path_buf();
    for component in path.split('/') {
        at.push(component);
        let meta = std::fs::symlink_metadata(&at).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound if path != MANIFEST => {
                Error::invalid(shorten(path), "the file is missing")
            }
            _ => Error::io(&at, e),
        })?;
        if meta.file_type().is_symlink() {
            return Err(Error::invalid(
                shorten(path),
                "is a link: bundles hold plain files",
            ));
        }
        // Opening waits where a pipe has no writer, and does things to a device.
        if !meta.is_dir() && !meta.is_file() {
            return Err(Error::invalid(shorten(path), "is no plain file"));
        }
    }
    let file = std::fs::File::open(&at).map_err(|e| Error::io(&at, e))?;
    let meta = file.metadata().map_err(|e| Error::io(&at, e))?;
    if !meta.is_file() {
        return Err(Error::invalid(shorten(path), "is no plain file"));
    }
    check_size(path, meta.len(), limit)?;
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| Error::io(&at, e))?;
    check_size(path, bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Whether `path` stays below the folder it is joined to on every system: components of letters,
/// digits and `_ - . @ +`, none starting with a dot.
pub(crate) fn safe_path(path: &str) -> Result<(), String> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        let n = path.len();
        return Err(format!(
            "the path has {n} bytes; 1 to {MAX_PATH_BYTES} are allowed"
        ));
    }
    for component in path.split('/') {
        if component.is_empty() || component.starts_with('.') || component.ends_with('.') {
            return Err(format!("the path component {component:?} is not allowed"));
        }
        if let Some(c) = component.chars().find(|c| !is_safe(*c)) {
            return Err(format!("the character {c:?} is not allowed in a path"));
        }
    }
    Ok(())
}

/// Characters of ids and path components.
pub(crate) fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+')
}
