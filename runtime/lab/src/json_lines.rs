//! Files of records: one JSON object a line, each with the number of its format.

use std::path::Path;

use tilewright_runtime::{LineProblem, RecordsError};

/// Longest text of a problem; a line of another file may be all one token.
const PROBLEM_CHARS: usize = 400;
/// Problems of one line that are told.
const MOST_TOLD: usize = 20;

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

/// The records of whole lines, all of the format `known`; `read` says all that is wrong with a
/// line. Lines of white space are passed over.
///
/// # Errors
/// When a line has another format, or lines are no records: all of them at once.
pub(crate) fn parse<T>(
    path: &Path,
    lines: &[u8],
    known: u32,
    read: impl Fn(&[u8]) -> Result<T, Vec<String>>,
) -> Result<Vec<T>, RecordsError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u64,
    }
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in lines.split(|c| *c == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let head = serde_json::from_slice::<Head>(line);
        if let Ok(Head { format: found }) = head
            && found != u64::from(known)
        {
            return Err(RecordsError::Format {
                path: path.to_owned(),
                line: at + 1,
                found,
                known,
            });
        }
        match read(line) {
            Ok(record) => records.push(record),
            Err(wrong) => problems.push(LineProblem {
                line: at + 1,
                problems: wrong
                    .iter()
                    .take(MOST_TOLD)
                    .map(|text| shortened(text))
                    .collect(),
            }),
        }
    }
    match problems.is_empty() {
        true => Ok(records),
        false => Err(RecordsError::Lines {
            path: path.to_owned(),
            problems,
        }),
    }
}

/// As much of a text as is read.
fn shortened(text: &str) -> String {
    text.chars().take(PROBLEM_CHARS).collect()
}
