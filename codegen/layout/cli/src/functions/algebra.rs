//! The algebra proper: composition, complement, divide, product, inverses, casts, tiles.

use tilewright_layout::{
    ComposedLayout, Int as _, Layout, Result, Sym, Tiler, blocked_product, complement, composition,
    composition_by, composition_coords, downcast, flat_divide, flat_product, inner_partition,
    left_inverse, left_pseudo_inverse, local_partition, local_tile, logical_divide,
    logical_divide_by, logical_product, logical_product_by, max_common_layout, nullspace,
    outer_partition, raked_product, recast, right_inverse, tile_to_shape, tile_to_shape_by,
    tiled_divide, tiled_product, upcast, zipped_divide, zipped_product,
};

use super::arguments::{
    Answer, Arguments, Unified, give, lift, lift_slots, lift_tiler, on_layout, on_part,
};
use super::{Function, functions};
use crate::value::{Tensor, Value, with_tensor};

/// By a tiler, on any layout.
macro_rules! by_tiler {
    ($operation:path) => {
        |args: Arguments<'_>| -> Answer {
            let tiler = args.tiler(1)?;
            on_layout!(args, 0, l, I => $operation(l, &lift_tiler::<I>(&tiler)?)?)
        }
    };
}

/// By a layout of offsets, on any layout.
macro_rules! by_layout {
    ($operation:path) => {
        |args: Arguments<'_>| -> Answer {
            if let Some(all) = args.swizzled(0) {
                let inner = $operation(&all.inner, &args.layout(1)?)?;
                return Ok(all.with_inner(inner).into());
            }
            match (args.tensor(0)?, args.tensor(1)?) {
                (a, Tensor::Plain(b)) => {
                    Ok(with_tensor!(a, a, I => $operation(&a, &lift::<I>(&b)?)?.into()))
                }
                (Tensor::Plain(a), Tensor::Symbolic(b)) => give($operation(&lift::<Sym>(&a)?, &b)),
                (Tensor::Symbolic(a), Tensor::Symbolic(b)) => give($operation(&a, &b)),
                (Tensor::SymbolicCoords(a), Tensor::Symbolic(b)) => give($operation(&a, &b)),
                _ => args.wrong(1, "a layout whose values are offsets"),
            }
        }
    };
}

/// By a layout, on layouts whose values are offsets, both brought to one integer.
macro_rules! by_offsets {
    ($operation:path) => {
        |args: Arguments<'_>| -> Answer {
            if let Some(all) = args.swizzled(0) {
                let inner = $operation(&all.inner, &args.layout(1)?)?;
                return Ok(all.with_inner(inner).into());
            }
            match args.unify(vec![args.tensor(0)?, args.tensor(1)?])? {
                Unified::Plain(both) => give($operation(&both[0], &both[1])),
                Unified::Symbolic(both) => give($operation(&both[0], &both[1])),
                _ => args.wrong(1, "a layout whose values are offsets"),
            }
        }
    };
}

/// The tile or share at a coordinate, with its offset.
macro_rules! part_at {
    ($operation:path) => {
        |args: Arguments<'_>| -> Answer {
            let (tiler, coord) = (args.tiler(1)?, args.slots(2)?);
            on_part!(args, 0, l, I => {
                $operation(l, &lift_tiler::<I>(&tiler)?, &lift_slots::<I>(&coord))?
            })
        }
    };
}

/// On constant, symbolic and swizzled layouts by one name.
macro_rules! on_offsets {
    ($operation:path, $composed:expr) => {
        |args: Arguments<'_>| -> Answer {
            match (args.swizzled(0), args.inner(0)?) {
                (Some(all), _) => give($composed(all)),
                (None, Tensor::Plain(l)) => give($operation(&l)),
                (None, Tensor::Symbolic(l)) => give($operation(&l)),
                _ => args.wrong(0, "a layout whose values are offsets"),
            }
        }
    };
}

