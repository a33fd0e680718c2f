//! Files that the command writes beside bundles: in place of nothing, or of what it wrote itself.
//!
//! A path may be mistyped, and what lies there may have taken somebody a year. So each kind of file
//! is known by its content, and one of another kind is refused as it is, before any work is done
//! for it. Pipes and devices hold nothing and are written to.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use tilewright_lab::bench::Row;

use crate::outcome::Failure;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A drawing of ours, as SVG.
    Drawing,
    /// Findings as SARIF, by this command.
    Sarif,
    /// The rows of `verify --capture`.
    Capture,
    /// The rows of `bench`, which the records of `tune` are not.
    Rows,
    /// The elements of an operand, which look like anything.
    Elements,
}

/// How much of a file is looked at: its first line has what tells.
const LOOKED_AT_BYTES: u64 = 1 << 20;

impl Kind {
    /// What such a file holds, for those who named another.
    const fn text(self) -> &'static str {
        match self {
            Kind::Drawing => "drawing of this command",
            Kind::Sarif => "findings of this command",
            Kind::Capture => "capture",
            Kind::Rows => "rows of `bench`",
            Kind::Elements => "elements of this operand",
        }
    }

    /// Whether a file that begins so is of this kind.
    fn is_of(self, beginning: &str) -> bool {
        let line = beginning.lines().next().unwrap_or_default();
        let has = |keys: &[&str]| {
            let row = serde_json::from_str::<serde_json::Value>(line);
            row.is_ok_and(|row| keys.iter().all(|key| row.get(key).is_some()))
        };
        match self {
            Kind::Drawing => {
                let head = beginning.split('>').next().unwrap_or_default();
                head.starts_with("<svg") && head.contains("class=\"tw\"")
            }
            Kind::Sarif => {
                beginning.contains("sarif") && beginning.contains("\"name\": \"tilewright\"")
            }
            Kind::Capture => has(&["format", "ptx_sha256", "inputs_sha256", "outputs"]),
            Kind::Rows => Row::is_line(line),
            Kind::Elements => false,
        }
    }
}

/// Whether a file of this kind may be written at `path`, or rows be added to it.
///
/// # Errors
/// When something else lies there, or it cannot be read.
pub fn check(path: &Path, kind: Kind) -> Result<(), Failure> {
    let failed = |error| Failure::io(path.display(), &error);
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !about.is_file() || about.len() == 0 {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(LOOKED_AT_BYTES).read_to_end(&mut bytes);
    read.map_err(failed)?;
    match kind.is_of(&String::from_utf8_lossy(&bytes)) {
        true => Ok(()),
        false => Err(foreign(path, kind)),
    }
}

/// Writes a file of this kind.
///
/// # Errors
/// As [`check`], and when it cannot be written.
pub fn write(path: &Path, kind: Kind, content: &[u8]) -> Result<(), Failure> {
    let is_same = std::fs::metadata(path).is_ok_and(|about| {
        let is_as_long = about.is_file() && about.len() == content.len() as u64;
        is_as_long && std::fs::read(path).is_ok_and(|found| found == content)
    });
    if is_same {
        return Ok(());
    }
    check(path, kind)?;
    std::fs::write(path, content).map_err(|error| Failure::io(path.display(), &error))
}

fn foreign(path: &Path, kind: Kind) -> Failure {
    Failure::CouldNotRun(format!(
        "{}: the file is there and holds no {}, and was left as it is: name another file, or \
         remove it",
        path.display(),
        kind.text()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_left_as_it_is() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        let kinds = [Kind::Sarif, Kind::Capture, Kind::Rows, Kind::Elements];
        let foreign = [
            "{\"years\": [1, 2]}",
            "{\"format\": 1}\n",
            // A record of `tune`.
            "{\"format\":1,\"outcome\":\"measured\",\"kernel\":\"a\",\"problem\":{},\
             \"ours_us\":1.0}\n",
            "<svg viewBox=\"0 0 1 1\"><path class=\"tw\"/></svg>",
            "plain text\n",
        ];
        for kind in kinds {
            for text in foreign {
                std::fs::write(&path, text)?;
                let told = write(&path, kind, b"ours");
                let Err(Failure::CouldNotRun(told)) = told else {
                    unreachable!("{kind:?} was written over {text}");
                };
                assert!(told.contains("left as it is"), "{told}");
                assert_eq!(std::fs::read_to_string(&path)?, text);
            }
            // A file of no bytes is nobody's, and the same content is there already.
            std::fs::write(&path, "")?;
            assert!(write(&path, kind, b"ours").is_ok());
            assert!(write(&path, kind, b"ours").is_ok());
            assert_eq!(std::fs::read(&path)?, b"ours");
        }
        Ok(())
    }

    #[test]
    fn our_own_files_are_replaced() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        let drawing = tilewright_layout_cli::page::page(8, 8, "").to_string();
        let row = "{\"kernel\":\"a\",\"problem\":{},\"ours_us\":1.0}\nrest";
        let capture = "{\"format\":1,\"ptx_sha256\":1,\"inputs_sha256\":1,\"outputs\":[]}\n";
        let ours = [
            (Kind::Drawing, drawing.as_str()),
            (Kind::Rows, row),
            (Kind::Capture, capture),
        ];
        for (kind, text) in ours {
            std::fs::write(&path, text)?;
            assert!(write(&path, kind, b"new").is_ok(), "{kind:?}");
        }
        let art = "<svg class=\"map\"><g class=\"tw\"/></svg>";
        std::fs::write(&path, art)?;
        assert!(check(&path, Kind::Drawing).is_err());
        Ok(())
    }
}
