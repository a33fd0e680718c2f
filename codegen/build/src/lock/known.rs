//! Whether a text is a lock, of whatever format, and whole or torn apart by a merge.
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
        Err(_) => is_torn(text),
    }
}

/// Whether a text has the lines of a lock, some of them twice and others between them.
fn is_torn(text: &str) -> bool {
    let begins = |start: &str| text.lines().any(|line| line.starts_with(start));
    let mut outermost = text.lines().filter(|line| line.starts_with("  \""));
    OUTERMOST.iter().all(|start| begins(start))
        && outermost.all(|line| OUTERMOST.iter().any(|start| line.starts_with(start)))
        && begins(&format!("    \"{GENERATOR}\": \""))
}
