//! What is in an archive: its directory, compared with the headers before the data.
//!
//! Of a structure that two programs could read in two ways nothing is read: entries, directory and
//! end fill the file one behind the other, names are plain, and what is said twice is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::fields::{self, Central, Fields};
use super::{MAX_ARCHIVE_BYTES, MAX_ENTRIES};
use crate::error::{ArchiveFault as Fault, ArchiveProblem, Error, shorten};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_TOTAL_BYTES, safe_path};

/// Problems that are told of at most.
const MOST_TOLD: usize = 64;

/// How an entry's bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflate,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub method: Method,
    /// Where its bytes lie in the archive.
    pub data: Range<usize>,
    /// Bytes that come out.
    pub size: u64,
    pub crc32: u32,
}

/// The files of an archive by name.
///
/// # Errors
/// What is wrong with its structure, or else everything that is wrong with its entries.
pub(super) fn read(bytes: &[u8]) -> Result<BTreeMap<String, Entry>, Error> {
    let whole = |fault| Error::archive("archive", fault);
    let end = end(bytes).map_err(whole)?;
    let directory = bytes.get(end.directory.clone()).unwrap_or_default();
    let entries = entries(directory, end.count).map_err(whole)?;
    let total: u64 = entries.iter().map(|e| u64::from(e.said.size)).sum();
    let most = MAX_TOTAL_BYTES + MAX_MANIFEST_BYTES;
    if total > most {
        return Err(whole(Fault::TooLargeTogether { bytes: total, most }));
    }
    let mut found = Found::default();
    for entry in &entries {
        found.judge(entry);
    }
    found.told()?;
    found.place(bytes, entries, end.directory.start);
    found.told()?;
    Ok(found.files)
}

/// What the end of the directory says.
struct End {
    directory: Range<usize>,
    count: usize,
}

fn end(bytes: &[u8]) -> Result<End, Fault> {
    if bytes.len() as u64 > MAX_ARCHIVE_BYTES {
        return Err(Fault::TooLong {
            bytes: bytes.len() as u64,
            most: MAX_ARCHIVE_BYTES,
        });
    }
    let at = end_place(bytes).ok_or(Fault::NoArchive)?;
    let trailing = bytes.len() - at - fields::END_BYTES;
    if trailing > 0 {
        let bytes = trailing as u64;
        return Err(Fault::Trailing { bytes });
    }
    let said = (|| {
        let mut end = Fields(bytes.get(at + 4..)?);
        let (disk, first) = (end.u16()?, end.u16()?);
        let (here, all) = (end.u16()?, end.u16()?);
        Some((disk, first, here, all, end.u32()?, end.u32()?))
    })();
    let (disk, first, here, all, size, start) = said.ok_or(Fault::NoArchive)?;
    let locator = at
        .checked_sub(fields::LOCATOR_64_BYTES)
        .and_then(|at| Fields(&bytes[at..]).u32());
    if [disk, first, here, all].contains(&u16::MAX)
        || [size, start].contains(&u32::MAX)
        || locator == Some(fields::LOCATOR_64)
    {
        return Err(Fault::Zip64);
    }
    if disk != 0 || first != 0 || here != all {
        return Err(Fault::Spanned);
    }
    let says = u64::from(start) + u64::from(size);
    if says != at as u64 {
        let found = at as u64;
        return Err(Fault::DirectoryPlace { says, found });
    }
    let count = usize::from(all);
    if count > MAX_ENTRIES {
        let (found, most) = (count, MAX_ENTRIES);
        return Err(Fault::TooMany { found, most });
    }
    let directory = start as usize..at;
    Ok(End { directory, count })
}

/// Where the last end of a directory begins that could have a comment behind it.
fn end_place(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(fields::END_BYTES)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let is_end = |at: &usize| bytes[*at..].starts_with(&fields::END.to_le_bytes());
    (first..=last).rev().find(is_end)
}

fn entries(directory: &[u8], says: usize) -> Result<Vec<Central<'_>>, Fault> {
    let mut left = Fields(directory);
    let wrong = Fault::Directory { says };
    let mut entries = Vec::new();
    for _ in 0..says {
        entries.push(fields::central(&mut left).ok_or(wrong.clone())?);
    }
    match left.0.is_empty() {
        true => Ok(entries),
        false => Err(wrong),
    }
}

/// What was found so far.
#[derive(Default)]
struct Found {
    files: BTreeMap<String, Entry>,
    folded: BTreeSet<String>,
    problems: Vec<ArchiveProblem>,
}

impl Found {
    fn add(&mut self, entry: &str, fault: Fault) {
        if self.problems.len() < MOST_TOLD {
            let entry = shorten(entry);
            self.problems.push(ArchiveProblem { entry, fault });
        }
    }

    fn told(&mut self) -> Result<(), Error> {
        match std::mem::take(&mut self.problems) {
            none if none.is_empty() => Ok(()),
            problems => Err(Error::Archive { problems }),
        }
    }

    /// Judges what the directory says of one entry.
    fn judge(&mut self, entry: &Central<'_>) {
        let name = String::from_utf8_lossy(entry.said.name).into_owned();
        for fault in faults(entry) {
            self.add(&name, fault);
        }
        let file = name.strip_suffix('/').unwrap_or(&name);
        if let Err(reason) = safe_path(file) {
            self.add(&name, Fault::Name { reason });
        }
        if !self.folded.insert(file.to_ascii_lowercase()) {
            self.add(&name, Fault::Duplicate);
        }
    }

