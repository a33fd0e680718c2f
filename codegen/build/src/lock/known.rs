//! Whether a text is a lock, of whatever format, and whole, torn apart by a merge or cut short.
//!
//! Many programs lock their inputs: a lock of ours has three keys, these and no others, and names
//! the generator.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What of a lock every format has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outline {
    #[serde(rename = "format")]
    _format: u64,
    inputs: BTreeMap<String, IgnoredAny>,
    #[serde(rename = "specs")]
    _specs: Vec<Entry>,
}

/// A locked spec.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "path")]
    _path: String,
}

/// The outermost keys, as their lines begin.
const OUTERMOST: [&str; 3] = ["  \"format\": ", "  \"inputs\": {", "  \"specs\": ["];
/// The input that every lock has.
const GENERATOR: &str = "generator";

/// Whether a text is a lock.
pub(super) fn is_one(text: &str) -> bool {
    match serde_json::from_str::<Outline>(text) {
        Ok(outline) => outline.inputs.contains_key(GENERATOR),
        Err(error) => is_torn(text) || error.is_eof() && is_cut(text),
    }
}

/// Whether a text begins as a lock does, as far as the input that names its generator.
fn is_cut(text: &str) -> bool {
    let [format, inputs, _] = OUTERMOST;
    let mut lines = text.lines();
    let starts = |line: Option<&str>, start: &str| line.is_some_and(|one| one.starts_with(start));
    lines.next() == Some("{")
        && starts(lines.next(), format)
        && starts(lines.next(), inputs)
        && lines.any(|line| line.starts_with(&format!("    \"{GENERATOR}\": \"")))
}

/// Whether a text has the lines of a lock, some of them twice and others between them.
fn is_torn(text: &str) -> bool {
    let begins = |start: &str| text.lines().any(|line| line.starts_with(start));
    let mut outermost = text.lines().filter(|line| line.starts_with("  \""));
    OUTERMOST.iter().all(|start| begins(start))
        && outermost.all(|line| OUTERMOST.iter().any(|start| line.starts_with(start)))
        && begins(&format!("    \"{GENERATOR}\": \""))
}
