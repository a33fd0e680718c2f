//! What the type of a field says about it: how it is read, printed and said in an id.
//!
//! A type of values is a [`Scalar`]; a field of the model is [`Valued`]: a scalar that may be left
//! to the plan or out, or a map of such fields.

use tilewright_layout::Swizzle;

use super::read::{Field, Reader, is_auto};
use crate::spec::keys::key::Key;
use crate::spec::words::auto::Auto;
use crate::spec::words::printed::Printed;
use crate::spec::words::vocabulary::Worded;

/// A type of values.
pub(in crate::spec) trait Scalar: Sized {
    /// The value of a field, or `None` with the problem listed.
    fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Self>;

    /// The value as it is printed.
    fn printed(&self) -> Printed;

    /// The value in an id.
    fn short(&self) -> String;
}

/// A piece of a point's id, with its place among them.
pub(in crate::spec) struct Said {
    /// Dotted path of the key.
    pub path: String,
    /// Its row.
    pub key: Key,
    /// The value in short.
    pub short: String,
}

/// A field of the model.
pub(in crate::spec) trait Valued: Sized {
    /// Whether `auto` is a value of it, and the default.
    const AUTO: bool = false;

    /// The value of a field that may be written; the default for one that is not or has problems.
    fn read(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Self;

    /// What is printed of it: nothing of a default.
    fn printed(&self) -> Option<Printed>;

    /// Adds its pieces of an id.
    fn say(&self, path: &str, key: &Key, said: &mut Vec<Said>);
}

fn say<T: Scalar>(value: &T, path: &str, key: &Key, said: &mut Vec<Said>) {
    said.push(Said {
        path: path.to_owned(),
        key: *key,
        short: value.short(),
    });
}

impl<T: Scalar> Valued for Auto<T> {
    const AUTO: bool = true;

    fn read(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Self {
        match field {
            Some(field) if !is_auto(field.node) => {
                T::read(reader, &field).map_or(Auto::Auto, Auto::Given)
            }
            _ => Auto::Auto,
        }
    }

    fn printed(&self) -> Option<Printed> {
        match self {
            Auto::Auto => None,
            Auto::Given(value) => Some(value.printed()),
        }
    }

    fn say(&self, path: &str, key: &Key, said: &mut Vec<Said>) {
        if let Auto::Given(value) = self {
            say(value, path, key, said);
        }
    }
}

/// What is left to the plan differs from what is not there.
impl<T: Scalar> Valued for Option<Auto<T>> {
    const AUTO: bool = true;

    fn read(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Self {
        field.map(|field| Auto::read(reader, Some(field)))
    }

    fn printed(&self) -> Option<Printed> {
        let value = self.as_ref()?;
        Some(value.printed().unwrap_or_else(|| Printed::text("auto")))
    }

    fn say(&self, path: &str, key: &Key, said: &mut Vec<Said>) {
        if let Some(value) = self {
            value.say(path, key, said);
        }
    }
}

impl<T: Worded> Valued for Option<T> {
    fn read(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Self {
        T::read(reader, &field?)
    }

    fn printed(&self) -> Option<Printed> {
        self.as_ref().map(Scalar::printed)
    }

    fn say(&self, path: &str, key: &Key, said: &mut Vec<Said>) {
        if let Some(value) = self {
            say(value, path, key, said);
        }
    }
}

/// Counts along m, n and k: one where nothing is said.
impl Valued for [i64; 3] {
    fn read(reader: &mut Reader<'_>, field: Option<Field<'_>>) -> Self {
        let given = field.and_then(|field| reader.triple(&field));
        given.unwrap_or([1; 3])
    }

    fn printed(&self) -> Option<Printed> {
        (*self != [1; 3]).then(|| Printed::tuple(self))
    }

    fn say(&self, path: &str, key: &Key, said: &mut Vec<Said>) {
        if *self != [1; 3] {
            say(self, path, key, said);
        }
    }
}

impl Scalar for u32 {
    fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Self> {
        let value = reader.int(field);
        value.and_then(|value| u32::try_from(value).ok())
    }

    fn printed(&self) -> Printed {
        Printed::Int(i64::from(*self))
    }

    fn short(&self) -> String {
        self.to_string()
    }
}

/// The id of an atom, too long to be said in the id of a point.
impl Scalar for String {
    fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Self> {
        reader.atom(field)
    }

    fn printed(&self) -> Printed {
        Printed::text(self)
    }

    fn short(&self) -> String {
        self.clone()
    }
}

impl Scalar for [i64; 3] {
    fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Self> {
        reader.triple(field)
    }

    fn printed(&self) -> Printed {
        Printed::tuple(self)
    }

    /// A one along k is not worth saying.
    fn short(&self) -> String {
        match self {
            [m, n, 1] => by(&[*m, *n]),
            _ => by(self),
        }
    }
}

impl Scalar for Swizzle {
    fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Self> {
        let bytes = reader.bytes_of(field);
        reader.swizzle(field, bytes)
    }

    fn printed(&self) -> Printed {
        match self.is_none() {
            true => Printed::text("none"),
            false => Printed::text(self),
        }
    }

    fn short(&self) -> String {
        self.to_string()
    }
}

impl<T: Worded> Scalar for T {
    fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Self> {
        reader.worded(field)
    }

    fn printed(&self) -> Printed {
        Printed::text(self.spelled())
    }

    fn short(&self) -> String {
        let count = self
            .count()
            .map_or(String::new(), |count| count.to_string());
        format!("{}{count}", self.word().short)
    }
}

/// Extents in an id: `128x256x64`.
pub(in crate::spec) fn by(extents: &[i64]) -> String {
    let words: Vec<String> = extents.iter().map(i64::to_string).collect();
    words.join("x")
}
