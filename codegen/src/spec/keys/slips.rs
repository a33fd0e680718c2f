//! Slips of the pen that much else is read by: keys at a file's top, and layouts between braces
//! without quotes, which end at their first comma.
//!
//! Comes in: the tree. Goes out: the tree as it was meant, with a problem for each key or layout
//! that was not written so: what is read behind them is not taken for wrong as well.

use super::elsewhere::{Here, elsewhere};
use super::model::Spec;
use crate::error::shown;
use crate::spec::yaml::nearest::nearest;
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::{Problems, span_of};

/// The keys that other keys and the formula are read by.
const READ_BY: [&str; 5] = ["kernel", "operands", "scalars", "modes", "compute"];

/// The tree with the layouts whole that their commas cut short.
pub(in crate::spec) fn quoted(mut tree: Node, text: &str, problems: &mut Problems) -> Node {
    let Value::Map(entries) = &mut tree.value else {
        return tree;
    };
    let Some(operands) = entries.iter_mut().find(|entry| entry.key == "operands") else {
        return tree;
    };
    let Value::Map(operands) = &mut operands.value.value else {
        return tree;
    };
    for operand in operands {
        if let Value::Map(entries) = &mut operand.value.value {
            quote(&operand.key, entries, text, problems);
        }
    }
    tree
}

/// Makes the layout among the entries of an operand whole.
fn quote(operand: &str, entries: &mut Vec<Entry>, text: &str, problems: &mut Problems) {
    let Some(entry) = entries.iter_mut().find(|entry| entry.key == "layout") else {
        return;
    };
    let Value::Scalar {
        text: read,
        plain: true,
    } = &mut entry.value.value
    else {
        return;
    };
    let start = entry.value.span.bytes.start;
    let whole = text.get(start..).and_then(layout);
    let Some(whole) = whole.filter(|whole| whole.len() > read.len()) else {
        return;
    };
    let span = span_of(text, start..start + whole.len());
    let message = format!(
        "`operands.{}.layout` is `{}` alone: between braces a comma ends what has no quotes",
        shown(operand),
        shown(read)
    );
    let help = format!("put it in quotes: layout: \"{}\"", shown(whole));
    problems.add("layout-syntax", &span, message, help);
    whole.clone_into(read);
    entry.value.span = span.clone();
    let inside = |entry: &Entry| span.bytes.contains(&entry.key_span.bytes.start);
    entries.retain(|entry| !inside(entry));
}

/// The layout that a line begins with: extents in parentheses, and strides behind a colon.
fn layout(text: &str) -> Option<&str> {
    let line = text.lines().next()?;
    let closed = |from: usize| {
        let rest = line.get(from..).filter(|rest| rest.starts_with('('))?;
        Some(from + rest.find(')')? + 1)
    };
    let extents = closed(0)?;
    let Some(strides) = line.get(extents..)?.strip_prefix(':') else {
        return line.get(..extents);
    };
    let word = strides.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let end = closed(extents + 1).unwrap_or(extents + 1 + word.unwrap_or(strides.len()));
    line.get(..end)
}

/// The tree with those keys as they are meant; none where nothing is.
pub(in crate::spec) fn meant(tree: &Node, problems: &mut Problems) -> Option<Node> {
    let Value::Map(entries) = &tree.value else {
        return None;
    };
    let known = |key: &str| Spec::KEYS.iter().any(|row| row.name == key);
    let mut meant = tree.clone();
    let mut names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    for (at, entry) in entries
        .iter()
        .enumerate()
        .filter(|(_, one)| !known(&one.key))
    {
        let near = match elsewhere(&entry.key) {
            Some(Here::Key(name)) => Some(name),
            Some(Here::Lines(_)) => None,
            None => nearest(&entry.key, Spec::KEYS.iter().map(|row| row.name)),
        };
        let missing = |name: &&str| READ_BY.contains(name) && !names.contains(name);
        let Some(name) = near.filter(missing) else {
            continue;
        };
        let message = format!("unknown key `{}`", shown(&entry.key));
        problems.add(
            "unknown-key",
            &entry.key_span,
            message,
            format!("use `{name}`"),
        );
        names.push(name);
        if let Value::Map(entries) = &mut meant.value
            && let Some(entry) = entries.get_mut(at)
        {
            name.clone_into(&mut entry.key);
        }
    }
    (names.len() > entries.len()).then_some(meant)
}
