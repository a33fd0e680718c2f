//! Where in a spec file a violated limit stands.
//!
//! Comes in: what a plan refused, with the keys that its messages name. Goes out: the same with the
//! file and the place of each: the value that the point tries where the key is tuned, else the
//! value that is written, else what the point is of.

use std::ops::Range;

use crate::error::{Error, Problem, Related, Span, Violation, Written};
use crate::spec::SpecFile;
use crate::spec::keys::model::Point;
use crate::spec::space::tune::listed;
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
        let number = self.number(&kernel);
        let placed = |violation: Violation| match &tree {
            Some(tree) => place(tree, &self.text, violation, number),
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
        Places {
            tree: tree::read(&self.text, &mut Problems::default()),
            number: self.number(point),
        }
    }

    /// The number of the point of that id.
    fn number(&self, id: &str) -> usize {
        let point = self.points.iter().find(|point| point.id == id);
        point.map_or(0, |point| point.number)
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

/// The tuned paths with the values of the point of that number: one map's points after another's,
/// the last path the fastest.
fn tuned(tree: &Node, number: usize) -> Vec<(&str, &Node)> {
    let mut rest = number;
    for map in tree.find("tune").map_or(&[][..], listed) {
        let Value::Map(axes) = &map.value else {
            continue;
        };
        let axes: Vec<(&str, &[Node])> = axes.iter().filter_map(values).collect();
        let count = axes.iter().map(|(_, values)| values.len()).product();
        if rest >= count {
            rest -= count;
            continue;
        }
        let mut out = Vec::new();
        for (path, values) in axes.into_iter().rev() {
            out.extend(values.get(rest % values.len()).map(|value| (path, value)));
            rest /= values.len();
        }
        return out;
    }
    Vec::new()
}

fn values(entry: &Entry) -> Option<(&str, &[Node])> {
    match &entry.value.value {
        Value::List(values) if !values.is_empty() => Some((&entry.key, values)),
        _ => None,
    }
}