functions! {
    /// r(i) = a(b(i)), refining the shape of b; by mode with a tiler
    "composition(a: layout, b: layout | tiler) -> layout" => compose;
    /// where copies of a fill [0, size), gaps too narrow aside; size is cosize(a) if left out
    "complement(a: layout, size?: int) -> layout" => complement_of;
    /// composition(a, (b, complement(b, size(a)))): (tile, rest)
    "logical_divide(a: layout, b: layout | tiler) -> layout" => |args| match args.is_by_mode(1) {
        true => by_tiler!(logical_divide_by)(args),
        false => by_layout!(logical_divide)(args),
    };
    /// ((tile of each mode), (rest of each mode))
    "zipped_divide(a: layout, tile: tiler) -> layout" => by_tiler!(zipped_divide);
    /// zipped_divide with the rest unpacked: ((tile), rest, rest)
    "tiled_divide(a: layout, tile: tiler) -> layout" => by_tiler!(tiled_divide);
    /// zipped_divide with both unpacked: (tile, tile, rest, rest)
    "flat_divide(a: layout, tile: tiler) -> layout" => by_tiler!(flat_divide);
    /// a, repeated at the places of b: (block, repetitions)
    "logical_product(a: layout, b: layout | tiler) -> layout" => |args| match args.is_by_mode(1) {
        true => repeat(args, logical_product_by),
        false => by_offsets!(logical_product)(args),
    };
    /// ((block), (repetitions of each mode))
    "zipped_product(a: layout, b: tiler) -> layout" => |args| repeat(args, zipped_product);
    /// zipped_product with the repetitions unpacked
    "tiled_product(a: layout, b: tiler) -> layout" => |args| repeat(args, tiled_product);
    /// zipped_product with both unpacked
    "flat_product(a: layout, b: tiler) -> layout" => |args| repeat(args, flat_product);
    /// blocks of a side by side: mode i is (a_i, b_i)
    "blocked_product(a: layout, b: layout) -> layout" => by_offsets!(blocked_product);
    /// blocks of a interleaved: mode i is (b_i, a_i)
    "raked_product(a: layout, b: layout) -> layout" => by_offsets!(raked_product);
    /// a block repeated, first mode fastest, until it has the shape
    "tile_to_shape(block: layout, shape: tuple) -> layout" => |args| {
        let shape = args.tuple(1)?;
        inside(args, |block| tile_to_shape(block, &shape))
    };
    /// tile_to_shape with the modes repeated in this order
    "tile_to_shape_by(block: layout, shape: tuple, order: int…) -> layout" => |args| {
        let (shape, order) = (args.tuple(1)?, args.numbers(2)?);
        inside(args, |block| tile_to_shape_by(block, &shape, &order))
    };
    /// the largest r with l(r(i)) = i
    "right_inverse(l: layout) -> layout | inverse" =>
        on_offsets!(right_inverse, ComposedLayout::right_inverse);
    /// an r with r(l(i)) = i
    "left_inverse(l: layout) -> layout | inverse" =>
        on_offsets!(left_inverse, ComposedLayout::left_inverse);
    /// an r with l(r(l(i))) = l(i), where several indices share an offset
    "left_pseudo_inverse(l: layout) -> layout | inverse" =>
        on_offsets!(left_pseudo_inverse, ComposedLayout::left_pseudo_inverse);
    /// the coordinates that modes of stride 0 send to 0
    "nullspace(l: layout) -> layout" =>
        |args| Ok(with_tensor!(args.inner(0)?, l => nullspace(&l)?.into()));
    /// the indices at which the first offsets lie in both
    "max_common_layout(a: layout, b: layout) -> layout" => common;
    /// how many elements from 0 on lie at the same indices in both
    "max_common_vector(a: layout, b: layout) -> int" => |args| match common(args)? {
        Value::Tensor(shared) => Ok(with_tensor!(shared, l => l.size()?.into())),
        other => Ok(other),
    };
    /// the layout in elements n times larger
    "upcast(l: layout, n: int) -> layout" => |args| {
        let n = args.int(1)?;
        cast(args, |l| upcast(l, &n), |all| all.upcast(n))
    };
    /// the layout in elements n times smaller
    "downcast(l: layout, n: int) -> layout" => |args| {
        let n = args.int(1)?;
        cast(args, |l| downcast(l, &n), |all| all.downcast(n))
    };
    /// the layout in elements of another width
    "recast(l: layout, from_bits: int, to_bits: int) -> layout" => |args| {
        let (from, to) = (args.int(1)?, args.int(2)?);
        cast(args, |l| recast(l, from, to), |all| all.recast(from, to))
    };
    /// the tile at a coordinate of the rest
    "local_tile(l: layout, tile: tiler, c: coordinate) -> [layout, offset]" => part_at!(local_tile);
    /// the same, by CuTe's other name
    "inner_partition(l: layout, tile: tiler, c: coordinate) -> [layout, offset]" =>
        part_at!(inner_partition);
    /// what lies at one coordinate of every tile
    "outer_partition(l: layout, tile: tiler, c: coordinate) -> [layout, offset]" =>
        part_at!(outer_partition);
    /// the share of one thread when threads lie side by side over the tensor
    "local_partition(l: layout, threads: layout, thread: int) -> [layout, offset]" => |args| {
        let (threads, thread) = (args.layout(1)?, args.int(2)?);
        on_part!(args, 0, l, I =>
            local_partition(l, &lift::<I>(&threads)?, &tilewright_layout::Int::constant(thread))?)
    };
}

