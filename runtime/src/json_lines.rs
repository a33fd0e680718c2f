//! Files of records: one JSON object a line, each with the number of its format.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::RecordsError;

/// Longest text of a problem; a line of another file may be all one token.
const PROBLEM_CHARS: usize = 400;

/// Whether bytes without the end of a line are what is left of a record that was being written: a
/// beginning of an object that begins with `opening`, as every record does.
pub(crate) fn is_torn(bytes: &[u8], opening: &str) -> bool {
    let opening = opening.as_bytes();
    let common = bytes.len().min(opening.len());
    if bytes[..common] != opening[..common] {
        return false;
    }
    let parsed = serde_json::from_slice::<serde_json::Value>(bytes);
    parsed.is_err_and(|error| error.is_eof())
}

/// The records of whole lines, all of the format `known`. Lines of white space are passed over.
///
/// # Errors
/// When a line is no record, or has another format.
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    lines: &[u8],
    known: u32,
) -> Result<Vec<T>, RecordsError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u64,
    }
    let mut records = Vec::new();
    for (at, line) in lines.split(|c| *c == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line_number = at + 1;
        let refuse = |error: serde_json::Error| RecordsError::Line {
            path: path.to_owned(),
            line: line_number,
            problem: error.to_string().chars().take(PROBLEM_CHARS).collect(),
        };
        let head: Head = serde_json::from_slice(line).map_err(refuse)?;
        if head.format != u64::from(known) {
            return Err(RecordsError::Format {
                path: path.to_owned(),
                line: line_number,
                found: head.format,
                known,
            });
        }
        records.push(serde_json::from_slice(line).map_err(refuse)?);
    }
    Ok(records)
}
