//! What lies in a bundle's folder beside what its manifest lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Error;
use crate::hash::Sha256Hex;
use crate::limits::{MANIFEST, MAX_FILE_BYTES, safe_path};
use crate::manifest::{FileEntry, Manifest};
use crate::signature::{MAX_SIGNATURES_BYTES, SIGNATURES_FILE, Signatures};
use crate::source::Source;

/// Names that are looked at; a folder with more is none of a bundle's.
const MOST_NAMES: usize = 100_000;

/// Paths in `source` that neither are the manifest nor are listed, ordered; links and folders that
/// hold nothing else are listed by themselves, and links are not followed.
///
/// # Errors
/// When a folder cannot be read.
pub(crate) fn unlisted(source: &Source<'_>, manifest: &Manifest) -> Result<Vec<String>, Error> {
    let files = manifest.files.iter().map(|file| file.path.as_str());
    let listed: BTreeSet<&str> = files.chain([MANIFEST, SIGNATURES_FILE]).collect();
    match source {
        Source::Folder(root) => unlisted_below(root, &listed),
        Source::Archive(archive) => {
            let others = archive.names().filter(|name| !listed.contains(name));
            Ok(others.map(str::to_owned).collect())
        }
        Source::Memory(files) => {
            let others = files.keys().filter(|name| !listed.contains(*name));
            Ok(others.map(|name| (*name).to_owned()).collect())
        }
    }
}

fn unlisted_below(root: &Path, listed: &BTreeSet<&str>) -> Result<Vec<String>, Error> {
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut left = vec![String::new()];
    while let Some(folder) = left.pop() {
        let at = root.join(&folder);
        let entries = std::fs::read_dir(&at).map_err(|e| Error::io(&at, e))?;
        for entry in entries {
            let entry = entry.map_err(|e| Error::io(&at, e))?;
            seen += 1;
            if seen > MOST_NAMES {
                return Ok(found);
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            let kind = entry.file_type().map_err(|e| Error::io(&at, e))?;
            let inside = format!("{path}/");
            if kind.is_dir()
                && listed
                    .range(inside.as_str()..)
                    .next()
                    .is_some_and(|p| p.starts_with(&inside))
            {
                left.push(path);
            } else if !listed.contains(path.as_str()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The files that the manifest in `root` lists, as far as it can be read; none where there is no
/// manifest.
pub(crate) fn listed(root: &Path, limit: u64) -> Vec<FileEntry> {
    let source = Source::Folder(root.to_path_buf());
    let manifest = source.read(MANIFEST, limit).ok();
    let manifest = manifest.and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
    manifest.map(|manifest| manifest.files).unwrap_or_default()
}

/// Removes a file that a manifest lists, if it still is what the manifest says; says whether.
pub(crate) fn remove(root: &Path, entry: &FileEntry) -> bool {
    let source = Source::Folder(root.to_path_buf());
    let limit = entry.bytes.min(MAX_FILE_BYTES);
    let is_same = |bytes: Vec<u8>| Sha256Hex::of(&bytes) == entry.sha256;
    safe_path(&entry.path).is_ok()
        && source.read(&entry.path, limit).is_ok_and(is_same)
        && std::fs::remove_file(root.join(&entry.path)).is_ok()
}

/// Whether the file `name` in `root` is the one of that name in `files`, byte by byte.
pub(crate) fn has_same(root: &Path, name: &str, files: &BTreeMap<String, Vec<u8>>) -> bool {
    let source = Source::Folder(root.to_path_buf());
    files.get(name).is_some_and(|bytes| {
        let found = source.read(name, bytes.len() as u64);
        found.is_ok_and(|found| found == *bytes)
    })
}

/// Removes a file of signatures, if it is one.
pub(crate) fn remove_signatures(root: &Path) {
    let source = Source::Folder(root.to_path_buf());
    let found = source.read(SIGNATURES_FILE, MAX_SIGNATURES_BYTES).ok();
    if found.is_some_and(|bytes| Signatures::is_one(&bytes)) {
        // What cannot be removed is found stale when the bundle is opened.
        let _ = std::fs::remove_file(root.join(SIGNATURES_FILE));
    }
}
