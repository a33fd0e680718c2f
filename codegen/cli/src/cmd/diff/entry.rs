//! Two values of the same type, leaf by leaf.
//!
//! In: what serializes. Out: a line for each leaf that moved, with its path: elements of lists go
//! by what names them where anything does.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Keys that name an element of a list.
const NAMES: [&str; 4] = ["step", "name", "operand", "expr"];
/// Keys of an entry that say nothing by themselves: names, and hashes and lines of what is told
/// apart.
const SILENT: [&str; 5] = ["id", "lines", "content_hash", "ptx.file", "ptx.sha256"];

/// The leaves that moved: `resources.registers: 168 -> 128`.
pub fn moved<T: Serialize>(before: &T, after: &T) -> Vec<String> {
    let (before, after) = (leaves(before), leaves(after));
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut lines = Vec::new();
    for path in paths {
        let [old, new] = [&before, &after].map(|leaves| leaves.get(path).map(String::as_str));
        if old != new {
            let (old, new) = (old.unwrap_or("none"), new.unwrap_or("none"));
            lines.push(format!("{path}: {old} -> {new}"));
        }
    }
    lines
}

fn leaves<T: Serialize>(value: &T) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // What does not serialize was never written.
    let value = serde_json::to_value(value).unwrap_or_default();
    collect(&value, "", &mut found);
    found
}

fn collect(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    if SILENT.contains(&path) {
        return;
    }
    let leaf = match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                collect(value, &path, found);
            }
            return;
        }
        Value::Array(items) if items.iter().any(|item| item.is_object()) => {
            for (at, item) in items.iter().enumerate() {
                let named = NAMES.iter().find_map(|key| item.get(key)?.as_str());
                let at = at.to_string();
                collect(item, &format!("{path}[{}]", named.unwrap_or(&at)), found);
            }
            return;
        }
        Value::Array(items) if items.is_empty() => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    found.insert(path.to_owned(), leaf);
}
