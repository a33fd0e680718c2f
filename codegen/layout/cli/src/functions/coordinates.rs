//! Layouts as functions: extents, coordinates both ways, slices, constructors, how shapes relate.

use tilewright_layout::{
    Int, Layout, compatible, congruent, crd2crd, crd2idx, dice, from_offsets, idx2crd,
    left_inverse, slice, weakly_compatible, weakly_congruent,
};

use super::arguments::{Answer, Arguments, give, lift_slots, on_layout, on_part};
use super::{Function, functions};
use crate::value::{Tensor, Value, with_tensor};

/// Longest list of values that is printed.
const MOST_VALUES: i64 = 1 << 20;

functions! {
    /// number of coordinates
    "size(l: layout | tuple) -> int" => size;
    /// one past the largest offset between two coordinates
    "cosize(l: layout) -> int" => |args| match args.inner(0)? {
        Tensor::Plain(l) => give(l.cosize()),
        Tensor::Symbolic(l) => give(l.cosize()),
        _ => args.wrong(0, "a layout whose values are offsets"),
    };
    /// number of top-level modes
    "rank(l: layout | tuple) -> int" => |args| match args.get(0) {
        Some(Value::Tuple(tuple)) => Ok(Value::Int(tuple.rank() as i64)),
        _ => Ok(with_tensor!(args.inner(0)?, l => Value::Int(l.rank() as i64))),
    };
    /// nesting: 0 for a bare mode, 1 for a flat tuple
    "depth(l: layout | tuple) -> int" => |args| match args.get(0) {
        Some(Value::Tuple(tuple)) => Ok(Value::Int(tuple.depth() as i64)),
        _ => Ok(with_tensor!(args.inner(0)?, l => Value::Int(l.depth() as i64))),
    };
    /// the extents
    "shape(l: layout) -> tuple" => |args| match args.inner(0)? {
        Tensor::Plain(l) => Ok(Value::Tuple(l.shape())),
        Tensor::Coords(l) => Ok(Value::Tuple(l.shape())),
        Tensor::Symbolic(l) => Ok(Value::Text(l.shape().to_string())),
        Tensor::SymbolicCoords(l) => Ok(Value::Text(l.shape().to_string())),
    };
    /// the strides
    "stride(l: layout) -> tuple" => |args| match args.inner(0)? {
        Tensor::Plain(l) => Ok(Value::Tuple(l.stride())),
        other => Ok(with_tensor!(other, l => Value::Text(l.stride().to_string()))),
    };
    /// the value at a coordinate or a linear index
    "at(l: layout, c: coordinate) -> int" => |args| at(args, 0, 1);
    /// the same, in the argument order of CuTe
    "crd2idx(c: coordinate, l: layout) -> int" => |args| at(args, 1, 0);
    /// a linear index split by a shape
    "idx2crd(index: int, shape: tuple | layout) -> tuple" =>
        |args| give(idx2crd(&args.int(0)?, &args.shape(1)?));
    /// the coordinate of the same linear index in another shape
    "crd2crd(c: coordinate, from: tuple | layout, to: tuple | layout) -> tuple" =>
        |args| give(crd2crd(&args.tuple(0)?, &args.shape(1)?, &args.shape(2)?));
    /// the coordinate whose value is that offset
    "offset2crd(offset: int, l: layout) -> tuple" => |args| {
        let (offset, all) = (args.int(0)?, args.composed(1)?);
        let index = match args.swizzled(1) {
            Some(all) => all.left_inverse()?.at(offset)?,
            None => left_inverse(&all.inner)?.at(offset)?,
        };
        give(all.inner.coord(&index))
    };
    /// all values, the first leaf running fastest
    "offsets(l: layout) -> list" => offsets;
    /// the shortest flat layout with these values
    "from_offsets(values: int…) -> layout" => |args| give(from_offsets(&args.numbers(0)?));
    /// whether two shapes are the same tree
    "congruent(a: tuple | layout, b: tuple | layout) -> bool" =>
        |args| Ok(congruent(args.shape(0)?.profile(), args.shape(1)?.profile()).into());
    /// whether the tree of a is the beginning of that of b
    "weakly_congruent(a: tuple | layout, b: tuple | layout) -> bool" =>
        |args| Ok(weakly_congruent(args.shape(0)?.profile(), args.shape(1)?.profile()).into());
    /// whether every leaf of a is a subtree of b of the same size
    "compatible(a: tuple | layout, b: tuple | layout) -> bool" =>
        |args| give(compatible(&args.shape(0)?, &args.shape(1)?));
    /// whether every leaf of a divides the size of its subtree of b
    "weakly_compatible(a: tuple | layout, b: tuple | layout) -> bool" =>
        |args| give(weakly_compatible(&args.shape(0)?, &args.shape(1)?));
    /// the modes marked `_`, and the offset of the fixed ones
    "slice(c: coordinate, l: layout) -> [layout, offset]" => |args| {
        let coord = args.slots(0)?;
        on_part!(args, 1, l, I => slice(&lift_slots::<I>(&coord), l)?)
    };
    /// the modes that a slice at c would fix
    "dice(c: coordinate, l: layout) -> layout" => |args| {
        let coord = args.slots(0)?;
        on_layout!(args, 1, l, I => dice(&lift_slots::<I>(&coord), l)?)
    };
    /// the layout of a shape without gaps, first mode fastest
    "compact(shape: tuple) -> layout" => |args| give(Layout::compact(args.tuple(0)?));
    /// the same with the last mode fastest
    "compact_right(shape: tuple) -> layout" => |args| give(Layout::compact_right(args.tuple(0)?));
    /// the same with the leaves in this order, the smallest fastest
    "ordered(shape: tuple, order: int…) -> layout" =>
        |args| give(Layout::ordered(args.tuple(0)?, &args.numbers(1)?));
    /// a compact layout of the same shape whose modes follow one another as those of l do
    "compact_like(l: layout) -> layout" => |args| match args.inner(0)? {
        Tensor::Plain(l) => give(l.compact_like()),
        Tensor::Symbolic(l) => give(l.compact_like()),
        _ => args.wrong(0, "a layout whose values are offsets"),
    };
    /// the layout whose value is the coordinate itself
    "identity(shape: tuple) -> layout" =>
        |args| give(Layout::<i64, _>::identity(args.tuple(0)?));
}

