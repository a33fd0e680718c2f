//! Plain files of a bounded size.
//!
//! Nothing is read before it is known to be a file and how long it is: a pipe waits for ever, a
//! device never ends.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _};
use std::path::Path;

/// Reads a plain file of at most so many bytes, or none of it.
///
/// # Errors
/// Those of the file system; [`ErrorKind::IsADirectory`] for a folder, [`ErrorKind::InvalidInput`]
/// for a pipe or a device, [`ErrorKind::FileTooLarge`] for a longer one.
pub fn read_plain_file(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "is a folder"));
    }
    if !about.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "is no plain file"));
    }
    let too_long = |bytes: u64| {
        let problem = format!("has {bytes} bytes; at most {most} are read");
        Error::new(ErrorKind::FileTooLarge, problem)
    };
    if about.len() > most {
        return Err(too_long(about.len()));
    }
    let mut content = Vec::new();
    // What grew since stays out.
    let mut file = File::open(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut content)?;
    match content.len() as u64 {
        bytes if bytes > most => Err(too_long(bytes)),
        _ => Ok(content),
    }
}

/// The same of a text.
///
/// # Errors
/// As [`read_plain_file`]; [`ErrorKind::InvalidData`] for what is no UTF-8.
pub fn read_plain_text(path: &Path, most: u64) -> Result<String, Error> {
    let text = String::from_utf8(read_plain_file(path, most)?);
    text.map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_never_ends_and_what_is_too_long_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read_plain_file(&path, 3).unwrap(), b"abc");
        let told = |path: &Path, most: u64| read_plain_file(path, most).unwrap_err().to_string();
        assert_eq!(told(&path, 2), "has 3 bytes; at most 2 are read");
        assert_eq!(told(Path::new("/dev/zero"), 1 << 30), "is no plain file");
        assert_eq!(told(folder.path(), 1), "is a folder");
        let long = File::create(folder.path().join("long")).unwrap();
        long.set_len(1 << 40).unwrap();
        let told = told(&folder.path().join("long"), 1 << 30);
        assert_eq!(told, "has 1099511627776 bytes; at most 1073741824 are read");
    }
}
