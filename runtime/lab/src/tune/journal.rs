//! The file of records: read as a whole, then only ever added to.
//!
//! A record is one line, written at once. A last line without its end that is the beginning of a
//! record is what a process left that was killed while it wrote: it is moved to a file beside,
//! `FILE.torn`, and its kernel is tuned again; a record that lacks its end alone gets it. Anything
//! else that is no record, to the last key and value ([`mod@super::judged`]), is an error, and the
//! file stays as it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tilewright_bundle::Kernel;

use super::judged::Judge;
use super::record::{RECORD_FORMAT, Record};
use crate::json_lines;
use tilewright_runtime::RecordsError;

/// What every record begins with.
const OPENING: &str = "{\"format\":1,\"outcome\":\"";
/// What the file is, for those who named another.
const RECORDS: &str = "records of `tune`";

/// An open file of records, locked against other tuners.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens a file, made when it is missing, and reads what it holds.
    ///
    /// # Errors
    /// When it cannot be read, another process holds it, whole lines are no records, or what stands
    /// behind the last whole line is no beginning of one.
    pub fn open(path: &Path) -> Result<(Journal, Vec<Record>), RecordsError> {
        Journal::open_for(path, &[])
    }

    /// As [`Journal::open`], where records of these kernels are to name what the kernels have:
    /// their ids, operands, extents and scalars.
    ///
    /// # Errors
    /// As [`Journal::open`], and when a record of one of the kernels names anything else.
    pub fn open_for(
        path: &Path,
        kernels: &[Kernel],
    ) -> Result<(Journal, Vec<Record>), RecordsError> {
        let io = |error| RecordsError::Io {
            path: path.to_owned(),
            error,
        };
        // Reading would wait for a pipe and has no end on a device.
        if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let source = std::io::Error::new(ErrorKind::InvalidInput, "is no plain file");
            return Err(io(source));
        }
        let opened = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path);
        let mut file = opened.map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RecordsError::Busy {
                    path: path.to_owned(),
                    holder: holder(&file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let whole = bytes
            .iter()
            .rposition(|c| *c == b'\n')
            .map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(whole);
        // A record may lack the end of its line alone.
        let last = serde_json::from_slice::<Record>(rest);
        let is_whole = last.is_ok_and(|record| record.format == RECORD_FORMAT);
        let lines = if is_whole { bytes.as_slice() } else { lines };
        let judge = Judge::of(kernels);
        let records = json_lines::parse(path, lines, RECORD_FORMAT, |line| judge.record(line))?;
        let mut journal = Journal {
            path: path.to_owned(),
            file,
        };
        match rest {
            [] => {}
            _ if is_whole => journal.file.write_all(b"\n").map_err(io)?,
            _ if json_lines::is_torn(rest, OPENING) => journal.set_aside(rest, whole as u64)?,
            _ => {
                return Err(RecordsError::Foreign {
                    path: path.to_owned(),
                    what: RECORDS,
                });
            }
        }
        Ok((journal, records))
    }

    /// Moves what is left of a record to the file beside.
    fn set_aside(&mut self, torn: &[u8], whole: u64) -> Result<(), RecordsError> {
        let mut name = self.path.clone().into_os_string();
        name.push(".torn");
        let beside = PathBuf::from(name);
        let io = |path: &Path, error| RecordsError::Io {
            path: path.to_owned(),
            error,
        };
        let is_ours = |bytes: Vec<u8>| {
            let mut lines = bytes.split(|c| *c == b'\n').filter(|line| !line.is_empty());
            lines.all(|line| {
                json_lines::is_torn(line, OPENING) || serde_json::from_slice::<Record>(line).is_ok()
            })
        };
        match std::fs::metadata(&beside) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Ok(about) if about.is_file() && std::fs::read(&beside).is_ok_and(is_ours) => {}
            _ => {
                return Err(RecordsError::Foreign {
                    path: beside,
                    what: RECORDS,
                });
            }
        }
        let mut kept = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&beside)
            .map_err(|e| io(&beside, e))?;
        kept.write_all(&[torn, b"\n"].concat())
            .and_then(|()| kept.sync_all())
            .map_err(|e| io(&beside, e))?;
        self.file
            .set_len(whole)
            .and_then(|()| self.file.seek(SeekFrom::End(0)))
            .map_err(|e| io(&self.path, e))?;
        Ok(())
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, record: &Record) -> Result<(), RecordsError> {
        let io = |error| RecordsError::Io {
            path: self.path.clone(),
            error,
        };
        let mut line = serde_json::to_vec(record).map_err(|e| io(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(io)
    }
}

/// The process that holds the lock of a file, as Linux lists it: `FLOCK ADVISORY WRITE pid
/// major:minor:inode`, the device's numbers in hexadecimal.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata().ok()?;
    let dev = meta.dev();
    let major = (dev >> 8 & 0xFFF) | (dev >> 32 & !0xFFF);
    let minor = (dev & 0xFF) | (dev >> 12 & !0xFF);
    let place = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kind = words.iter().position(|word| *word == "FLOCK")?;
        // Behind an arrow stands who waits for the lock.
        let holds = kind == 1 && words.get(5) == Some(&place.as_str());
        holds.then(|| words.get(4)?.parse().ok()).flatten()
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<u32> {
    None
}