fn size(args: Arguments<'_>) -> Answer {
    if let Some(Value::Tuple(shape)) = args.get(0) {
        return give(shape.leaves().iter().try_fold(1i64, |p, s| p.try_mul(s)));
    }
    Ok(with_tensor!(args.inner(0)?, l => l.size()?.into()))
}

fn at(args: Arguments<'_>, layout: usize, coord: usize) -> Answer {
    match args.get(layout) {
        Some(Value::Composed(all)) => give(all.at_coord(&args.tuple(coord)?)),
        Some(Value::Inverse(all)) => give(all.at(args.int(coord)?)),
        _ => {
            let place = args.tuple(coord)?;
            let tensor = args.tensor(layout)?;
            Ok(with_tensor!(tensor, l, I => {
                crd2idx(&place.map(|x| <I as Int>::constant(*x)), &l)?.into()
            }))
        }
    }
}

fn offsets(args: Arguments<'_>) -> Answer {
    let few = |size: i64| match size <= MOST_VALUES {
        true => Ok(()),
        false => args.wrong(0, "a layout of at most 1048576 values"),
    };
    if let Some(all) = args.swizzled(0) {
        few(all.size()?)?;
        return give(all.offsets().map(Iterator::collect::<Vec<_>>));
    }
    match args.tensor(0)? {
        Tensor::Plain(l) => {
            few(l.size()?)?;
            give(l.offsets().map(Iterator::collect::<Vec<_>>))
        }
        Tensor::Coords(l) => {
            few(l.size()?)?;
            give(l.offsets().map(Iterator::collect::<Vec<_>>))
        }
        _ => args.wrong(0, "a layout without symbols"),
    }
}
