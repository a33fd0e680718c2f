//! What the driver compiled of PTX, kept in a folder for the next start.
//!
//! An entry is named by the hash of the PTX, the driver's CUDA version and the compute capability,
//! and begins with the hash of what follows: one that is damaged, cut short or of another kind is
//! as good as none, and replaced. Entries are written beside their place and moved there, so that
//! processes may share a folder. The machine code is run, so a folder that others may write to is
//! refused. The oldest entries go when the folder grows too large; one that is used is young again.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tilewright_bundle::Sha256Hex;

use crate::error::Error;
use crate::events;

/// What an entry begins with: the format, and a line for the hash.
const MAGIC: &str = "tilewright cubin 1\n";
/// Bytes before the machine code: the magic, 64 digits, a line's end.
const HEAD_BYTES: usize = MAGIC.len() + 65;
/// Bytes that a folder may hold if nothing is said.
const LIMIT_BYTES: u64 = 1 << 30;
/// Bytes of one entry at most; machine code of a kernel has some hundred thousand.
const MOST_ENTRY_BYTES: u64 = 64 << 20;
/// How entries end.
const ENDING: &str = "cubin";

/// A folder with machine code that the driver made of PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxCache {
    folder: PathBuf,
    limit_bytes: u64,
}

/// What machine code is made of and for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Hash of the PTX.
    pub ptx: Sha256Hex,
    /// CUDA version of the driver.
    pub driver: u32,
    /// Compute capability.
    pub sm: u32,
}

impl Key {
    fn file_name(&self) -> String {
        format!("{}-{}-sm_{}.{ENDING}", self.ptx, self.driver, self.sm)
    }
}

impl PtxCache {
    /// The cache in a folder, which is made if it is not there, for its owner alone. It holds a
    /// gibibyte at most; see [`PtxCache::with_limit`].
    ///
    /// # Errors
    /// [`Error::PtxCache`] when the folder cannot be made, is none, or others may write to it.
    pub fn open(folder: &Path) -> Result<PtxCache, Error> {
        let unusable = |reason: String| Error::PtxCache {
            folder: folder.to_owned(),
            reason,
        };
        make(folder).map_err(|error| unusable(error.to_string()))?;
        let about = fs::metadata(folder).map_err(|error| unusable(error.to_string()))?;
        if !about.is_dir() {
            return Err(unusable("it is no folder".to_owned()));
        }
        if let Some(mode) = written_by_others(&about) {
            return Err(unusable(format!(
                "others may write to it (mode {mode:03o}), and what it holds is run: chmod 700"
            )));
        }
        Ok(PtxCache {
            folder: folder.to_owned(),
            limit_bytes: LIMIT_BYTES,
        })
    }

    /// The same cache with room for so many bytes.
    #[must_use]
    pub fn with_limit(self, limit_bytes: u64) -> PtxCache {
        PtxCache {
            limit_bytes,
            ..self
        }
    }

    /// The machine code of a key, if it is there and whole.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.folder.join(key.file_name());
        match read(&path) {
            Ok(code) => code,
            Err(reason) => {
                events::cache_failed(&path.display(), &reason);
                None
            }
        }
    }

    /// Keeps machine code, in place of what the key had. A service runs as well without, so that a
    /// failure is an event alone.
    pub(crate) fn put(&self, key: &Key, code: &[u8]) {
        let path = self.folder.join(key.file_name());
        let kept = self.write(&path, code).and_then(|()| self.trim(&path));
        if let Err(reason) = kept {
            events::cache_failed(&path.display(), &reason);
        }
    }

    /// Forgets machine code that the driver does not take.
    pub(crate) fn remove(&self, key: &Key, reason: &dyn std::fmt::Display) {
        let path = self.folder.join(key.file_name());
        events::cache_failed(&path.display(), reason);
        // What cannot be removed is replaced when the code is made anew.
        let _ = fs::remove_file(&path);
    }

    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let part = path.with_extension(format!("{}.{number}.part", std::process::id()));
        let written = || {
            let mut file = fs::File::create_new(&part)?;
            file.write_all(format!("{MAGIC}{}\n", Sha256Hex::of(code)).as_bytes())?;
            file.write_all(code)?;
            file.sync_all()?;
            fs::rename(&part, path)
        };
        written().inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
    }

    /// Removes the oldest entries until the rest has room; `kept` is the youngest of all. Parts
    /// that a process left behind when it ended count as entries.
    fn trim(&self, kept: &Path) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // Another process may have removed it meanwhile.
            let Ok(about) = fs::metadata(&path) else {
                continue;
            };
            if about.is_file() && is_entry(&path) {
                entries.push((about.modified()?, about.len(), path));
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries.iter().filter(|(_, _, path)| path != kept) {
            if total <= self.limit_bytes {
                break;
            }
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => total -= bytes,
            }
        }
        Ok(())
    }
}

/// Whether a file is an entry, or a part of one, by its name: that of a key, a process and a
/// number.
fn is_entry(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (Some(hash), Some(rest)) = (name.get(..64), name.get(64..)) else {
        return false;
    };
    let is_hash = hash.bytes().all(|c| c.is_ascii_hexdigit());
    let ending = path.extension().unwrap_or_default();
    is_hash && rest.starts_with('-') && (ending == ENDING || ending == "part")
}

/// The machine code of an entry; none where there is no entry.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let about = file.metadata().map_err(|error| error.to_string())?;
    let most = MOST_ENTRY_BYTES;
    if !about.is_file() || about.len() > most {
        return Err(format!("it is no file of at most {most} bytes"));
    }
    let mut content = Vec::new();
    let all = (&file).take(most).read_to_end(&mut content);
    all.map_err(|error| error.to_string())?;
    let head = content.get(..HEAD_BYTES).map(<[u8]>::to_vec);
    let head = head.and_then(|head| String::from_utf8(head).ok());
    let head = head.ok_or("it is cut short, or no entry")?;
    let stated = head.strip_prefix(MAGIC).ok_or("it is no entry")?;
    let code = content.split_off(HEAD_BYTES);
    if stated.trim_end() != Sha256Hex::of(&code).as_str() {
        return Err("its content is not what its hash says".to_owned());
    }
    // A folder that cannot be written to still serves what it has.
    let _ = file.set_modified(SystemTime::now());
    Ok(Some(code))
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// The mode of a folder that not its owner alone may write to.
#[cfg(unix)]
fn written_by_others(about: &fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = about.permissions().mode() & 0o777;
    (mode & 0o022 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn written_by_others(_: &fs::Metadata) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests;
