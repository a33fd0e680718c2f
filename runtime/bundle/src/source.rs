//! Where a bundle's bytes come from: a folder, an archive, or files held in memory.
//!
//! A folder is read without following links, and never outside itself. What is asked of a file, its
//! path and its size, is the same wherever it lies.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::archive::{self, Archive};
use crate::error::{ArchiveFault, Error, shorten};
use crate::limits::{MANIFEST, MAX_ARCHIVE_BYTES, safe_path};

/// Something that holds a bundle's files.
pub(crate) enum Source<'a> {
    Folder(PathBuf),
    Archive(Archive<'a>),
    Memory(BTreeMap<&'a str, &'a [u8]>),
}

impl Source<'_> {
    /// The folder at `path`, or the archive that a file there is.
    pub(crate) fn at(path: &Path) -> Result<Source<'static>, Error> {
        match std::fs::metadata(path) {
            Ok(about) if !about.is_dir() => {}
            // Anything but its absence is told by whoever reads the manifest.
            Ok(_) => match path.join(MANIFEST).symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(Error::none(path, true));
                }
                _ => return Ok(Source::Folder(path.to_path_buf())),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::none(path, false));
            }
            Err(error) => return Err(Error::io(path, error)),
        }
        let bytes = read_archive(path)?;
        Ok(Source::Archive(Archive::of(bytes)?))
    }

    /// As [`Source::read`], where there is such a file.
    pub(crate) fn read_if_there(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let is_there = match self {
            Source::Memory(files) => files.contains_key(path),
            Source::Archive(archive) => archive.size(path).is_some(),
            Source::Folder(root) => root.join(path).symlink_metadata().is_ok(),
        };
        is_there.then(|| self.read(path, limit)).transpose()
    }

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
            Source::Archive(archive) => read_entry(archive, path, limit),
            Source::Folder(root) => read_below(root, path, limit),
        }
    }
}

/// The content of an archive's entry, of which no more is inflated than it may have.
fn read_entry(archive: &Archive<'_>, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
    let refused = |message: String| Error::invalid(shorten(path), message);
    let inner = || {
        archive
            .names()
            .find(|name| name.ends_with("/manifest.json"))
    };
    match archive.size(path) {
        None if path == MANIFEST && inner().is_some() => {
            let inner = shorten(inner().unwrap_or_default());
            return Err(refused(format!(
                "the file is missing; {inner} is there: zip what is in that folder, not the folder"
            )));
        }
        None => return Err(refused("the file is missing".to_owned())),
        Some(size) => check_size(path, size, limit)?,
    }
    let content = archive.content(path).unwrap_or_else(|| Ok(Vec::new()));
    content.map_err(refused)
}

/// The bytes of the file at `path`, if it may be an archive.
fn read_archive(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |e| Error::io(path, e);
    let refused = |fault| Error::archive("archive", fault);
    // Opening waits where a pipe has no writer, and does things to a device.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(refused(ArchiveFault::NoFile));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(refused(ArchiveFault::NoFile));
    }
    archive::fits(meta.len())?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_ARCHIVE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(failed)?;
    archive::fits(bytes.len() as u64)?;
    Ok(bytes)
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
            ErrorKind::NotFound if path != MANIFEST => {
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
