//! Which files are in an archive, and whether a bundle's may hold them.
//!
//! Structure is the business of the crate `zip`: headers that disagree with the directory, names
//! that stand twice, entries that overlap or are not listed. What is judged here is what entries
//! are: plain files with plain names, no larger than a bundle's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use zip::read::ZipFileEntry;
use zip::{CompressionMethod, ZipArchive};

use super::{MAX_ENTRIES, refused};
use crate::error::{ArchiveFault as Fault, ArchiveProblem, Error, shorten};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_TOTAL_BYTES, safe_path};

/// Problems that are told of at most.
const MOST_TOLD: usize = 64;

/// The kind of a Unix file, in its mode, and the kinds that are told apart.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// The places in the directory of the files of an archive, by name; folders are none.
///
/// # Errors
/// Everything that is wrong with its entries, or else what is wrong with its structure.
pub(super) fn files(zip: &mut ZipArchive<Cursor<&[u8]>>) -> Result<BTreeMap<String, usize>, Error> {
    let directory = zip.metadata();
    let (count, most) = (directory.len(), MAX_ENTRIES);
    if count > most {
        let found = count;
        return Err(Error::archive("archive", Fault::TooMany { found, most }));
    }
    let mut found = Found::default();
    for place in 0..count {
        found.judge(place, &directory.entry(place).map_err(refused)?);
    }
    found.whole(zip.comment());
    if found.problems.is_empty() {
        zip.validate_header_consistency().map_err(refused)?;
        return Ok(found.files);
    }
    let problems = found.problems;
    Err(Error::Archive { problems })
}

/// What was found so far.
#[derive(Default)]
struct Found {
    files: BTreeMap<String, usize>,
    folded: BTreeSet<String>,
    /// The sum of what the entries say they have.
    bytes: u64,
    /// Where the first entry lies.
    first: Option<u64>,
    problems: Vec<ArchiveProblem>,
}

impl Found {
    fn add(&mut self, entry: &str, fault: Fault) {
        if self.problems.len() < MOST_TOLD {
            let entry = shorten(entry);
            self.problems.push(ArchiveProblem { entry, fault });
        }
    }

    /// Judges what the directory says of one entry.
    fn judge(&mut self, place: usize, entry: &ZipFileEntry<'_>) {
        let at = entry.header_start();
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.bytes = self.bytes.saturating_add(entry.size());
        // What is not UTF-8 becomes a character that is not allowed.
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        for fault in faults(entry, name.ends_with('/')) {
            self.add(&name, fault);
        }
        let file = name.strip_suffix('/').unwrap_or(&name);
        if let Err(reason) = safe_path(file) {
            self.add(&name, Fault::Name { reason });
        }
        if !self.folded.insert(file.to_ascii_lowercase()) {
            self.add(&name, Fault::Duplicate);
        }
        if !name.ends_with('/') {
            self.files.insert(name, place);
        }
    }

    /// Judges the archive as a whole.
    fn whole(&mut self, comment: &[u8]) {
        let (bytes, most) = (self.bytes, MAX_TOTAL_BYTES + MAX_MANIFEST_BYTES);
        if bytes > most {
            self.add("archive", Fault::TooLargeTogether { bytes, most });
        }
        if let Some(bytes) = self.first.filter(|first| *first > 0) {
            self.add("archive", Fault::Leading { bytes });
        }
        if !comment.is_empty() {
            let bytes = comment.len();
            self.add("archive", Fault::Comment { bytes });
        }
    }
}

/// What is wrong with an entry by itself.
fn faults(entry: &ZipFileEntry<'_>, is_folder: bool) -> Vec<Fault> {
    let (size, most) = (entry.size(), MAX_MANIFEST_BYTES);
    let method = entry.compression();
    // Of systems without modes it is 0.
    let kind = (entry.external_attributes() >> 16) & KIND;
    let is_known = matches!(
        method,
        CompressionMethod::Stored | CompressionMethod::Deflated
    );
    let all = [
        (entry.encrypted(), Fault::Encrypted),
        (
            !is_known,
            Fault::Method {
                method: method.into_compression().as_u16(),
            },
        ),
        (size > most, Fault::TooLarge { bytes: size, most }),
        (kind == LINK, Fault::Link),
        (
            ![0, FILE, FOLDER, LINK].contains(&kind)
                || (kind == FOLDER) != is_folder && kind != 0
                || is_folder && size != 0,
            Fault::NoFile,
        ),
    ];
    let broken = all.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.map(|(_, fault)| fault).collect()
}