    /// Goes from header to header, and keeps where the data lie.
    fn place(&mut self, bytes: &[u8], mut entries: Vec<Central<'_>>, directory: usize) {
        entries.sort_by_key(|entry| entry.offset);
        let mut at = 0;
        for entry in &entries {
            let name = String::from_utf8_lossy(entry.said.name).into_owned();
            let start = entry.offset as usize;
            if start < at {
                return self.add(&name, Fault::Overlap);
            }
            if start > at {
                let bytes = (start - at) as u64;
                return self.add(&name, Fault::Gap { bytes });
            }
            match data(bytes, entry, directory) {
                Err(fault) => return self.add(&name, fault),
                Ok(data) => {
                    at = data.end;
                    self.keep(name, entry, data);
                }
            }
        }
        if at != directory {
            let bytes = (directory - at) as u64;
            self.add("archive", Fault::Gap { bytes });
        }
    }

    fn keep(&mut self, name: String, entry: &Central<'_>, data: Range<usize>) {
        if name.ends_with('/') {
            return;
        }
        let method = match entry.said.method {
            0 => Method::Stored,
            _ => Method::Deflate,
        };
        let entry = Entry {
            method,
            data,
            size: entry.said.size.into(),
            crc32: entry.said.crc32,
        };
        self.files.insert(name, entry);
    }
}

/// The kind of a Unix file, in its mode.
const KIND: u32 = 0o170_000;

/// What is wrong with an entry by itself.
fn faults(entry: &Central<'_>) -> Vec<Fault> {
    let said = &entry.said;
    let (size, compressed) = (u64::from(said.size), u64::from(said.compressed));
    let extra = fields::extra_ids(said.extra);
    let has = |id| extra.as_ref().is_some_and(|ids| ids.contains(&id));
    let most = MAX_MANIFEST_BYTES;
    let is_folder = said.name.ends_with(b"/");
    let is_64 = [said.size, said.compressed, entry.offset].contains(&u32::MAX);
    let reason = || "another name stands in a field of its own".to_owned();
    let kind = entry.mode & KIND;
    let all = [
        (
            said.flags & fields::ENCRYPTED != 0 || has(fields::EXTRA_AES),
            Fault::Encrypted,
        ),
        (said.flags & fields::STREAMED != 0, Fault::Streamed),
        (entry.disk != 0, Fault::Spanned),
        (is_64 || has(fields::EXTRA_ZIP64), Fault::Zip64),
        (has(fields::EXTRA_NAME), Fault::Name { reason: reason() }),
        (extra.is_none(), Fault::Extra),
        (
            ![0, 8].contains(&said.method),
            Fault::Method {
                method: said.method,
            },
        ),
        (
            said.method == 0 && size != compressed,
            Fault::Stored { compressed, size },
        ),
        (size > most, Fault::TooLarge { bytes: size, most }),
        (kind == 0o120_000, Fault::Link),
        (
            ![0, 0o100_000, 0o040_000, 0o120_000].contains(&kind)
                || (kind == 0o040_000) != is_folder && kind != 0
                || is_folder && size != 0,
            Fault::NoFile,
        ),
    ];
    let broken = all.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.map(|(_, fault)| fault).collect()
}

/// Where an entry's data lie, after comparing its own header with the directory.
fn data(bytes: &[u8], entry: &Central<'_>, directory: usize) -> Result<Range<usize>, Fault> {
    let (at, central) = (entry.offset as usize, &entry.said);
    let none = Fault::NoHeader { at: at as u64 };
    let before = bytes.get(..directory).unwrap_or_default();
    let mut left = Fields(before.get(at..).unwrap_or_default());
    let is_header = left.u32() == Some(fields::LOCAL);
    let local = fields::local(&mut left).filter(|_| is_header).ok_or(none)?;
    let text = |name: &[u8]| shorten(&String::from_utf8_lossy(name));
    let numbers = [
        ("flags", u32::from(local.flags), u32::from(central.flags)),
        ("method", u32::from(local.method), u32::from(central.method)),
        ("CRC-32", local.crc32, central.crc32),
        ("compressed size", local.compressed, central.compressed),
        ("size", local.size, central.size),
    ];
    let said =
        numbers.map(|(field, local, central)| (field, local.to_string(), central.to_string()));
    let names = ("name", text(local.name), text(central.name));
    let differs = |(_, local, central): &(_, String, String)| local != central;
    if let Some((field, local, central)) = said.into_iter().chain([names]).find(differs) {
        return Err(Fault::Disagrees {
            field,
            local,
            central,
        });
    }
    let extra = fields::extra_ids(local.extra).ok_or(Fault::Extra)?;
    if extra.contains(&fields::EXTRA_ZIP64) {
        return Err(Fault::Zip64);
    }
    if extra.contains(&fields::EXTRA_AES) {
        return Err(Fault::Encrypted);
    }
    let head = fields::LOCAL_BYTES + local.name.len() + local.extra.len();
    let start = at + head;
    let end = start + central.compressed as usize;
    match end <= directory {
        true => Ok(start..end),
        false => Err(Fault::Overlap),
    }
}
