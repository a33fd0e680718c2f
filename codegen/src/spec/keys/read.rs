//! Reading maps out of the tree by the table of keys.
//!
//! Comes in: a node and the kind of map it should be. Goes out: its fields, with every unknown,
//! missing and misplaced key listed as a problem. Values are read in [`super::values`].

use std::ops::Range;

use super::elsewhere::{Here, elsewhere};
use crate::error::{Span, shown};
use crate::spec::kernel::forms::FORMS;
use crate::spec::kernel::shape::{Shape, defaults};
use crate::spec::kernel::tile;
use crate::spec::keys::key::{Key, Kind, Named, fields};
use crate::spec::yaml::nearest::{all_of, nearest};
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::Problems;

/// The fields of one map: every key of the table, written or not.
pub(in crate::spec) struct Fields<'n> {
    /// Dotted path of the map with a final dot; empty for the file.
    prefix: String,
    list: Vec<(Named, Option<&'n Entry>)>,
}

/// A field that is written.
#[derive(Clone)]
pub(in crate::spec) struct Field<'n> {
    /// Its row of the table.
    pub key: Key,
    /// Its name.
    pub name: String,
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
        let (Named { name, key }, entry) = self.list.iter().find(|(key, _)| key.name == name)?;
        let Entry {
            key_span,
            value: node,
            ..
        } = (*entry)?;
        Some(Field {
            key: *key,
            name: name.clone(),
            path: format!("{}{name}", self.prefix),
            key_span,
            node,
        })
    }
}

/// The state of reading one file.
pub(in crate::spec) struct Reader<'t> {
    /// Text of the file.
    pub text: &'t str,
    /// The file.
    pub tree: &'t Node,
    /// The name that the file's place decides, where it is one.
    pub named: Option<String>,
    /// What its kernel is made of.
    pub shape: Shape,
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
        let keys = fields(kind, &self.shape).unwrap_or_default();
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}.")
        };
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        let Some(entries) = self.entries(node, path, &names) else {
            return Fields {
                prefix,
                list: vec![],
            };
        };
        let unknown = |entry: &&Entry| !names.contains(&entry.key.as_str());
        for entry in entries.iter().filter(unknown) {
            self.unknown_key(kind, &prefix, entry, &names);
        }
        let found = |name: &str| entries.iter().find(|entry| entry.key == name);
        let near = |entry: &Entry| nearest(&entry.key, names.iter().copied());
        let meant: Vec<&str> = entries.iter().filter(unknown).filter_map(near).collect();
        for Named { name, key } in keys.iter().filter(|named| named.key.required) {
            let is_known = match key.kind {
                Kind::Tile => self.any_tile().is_some(),
                _ => false,
            };
            if found(name).is_none() && !meant.contains(&name.as_str()) && !is_known {
                let message = format!("`{prefix}{name}` is missing");
                let first = match key.kind {
                    Kind::Tile => self.first_tile(),
                    _ if prefix.is_empty() && name == "name" => self.add_name(),
                    _ => None,
                };
                let help =
                    first.unwrap_or_else(|| format!("add `{name}`: {}", lower_first(key.doc)));
                self.problems.add("missing-key", place, message, help);
            }
        }
        let list = keys.into_iter().map(|key| {
            let entry = found(&key.name);
            (key, entry)
        });
        let list = list.collect();
        Fields { prefix, list }
    }

    /// A tile to begin with, where the formula is known.
    pub fn first_tile(&self) -> Option<String> {
        let (formula, recognized) = &**self.shape.formula.as_ref()?;
        if let Some(doubt) = self.repeated() {
            return Some(doubt);
        }
        let first = tile::proposed(formula, &recognized.form)?;
        Some(format!("begin with `cta_tile: {first}`"))
    }

    /// A tile of a formula that has no kernel whatever its tile, which planning tells: nobody is
    /// asked for one before.
    pub fn any_tile(&self) -> Option<(Vec<String>, Vec<i64>)> {
        let (formula, recognized) = &**self.shape.formula.as_ref()?;
        tile::is_without(&recognized.form).then(|| tile::any(formula, &recognized.form))
    }

    fn add_name(&self) -> Option<String> {
        let name = self.named.as_ref()?;
        Some(format!("add `name: {name}`, as the file is called"))
    }

    /// The entries of a map; `None` for anything else, listed as a problem.
    fn entries<'n>(&mut self, node: &'n Node, path: &str, names: &[&str]) -> Option<&'n [Entry]> {
        match &node.value {
            Value::Map(entries) => Some(entries),
            Value::Refused => None,
            _ => {
                let label = if path.is_empty() {
                    "the file".into()
                } else {
                    format!("`{path}`")
                };
                let (actual, keys) = (describe(node), all_of(names));
                let message = format!("{label} is {actual}; expected a map with {keys}");
                let help = "write `key: value` lines below it";
                self.problems.add("wrong-type", &node.span, message, help);
                None
            }
        }
    }

    fn unknown_key(&mut self, kind: Kind, prefix: &str, entry: &Entry, names: &[&str]) {
        let path = format!("{prefix}{}", entry.key);
        let near = nearest(&entry.key, names.iter().copied());
        let has = |shape: &Shape| {
            let keys = fields(kind, shape).unwrap_or_default();
            keys.iter().any(|key| key.name == entry.key)
        };
        let default = Shape {
            is_written: false,
            ..self.shape.clone()
        };
        let by_operand = matches!(kind, Kind::Operands | Kind::Paths(_) | Kind::Swizzles);
        let named = defaults().iter().find(|other| by_operand && has(other));
        let formed = FORMS.iter().find(|facts| {
            let other = Shape {
                form: facts.form,
                ..self.shape.clone()
            };
            has(&other)
        });
        let or_near = || {
            near.map_or("delete it".into(), |near| {
                format!("delete it, or use `{near}`")
            })
        };
        if self.shape.is_written && has(&default) {
            let message = format!("`{path}` belongs to default formulas; `compute` is written");
            let help = "delete it, and give a sum's type behind its name: `acc[m,n]: f32 = …`";
            self.problems
                .add("beside-compute", &entry.key_span, message, help);
        } else if let Some(other) = named.filter(|_| !self.shape.is_written) {
            let (other, own) = (&other.kernel, &self.shape.kernel);
            let message = format!("`{path}` belongs to kernel {other}, not to {own}");
            self.problems
                .add("wrong-form", &entry.key_span, message, or_near());
        } else if formed.is_some() && self.shape.is_written && self.shape.formula.is_none() {
            // Of a formula that is refused nobody knows the form.
        } else if let Some(other) = formed {
            let (own, form) = (&self.shape.kernel, self.shape.form.facts().name);
            let message = format!(
                "`{path}` belongs to formulas of the form {}; that of kernel {own} is of the form \
                 {form}",
                other.name
            );
            // Where the formula may not be what is meant, the key is not what is wrong.
            let help = self.doubt().unwrap_or_else(or_near);
            self.problems
                .add("wrong-form", &entry.key_span, message, help);
        } else {
            let message = format!(
                "unknown key `{}`; known are {}",
                shown(&path),
                all_of(names)
            );
            let help = match (elsewhere(&entry.key), near) {
                (Some(Here::Lines(here)), _) => format!("write `{here}`"),
                (_, Some(near)) => format!("use `{near}`"),
                (_, None) => "delete it".to_owned(),
            };
            self.problems
                .add("unknown-key", &entry.key_span, message, help);
        }
    }

    /// That a sum takes more than it may be meant to, with its help: its tile is another then.
    pub fn repeated(&self) -> Option<String> {
        let (formula, _) = &**self.shape.formula.as_ref()?;
        let mut doubts = tilewright_formula::doubtful(formula).into_iter();
        let first = doubts.find(|one| one.code == "repeated-term")?;
        Some(format!("{}: {}", first.message, first.help?))
    }

    /// What the formula is warned of, with its help.
    fn doubt(&self) -> Option<String> {
        let (formula, _) = &**self.shape.formula.as_ref()?;
        let first = tilewright_formula::doubtful(formula).into_iter().next()?;
        Some(format!("{}: {}", first.message, first.help?))
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
                let help = one_value(field);
                self.problems
                    .add("wrong-type", &field.node.span, message, help);
                None
            }
        }
    }

    /// The span of a part of a scalar's text; of the whole scalar when escapes or folding moved the
    /// text.
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

