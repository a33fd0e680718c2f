//! Files become an archive: the same bytes for the same files.
//!
//! The manifest comes first, the others in order of their paths; each is deflated, has the earliest
//! date there is and the rights `rw-r--r--`, whatever the system.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::{MAX_ENTRIES, fits, refused};
use crate::error::{ArchiveFault, Error};
use crate::limits::MANIFEST;

/// The archive of these files.
///
/// # Errors
/// When they are more, or more bytes, than an archive holds.
pub(crate) fn pack(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    if files.len() > MAX_ENTRIES {
        let (found, most) = (files.len(), MAX_ENTRIES);
        let fault = ArchiveFault::TooMany { found, most };
        return Err(Error::archive("archive", fault));
    }
    let bytes = packed(files).map_err(refused)?;
    fits(bytes.len() as u64)?;
    Ok(bytes)
}

fn packed(files: &BTreeMap<String, Vec<u8>>) -> ZipResult<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::DEFAULT)
        .system(System::Unix)
        .unix_permissions(0o644);
    let first = files.get_key_value(MANIFEST);
    let others = files.iter().filter(|(path, _)| *path != MANIFEST);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in first.into_iter().chain(others) {
        zip.start_file(path, options)?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}
