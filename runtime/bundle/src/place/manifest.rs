//! Whether some bytes are a manifest that this program wrote, of whatever format, and whole or
//! damaged; and which files it lists.
//!
//! Other programs have files `manifest.json` too, and those who record which bundle they use write
//! the key `bundle_sha256` into theirs: a manifest has five keys, these and no others. One that is
//! damaged is known by its lines, all but one of which are right.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::hash::Sha256Hex;

/// What of a manifest every format has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outline {
    #[serde(rename = "format")]
    _format: u64,
    #[serde(rename = "provenance")]
    _provenance: BTreeMap<String, IgnoredAny>,
    #[serde(rename = "kernels")]
    _kernels: Vec<Entry>,
    files: Vec<Listed>,
    bundle_sha256: Sha256Hex,
}

/// A kernel's entry, of which keys differ by format.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "id")]
    _id: String,
}

#[derive(Debug, Deserialize)]
struct Listed {
    path: String,
}

/// The key of the bundle's hash.
const HASH: &str = "bundle_sha256";
/// The keys of a manifest, and what the value of each begins with in its line.
const LINES: [(&str, &str); 5] = [
    ("format", ""),
    ("provenance", "{"),
    ("kernels", "["),
    ("files", "["),
    (HASH, "\""),
];

/// The paths of the files that a manifest lists; `None` of what is none, and of a damaged one.
pub(super) fn listed(bytes: &[u8]) -> Option<BTreeSet<String>> {
    let outline: Outline = serde_json::from_slice(bytes).ok()?;
    let is_one = outline.bundle_sha256.is_well_formed();
    is_one.then(|| outline.files.into_iter().map(|file| file.path).collect())
}

/// Whether these bytes are a manifest, whole or damaged.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    listed(bytes).is_some() || is_damaged(&String::from_utf8_lossy(bytes))
}

/// Whether a text has the lines of a manifest that its keys begin, all but one of them as they were
/// written, and no others in their place.
fn is_damaged(text: &str) -> bool {
    let outermost = text.lines().filter_map(|line| line.strip_prefix("  \""));
    let lines: Vec<(&str, &str)> = outermost.filter_map(|l| l.split_once("\": ")).collect();
    let is_right = |key: &str, value: &str, opening: &str| match key {
        HASH => Sha256Hex::from_text(value.trim_matches('"')).is_well_formed(),
        _ => value.starts_with(opening),
    };
    let is_there = |(key, opening): &&(&str, &str)| {
        let mut lines = lines.iter();
        lines.any(|(found, value)| found == key && is_right(key, value, opening))
    };
    let right = LINES.iter().filter(is_there).count();
    // What is JSON all the same says itself which keys are the outermost.
    let object = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text);
    let is_other = object.is_ok_and(|object| {
        let known = LINES.iter().filter(|(key, _)| object.contains_key(*key));
        known.count() + 1 < LINES.len() || object.len() > LINES.len()
    });
    right + 1 >= LINES.len() && lines.len() <= LINES.len() && !is_other
}
