//! Files become an archive: the same bytes for the same files.
//!
//! The manifest comes first, the others in order of their paths; each has the earliest date there
//! is, the rights `rw-r--r--` and no extra fields. A file that deflate does not make smaller is
//! stored.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::fields::{CENTRAL, END, LOCAL};
use super::{MAX_ARCHIVE_BYTES, MAX_ENTRIES};
use crate::error::{ArchiveFault, Error};
use crate::limits::MANIFEST;

/// The first of January 1980, midnight (APPNOTE 4.4.6).
const DATE: u32 = 0x0021_0000;
/// Version 2.0, which knows folders and deflate (APPNOTE 4.4.3).
const NEEDED: u16 = 20;
/// Made on Unix, by version 2.0 (APPNOTE 4.4.2).
const MADE_BY: u16 = 3 << 8 | 20;
/// A plain file that all may read and its owner may write.
const MODE: u32 = 0o100_644 << 16;

/// The archive of these files.
///
/// # Errors
/// When they are more, or more bytes, than an archive holds.
pub(crate) fn pack(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    let refused = |fault| Error::archive("archive", fault);
    if files.len() > MAX_ENTRIES {
        let (found, most) = (files.len(), MAX_ENTRIES);
        return Err(refused(ArchiveFault::TooMany { found, most }));
    }
    let first = files.get_key_value(MANIFEST);
    let others = files.iter().filter(|(path, _)| *path != MANIFEST);
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (path, bytes) in first.into_iter().chain(others) {
        let said = Said::of(path, bytes);
        let at = out.len();
        said.local(&mut out);
        said.central(&mut directory, at);
        out.extend_from_slice(said.data());
    }
    let (start, size, count) = (out.len(), directory.len(), files.len());
    out.append(&mut directory);
    put_32(&mut out, END as usize);
    for field in [0, 0, count, count] {
        put_16(&mut out, field);
    }
    put_32(&mut out, size);
    put_32(&mut out, start);
    put_16(&mut out, 0);
    let (bytes, most) = (out.len() as u64, MAX_ARCHIVE_BYTES);
    if bytes > most {
        return Err(refused(ArchiveFault::TooLong { bytes, most }));
    }
    Ok(out)
}

/// What is written of a file twice.
struct Said<'f> {
    path: &'f str,
    bytes: &'f [u8],
    /// Where that is shorter.
    deflated: Option<Vec<u8>>,
    crc32: u32,
}

impl<'f> Said<'f> {
    fn of(path: &'f str, bytes: &'f [u8]) -> Said<'f> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let mut deflating = DeflateEncoder::new(Vec::new(), Compression::best());
        // Writing to a vector cannot fail.
        let written = deflating.write_all(bytes).and_then(|()| deflating.finish());
        let deflated = written.ok().filter(|packed| packed.len() < bytes.len());
        Said {
            path,
            bytes,
            deflated,
            crc32: crc.sum(),
        }
    }

    fn data(&self) -> &[u8] {
        self.deflated.as_deref().unwrap_or(self.bytes)
    }

    fn local(&self, out: &mut Vec<u8>) {
        put_32(out, LOCAL as usize);
        self.both(out);
        out.extend_from_slice(self.path.as_bytes());
    }

    fn central(&self, out: &mut Vec<u8>, at: usize) {
        put_32(out, CENTRAL as usize);
        put_16(out, MADE_BY.into());
        self.both(out);
        // No comment, the first disk, bytes and not text.
        for _ in 0..3 {
            put_16(out, 0);
        }
        put_32(out, MODE as usize);
        put_32(out, at);
        out.extend_from_slice(self.path.as_bytes());
    }

    /// From the version needed to the length of the extra fields, of which there are none.
    fn both(&self, out: &mut Vec<u8>) {
        let method = if self.deflated.is_some() { 8 } else { 0 };
        for field in [NEEDED.into(), 0, method] {
            put_16(out, field);
        }
        for field in [DATE as usize, self.crc32 as usize] {
            put_32(out, field);
        }
        put_32(out, self.data().len());
        put_32(out, self.bytes.len());
        put_16(out, self.path.len());
        put_16(out, 0);
    }
}

// What does not fit makes the archive too long, which is refused.

fn put_16(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u16).to_le_bytes());
}

fn put_32(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u32).to_le_bytes());
}
