//! Where in a spec file a violated limit stands.
//!
//! Comes in: what a plan refused, with the keys that its messages name. Goes out: the same with the
//! file and the place of each: the value that the point tries where the key is tuned, else the
//! value that is written, else what the point is of.

use std::ops::Range;

use crate::error::{Error, Problem, Related, Span, Violation, Written};
use crate::spec::SpecFile;
use crate::spec::keys::model::Point;
use crate::spec::yaml::embedded::Embedded;
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::Problems;
use crate::spec::yaml::tree;

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
            Some(tree) => place(tree, &self.text, violation, number.unwrap_or(0)),
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
    /// A warning at the keys of what that point is not refused for.
    pub fn warning(&self, point: &Point, doubt: Violation, help: String) -> Problem {
        let Places { tree, number } = self.places(&point.id);
        let placed = match &tree {
            Some(tree) => place(tree, &self.text, doubt, number),
            None => doubt,
        };
        Problem {
            help: Some(help),
            ..Problem::from(&placed)
        }
    }

    /// Where a part of the formula's text stands; none where no formula is written.
    pub fn part(&self, part: Range<usize>) -> Option<Span> {
        let tree = tree::read(&self.text, &mut Problems::default())?;
        let compute = tree.find("compute")?;
        Some(Embedded::of(&self.text, compute).span(part))
    }

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
fn place(tree: &Node, text: &str, violation: Violation, number: usize) -> Violation {
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
    let part = violation.part.clone().zip(tree.find("compute"));
    let part = part.map(|(part, compute)| Embedded::of(text, compute).span(part));
    let first = match part {
        Some(part) => {
            places.next();
            Some(part)
        }
        None => places.next().map(|(_, span)| span).or(head),
    };
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
