//! One row of a conformance file: its fields, read by name.
//!
//! In: a JSON object of untrusted form. Out: operands of the layout algebra and what the row asks
//! for. Invariant: a field that is missing or malformed is a failure of the row, told in words.

use std::str::FromStr;

use serde_json::Value;
use tilewright_layout::{ComposedLayout, IntTuple, Layout, Slot, Swizzle, Tiler};

/// What is wrong with a row, in words.
pub type Check<T = ()> = Result<T, String>;

/// What a correct implementation has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Return the expected answer.
    Exact,
    /// Return an error.
    Reject,
    /// Return the expected answer, or refuse.
    ExactOrReject,
    /// Return any answer that has the properties.
    Property,
    /// Return any answer that has the properties, or refuse.
    PropertyOrReject,
}

impl Verdict {
    /// Whether an error meets the row.
    pub fn allows_refusal(self) -> bool {
        !matches!(self, Verdict::Exact | Verdict::Property)
    }
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a>(pub &'a Value);

impl<'a> Row<'a> {
    /// A text beside the inputs.
    pub fn field(self, key: &str) -> Check<&'a str> {
        self.0[key]
            .as_str()
            .ok_or_else(|| format!("the row has no text `{key}`"))
    }

    /// Which operation.
    pub fn op(self) -> Check<&'a str> {
        self.field("op")
    }

    /// What has to happen.
    pub fn verdict(self) -> Check<Verdict> {
        match self.field("verdict")? {
            "exact" => Ok(Verdict::Exact),
            "reject" => Ok(Verdict::Reject),
            "exact_or_reject" => Ok(Verdict::ExactOrReject),
            "property" => Ok(Verdict::Property),
            "property_or_reject" => Ok(Verdict::PropertyOrReject),
            other => Err(format!("no verdict is called `{other}`")),
        }
    }

    fn text(self, key: &str) -> Check<&'a str> {
        self.0["inputs"][key]
            .as_str()
            .ok_or_else(|| format!("the inputs have no text `{key}`"))
    }

    fn parsed<T: FromStr<Err = tilewright_layout::Error>>(self, key: &str) -> Check<T> {
        let text = self.text(key)?;
        text.parse()
            .map_err(|error| format!("input {key} `{text}`: {error}"))
    }

    /// An integer input.
    pub fn int(self, key: &str) -> Check<i64> {
        self.0["inputs"][key]
            .as_i64()
            .ok_or_else(|| format!("the inputs have no integer `{key}`"))
    }

    /// A list of integers among the inputs.
    pub fn ints(self, key: &str) -> Check<Vec<i64>> {
        numbers(&self.0["inputs"][key]).map_err(|why| format!("input {key}: {why}"))
    }

    /// A layout input; a bare integer n means n:1.
    pub fn layout(self, key: &str) -> Check<Layout> {
        let text = self.text(key)?;
        let whole = match text.contains(':') {
            true => text.to_owned(),
            false => format!("{text}:1"),
        };
        whole
            .parse()
            .map_err(|error| format!("input {key} `{text}`: {error}"))
    }

    /// A shape or coordinate input.
    pub fn tuple(self, key: &str) -> Check<IntTuple<i64>> {
        self.parsed(key)
    }

    /// A slicing coordinate.
    pub fn slots(self, key: &str) -> Check<IntTuple<Slot<i64>>> {
        self.parsed(key)
    }

    /// The tiler.
    pub fn tiler(self) -> Check<Tiler> {
        self.parsed("tiler")
    }

    /// The swizzle, or why its numbers make none.
    pub fn swizzle(self) -> Check<tilewright_layout::Result<Swizzle>> {
        Ok(format!("Sw<{}>", self.text("swizzle")?).parse())
    }

    /// A composed layout of the swizzle, the offset where there is one, and a layout input.
    pub fn composed(self, swizzle: Swizzle, key: &str) -> Check<ComposedLayout> {
        let offset = self.0["inputs"]["offset"].as_i64().unwrap_or(0);
        let inner = self.layout(key)?;
        Ok(ComposedLayout {
            swizzle,
            offset,
            inner,
        })
    }

    /// The values a row asks for, when it has a layout or a list.
    pub fn values(self) -> Check<Vec<i64>> {
        match (&self.0["expected"], &self.0["expected_offsets"]) {
            (_, list @ Value::Array(_)) => numbers(list),
            (Value::String(text), _) => {
                let layout = text.parse::<Layout>().and_then(|l| l.offsets());
                Ok(layout.map_err(|error| error.to_string())?.collect())
            }
            (list @ Value::Array(_), _) => numbers(list),
            _ => Err("the row states no expected values".to_owned()),
        }
    }

    /// A list of integers beside the inputs.
    pub fn list(self, key: &str) -> Check<Vec<i64>> {
        numbers(&self.0[key]).map_err(|why| format!("{key}: {why}"))
    }

    /// An integer beside the inputs.
    pub fn number(self, key: &str) -> Check<i64> {
        self.0[key]
            .as_i64()
            .ok_or_else(|| format!("the row has no integer `{key}`"))
    }

    /// The expected coordinate.
    pub fn coordinate(self) -> Check<IntTuple<i64>> {
        let parsed = self.field("expected")?.parse();
        parsed.map_err(|error| format!("expected: {error}"))
    }
}

fn numbers(list: &Value) -> Check<Vec<i64>> {
    let items = list.as_array().ok_or("a list of integers is missing")?;
    let numbers = items.iter().map(Value::as_i64);
    numbers
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{list} is no list of 64-bit integers"))
}
