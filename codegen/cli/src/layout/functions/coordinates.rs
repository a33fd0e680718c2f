//! Layouts as functions: extents, coordinates both ways, slices, constructors.

use tilewright_layout::{
    Int, Layout, compatible, congruent, crd2idx, from_offsets, idx2crd, left_inverse, slice,
};

use super::Function;
use super::arguments::{Answer, Arguments, Stop};
use crate::layout::value::{Tensor, Value, map_tensor, with_tensor};

/// Longest list of values that is printed.
const MOST_VALUES: i64 = 1 << 20;

/// The functions of this chapter.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "size",
        parameters: &["l: layout"],
        gives: "int",
        about: "number of coordinates",
        run: size,
    },
    Function {
        name: "cosize",
        parameters: &["l: layout"],
        gives: "int",
        about: "one past the largest offset between two coordinates",
        run: cosize,
    },
    Function {
        name: "rank",
        parameters: &["l: layout | tuple"],
        gives: "int",
        about: "number of top-level modes",
        run: |args| match args.get(0) {
            Some(Value::Tuple(tuple)) => Ok(Value::Int(tuple.rank() as i64)),
            _ => Ok(with_tensor!(inner(args)?, l => Value::Int(l.rank() as i64))),
        },
    },
    Function {
        name: "depth",
        parameters: &["l: layout | tuple"],
        gives: "int",
        about: "nesting: 0 for a bare mode, 1 for a flat tuple",
        run: |args| match args.get(0) {
            Some(Value::Tuple(tuple)) => Ok(Value::Int(tuple.depth() as i64)),
            _ => Ok(with_tensor!(inner(args)?, l => Value::Int(l.depth() as i64))),
        },
    },
    Function {
        name: "shape",
        parameters: &["l: layout"],
        gives: "tuple",
        about: "the extents",
        run: |args| match inner(args)? {
            Tensor::Plain(l) => Ok(Value::Tuple(l.shape())),
            Tensor::Coords(l) => Ok(Value::Tuple(l.shape())),
            Tensor::Symbolic(l) => Ok(Value::Text(l.shape().to_string())),
            Tensor::SymbolicCoords(l) => Ok(Value::Text(l.shape().to_string())),
        },
    },
    Function {
        name: "stride",
        parameters: &["l: layout"],
        gives: "tuple",
        about: "the strides",
        run: |args| match inner(args)? {
            Tensor::Plain(l) => Ok(Value::Tuple(l.stride())),
            other => Ok(with_tensor!(other, l => Value::Text(l.stride().to_string()))),
        },
    },
    Function {
        name: "at",
        parameters: &["l: layout", "c: coordinate"],
        gives: "int",
        about: "the value at a coordinate or a linear index",
        run: |args| at(args, 0, 1),
    },
    Function {
        name: "crd2idx",
        parameters: &["c: coordinate", "l: layout"],
        gives: "int",
        about: "the same, in the argument order of CuTe",
        run: |args| at(args, 1, 0),
    },
    Function {
        name: "idx2crd",
        parameters: &["index: int", "shape: tuple | layout"],
        gives: "tuple",
        about: "a linear index split by a shape",
        run: |args| Ok(tuple(idx2crd(&args.int(0)?, &args.shape(1)?)?)),
    },
    Function {
        name: "offset2crd",
        parameters: &["offset: int", "l: layout"],
        gives: "tuple",
        about: "the coordinate whose value is that offset",
        run: offset2crd,
    },
    Function {
        name: "offsets",
        parameters: &["l: layout"],
        gives: "list",
        about: "all values, the first leaf running fastest",
        run: offsets,
    },
    Function {
        name: "from_offsets",
        parameters: &["values: int…"],
        gives: "layout",
        about: "the shortest flat layout with these values",
        run: |args| Ok(from_offsets(&args.numbers(0)?)?.into()),
    },
    Function {
        name: "congruent",
        parameters: &["a: tuple | layout", "b: tuple | layout"],
        gives: "bool",
        about: "whether two shapes are the same tree",
        run: |args| {
            let (a, b) = (args.shape(0)?, args.shape(1)?);
            Ok(Value::Bool(congruent(a.profile(), b.profile())))
        },
    },
    Function {
        name: "compatible",
        parameters: &["a: tuple | layout", "b: tuple | layout"],
        gives: "bool",
        about: "whether every leaf of a is a subtree of b of the same size",
        run: |args| Ok(Value::Bool(compatible(&args.shape(0)?, &args.shape(1)?)?)),
    },
    Function {
        name: "slice",
        parameters: &["c: coordinate", "l: layout"],
        gives: "[layout, offset]",
        about: "the modes marked `_`, and the offset of the fixed ones",
        run: slice_at,
    },
    Function {
        name: "compact",
        parameters: &["shape: tuple"],
        gives: "layout",
        about: "the layout of a shape without gaps, first mode fastest",
        run: |args| Ok(Layout::compact(args.tuple(0)?)?.into()),
    },
    Function {
        name: "compact_right",
        parameters: &["shape: tuple"],
        gives: "layout",
        about: "the same with the last mode fastest",
        run: |args| Ok(Layout::compact_right(args.tuple(0)?)?.into()),
    },
    Function {
        name: "identity",
        parameters: &["shape: tuple"],
        gives: "layout",
        about: "the layout whose value is the coordinate itself",
        run: |args| Ok(Layout::<i64, _>::identity(args.tuple(0)?)?.into()),
    },
];

