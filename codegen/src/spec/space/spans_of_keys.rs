//! Where in a spec file a violated limit stands.
//!
//! Comes in: what a plan refused, with the keys that its messages name. Goes out: the same with the
//! file and the place of each: the value that the point tries where the key is tuned, else the
//! value that is written, else what the point is of.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::error::{Error, Problem, Related, Span, Violation, Written};
use crate::spec::SpecFile;
use crate::spec::kernel::forms::Role;
use crate::spec::kernel::shape::{OperandShape, Shape};
use crate::spec::keys::model::{Operand, Point, Spec, paths};
use crate::spec::yaml::embedded::Embedded;
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::Problems;
use crate::spec::yaml::tree;

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

/// The keys that a spec has, by the names of its own operands.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Every path and every map of the table of keys, but for [`PROSE`].
    known: BTreeSet<String>,
    /// What stands for the operand of a role in a text: `{a}`.
    names: Vec<(&'static str, String)>,
}

/// What stands for operands in texts that are written before a spec is known.
const STAND_INS: [(&str, Role); 4] = [
    ("{a}", Role::A),
    ("{b}", Role::B),
    ("{s}", Role::Source),
    ("{d}", Role::Output),
];

impl Keys {
    /// The keys of a spec.
    pub fn of(spec: &Spec) -> Keys {
        let mut known = BTreeSet::new();
        for (path, _) in paths(&shape(spec)) {
            let dots = path.match_indices('.').map(|(at, _)| at);
            known.extend(dots.chain([path.len()]).map(|end| path[..end].to_string()));
        }
        known.retain(|key| !PROSE.contains(&key.as_str()));
        let name = |(stand_in, role)| Some((stand_in, spec.problem.operand_as(role)?.name.clone()));
        Keys {
            known,
            names: STAND_INS.into_iter().filter_map(name).collect(),
        }
    }

    /// The text with the names of operands in the places of what stands for them: `copy.{a}.g2s`.
    pub fn filled(&self, text: &str) -> String {
        let fill = |text: String, (stand_in, name): &(&str, String)| text.replace(stand_in, name);
        self.names.iter().fold(text.to_owned(), fill)
    }

    /// The keys that a message names, in the order it does: dotted paths and maps of the table of
    /// keys, and `operand a`. A number of threads is not the key.
    pub fn named(&self, message: &str) -> Vec<String> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let mut named: Vec<String> = Vec::new();
        let mut before = "";
        for piece in message.split(|c: char| !word(c)) {
            let piece = piece.trim_matches('.');
            let operand = (before == "operand").then(|| format!("operands.{piece}"));
            let key = operand.unwrap_or_else(|| piece.to_owned());
            let counted = key == "threads" && before.parse::<u32>().is_ok();
            if self.known.contains(key.as_str()) && !counted && !named.contains(&key) {
                named.push(key);
            }
            before = piece;
        }
        named
    }
}

/// What the keys of a spec follow from.
fn shape(spec: &Spec) -> Shape {
    let operand = |operand: &Operand| OperandShape {
        name: operand.name.clone(),
        role: operand.role,
        modes: (operand.formula_axes().into_iter())
            .map(|axis| axis.mode.clone())
            .collect(),
        tables: operand.axes.iter().map(|axis| axis.table.clone()).collect(),
        transposed: false,
        apart: Vec::new(),
    };
    Shape {
        kernel: spec.problem.kernel.clone(),
        form: spec.problem.form(),
        operands: spec.problem.operands.iter().map(operand).collect(),
        tile: spec.problem.modes().to_vec(),
        is_written: !spec.problem.compute.is_default,
        is_plain: spec.problem.compute.is_plain,
        accumulator: None,
        is_exchanged: false,
        formula: None,
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const RENAMED: &str = r#"kernel: linear
name: t
arch: sm_80
operands:
  x: { dtype: bf16, layout: "(row,c):(ldx,1)" }
  w: { dtype: bf16, layout: "(out,c):(ldw,1)" }
  y: { dtype: bf16, layout: "(row,out):(ldy,1)" }
compute: y[row,out] = sum[c] w[out,c] * x[row,c]
cta_tile: { row: 128, out: 128, c: 64 }
"#;

    #[test]
    fn messages_name_keys_and_operands() {
        let file = crate::spec::parse("-", RENAMED).unwrap();
        let keys = Keys::of(&file.spec);
        let message = "operand x: cta_tile k 24 of copy.w.g2s is no kernel: use pipeline.stages.";
        let named = ["operands.x", "cta_tile", "copy.w.g2s", "pipeline.stages"];
        assert_eq!(keys.named(message), named);
        assert!(keys.named("operand a: copy.a.g2s, swizzle.d").is_empty());
        assert!(keys.named("no mma or copy of (128,1) swizzle").is_empty());
        assert!(
            keys.named("5 accumulator registers of 64 threads")
                .is_empty()
        );
        assert_eq!(keys.named("threads 64 is"), ["threads"]);
        assert_eq!(
            keys.filled("copy.{a}.* and swizzle.{d}"),
            "copy.x.* and swizzle.y"
        );
    }
}
