//! Keys at a file's top that are slips of the pen for the ones that all others are read by.
//!
//! Comes in: the tree. Goes out: the tree as it was meant, with a problem for each key that was
//! not written so: what is read behind them is not taken for wrong as well.

use super::model::Spec;
use crate::error::shown;
use crate::spec::yaml::nearest::nearest;
use crate::spec::yaml::node::{Node, Value};
use crate::spec::yaml::problems::Problems;

/// The keys that other keys and the formula are read by.
const READ_BY: [&str; 5] = ["kernel", "operands", "scalars", "modes", "compute"];

/// What other tools call some of them.
const ELSEWHERE: [(&str, &str); 8] = [
    ("formula", "compute"),
    ("expression", "compute"),
    ("equation", "compute"),
    ("tensors", "operands"),
    ("inputs", "operands"),
    ("arguments", "operands"),
    ("dims", "modes"),
    ("sizes", "modes"),
];

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
        let elsewhere = ELSEWHERE.iter().find(|(word, _)| *word == entry.key);
        let near = match elsewhere {
            Some((_, name)) => Some(*name),
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