/// How to write one value in place of a list or a map.
fn one_value(field: &Field<'_>) -> String {
    let tuple = matches!(field.key.kind, Kind::Tile | Kind::Triple { .. });
    let listed = match &field.node.value {
        Value::List(items) => items,
        Value::Map(_) if tuple => {
            let of = |name: &str| match field.node.entry(name).map(|entry| &entry.value.value) {
                Some(Value::Scalar { text, .. }) => shown(text).to_string(),
                _ => "1".to_owned(),
            };
            return format!("write \"({},{},{})\"", of("m"), of("n"), of("k"));
        }
        _ => return "write one value on the line of the key".into(),
    };
    match listed.as_slice() {
        [
            Node {
                value: Value::Scalar { text, .. },
                ..
            },
        ] => format!("use `{}`, without brackets", shown(text)),
        _ if tuple => "write tuples as text in quotes, such as \"(128,128,64)\"".into(),
        _ if field.key.tunable => format!(
            "write one value; values to try stand in `tune`, as `{}: [...]`",
            field.path
        ),
        _ => "write one value".into(),
    }
}

/// Whether a value is the word `auto`.
pub(in crate::spec) fn is_auto(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, .. } if text == "auto")
}

/// A value as messages name it.
pub(in crate::spec) fn describe(node: &Node) -> String {
    match &node.value {
        Value::Scalar { .. } if node.span.bytes.is_empty() => "empty".into(),
        Value::Scalar { text, plain: true } => format!("`{}`", shown(text)),
        Value::Scalar { text, .. } => format!("the text \"{}\"", shown(text)),
        Value::List(items) if items.is_empty() => "an empty list".into(),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Map(entries) => format!("a map of {}", entries.len()),
        Value::Refused => "an alias".into(),
    }
}

/// The sentence as the rest of another: its first word small, unless that is an abbreviation.
fn lower_first(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut chars = text.chars();
    let first = chars.next();
    if chars.clone().next().is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    first
        .map(|c| c.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}
