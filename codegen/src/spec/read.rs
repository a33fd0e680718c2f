//! Reading single values out of the tree, each by the type and limits its key has in the table.
//!
//! Comes in: a node and its key. Goes out: the value, or `None` with the problem listed: actual value, allowed values,
//! the nearest legal one.

use std::ops::Range;

use tilewright_layout::Int;

use super::catalogue;
use super::families::{FAMILIES, FamilyFacts};
use super::keys::{Key, Kind, fields};
use super::model::{Auto, Family, Raster, Schedule};
use super::nearest::{all_of, nearest, one_of, suggestion};
use super::notation;
use super::problems::Problems;
use super::tree::{Entry, Node, Value};
use crate::arch::{ARCHES, Arch};
use crate::dtype::{DTYPES, Dtype};
use crate::error::{Span, shown};

/// Largest extent of a tile.
pub const MAX_TILE_EXTENT: i64 = 65_536;
/// Most elements of a tile, all extents multiplied.
pub const MAX_TILE_SIZE: i64 = 1 << 24;

/// The fields of one map: every key of the table, written or not.
pub(super) struct Fields<'n> {
    /// Dotted path of the map with a final dot; empty for the file.
    prefix: String,
    list: Vec<(Key, Option<&'n Entry>)>,
}

/// A field that is written.
#[derive(Clone)]
pub(super) struct Field<'n> {
    /// Its row of the table.
    pub key: Key,
    /// Dotted path, for messages.
    pub path: String,
    /// Where the key is written.
    pub key_span: &'n Span,
    /// Its value.
    pub node: &'n Node,
}

impl<'n> Fields<'n> {
    /// The field of that name, if it is written.
    pub fn get(&self, name: &str) -> Option<Field<'n>> {
        let (key, entry) = self.list.iter().find(|(key, _)| key.name == name)?;
        let Entry {
            key_span,
            value: node,
            ..
        } = (*entry)?;
        Some(Field {
            key: *key,
            path: format!("{}{}", self.prefix, key.name),
            key_span,
            node,
        })
    }
}

/// The state of reading one file.
pub(super) struct Reader<'t> {
    /// Text of the file.
    pub text: &'t str,
    /// Facts of the family the spec is of.
    pub facts: &'static FamilyFacts,
    /// What is wrong so far.
    pub problems: Problems,
}

