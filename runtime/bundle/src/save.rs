//! A bundle's files go to a disk: below a folder, or as one zip file.
//!
//! Files are written each beside its place and then renamed, a folder's manifest behind what it
//! lists: an interrupted write leaves no bundle that opens. What is no bundle's is not written over
//! ([`place`]).

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use crate::archive;
use crate::error::{Error, shorten};
use crate::folder;
use crate::limits::{MANIFEST, MAX_MANIFEST_BYTES};
use crate::place::{self, is_zip};
use crate::signature::SIGNATURES_FILE;

/// Writes a bundle's files at `path`: one zip file where the path ends in `.zip`, else a folder.
///
/// # Errors
/// When what lies there is no bundle's, a file cannot be written, or the files are more than an
/// archive holds.
pub(crate) fn save(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    match is_zip(path) {
        true => save_archive(path, files),
        false => save_folder(path, files),
    }
}

fn save_archive(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    let bytes = archive::pack(files)?;
    place::archive(path)?;
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    put(path, folder, &bytes)
}

fn save_folder(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    place::folder(path, files)?;
    std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
    let folder = std::fs::File::open(path);
    // Held until the end.
    let _alone = folder.and_then(|folder| folder.lock().map(|()| folder));
    let earlier = folder::listed(path, MAX_MANIFEST_BYTES);
    let is_last = |path: &str| [MANIFEST, SIGNATURES_FILE].contains(&path);
    for (file, bytes) in files.iter().filter(|(file, _)| !is_last(file)) {
        write_below(path, file, bytes)?;
    }
    if !folder::has_same(path, MANIFEST, files) || !files.contains_key(SIGNATURES_FILE) {
        folder::remove_signatures(path);
    }
    for last in [MANIFEST, SIGNATURES_FILE] {
        if let Some(bytes) = files.get(last) {
            write_below(path, last, bytes)?;
        }
    }
    for entry in earlier
        .iter()
        .filter(|entry| !files.contains_key(&entry.path))
    {
        folder::remove(path, entry);
    }
    Ok(())
}

/// Writes one file whose path the manifest's check has found safe.
fn write_below(root: &Path, file: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = root.join(file);
    let folder = path.parent().unwrap_or(root);
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let is_link = |p: &Path| {
        p.symlink_metadata()
            .is_ok_and(|m| m.file_type().is_symlink())
    };
    if folder != root && is_link(folder) {
        return Err(Error::invalid(
            shorten(file),
            "its folder is a link: remove it",
        ));
    }
    put(&path, folder, bytes)
}

/// Writes a file beside its place in `folder`, and renames it.
fn put(path: &Path, folder: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut temporary =
        tempfile::NamedTempFile::new_in(folder).map_err(|e| Error::io(folder, e))?;
    temporary.write_all(bytes).map_err(|e| Error::io(path, e))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let readable = std::fs::Permissions::from_mode(0o644);
        temporary
            .as_file()
            .set_permissions(readable)
            .map_err(|e| Error::io(path, e))?;
    }
    temporary
        .persist(path)
        .map_err(|e| Error::io(path, e.error))?;
    Ok(())
}
