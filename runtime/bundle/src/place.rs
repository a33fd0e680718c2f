//! Where a bundle is to be written, and what lies there: an earlier one, whose place it takes, or
//! what others wrote, which is never touched.
//!
//! Each file is known by what is in it, and not by its name alone: many programs have a file
//! `manifest.json`. A file that holds nothing is nobody's. A folder may hold files of others beside
//! a bundle's, which stay; an archive is replaced as a whole, so nothing else may be in it.

mod manifest;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use crate::archive::Archive;
use crate::error::Error;
use crate::folder;
use crate::limits::{MANIFEST, MAX_FILE_BYTES, MAX_MANIFEST_BYTES};
use crate::signature::{SIGNATURES_FILE, Signatures};
use crate::source::Source;
use crate::tuning::{TUNING_FILE, Tuning};

/// Ends the path of a bundle that is one file.
const ZIP: &str = "zip";
/// What begins machine code.
const ELF: &[u8] = b"\x7fELF";

/// Whether a bundle is written at `path` as one zip file: the path ends in `.zip`.
pub fn is_zip(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(ZIP))
}

/// Whether a bundle may be written at `path`, as far as can be told before its kernels are there.
///
/// [`BundleWriter::write`](crate::BundleWriter::write) asks the same; whoever works long for what
/// it writes asks first.
///
/// # Errors
/// [`Error::Foreign`] when what lies there is no bundle, [`Error::Io`] when it cannot be read.
pub fn may_write(path: &Path) -> Result<(), Error> {
    match is_zip(path) {
        true => archive(path),
        false => folder_for(path, [MANIFEST]),
    }
}

/// Refuses a path where something else than a bundle lies as one file.
pub(crate) fn archive(path: &Path) -> Result<(), Error> {
    let Ok(about) = std::fs::metadata(path) else {
        return Ok(());
    };
    if about.is_dir() {
        let is_folder = std::io::ErrorKind::IsADirectory.into();
        return Err(Error::io(path, is_folder));
    }
    if about.is_file() && about.len() == 0 {
        return Ok(());
    }
    let files = match Source::at(path) {
        Ok(Source::Archive(archive)) => foreign_in(&archive),
        Err(error @ Error::Io { .. }) => return Err(error),
        Ok(_) | Err(_) => Some(Vec::new()),
    };
    match files {
        None => Ok(()),
        Some(files) => Err(Error::Foreign {
            path: path.to_owned(),
            files,
        }),
    }
}

/// The files of an archive that no bundle wrote: all of them, none by name, where it has no
/// manifest of a bundle; `None` where it is a bundle and nothing else.
fn foreign_in(archive: &Archive<'_>) -> Option<Vec<String>> {
    let content = |name: &str, limit: u64| {
        let fits = archive.size(name).is_some_and(|bytes| bytes <= limit);
        let content = || archive.content(name)?.ok();
        fits.then(content).flatten()
    };
    let Some(manifest) =
        content(MANIFEST, MAX_MANIFEST_BYTES).filter(|bytes| manifest::is_one(bytes))
    else {
        return Some(Vec::new());
    };
    let listed = manifest::listed(&manifest);
    let is_ours = |name: &str| {
        let has_content = || content(name, MAX_FILE_BYTES).is_some_and(|b| is_content(name, &b));
        match &listed {
            _ if name == MANIFEST => true,
            Some(listed) if name != SIGNATURES_FILE => listed.contains(name),
            // A damaged manifest cannot say what it listed.
            _ => has_content(),
        }
    };
    let others = archive.names().filter(|name| !is_ours(name));
    let others: Vec<String> = others.map(str::to_owned).collect();
    (!others.is_empty()).then_some(others)
}

/// Refuses a folder in which one of a bundle's files would take the place of another's.
pub(crate) fn folder(root: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    let others = files.iter();
    let others = others.filter(|(name, _)| !folder::has_same(root, name, files));
    folder_for(root, others.map(|(name, _)| name.as_str()))
}

/// The same for files of these names.
fn folder_for<'n>(root: &Path, names: impl IntoIterator<Item = &'n str>) -> Result<(), Error> {
    if std::fs::metadata(root).is_ok_and(|about| !about.is_dir()) {
        return Err(Error::Foreign {
            path: root.to_owned(),
            files: Vec::new(),
        });
    }
    let earlier = folder::listed(root, MAX_MANIFEST_BYTES);
    let earlier: BTreeSet<&str> = earlier.iter().map(|file| file.path.as_str()).collect();
    let mut foreign = Vec::new();
    for name in names {
        let path = root.join(name);
        let is_ours = || -> Result<bool, Error> {
            Ok(earlier.contains(name) || is_nothing(&path) || is_of_a_bundle(name, &path)?)
        };
        if !is_ours()? {
            foreign.push(name.to_owned());
        }
    }
    match foreign.is_empty() {
        true => Ok(()),
        false => Err(Error::Foreign {
            path: root.to_owned(),
            files: foreign,
        }),
    }
}

/// Whether nothing is there, or a file of no bytes.
fn is_nothing(path: &Path) -> bool {
    let about = std::fs::symlink_metadata(path);
    about.map_or(true, |about| about.is_file() && about.len() == 0)
}

/// Whether a file has the content that a bundle's file of this name has: one that was being written
/// when its process ended is listed by no manifest.
fn is_of_a_bundle(name: &str, path: &Path) -> Result<bool, Error> {
    // A folder or a link in a file's place is told by whoever writes there.
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    if !is_file {
        return Ok(true);
    }
    let limit = match name {
        MANIFEST => MAX_MANIFEST_BYTES,
        _ => MAX_FILE_BYTES,
    };
    Ok(is_content(name, &read(path, limit)?))
}

/// Whether a bundle's file of this name may hold these bytes.
fn is_content(name: &str, bytes: &[u8]) -> bool {
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    match name {
        MANIFEST => manifest::is_one(bytes),
        SIGNATURES_FILE => Signatures::is_one(bytes),
        TUNING_FILE => serde_json::from_slice::<Tuning>(bytes).is_ok(),
        code if code.ends_with(".cubin") => bytes.starts_with(ELF),
        code => code.ends_with(".ptx") && has(b".version") && has(b".entry"),
    }
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(|e| Error::io(path, e))?;
    Ok(bytes)
}
