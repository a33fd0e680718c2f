//! A bundle as one zip file, in both directions; the crate `zip` reads and writes it.
//!
//! [`directory`] says which files are in an archive and what no bundle's may hold; here an entry's
//! bytes are taken out, never more than it said before anything was inflated. [`pack`] writes files
//! as an archive, the same bytes for the same files.

mod directory;
mod pack;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{Cursor, Read};
use std::sync::Arc;

use zip::read::ZipArchiveMetadata;
use zip::{ZipArchive, ZipReadOptions};

use crate::error::{ArchiveFault, Error};
use crate::limits::MAX_ARCHIVE_BYTES;

pub(crate) use self::pack::pack;

/// What begins a zip file, whether it has entries or not.
const BEGIN: &[u8] = b"PK";

/// Most entries: the largest number of 16 bits means zip64.
const MAX_ENTRIES: usize = u16::MAX as usize - 1;

/// An archive in memory whose directory has been checked.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    bytes: Cow<'a, [u8]>,
    directory: Arc<ZipArchiveMetadata>,
    /// The places of the files in the directory, by name.
    files: BTreeMap<String, usize>,
}

impl<'a> Archive<'a> {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// [`Error::Archive`] when it cannot be read, or holds what no bundle does.
    pub(crate) fn of(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Archive<'a>, Error> {
        let bytes = bytes.into();
        fits(bytes.len() as u64)?;
        let mut zip = match ZipArchive::new(Cursor::new(&*bytes)) {
            Ok(zip) => zip,
            Err(error) if is_cut(&error) && !bytes.is_empty() && !bytes.starts_with(BEGIN) => {
                return Err(Error::archive("archive", ArchiveFault::NoZip));
            }
            Err(error) => return Err(refused(error)),
        };
        let files = directory::files(&mut zip)?;
        let directory = zip.metadata();
        Ok(Archive {
            bytes,
            directory,
            files,
        })
    }

    /// The names of its files, in order; folders are none.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Bytes of a file as the directory says them.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        let entry = self.directory.entry(*self.files.get(name)?);
        entry.ok().map(|entry| entry.size())
    }

    /// The content of a file, or why it has none that could be trusted.
    pub(crate) fn content(&self, name: &str) -> Option<Result<Vec<u8>, String>> {
        let place = *self.files.get(name)?;
        Some(self.inflated(place))
    }

    fn inflated(&self, place: usize) -> Result<Vec<u8>, String> {
        let unread = |e: &dyn Display| damaged(&format!("cannot be taken out of it: {e}"));
        let entry = self.directory.entry(place).map_err(|e| unread(&e))?;
        let says = entry.size();
        let mut source = Cursor::new(&*self.bytes);
        let file = entry
            .with_reader(&mut source, ZipReadOptions::new())
            .map_err(|e| unread(&e))?;
        let mut bytes = Vec::new();
        // A byte more than it says is enough to know that there are more.
        let mut bounded = file.take(says.saturating_add(1));
        bounded.read_to_end(&mut bytes).map_err(|e| unread(&e))?;
        let found = bytes.len();
        match found as u64 == says {
            true => Ok(bytes),
            false => Err(damaged(&format!(
                "inflates to {found} bytes; it says {says}"
            ))),
        }
    }
}

/// Whether an archive may have this many bytes.
pub(crate) fn fits(bytes: u64) -> Result<(), Error> {
    let most = MAX_ARCHIVE_BYTES;
    match bytes <= most {
        true => Ok(()),
        false => Err(Error::archive(
            "archive",
            ArchiveFault::TooLong { bytes, most },
        )),
    }
}

/// What keeps an entry's bytes from being read, and what to do about it.
fn damaged(what: &str) -> String {
    format!("{what}: the archive is truncated or damaged: fetch or build it again")
}

/// Whether an archive ends before it should, or its bytes are not those that it says, as the crate
/// `zip` tells it: its errors say so in words alone.
fn is_cut(error: impl Display) -> bool {
    let words = error.to_string().to_ascii_lowercase();
    let cut = [
        "eocd",
        "unexpected end",
        "failed to fill whole buffer",
        "checksum",
    ];
    cut.iter().any(|said| words.contains(said))
}

/// What the crate `zip` says of an archive as a whole, fit for a terminal: it may hold names.
fn refused(error: impl Display) -> Error {
    let words = error.to_string();
    let reason: String = words
        .chars()
        .take(400)
        .flat_map(char::escape_debug)
        .collect();
    let fault = match is_cut(&words) {
        true => ArchiveFault::Damaged { reason },
        false => ArchiveFault::Zip { reason },
    };
    Error::archive("archive", fault)
}
