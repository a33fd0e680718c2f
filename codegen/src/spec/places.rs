//! Where in a spec file a violated limit stands.
//!
//! Comes in: what a plan refused, with the keys that its messages name. Goes out: the same with the
//! file and the place of each: the value that the point tries where the key is tuned, else the
//! value that is written, else what the point is of.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::SpecFile;
use super::families::FAMILIES;
use super::model::paths;
use super::node::{Entry, Node, Value};
use super::problems::Problems;
use super::tree;
use crate::error::{Error, Related, Span, Violation, Written};

/// Keys that are words of the language as well: a message does not speak of the key when it has
/// the word.
const PROSE: &[&str] = &[
    "kernel",
    "name",
    "mma",
    "copy",
    "swizzle",
    "tune",
    "accumulator",
];

/// The keys that a message names, in the order it does: dotted paths and maps of the table of keys,
/// and `operand a`. A number of threads is not the key.
pub(crate) fn keys_named(message: &str) -> Vec<String> {
    let known = known();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut named: Vec<String> = Vec::new();
    let mut before = "";
    for piece in message.split(|c: char| !word(c)) {
        let piece = piece.trim_matches('.');
        let operand = (before == "operand").then(|| format!("operands.{piece}"));
        let key = operand.unwrap_or_else(|| piece.to_owned());
        let counted = key == "threads" && before.parse::<u32>().is_ok();
        if known.contains(key.as_str()) && !counted && !named.contains(&key) {
            named.push(key);
        }
        before = piece;
    }
    named
}

/// Every path and every map of the table of keys, but for [`PROSE`].
fn known() -> &'static BTreeSet<String> {
    static KNOWN: OnceLock<BTreeSet<String>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut known = BTreeSet::new();
        for (path, _) in FAMILIES.iter().flat_map(|facts| paths(&facts.shape())) {
            let dots = path.match_indices('.').map(|(at, _)| at);
            known.extend(dots.chain([path.len()]).map(|end| path[..end].to_string()));
        }
        known.retain(|key| !PROSE.contains(&key.as_str()));
        known
    })
}

impl SpecFile {
    /// The error with its places in this file, where it is the refusal of one of its points.
    #[must_use]
    pub fn place(&self, error: Error) -> Error {
        let Error::Plan {
            kernel, violations, ..
        } = error
        else {
            return error;
        };
        let tree = tree::read(&self.text, &mut Problems::default());
        let number = self.points.iter().position(|point| point.id == kernel);
        let placed = |violation: Violation| match &tree {
            Some(tree) => place(tree, violation, number.unwrap_or(0)),
            None => violation,
        };
        Error::Plan {
            kernel,
            violations: violations.into_iter().map(placed).collect(),
            file: Some(Box::new(Written {
                path: self.path.clone(),
                text: self.text.clone(),
            })),
        }
    }
}

/// Where the keys of a point stand in its file.
pub struct Places {
    tree: Option<Node>,
    number: usize,
}

impl SpecFile {
    /// Where the keys of that point stand.
    pub fn places(&self, point: &str) -> Places {
        let number = self.points.iter().position(|one| one.id == point);
        Places {
            tree: tree::read(&self.text, &mut Problems::default()),
            number: number.unwrap_or(0),
        }
    }
}

impl Places {
    /// The line, from 1, of the first of those keys that is there: where the point's value stands
    /// among those that are tuned, else where the key is written.
    pub fn line(&self, keys: &[String]) -> Option<u32> {
        let tree = self.tree.as_ref()?;
        let tuned = tuned(tree, self.number);
        let span = |key: &String| match tuned.iter().find(|(path, _)| path == key) {
            Some((_, value)) => Some(value.span.clone()),
            None => written(tree, key),
        };
        u32::try_from(keys.iter().find_map(span)?.line).ok()
    }
}

/// The violation with its places, of the point of that number.
fn place(tree: &Node, violation: Violation, number: usize) -> Violation {
    let tuned = tuned(tree, number);
    let span = |key: &str| {
        let below = format!("{key}.");
        let is = |path: &str| path == key || path.starts_with(&below);
        match tuned.iter().find(|(path, _)| is(path)) {
            Some((_, value)) => Some(value.span.clone()),
            None => written(tree, key),
        }
    };
    let keys = violation.keys.iter();
    let mut places = keys.filter_map(|key| Some((key, span(key)?)));
    let head = if tuned.is_empty() { "kernel" } else { "tune" };
    let head = tree.entry(head).map(|entry| entry.key_span.clone());
    let first = places.next().map(|(_, span)| span).or(head);
    let mut related: Vec<Related> = Vec::new();
    for (key, span) in places {
        if Some(&span) != first.as_ref() && related.iter().all(|known| known.span != span) {
            let message = format!("`{key}` takes part");
            related.push(Related { span, message });
        }
    }
    Violation {
        span: first,
        related,
        ..violation
    }
}

/// Where a key is written: its value, or the key itself where that is a map.
fn written(tree: &Node, key: &str) -> Option<Span> {
    let (map, last) = match key.rsplit_once('.') {
        Some((map, last)) => (tree.find(map)?, last),
        None => (tree, key),
    };
    let Entry {
        key_span, value, ..
    } = map.entry(last)?;
    Some(match value.value {
        Value::Scalar { .. } => value.span.clone(),
        _ => key_span.clone(),
    })
}

/// The tuned paths with the values of the point of that number: the last path is the fastest.
fn tuned(tree: &Node, number: usize) -> Vec<(&str, &Node)> {
    let Some(Value::Map(axes)) = tree.find("tune").map(|tune| &tune.value) else {
        return Vec::new();
    };
    let mut rest = number;
    let mut out = Vec::new();
    for axis in axes.iter().rev() {
        let Value::List(values) = &axis.value.value else {
            continue;
        };
        let count = values.len().max(1);
        if let Some(value) = values.get(rest % count) {
            out.push((axis.key.as_str(), value));
        }
        rest /= count;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_keys_and_operands() {
        let message = "operand a: cta_tile k 24 of copy.a.g2s is no kernel: use pipeline.stages.";
        let named = ["operands.a", "cta_tile", "copy.a.g2s", "pipeline.stages"];
        assert_eq!(keys_named(message), named);
        assert!(keys_named("no mma or copy of (128,1) swizzle").is_empty());
        assert!(keys_named("5 accumulator registers of 64 threads").is_empty());
        assert_eq!(keys_named("threads 64 is"), ["threads"]);
    }
}