fn compose(args: Arguments<'_>) -> Answer {
    if let Some(Value::Swizzle(swizzle)) = args.get(0) {
        let mut all = args.composed(1)?;
        if !all.swizzle.is_none() {
            return args.wrong(1, "a layout without a swizzle of its own");
        }
        all.swizzle = *swizzle;
        return Ok(all.into());
    }
    if args.is_by_mode(1) {
        return by_tiler!(composition_by)(args);
    }
    if args.swizzled(0).is_some() {
        return by_layout!(composition)(args);
    }
    match (args.tensor(0)?, args.tensor(1)?) {
        (Tensor::Plain(a), Tensor::Coords(b)) => give(composition_coords(&a, &b)),
        (Tensor::Coords(a), Tensor::Coords(b)) => give(composition_coords(&a, &b)),
        (Tensor::Symbolic(a), Tensor::SymbolicCoords(b)) => give(composition_coords(&a, &b)),
        (Tensor::SymbolicCoords(a), Tensor::SymbolicCoords(b)) => give(composition_coords(&a, &b)),
        _ => by_layout!(composition)(args),
    }
}

fn complement_of(args: Arguments<'_>) -> Answer {
    if let Tensor::Symbolic(a) = args.tensor(0)? {
        let size = match args.get(1) {
            None => a.cosize()?,
            Some(Value::Symbol(size)) => size.clone(),
            Some(_) => Sym::constant(args.int(1)?),
        };
        return give(complement(&a, &size));
    }
    let a = args.layout(0)?;
    let size = match args.get(1) {
        None => a.cosize()?,
        // CuTe also takes a shape and means its size.
        Some(_) => {
            let extents = args.shape(1)?;
            let mut all = extents.leaves().iter();
            all.try_fold(1i64, |p, s| p.try_mul(s))?
        }
    };
    give(complement(&a, &size))
}

fn common(args: Arguments<'_>) -> Answer {
    if args.swizzled(0).or(args.swizzled(1)).is_some() {
        return give(args.composed(0)?.max_common_layout(&args.composed(1)?));
    }
    by_offsets!(max_common_layout)(args)
}

/// A product by a tiler.
fn repeat(args: Arguments<'_>, f: fn(&Layout, &Tiler) -> Result<Layout>) -> Answer {
    let tiler = args.tiler(1)?;
    inside(args, |a| f(a, &tiler))
}

/// An operation on the first argument, or on the layout inside its swizzle.
fn inside(args: Arguments<'_>, f: impl Fn(&Layout) -> Result<Layout>) -> Answer {
    match args.swizzled(0) {
        Some(all) => Ok(all.with_inner(f(&all.inner)?).into()),
        None => give(f(&args.layout(0)?)),
    }
}

/// A change of the element, which a swizzle takes part in.
fn cast(
    args: Arguments<'_>,
    plain: impl Fn(&Layout) -> Result<Layout>,
    composed: impl Fn(&ComposedLayout) -> Result<ComposedLayout>,
) -> Answer {
    match args.swizzled(0) {
        Some(all) => give(composed(all)),
        None => give(plain(&args.layout(0)?)),
    }
}
