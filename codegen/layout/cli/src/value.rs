//! What an expression is worth: the types of the algebra under one roof.
//!
//! In: results of the algebra. Out: text in the notation of the field, and JSON. Invariant: the
//! text of a layout, swizzle, tiler or number reads back as the same value.

mod from;

use std::fmt;

use serde_json::{Value as Json, json};
use tilewright_layout::{
    Basis, ComposedLayout, CopyAtom, IntTuple, InverseLayout, Layout, MmaAtom, Result, Slot,
    Swizzle, Sym, TiledCopy, TiledMma, Tiler,
};

/// Longest list of values that JSON shows.
const MOST_VALUES: i64 = 1 << 16;

/// A layout over one of the integers and stride modules.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// Offsets: `(4,8):(1,4)`.
    Plain(Layout),
    /// Coordinates: `(4,8):(1@0,1@1)`.
    Coords(Layout<i64, Basis<i64>>),
    /// Offsets with names in them: `(m,k):(lda,1)`.
    Symbolic(Layout<Sym>),
    /// Coordinates with names in them.
    SymbolicCoords(Layout<Sym, Basis<Sym>>),
}

/// Evaluates an expression for whichever layout a [`Tensor`] holds; the arms give any type. A
/// second name stands for the integer of the layout.
macro_rules! with_tensor {
    ($tensor:expr, $layout:ident => $result:expr) => {
        match $tensor {
            Tensor::Plain($layout) => $result,
            Tensor::Coords($layout) => $result,
            Tensor::Symbolic($layout) => $result,
            Tensor::SymbolicCoords($layout) => $result,
        }
    };
    ($tensor:expr, $layout:ident, $int:ident => $result:expr) => {{
        use tilewright_layout::Sym;
        match $tensor {
            Tensor::Plain($layout) => with_tensor!(@ $int, i64, $result),
            Tensor::Coords($layout) => with_tensor!(@ $int, i64, $result),
            Tensor::Symbolic($layout) => with_tensor!(@ $int, Sym, $result),
            Tensor::SymbolicCoords($layout) => with_tensor!(@ $int, Sym, $result),
        }
    }};
    (@ $int:ident, $type:ty, $result:expr) => {{
        #[allow(dead_code)]
        type $int = $type;
        $result
    }};
}

pub(crate) use with_tensor;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Int(i64),
    /// A number with names in it.
    Symbol(Sym),
    /// Yes or no.
    Bool(bool),
    /// A shape or a coordinate.
    Tuple(IntTuple<i64>),
    /// A coordinate with `_` in it.
    Slots(IntTuple<Slot<i64>>),
    /// A coordinate as the value of a layout: `2@0+3@1`.
    Basis(Basis<Sym>),
    /// A layout.
    Tensor(Tensor),
    /// A tiler.
    Tiler(Tiler),
    /// A swizzle.
    Swizzle(Swizzle),
    /// A swizzle after an offset after a layout.
    Composed(ComposedLayout),
    /// A layout after an offset after a swizzle: what undoes the other order.
    Inverse(InverseLayout),
    /// A matrix-multiply instruction.
    MmaAtom(MmaAtom),
    /// A tiled MMA.
    TiledMma(Box<TiledMma>),
    /// A copy instruction, in elements.
    CopyAtom(CopyAtom),
    /// A copy instruction as the catalogue has it, in bits.
    CopyBits(CopyAtom),
    /// A tiled copy.
    TiledCopy(Box<TiledCopy>),
    /// Words, as a comparison gives them.
    Text(String),
    /// Several values.
    List(Vec<Value>),
}

impl Value {
    /// What kind of value this is, as signatures call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Int(_) | Value::Symbol(_) => "int",
            Value::Bool(_) => "bool",
            Value::Tuple(_) => "tuple",
            Value::Slots(_) => "coordinate",
            Value::Basis(_) => "basis",
            Value::Tensor(_) => "layout",
            Value::Tiler(_) => "tiler",
            Value::Swizzle(_) => "swizzle",
            Value::Composed(_) => "composed layout",
            Value::Inverse(_) => "inverse",
            Value::MmaAtom(_) => "mma atom",
            Value::TiledMma(_) => "tiled mma",
            Value::CopyAtom(_) => "copy atom",
            Value::CopyBits(_) => "copy bits",
            Value::TiledCopy(_) => "tiled copy",
            Value::Text(_) => "text",
            Value::List(_) => "list",
        }
    }

    /// The kind in a sentence.
    pub fn kind_with_article(&self) -> &'static str {
        match self {
            Value::Int(_) => "a number",
            Value::Symbol(_) => "a number with a name in it",
            Value::Bool(_) => "yes or no",
            Value::Tuple(_) => "a tuple",
            Value::Slots(_) => "a coordinate",
            Value::Basis(_) => "a basis element",
            Value::Tensor(Tensor::Coords(_)) => "a layout of coordinates",
            Value::Tensor(Tensor::Symbolic(_)) => "a layout with names in it",
            Value::Tensor(_) => "a layout",
            Value::Tiler(_) => "a tiler",
            Value::Swizzle(_) => "a swizzle",
            Value::Composed(_) => "a layout behind a swizzle",
            Value::Inverse(_) => "the inverse of a layout behind a swizzle",
            Value::MmaAtom(_) => "an mma atom",
            Value::TiledMma(_) => "a tiled mma",
            Value::CopyAtom(_) => "a copy atom",
            Value::CopyBits(_) => "a copy atom in bits",
            Value::TiledCopy(_) => "a tiled copy",
            Value::Text(_) => "words",
            Value::List(_) => "a list",
        }
    }

    /// The value for a program: its text, and the numbers a reader of JSON wants without a parser.
    pub fn json(&self) -> Json {
        let mut fields = json!({ "kind": self.kind(), "text": self.to_string() });
        let more = match self {
            Value::Int(number) => json!({ "value": number }),
            Value::Bool(yes) => json!({ "value": yes }),
            Value::Tuple(tuple) => json!({ "value": nested(tuple) }),
            Value::Tensor(Tensor::Plain(layout)) => layout_json(layout),
            Value::Tensor(Tensor::Coords(layout)) => json!({
                "shape": nested(&layout.shape()),
                "rank": layout.rank(),
                "size": layout.size().ok(),
            }),
            Value::Composed(all) => composed_json(all),
            Value::Swizzle(s) => json!({
                "bits": s.bits(), "base": s.base(), "shift": s.shift(),
            }),
            Value::List(items) => json!({
                "items": items.iter().map(Value::json).collect::<Vec<_>>(),
            }),
            _ => json!({}),
        };
        if let (Json::Object(fields), Json::Object(more)) = (&mut fields, more) {
            fields.extend(more);
        }
        fields
    }
}

