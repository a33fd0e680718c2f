//! The tuning space: every combination of the values that `tune` lists for its dotted paths, or of
//! each of the maps that it lists, one after the other.
//!
//! Comes in: a tree and the problems of its own values. Goes out: the points, in the order of the
//! file with the last path fastest, or every problem. A value is checked by putting it where its
//! path leads and building the spec, so that it is judged exactly as if it were written there, and
//! reported where it stands.

use std::collections::BTreeMap;

use super::point;
use crate::error::{Problem, Related, Result, shown};
use crate::spec::kernel::shape::Shape;
use crate::spec::keys::build::build;
use crate::spec::keys::key::Key;
use crate::spec::keys::model::{Point, Spec, paths};
use crate::spec::keys::print::canonical;
use crate::spec::keys::read::describe;
use crate::spec::yaml::nearest::nearest;
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::Problems;

/// Most points of one spec.
pub const MAX_POINTS: usize = 4096;

/// One tuned path with its values.
struct Axis<'n> {
    path: String,
    values: &'n [Node],
}

/// The paths of one map of `tune`.
type Axes<'n> = Vec<Axis<'n>>;

/// The file being tuned.
pub(in crate::spec) struct Tuning<'n> {
    /// Path of the file.
    pub path: &'n str,
    /// Its text.
    pub text: &'n str,
    /// Its tree.
    pub tree: &'n Node,
    /// What its kernel is made of.
    pub shape: Shape,
    /// Problems of the file without its tuning.
    pub base: Vec<Problem>,
}

impl Tuning<'_> {
    /// The points of the space; only `spec` itself when nothing is tuned. Empty when the problems
    /// say why.
    ///
    /// # Errors
    /// [`crate::error::Error::Bug`] when a point cannot be printed.
    pub fn points(&self, spec: Option<&Spec>, problems: &mut Problems) -> Result<Vec<Point>> {
        let spaces = self.spaces(problems);
        for axis in spaces.iter().flatten() {
            self.check_values(axis, problems);
        }
        self.check_count(&spaces, problems);
        let (Some(spec), true) = (spec, problems.is_empty()) else {
            return Ok(vec![]);
        };
        let axes = spaces.iter().flatten();
        let tuned: Vec<&str> = axes.map(|axis| axis.path.as_str()).collect();
        if tuned.is_empty() {
            return point::points(vec![spec.clone()], &[]);
        }
        let mut specs = vec![];
        for axes in &spaces {
            specs.extend(self.combinations(axes, problems));
        }
        point::points(specs, &tuned)
    }

    /// The paths of each map.
    fn spaces(&self, problems: &mut Problems) -> Vec<Axes<'_>> {
        let Some(tune) = self.tree.find("tune") else {
            return vec![];
        };
        let paths = paths(&self.shape);
        let mut spaces = vec![];
        for map in listed(tune) {
            match &map.value {
                Value::Map(entries) => {
                    let axes = entries.iter();
                    spaces.push(
                        axes.filter_map(|entry| axis(entry, &paths, problems))
                            .collect(),
                    );
                }
                Value::Refused => {}
                _ => no_map(map, problems),
            }
        }
        spaces
    }

    fn check_values(&self, axis: &Axis<'_>, problems: &mut Problems) {
        let mut seen: BTreeMap<String, &Node> = BTreeMap::new();
        for value in axis.values {
            let mut tree = self.untuned();
            tree.put(&axis.path, value);
            let (spec, found) = build(self.path, self.text, &tree, Problems::default());
            found
                .into_sorted()
                .into_iter()
                .filter(|p| !self.base.contains(p))
                .for_each(|p| problems.push(p));
            // What cannot be printed is told where points get their names.
            let Some(Ok(spec)) = spec.map(|spec| canonical(&spec)) else {
                continue;
            };
            if let Some(first) = seen.get(&spec) {
                let message = format!("`{}` is tried with {} twice", axis.path, describe(value));
                let related = Related {
                    span: first.span.clone(),
                    message: "first written here".into(),
                };
                problems.add_with(
                    "duplicate-value",
                    &value.span,
                    message,
                    "keep one of the two",
                    related,
                );
            } else {
                seen.insert(spec, value);
            }
        }
    }

    /// The tree without its tuning: small, so that each point can change a copy of it.
    fn untuned(&self) -> Node {
        let mut tree = Node {
            span: self.tree.span.clone(),
            value: Value::Map(vec![]),
        };
        if let Value::Map(entries) = &self.tree.value {
            let kept = entries.iter().filter(|entry| entry.key != "tune").cloned();
            tree.value = Value::Map(kept.collect());
        }
        tree
    }

    fn check_count(&self, spaces: &[Axes<'_>], problems: &mut Problems) {
        let of_one = |axes: &Axes<'_>| {
            axes.iter()
                .try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()))
        };
        let count = spaces
            .iter()
            .try_fold(0usize, |sum, axes| sum.checked_add(of_one(axes)?));
        if count.is_some_and(|count| count <= MAX_POINTS) {
            return;
        }
        let lengths = |axes: &Axes<'_>| {
            let lengths: Vec<String> = axes
                .iter()
                .map(|axis| axis.values.len().to_string())
                .collect();
            lengths.join(" x ")
        };
        let sum: Vec<String> = spaces.iter().map(lengths).collect();
        let count = count.map_or("more than 2^64".to_string(), |count| count.to_string());
        let message = format!(
            "the tuning space has {} = {count} points; at most {MAX_POINTS} are allowed",
            sum.join(" + ")
        );
        let Some(tune) = self.tree.entry("tune") else {
            return;
        };
        problems.add(
            "too-many-points",
            &tune.key_span,
            message,
            "shorten the lists, or tune fewer paths at once",
        );
    }

    fn combinations(&self, axes: &[Axis<'_>], problems: &mut Problems) -> Vec<Spec> {
        let count = axes.iter().map(|axis| axis.values.len()).product();
        let mut specs = Vec::with_capacity(count);
        for index in 0..count {
            let mut tree = self.untuned();
            let mut rest = index;
            for axis in axes.iter().rev() {
                if let Some(value) = axis.values.get(rest % axis.values.len()) {
                    tree.put(&axis.path, value);
                }
                rest /= axis.values.len();
            }
            let (spec, found) = build(self.path, self.text, &tree, Problems::default());
            specs.extend(spec);
            for problem in found.into_sorted() {
                let message = format!(
                    "in combination with other values of `tune`: {}",
                    problem.message
                );
                problems.push(Problem { message, ..problem });
            }
        }
        specs
    }
}