/// The layout, or the one inside a swizzle.
fn inner(args: Arguments<'_>) -> Result<Tensor, Stop> {
    match args.is_composed(0) {
        true => Ok(Tensor::Plain(args.composed(0)?.inner)),
        false => args.tensor(0),
    }
}

fn size(args: Arguments<'_>) -> Answer {
    if let Some(Value::Tuple(shape)) = args.get(0) {
        let size = shape.leaves().iter().try_fold(1i64, |p, s| p.try_mul(s));
        return Ok(Value::Int(size?));
    }
    Ok(with_tensor!(inner(args)?, l => l.size()?.into()))
}

fn cosize(args: Arguments<'_>) -> Answer {
    match inner(args)? {
        Tensor::Plain(l) => Ok(l.cosize()?.into()),
        Tensor::Symbolic(l) => Ok(l.cosize()?.into()),
        _ => args.wrong(0, "a layout whose values are offsets"),
    }
}

fn tuple(coord: tilewright_layout::IntTuple<i64>) -> Value {
    match coord.as_leaf() {
        Some(&index) => Value::Int(index),
        None => Value::Tuple(coord),
    }
}

fn at(args: Arguments<'_>, layout: usize, coord: usize) -> Answer {
    let place = args.tuple(coord)?;
    if args.is_composed(layout) {
        return Ok(args.composed(layout)?.at_coord(&place)?.into());
    }
    match args.tensor(layout)? {
        Tensor::Plain(l) => Ok(crd2idx(&place, &l)?.into()),
        Tensor::Coords(l) => Ok(crd2idx(&place, &l)?.into()),
        Tensor::Symbolic(l) => Ok(crd2idx(&place.map(|x| Int::constant(*x)), &l)?.into()),
        Tensor::SymbolicCoords(l) => Ok(crd2idx(&place.map(|x| Int::constant(*x)), &l)?.into()),
    }
}

fn offset2crd(args: Arguments<'_>) -> Answer {
    let (offset, l) = (args.int(0)?, args.layout(1)?);
    let index = left_inverse(&l)?.at(offset)?;
    Ok(tuple(l.coord(&index)?))
}

fn offsets(args: Arguments<'_>) -> Answer {
    let few = |size: i64| match size <= MOST_VALUES {
        true => Ok(()),
        false => args.wrong(0, "a layout of at most 1048576 values"),
    };
    if args.is_composed(0) {
        let all = args.composed(0)?;
        few(all.size()?)?;
        return Ok(Value::List(all.offsets()?.map(Value::Int).collect()));
    }
    match args.tensor(0)? {
        Tensor::Plain(l) => {
            few(l.size()?)?;
            Ok(Value::List(l.offsets()?.map(Value::Int).collect()))
        }
        Tensor::Coords(l) => {
            few(l.size()?)?;
            Ok(Value::List(l.offsets()?.map(Value::from).collect()))
        }
        _ => args.wrong(0, "a layout without symbols"),
    }
}

fn slice_at(args: Arguments<'_>) -> Answer {
    let coord = args.slots(0)?;
    if args.is_composed(1) {
        return Ok(Value::Composed(args.composed(1)?.slice(&coord)?));
    }
    let symbolic = coord.map(|slot| match slot {
        tilewright_layout::Slot::Keep => tilewright_layout::Slot::Keep,
        tilewright_layout::Slot::At(x) => tilewright_layout::Slot::At(Int::constant(*x)),
    });
    let pair = |layout: Tensor, offset: Value| Value::List(vec![Value::Tensor(layout), offset]);
    Ok(match args.tensor(1)? {
        Tensor::Plain(l) => {
            let (kept, offset) = slice(&coord, &l)?;
            pair(Tensor::Plain(kept), offset.into())
        }
        Tensor::Coords(l) => {
            let (kept, offset) = slice(&coord, &l)?;
            pair(Tensor::Coords(kept), offset.into())
        }
        Tensor::Symbolic(l) => {
            let (kept, offset) = slice(&symbolic, &l)?;
            pair(Tensor::Symbolic(kept), offset.into())
        }
        Tensor::SymbolicCoords(l) => {
            let (kept, offset) = slice(&symbolic, &l)?;
            pair(Tensor::SymbolicCoords(kept), offset.into())
        }
    })
}

/// A mode of any layout.
pub fn mode(tensor: &Tensor, index: usize) -> Option<Tensor> {
    Some(map_tensor!(tensor, l => l.mode(index)?))
}
