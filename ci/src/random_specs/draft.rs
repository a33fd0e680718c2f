//! A spec as a list of keys and values: what is drawn, printed, and taken apart.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A spec that is being put together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Dotted paths with their values.
    pub keys: Vec<(String, String)>,
    /// What `tune` lists.
    pub tune: Vec<(String, Vec<String>)>,
}

impl Draft {
    /// Writes a key, or another value for it.
    pub fn set(&mut self, path: &str, value: impl Into<String>) {
        let value = value.into();
        match self.keys.iter_mut().find(|(known, _)| known == path) {
            Some((_, old)) => *old = value,
            None => self.keys.push((path.to_owned(), value)),
        }
    }

    /// The value of a key that is written.
    pub fn get(&self, path: &str) -> Option<&str> {
        let found = self.keys.iter().find(|(known, _)| known == path);
        found.map(|(_, value)| value.as_str())
    }

    /// Writes a key in the place of whatever said something of it: keys below it, and `tune`.
    pub fn replace(&mut self, path: &str, value: impl Into<String>) {
        let below = format!("{path}.");
        let is = |known: &str| known == path || known.starts_with(&below);
        self.keys.retain(|(known, _)| !is(known));
        self.tune.retain(|(known, _)| !is(known));
        self.set(path, value);
    }

    /// The spec of a text that [`Draft::yaml`] wrote; what is written otherwise is left out.
    pub fn read(text: &str) -> Draft {
        let mut draft = Draft::default();
        let mut maps: Vec<&str> = Vec::new();
        for line in text.lines() {
            let bare = line.trim_start();
            let Some((key, value)) = bare.split_once(':') else {
                continue;
            };
            maps.truncate((line.len() - bare.len()) / 2);
            let value = value.trim();
            match maps.as_slice() {
                _ if value.is_empty() => maps.push(key),
                ["tune"] => draft.tune.push((key.to_owned(), listed(value))),
                outer => {
                    let path = outer.iter().copied().chain([key]);
                    let path = path.collect::<Vec<_>>().join(".");
                    draft.keys.push((path, value.trim_matches('"').to_owned()));
                }
            }
        }
        draft
    }

    /// The same without one of its keys, each in turn, the last first.
    pub fn smaller(&self) -> Vec<Draft> {
        let tune = (0..self.tune.len()).rev().map(|at| {
            let mut draft = self.clone();
            draft.tune.remove(at);
            draft
        });
        let keys = (0..self.keys.len()).rev().map(|at| {
            let mut draft = self.clone();
            draft.keys.remove(at);
            draft
        });
        tune.chain(keys).collect()
    }

    /// The text of the spec.
    pub fn yaml(&self) -> String {
        let keys: Vec<(&str, &str)> = (self.keys.iter())
            .map(|(path, value)| (path.as_str(), value.as_str()))
            .collect();
        let mut out = String::new();
        print(&keys, 0, &mut out);
        if !self.tune.is_empty() {
            out.push_str("tune:\n");
        }
        for (path, values) in &self.tune {
            let values: Vec<String> = values.iter().map(|value| scalar(value)).collect();
            out.push_str(&format!("  {path}: [{}]\n", values.join(", ")));
        }
        out
    }
}

/// The values of `[64, "(1,2,1)"]`.
fn listed(text: &str) -> Vec<String> {
    let inside = text.trim_start_matches('[').trim_end_matches(']');
    let values = inside.split(", ");
    values
        .map(|value| value.trim_matches('"').to_owned())
        .collect()
}

/// Maps of the paths' first parts, each in the place of its first key.
fn print(keys: &[(&str, &str)], indent: usize, out: &mut String) {
    let mut done = BTreeSet::new();
    let margin = " ".repeat(indent);
    for (path, value) in keys {
        let Some((head, _)) = path.split_once('.') else {
            out.push_str(&format!("{margin}{path}: {}\n", scalar(value)));
            continue;
        };
        if !done.insert(head) {
            continue;
        }
        out.push_str(&format!("{margin}{head}:\n"));
        let below = keys.iter().filter_map(|(path, value)| {
            let rest = path.strip_prefix(head)?.strip_prefix('.')?;
            Some((rest, *value))
        });
        print(&below.collect::<Vec<_>>(), indent + 2, out);
    }
}

/// A value as YAML has it: words and numbers as they are, all else in quotes.
fn scalar(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_nested_by_their_dots() {
        let mut draft = Draft::default();
        draft.set("kernel", "copy");
        draft.set("copy.s.g2s", "auto");
        draft.set("threads", "64");
        draft.set("copy.d.r2g", "auto");
        draft.set("threads", "128");
        draft.tune.push(("cta_tile".into(), vec!["(8,8)".into()]));
        assert_eq!(
            draft.yaml(),
            "kernel: copy\ncopy:\n  s:\n    g2s: auto\n  d:\n    r2g: auto\nthreads: 128\n\
             tune:\n  cta_tile: [\"(8,8)\"]\n"
        );
        assert_eq!(draft.smaller().len(), 5);
        assert_eq!(Draft::read(&draft.yaml()).yaml(), draft.yaml());
        draft.replace("cta_tile", "(4,4)");
        draft.replace("copy", "auto");
        assert_eq!(
            draft.yaml(),
            "kernel: copy\nthreads: 128\ncta_tile: \"(4,4)\"\ncopy: auto\n"
        );
    }
}
