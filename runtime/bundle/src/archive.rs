//! A bundle as one zip file (PKWARE's APPNOTE 6.3.10), in both directions.
//!
//! [`directory`] says what is in an archive and refuses all that could be read in two ways; here an
//! entry's bytes are taken out, never more than it said before anything was inflated. [`pack`]
//! writes files as such an archive, the same bytes for the same files.

mod directory;
mod fields;
mod pack;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use self::directory::{Entry, Method};
use crate::error::Error;

pub(crate) use self::pack::pack;

/// Largest archive: sizes and places are of 32 bits, and the largest of them means another field.
pub(crate) const MAX_ARCHIVE_BYTES: u64 = u32::MAX as u64 - 1;
/// Most entries: the largest number of 16 bits means another field.
const MAX_ENTRIES: usize = u16::MAX as usize - 1;

/// An archive in memory whose structure has been checked.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    bytes: Cow<'a, [u8]>,
    entries: BTreeMap<String, Entry>,
}

impl<'a> Archive<'a> {
    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// [`Error::Archive`] when it is not as plain as a bundle's archives are.
    pub(crate) fn of(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Archive<'a>, Error> {
        let bytes = bytes.into();
        let entries = directory::read(&bytes)?;
        Ok(Archive { bytes, entries })
    }

    /// The names of its files, in order; folders are none.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Bytes of a file as the directory says them.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        self.entries.get(name).map(|entry| entry.size)
    }

    /// The content of a file, or why it has none that could be trusted.
    pub(crate) fn content(&self, name: &str) -> Option<Result<Vec<u8>, String>> {
        let entry = self.entries.get(name)?;
        let data = self.bytes.get(entry.data.clone()).unwrap_or_default();
        Some(content(entry, data))
    }
}

fn content(entry: &Entry, data: &[u8]) -> Result<Vec<u8>, String> {
    let size = entry.size;
    let bytes = match entry.method {
        Method::Stored => data.to_vec(),
        Method::Deflate => {
            let mut inflating = DeflateDecoder::new(data);
            let mut bytes = Vec::new();
            // A byte more than it says is enough to know that there are more.
            let mut bounded = inflating.by_ref().take(size.saturating_add(1));
            bounded
                .read_to_end(&mut bytes)
                .map_err(|e| format!("does not inflate: {e}"))?;
            if bytes.len() as u64 > size {
                return Err(format!("inflates to more than the {size} bytes it says"));
            }
            let used = inflating.total_in();
            if bytes.len() as u64 == size && used != data.len() as u64 {
                let left = (data.len() as u64).saturating_sub(used);
                return Err(format!("has {left} bytes behind its compressed data"));
            }
            bytes
        }
    };
    let found = bytes.len();
    if found as u64 != size {
        return Err(format!("inflates to {found} bytes; it says {size}"));
    }
    let mut crc = Crc::new();
    crc.update(&bytes);
    if crc.sum() != entry.crc32 {
        let (found, says) = (crc.sum(), entry.crc32);
        return Err(format!("its CRC-32 is {found:08x}; it says {says:08x}"));
    }
    Ok(bytes)
}