/// A tuple as nested JSON arrays.
pub fn nested(tuple: &IntTuple<i64>) -> Json {
    match tuple.as_leaf() {
        Some(leaf) => json!(leaf),
        None => Json::Array(tuple.modes().map(|mode| nested(&mode)).collect()),
    }
}

fn layout_json(layout: &Layout) -> Json {
    let size = layout.size().ok();
    json!({
        "shape": nested(&layout.shape()),
        "stride": nested(&layout.stride()),
        "rank": layout.rank(),
        "depth": layout.depth(),
        "size": size,
        "cosize": layout.cosize().ok(),
        "values": listed(size, || Ok(layout.offsets()?.collect())),
    })
}

fn composed_json(all: &ComposedLayout) -> Json {
    let size = all.size().ok();
    json!({
        "swizzle": all.swizzle.to_string(),
        "offset": all.offset,
        "shape": nested(&all.inner.shape()),
        "stride": nested(&all.inner.stride()),
        "size": size,
        "values": listed(size, || Ok(all.offsets()?.collect())),
    })
}

/// All values where they are few.
fn listed(size: Option<i64>, values: impl FnOnce() -> Result<Vec<i64>>) -> Option<Vec<i64>> {
    size.filter(|&size| size <= MOST_VALUES)?;
    values().ok()
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(number) => number.fmt(f),
            Value::Symbol(number) => number.fmt(f),
            Value::Bool(yes) => yes.fmt(f),
            Value::Tuple(tuple) => tuple.fmt(f),
            Value::Slots(slots) => slots.fmt(f),
            Value::Basis(value) => value.fmt(f),
            Value::Tensor(tensor) => with_tensor!(tensor, layout => layout.fmt(f)),
            Value::Tiler(tiler) => tiler.fmt(f),
            Value::Swizzle(swizzle) => swizzle.fmt(f),
            Value::Composed(all) => all.fmt(f),
            Value::Inverse(InverseLayout {
                layout,
                offset,
                swizzle,
            }) => write!(f, "{layout} o {} o {swizzle}", -i128::from(*offset)),
            Value::MmaAtom(atom) => write_atom(f, atom),
            Value::TiledMma(mma) => write_mma(f, mma),
            Value::CopyAtom(atom) => write_copy(f, "copy_atom", atom),
            Value::CopyBits(atom) => write_copy(f, "copy_bits", atom),
            Value::TiledCopy(copy) => write!(
                f,
                "tiled_copy({}, {}, {})",
                Value::CopyAtom(copy.atom().clone()),
                copy.tv(),
                copy.tiler()
            ),
            Value::Text(text) => f.write_str(text),
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let gap = if index > 0 { ", " } else { "" };
                    write!(f, "{gap}{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

fn write_copy(f: &mut fmt::Formatter<'_>, name: &str, atom: &CopyAtom) -> fmt::Result {
    let (threads, reference) = (&atom.thr_id, &atom.ref_tv);
    let (source, destination) = (&atom.src_tv, &atom.dst_tv);
    write!(f, "{name}({threads}, {source}, {destination}, {reference})")
}

fn write_atom(f: &mut fmt::Formatter<'_>, atom: &MmaAtom) -> fmt::Result {
    let [m, n, k] = atom.mnk;
    write!(
        f,
        "mma_atom(({m},{n},{k}), {}, {}, {}, {})",
        atom.thr_id, atom.a_tv, atom.b_tv, atom.c_tv
    )
}

fn write_mma(f: &mut fmt::Formatter<'_>, mma: &TiledMma) -> fmt::Result {
    f.write_str("tiled_mma(")?;
    write_atom(f, mma.atom())?;
    let [m, n, k] = mma.permutation_mnk();
    write!(f, ", {}, <{m},{n},{k}>)", mma.atom_layout_mnk())
}
