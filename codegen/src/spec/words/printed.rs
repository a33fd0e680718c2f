//! A tree of values to print.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A value to print.
pub(in crate::spec) enum Printed {
    /// A number.
    Int(i64),
    /// A word, a tuple, a layout.
    Text(String),
    /// A map in its order.
    Map(Vec<(String, Printed)>),
}

impl Printed {
    /// Dotted paths below `path` with the values.
    pub fn flatten(self, path: &str, out: &mut Vec<(String, String)>) {
        match self {
            Printed::Int(value) => out.push((path.to_string(), value.to_string())),
            Printed::Text(text) => out.push((path.to_string(), text)),
            Printed::Map(entries) => {
                let dot = if path.is_empty() { "" } else { "." };
                for (key, value) in entries {
                    value.flatten(&format!("{path}{dot}{key}"), out);
                }
            }
        }
    }
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Printed::Int(value) => serializer.serialize_i64(*value),
            Printed::Text(text) => serializer.serialize_str(text),
            Printed::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl Printed {
    /// A text.
    pub fn text(text: impl ToString) -> Printed {
        Printed::Text(text.to_string())
    }

    /// A tuple: `(128,128,64)`.
    pub fn tuple(extents: &[i64]) -> Printed {
        let words: Vec<String> = extents.iter().map(i64::to_string).collect();
        Printed::Text(format!("({})", words.join(",")))
    }
}

/// A map under construction: values that are defaults are not added.
#[derive(Default)]
pub(in crate::spec) struct Map(Vec<(String, Printed)>);

impl Map {
    /// Adds a value.
    pub fn put(&mut self, key: &str, value: impl Into<Option<Printed>>) {
        if let Some(value) = value.into() {
            self.0.push((key.to_string(), value));
        }
    }

    /// The map; `None` for an empty one.
    pub fn finished(self) -> Option<Printed> {
        (!self.0.is_empty()).then_some(Printed::Map(self.0))
    }

    /// The same with the keys in this order.
    pub fn in_order(mut self, keys: &[&str]) -> Map {
        let place = |key: &str| keys.iter().position(|known| *known == key);
        self.0.sort_by_key(|(key, _)| place(key));
        self
    }
}