impl Reader<'_> {
    /// The fields of a map of that kind. Unknown and missing keys are listed as problems.
    pub fn record<'n>(
        &mut self,
        node: &'n Node,
        kind: Kind,
        path: &str,
        place: &Span,
    ) -> Fields<'n> {
        let keys = fields(kind, self.facts).unwrap_or_default();
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}.")
        };
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            Value::Refused => {
                return Fields {
                    prefix,
                    list: vec![],
                };
            }
            _ => {
                let label = if path.is_empty() {
                    "the file".into()
                } else {
                    format!("`{path}`")
                };
                let message = format!(
                    "{label} is {}; expected a map with {}",
                    describe(node),
                    all_of(&names)
                );
                self.problems.add(
                    "wrong-type",
                    &node.span,
                    message,
                    "write `key: value` lines below it",
                );
                return Fields {
                    prefix,
                    list: vec![],
                };
            }
        };
        for entry in entries
            .iter()
            .filter(|entry| !names.contains(&entry.key.as_str()))
        {
            self.unknown_key(
                kind,
                &format!("{prefix}{}", entry.key),
                &entry.key,
                &entry.key_span,
                &names,
            );
        }
        let found = |name| entries.iter().find(|entry| entry.key == name);
        let unknown = || {
            entries
                .iter()
                .map(|entry| entry.key.as_str())
                .filter(|key| !names.contains(key))
        };
        let meant = |name| unknown().any(|key| nearest(key, names.iter().copied()) == Some(name));
        for key in keys
            .iter()
            .filter(|key| key.required && found(key.name).is_none() && !meant(key.name))
        {
            let message = format!("`{prefix}{}` is missing", key.name);
            let help = format!("add `{}`: {}", key.name, lower_first(key.doc));
            self.problems.add("missing-key", place, message, help);
        }
        Fields {
            list: keys.into_iter().map(|key| (key, found(key.name))).collect(),
            prefix,
        }
    }

    fn unknown_key(&mut self, kind: Kind, path: &str, name: &str, span: &Span, names: &[&str]) {
        let other = FAMILIES.iter().find(|facts| {
            fields(kind, facts)
                .unwrap_or_default()
                .iter()
                .any(|key| key.name == name)
        });
        if let Some(other) = other {
            let message = format!(
                "`{path}` belongs to kernel {}, not to {}",
                other.name, self.facts.name
            );
            self.problems.add(
                "wrong-family",
                span,
                message,
                format!("delete it, or {}", suggestion(name, names)),
            );
        } else {
            let message = format!("unknown key `{}`; known are {}", shown(path), all_of(names));
            self.problems
                .add("unknown-key", span, message, suggestion(name, names));
        }
    }

    /// The text of a scalar.
    pub fn scalar<'n>(&mut self, field: &Field<'n>, expected: &str) -> Option<&'n str> {
        match &field.node.value {
            Value::Scalar { text, plain }
                if !(*plain && matches!(text.as_str(), "" | "~" | "null")) =>
            {
                Some(text)
            }
            Value::Refused => None,
            _ => {
                let message = format!(
                    "`{}` is {}; expected {expected}",
                    field.path,
                    describe(field.node)
                );
                let help = if matches!(field.node.value, Value::List(_)) {
                    "write tuples as text in quotes, such as \"(128,128,64)\""
                } else {
                    "write one value on the line of the key"
                };
                self.problems
                    .add("wrong-type", &field.node.span, message, help);
                None
            }
        }
    }

    /// A value out of a closed list of words.
    pub fn word(
        &mut self,
        field: &Field<'_>,
        code: &'static str,
        what: &str,
        words: &[&str],
    ) -> Option<usize> {
        let text = self.scalar(field, &format!("{what}, one of {}", one_of(words)))?;
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            let known = if words.len() == 1 {
                format!("{what} is")
            } else {
                format!("{what}s are")
            };
            let message = format!(
                "`{}` is `{}`; known {known} {}",
                field.path,
                shown(text),
                all_of(words)
            );
            self.problems
                .add(code, &field.node.span, message, suggestion(text, words));
        }
        found
    }

    /// The family.
    pub fn family(&mut self, field: &Field<'_>) -> Option<Family> {
        let names: Vec<&str> = FAMILIES.iter().map(|facts| facts.name).collect();
        let at = self.word(field, "unknown-kernel", "kernel", &names)?;
        FAMILIES.get(at).map(|facts| facts.family)
    }

    /// The architecture.
    pub fn arch(&mut self, field: &Field<'_>) -> Option<Arch> {
        let names: Vec<&str> = ARCHES.iter().map(|arch| arch.name).collect();
        let at = self.word(field, "unknown-arch", "architecture", &names)?;
        ARCHES.get(at).copied()
    }

    /// An element type.
    pub fn dtype(&mut self, field: &Field<'_>) -> Option<Dtype> {
        let names: Vec<&str> = DTYPES.iter().map(|dtype| dtype.name()).collect();
        let at = self.word(field, "unknown-dtype", "element type", &names)?;
        DTYPES.get(at).copied()
    }

    /// The schedule.
    pub fn schedule(&mut self, field: &Field<'_>) -> Option<Schedule> {
        self.word(
            field,
            "unknown-schedule",
            "schedule",
            &[Schedule::Multistage.name()],
        )?;
        Some(Schedule::Multistage)
    }

    /// A value that may be `auto`.
    pub fn auto<T>(
        &mut self,
        field: Option<Field<'_>>,
        read: impl FnOnce(&mut Self, &Field<'_>) -> Option<T>,
    ) -> Auto<T> {
        match field {
            Some(field) if !is_auto(field.node) => {
                read(self, &field).map_or(Auto::Auto, Auto::Given)
            }
            _ => Auto::Auto,
        }
    }

    /// An integer in the limits of its key.
    pub fn int(&mut self, field: &Field<'_>) -> Option<i64> {
        let Kind::Int { least, most, step } = field.key.kind else {
            return None;
        };
        let multiple = if step > 1 {
            format!(", a multiple of {step}")
        } else {
            String::new()
        };
        let or_auto = if field.key.auto { "`auto` or " } else { "" };
        let expected = format!("{or_auto}an integer from {least} to {most}{multiple}");
        let text = self.scalar(field, &expected)?;
        let plain = matches!(field.node.value, Value::Scalar { plain: true, .. });
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !plain || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            let message = format!(
                "`{}` is {}; expected {expected}",
                field.path,
                describe(field.node)
            );
            let help = if plain {
                "write a decimal number"
            } else {
                "delete the quotes around a number"
            };
            self.problems
                .add("wrong-type", &field.node.span, message, help);
            return None;
        }
        let huge = if text.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        let value = text.parse().unwrap_or(huge);
        if (least..=most).contains(&value) && value % step == 0 {
            return Some(value);
        }
        let clamped = value.clamp(least, most);
        let use_value = (clamped - clamped % step).max(least);
        let message = format!("`{}` is {}; expected {expected}", field.path, shown(text));
        self.problems.add(
            "out-of-range",
            &field.node.span,
            message,
            format!("use {use_value}"),
        );
        None
    }

    /// A tuple of positive integers, one for each name.
    pub fn tuple(
        &mut self,
        field: &Field<'_>,
        names: &[&str],
        most: i64,
        most_size: i64,
    ) -> Option<Vec<i64>> {
        let form = format!("({})", names.join(","));
        let text = self.scalar(field, &format!("the extents {form} as text"))?;
        let entries = match notation::tuple(text) {
            Ok(entries) => entries,
            Err(misfit) => {
                let message = format!("`{}` is no tuple: {}", field.path, misfit.message);
                let help = format!("write integers in the form \"{form}\"");
                self.problems.add(
                    "tuple-syntax",
                    &self.part(field.node, misfit.at),
                    message,
                    help,
                );
                return None;
            }
        };
        if entries.len() != names.len() {
            let message = format!(
                "`{}` has {} entries; kernel {} needs {}: {form}",
                field.path,
                entries.len(),
                self.facts.name,
                names.len()
            );
            self.problems.add(
                "wrong-rank",
                &field.node.span,
                message,
                format!("write it in the form \"{form}\""),
            );
            return None;
        }
        let mut values = vec![];
        for (entry, name) in entries.iter().zip(names) {
            match entry.value.as_i64() {
                Some(value) if (1..=most).contains(&value) => values.push(value),
                value => {
                    let actual = shown(&entry.value.to_string());
                    let message = format!(
                        "{name} of `{}` is {actual}; allowed is 1 to {most}",
                        field.path
                    );
                    let help = format!("use {}", value.unwrap_or(1).clamp(1, most));
                    let span = self.part(field.node, entry.at.clone());
                    self.problems.add("out-of-range", &span, message, help);
                }
            }
        }
        let size = values
            .iter()
            .try_fold(1i64, |size, value| size.checked_mul(*value));
        if values.len() == names.len() && size.is_none_or(|size| size > most_size) {
            let size = size.map_or("more than 2^63".to_string(), |size| size.to_string());
            let message = format!(
                "`{}` has {size} elements; at most {most_size} are allowed",
                field.path
            );
            self.problems.add(
                "too-many-elements",
                &field.node.span,
                message,
                "use smaller extents",
            );
            return None;
        }
        (values.len() == names.len()).then_some(values)
    }

    /// Three positive integers along m, n and k.
    pub fn triple(&mut self, field: &Field<'_>) -> Option<[i64; 3]> {
        let Kind::Triple { most } = field.key.kind else {
            return None;
        };
        self.tuple(field, &["m", "n", "k"], most.min(MAX_TILE_EXTENT), most)?
            .try_into()
            .ok()
    }

    /// The tile order.
    pub fn raster(&mut self, field: &Field<'_>) -> Option<Raster> {
        const MOST: u32 = 64;
        let text = self.scalar(field, "`auto`, `row`, `column` or `grouped_N`")?;
        let group = text
            .strip_prefix("grouped_")
            .and_then(|digits| digits.parse::<u32>().ok());
        match (text, group) {
            ("row", _) => Some(Raster::Row),
            ("column", _) => Some(Raster::Column),
            (_, Some(group)) if (1..=MOST).contains(&group) => Some(Raster::Grouped(group)),
            _ => {
                let message = format!(
                    "`{}` is `{}`; known are `auto`, `row`, `column` and `grouped_1` to `grouped_{MOST}`",
                    field.path,
                    shown(text)
                );
                let help = match group {
                    Some(group) => format!("use `grouped_{}`", group.clamp(1, MOST)),
                    None => suggestion(text, &["auto", "row", "column", "grouped_8"]),
                };
                self.problems
                    .add("unknown-raster", &field.node.span, message, help);
                None
            }
        }
    }

    /// The id of an atom that does what the key says.
    pub fn atom(&mut self, field: &Field<'_>) -> Option<String> {
        let wanted = catalogue::job(field.key.kind)?;
        let text = self.scalar(field, "`auto` or the id of an atom")?;
        let fitting: Vec<&str> = catalogue::atoms()
            .filter(|a| a.job == wanted)
            .map(|a| a.id)
            .collect();
        let Some(atom) = catalogue::atoms().find(|atom| atom.id == text) else {
            let message = format!("`{}` is `{}`; no atom has this id", field.path, shown(text));
            let help = match nearest(text, fitting.iter().copied()) {
                Some(id) => format!("use `{id}`"),
                None => format!("use `auto`, {}", one_of(&fitting)),
            };
            self.problems
                .add("unknown-atom", &field.node.span, message, help);
            return None;
        };
        if atom.job != wanted {
            let message = format!(
                "`{}` is `{text}`, which {}; needed is one that {wanted}",
                field.path, atom.job
            );
            let help = match nearest(text, fitting.iter().copied()) {
                Some(id) => format!("use `{id}` or `auto`"),
                None => "use `auto`".to_string(),
            };
            self.problems
                .add("misplaced-atom", &field.node.span, message, help);
            return None;
        }
        Some(text.to_string())
    }

    /// The span of a part of a scalar's text; of the whole scalar when escapes or folding moved the text.
    pub fn part(&self, node: &Node, at: Range<usize>) -> Span {
        let Value::Scalar { text, plain } = &node.value else {
            return node.span.clone();
        };
        let start = node.span.bytes.start + usize::from(!plain);
        let written = self.text.get(start..start + text.len());
        let (true, Some(before)) = (written == Some(text), text.get(..at.start)) else {
            return node.span.clone();
        };
        Span {
            bytes: start + at.start..(start + at.end).min(start + text.len()),
            line: node.span.line,
            column: node.span.column + usize::from(!plain) + before.chars().count(),
        }
    }
}

/// Whether a value is the word `auto`.
pub(super) fn is_auto(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, .. } if text == "auto")
}

/// A value as messages name it.
pub(super) fn describe(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, plain: true } if text.is_empty() => "empty".into(),
        Value::Scalar { text, plain: true } => format!("`{}`", shown(text)),
        Value::Scalar { text, .. } => format!("the text \"{}\"", shown(text)),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Map(entries) => format!("a map of {}", entries.len()),
        Value::Refused => "an alias".into(),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    chars
        .next()
        .map(|c| c.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}