/// The maps of `tune`: itself, or those that it lists.
pub(super) fn listed(tune: &Node) -> &[Node] {
    match &tune.value {
        Value::List(maps) if !maps.is_empty() => maps,
        _ => std::slice::from_ref(tune),
    }
}

fn no_map(node: &Node, problems: &mut Problems) {
    let message = format!(
        "`tune` is {}; expected a map from dotted paths to lists of values, or a list of such maps",
        describe(node)
    );
    problems.add(
        "wrong-type",
        &node.span,
        message,
        "write lines such as `pipeline.stages: [2, 3]`",
    );
}

fn axis<'n>(
    entry: &'n Entry,
    paths: &[(String, Key)],
    problems: &mut Problems,
) -> Option<Axis<'n>> {
    let path = entry.key.as_str();
    let tunable: Vec<&str> = paths
        .iter()
        .filter(|(_, key)| key.tunable)
        .map(|(path, _)| path.as_str())
        .collect();
    let Some((_, key)) = paths.iter().find(|(known, _)| known == path) else {
        unknown_path(entry, &tunable, problems);
        return None;
    };
    if !key.tunable {
        let message = format!("`{path}` cannot be tuned: all points of a spec have the same one");
        let help = "write a second spec for another value";
        problems.add("not-tunable", &entry.key_span, message, help);
        return None;
    }
    match &entry.value.value {
        Value::List(values) if !values.is_empty() => Some(Axis {
            path: path.to_string(),
            values,
        }),
        Value::Refused => None,
        _ => {
            let message = format!(
                "`tune` has {} for `{path}`; expected a list of at least one value",
                describe(&entry.value)
            );
            problems.add(
                "wrong-type",
                &entry.value.span,
                message,
                format!("write `{path}: [value, value]`"),
            );
            None
        }
    }
}

fn unknown_path(entry: &Entry, tunable: &[&str], problems: &mut Problems) {
    let path = entry.key.as_str();
    let below: Vec<&str> = tunable
        .iter()
        .copied()
        .filter(|known| known.strip_prefix(path).is_some_and(|r| r.starts_with('.')))
        .collect();
    let message = if below.is_empty() {
        format!(
            "`tune` names `{}`, which is no path of this file",
            shown(path)
        )
    } else {
        format!("`tune` names `{path}`, which is a map; a path leads to one value")
    };
    let help = match below.as_slice() {
        [] => match nearest(path, tunable.iter().copied()) {
            Some(known) => format!("use `{known}`"),
            None => format!(
                "tunable are {}",
                crate::spec::yaml::nearest::all_of(tunable)
            ),
        },
        below => format!("use {}", crate::spec::yaml::nearest::one_of(below)),
    };
    problems.add("unknown-path", &entry.key_span, message, help);
}
