//! Fates on file: one JSON line for each mutant, appended as they come.
//!
//! A record belongs to the text of its kernel, by hash: a later run takes up what was judged of the
//! same text, and judges what was not.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::subject::Failure;

/// One mutant's fate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// The kernel.
    pub subject: String,
    /// The hash of its text.
    pub ptx: String,
    /// The mutant's id.
    pub mutant: String,
    /// The instruction.
    pub was: String,
    /// What the instruction computes.
    #[serde(default)]
    pub meaning: String,
    /// Which instruction of those that compute this, from 1.
    #[serde(default)]
    pub nth: usize,
    /// What it became.
    pub is: String,
    /// What became of the mutant.
    pub fate: String,
}

/// Fates that are known, and where new ones go.
#[derive(Debug, Default)]
pub struct Record {
    known: HashMap<(String, String, String), String>,
    file: Option<Mutex<File>>,
}

impl Record {
    /// Reads a record, which need not exist yet, and continues it.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open(path: &Path) -> Result<Record, Failure> {
        let mut known = HashMap::new();
        let text = if path.exists() {
            std::fs::read_to_string(path)?
        } else {
            String::new()
        };
        for line in text.lines() {
            // A run that was stopped may have left half a line.
            if let Ok(line) = serde_json::from_str::<Line>(line) {
                known.insert((line.subject, line.ptx, line.mutant), line.fate);
            }
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        Ok(Record {
            known,
            file: Some(Mutex::new(file)),
        })
    }

    /// The fate of a mutant of a text.
    pub fn fate(&self, subject: &str, ptx: &str, mutant: &str) -> Option<&str> {
        let key = (subject.to_owned(), ptx.to_owned(), mutant.to_owned());
        self.known.get(&key).map(String::as_str)
    }

    /// Appends a fate.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&self, line: &Line) -> Result<(), Failure> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let text = format!("{}\n", serde_json::to_string(line)?);
        let file = file.lock();
        file.map_err(|_| "another worker failed")?
            .write_all(text.as_bytes())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_record_is_taken_up_behind_half_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.jsonl");
        let line = |mutant: &str| Line {
            subject: "k".into(),
            ptx: "12".into(),
            mutant: mutant.into(),
            was: "bar.sync 0;".into(),
            meaning: "bar.sync 0".into(),
            nth: 1,
            is: String::new(),
            fate: "race_shared".into(),
        };
        Record::open(&path)
            .unwrap()
            .append(&line("1:drop"))
            .unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{}", &whole[..20])).unwrap();
        Record::open(&path)
            .unwrap()
            .append(&line("2:drop"))
            .unwrap();
        let record = Record::open(&path).unwrap();
        assert_eq!(record.fate("k", "12", "1:drop"), Some("race_shared"));
        assert_eq!(record.fate("k", "12", "2:drop"), Some("race_shared"));
        assert_eq!(record.fate("k", "13", "1:drop"), None);
    }
}
