//! The generic tree of a YAML file: nodes that know their place.

use crate::error::Span;

/// A value and its place.
#[derive(Clone, Debug)]
pub(in crate::spec) struct Node {
    /// Where it is written, quotes included.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(in crate::spec) enum Value {
    /// Text, and whether it is written without quotes.
    Scalar { text: String, plain: bool },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<Entry>),
    /// An alias: reported, and skipped by every check.
    Refused,
}

/// One key of a map with its value.
#[derive(Clone, Debug)]
pub(in crate::spec) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is written.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The entry of that key, when this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The value at a dotted path.
    pub fn find(&self, path: &str) -> Option<&Node> {
        path.split('.')
            .try_fold(self, |node, key| Some(&node.entry(key)?.value))
    }

    /// Puts a value at a dotted path, in maps made where there are none.
    pub fn put(&mut self, path: &str, value: &Node) {
        let (key, rest) = path
            .split_once('.')
            .map_or((path, None), |(key, rest)| (key, Some(rest)));
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(vec![]);
        }
        let Value::Map(entries) = &mut self.value else {
            return;
        };
        let at = entries
            .iter()
            .position(|entry| entry.key == key)
            .unwrap_or(entries.len());
        if at == entries.len() {
            let value = Node {
                span: value.span.clone(),
                value: Value::Map(vec![]),
            };
            entries.push(Entry {
                key: key.to_string(),
                key_span: value.span.clone(),
                value,
            });
        }
        let Some(entry) = entries.get_mut(at) else {
            return;
        };
        match rest {
            Some(rest) => entry.value.put(rest, value),
            None => entry.value = value.clone(),
        }
    }
}
