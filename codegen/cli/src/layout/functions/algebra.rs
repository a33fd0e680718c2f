//! The algebra proper: composition, complement, divide, product, inverses, casts, tiles.

use tilewright_layout::{
    Int as _, Layout, Result, Sym, blocked_product, complement, composition, composition_by,
    composition_coords, downcast, flat_divide, flat_product, left_inverse, local_partition,
    local_tile, logical_divide, logical_divide_by, logical_product, logical_product_by,
    max_common_vector, raked_product, recast, right_inverse, tile_to_shape, tiled_divide,
    tiled_product, upcast, zipped_divide, zipped_product,
};

use super::Function;
use super::arguments::{Answer, Arguments, lift, lift_tiler};
use crate::layout::value::{Tensor, Value};

/// An operation by a tiler on whichever layout the first argument is.
macro_rules! by_tiler {
    ($args:ident, $operation:path) => {{
        let tiler = $args.tiler(1)?;
        Ok(match $args.tensor(0)? {
            Tensor::Plain(a) => $operation(&a, &tiler)?.into(),
            Tensor::Coords(a) => $operation(&a, &tiler)?.into(),
            Tensor::Symbolic(a) => $operation(&a, &lift_tiler(&tiler)?)?.into(),
            Tensor::SymbolicCoords(a) => $operation(&a, &lift_tiler(&tiler)?)?.into(),
        })
    }};
}

/// An operation by a layout on whichever layout the first argument is.
macro_rules! by_layout {
    ($args:ident, $operation:path) => {{
        let a = $args.tensor(0)?;
        Ok(match (a, $args.tensor(1)?) {
            (Tensor::Plain(a), Tensor::Plain(b)) => $operation(&a, &b)?.into(),
            (Tensor::Coords(a), Tensor::Plain(b)) => $operation(&a, &b)?.into(),
            (Tensor::Symbolic(a), Tensor::Plain(b)) => $operation(&a, &lift(&b)?)?.into(),
            (Tensor::SymbolicCoords(a), Tensor::Plain(b)) => $operation(&a, &lift(&b)?)?.into(),
            (Tensor::Plain(a), Tensor::Symbolic(b)) => {
                let a: Layout<Sym> = lift(&a)?;
                $operation(&a, &b)?.into()
            }
            (Tensor::Symbolic(a), Tensor::Symbolic(b)) => $operation(&a, &b)?.into(),
            (Tensor::SymbolicCoords(a), Tensor::Symbolic(b)) => $operation(&a, &b)?.into(),
            _ => return $args.wrong(1, "a layout whose values are offsets"),
        })
    }};
}

/// A divide: of what is inside a swizzle, by layout, or by tiler.
macro_rules! divide {
    ($args:ident, $operation:path) => {
        match $args.is_composed(0) {
            true => {
                let (all, tiler) = ($args.composed(0)?, $args.tiler(1)?);
                let inner = $operation(&all.inner, &tiler)?;
                Ok(Value::Composed(all.with_inner(inner)))
            }
            false => by_tiler!($args, $operation),
        }
    };
}

/// The function that ` o ` stands for.
pub const COMPOSITION: Function = Function {
    name: "composition",
    parameters: &["a: layout", "b: layout | tiler"],
    gives: "layout",
    about: "r(i) = a(b(i)), refining the shape of b; by mode with a tiler",
    run: compose,
};

/// The functions of this chapter.
pub const FUNCTIONS: &[Function] = &[
    COMPOSITION,
    Function {
        name: "complement",
        parameters: &["a: layout", "size?: int"],
        gives: "layout",
        about: "the increasing layout that tiles [0, size) with a; size is cosize(a) if left out",
        run: complement_of,
    },
    Function {
        name: "logical_divide",
        parameters: &["a: layout", "b: layout | tiler"],
        gives: "layout",
        about: "composition(a, (b, complement(b, size(a)))): (tile, rest)",
        run: |args| match (args.is_composed(0), args.is_by_mode(1)) {
            (true, _) => divide!(args, logical_divide_by),
            (false, true) => by_tiler!(args, logical_divide_by),
            (false, false) => by_layout!(args, logical_divide),
        },
    },
    Function {
        name: "zipped_divide",
        parameters: &["a: layout", "tile: tiler"],
        gives: "layout",
        about: "((tile of each mode), (rest of each mode))",
        run: |args| divide!(args, zipped_divide),
    },
    Function {
        name: "tiled_divide",
        parameters: &["a: layout", "tile: tiler"],
        gives: "layout",
        about: "zipped_divide with the rest unpacked: ((tile), rest, rest)",
        run: |args| divide!(args, tiled_divide),
    },
    Function {
        name: "flat_divide",
        parameters: &["a: layout", "tile: tiler"],
        gives: "layout",
        about: "zipped_divide with both unpacked: (tile, tile, rest, rest)",
        run: |args| divide!(args, flat_divide),
    },
    Function {
        name: "logical_product",
        parameters: &["a: layout", "b: layout | tiler"],
        gives: "layout",
        about: "a, repeated at the places of b: (block, repetitions)",
        run: |args| match args.is_by_mode(1) {
            true => product_by(args, logical_product_by),
            false => product(args, logical_product),
        },
    },
    Function {
        name: "zipped_product",
        parameters: &["a: layout", "b: tiler"],
        gives: "layout",
        about: "((block), (repetitions of each mode))",
        run: |args| product_by(args, zipped_product),
    },
    Function {
        name: "tiled_product",
        parameters: &["a: layout", "b: tiler"],
        gives: "layout",
        about: "zipped_product with the repetitions unpacked",
        run: |args| product_by(args, tiled_product),
    },
    Function {
        name: "flat_product",
        parameters: &["a: layout", "b: tiler"],
        gives: "layout",
        about: "zipped_product with both unpacked",
        run: |args| product_by(args, flat_product),
    },
    Function {
        name: "blocked_product",
        parameters: &["a: layout", "b: layout"],
        gives: "layout",
        about: "blocks of a side by side: mode i is (a_i, b_i)",
        run: |args| product(args, blocked_product),
    },
    Function {
        name: "raked_product",
        parameters: &["a: layout", "b: layout"],
        gives: "layout",
        about: "blocks of a interleaved: mode i is (b_i, a_i)",
        run: |args| product(args, raked_product),
    },
    Function {
        name: "tile_to_shape",
        parameters: &["block: layout", "shape: tuple"],
        gives: "layout",
        about: "a block repeated, first mode fastest, until it has the shape",
        run: |args| {
            let shape = args.tuple(1)?;
            inside(args, |l| tile_to_shape(l, &shape))
        },
    },
    Function {
        name: "right_inverse",
        parameters: &["l: layout"],
        gives: "layout",
        about: "the largest r with l(r(i)) = i",
        run: |args| match args.tensor(0)? {
            Tensor::Symbolic(l) => Ok(right_inverse(&l)?.into()),
            _ => Ok(right_inverse(&args.layout(0)?)?.into()),
        },
    },
    Function {
        name: "left_inverse",
        parameters: &["l: layout"],
        gives: "layout",
        about: "an r with r(l(i)) = i",
        run: |args| match args.tensor(0)? {
            Tensor::Symbolic(l) => Ok(left_inverse(&l)?.into()),
            _ => Ok(left_inverse(&args.layout(0)?)?.into()),
        },
    },
    Function {
        name: "max_common_vector",
        parameters: &["a: layout", "b: layout"],
        gives: "int",
        about: "how many elements from 0 on lie consecutively in both",
        run: |args| Ok(max_common_vector(&args.layout(0)?, &args.layout(1)?)?.into()),
    },
    Function {
        name: "upcast",
        parameters: &["l: layout", "n: int"],
        gives: "layout",
        about: "the layout in elements n times larger",
        run: |args| cast(args, upcast, |all, n| all.upcast(n)),
    },
    Function {
        name: "downcast",
        parameters: &["l: layout", "n: int"],
        gives: "layout",
        about: "the layout in elements n times smaller",
        run: |args| cast(args, downcast, |all, n| all.downcast(n)),
    },
    Function {
        name: "recast",
        parameters: &["l: layout", "from_bits: int", "to_bits: int"],
        gives: "layout",
        about: "the layout in elements of another width",
        run: |args| Ok(recast(&args.layout(0)?, args.int(1)?, args.int(2)?)?.into()),
    },
    Function {
        name: "local_tile",
        parameters: &["l: layout", "tile: tiler", "c: coordinate"],
        gives: "[layout, offset]",
        about: "the tile at a coordinate of the rest",
        run: |args| {
            let (tile, offset) = local_tile(&args.layout(0)?, &args.tiler(1)?, &args.slots(2)?)?;
            Ok(Value::List(vec![tile.into(), offset.into()]))
        },
    },
    Function {
        name: "local_partition",
        parameters: &["l: layout", "threads: layout", "thread: int"],
        gives: "[layout, offset]",
        about: "the share of one thread when threads lie side by side over the tensor",
        run: |args| {
            let (a, threads) = (args.layout(0)?, args.layout(1)?);
            let (share, offset) = local_partition(&a, &threads, &args.int(2)?)?;
            Ok(Value::List(vec![share.into(), offset.into()]))
        },
    },
];

fn compose(args: Arguments<'_>) -> Answer {
    if let Some(Value::Swizzle(swizzle)) = args.get(0) {
        let mut all = args.composed(1)?;
        if !all.swizzle.is_none() {
            return args.wrong(1, "a layout without a swizzle of its own");
        }
        all.swizzle = *swizzle;
        return Ok(Value::Composed(all));
    }
    if args.is_composed(0) {
        let all = args.composed(0)?;
        return Ok(Value::Composed(match args.is_by_mode(1) {
            true => all.composition_by(&args.tiler(1)?)?,
            false => all.composition(&args.layout(1)?)?,
        }));
    }
    if args.is_by_mode(1) {
        return by_tiler!(args, composition_by);
    }
    match (args.tensor(0)?, args.tensor(1)?) {
        (Tensor::Plain(a), Tensor::Coords(b)) => Ok(composition_coords(&a, &b)?.into()),
        (Tensor::Coords(a), Tensor::Coords(b)) => Ok(composition_coords(&a, &b)?.into()),
        (Tensor::Symbolic(a), Tensor::SymbolicCoords(b)) => Ok(composition_coords(&a, &b)?.into()),
        (Tensor::SymbolicCoords(a), Tensor::SymbolicCoords(b)) => {
            Ok(composition_coords(&a, &b)?.into())
        }
        _ => by_layout!(args, composition),
    }
}

fn complement_of(args: Arguments<'_>) -> Answer {
    if let Tensor::Symbolic(a) = args.tensor(0)? {
        let size = match args.get(1) {
            None => a.cosize()?,
            Some(Value::Symbol(size)) => size.clone(),
            Some(_) => Sym::constant(args.int(1)?),
        };
        return Ok(complement(&a, &size)?.into());
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
    Ok(complement(&a, &size)?.into())
}

fn product(args: Arguments<'_>, f: fn(&Layout, &Layout) -> Result<Layout>) -> Answer {
    let b = args.layout(1)?;
    inside(args, |a| f(a, &b))
}

fn product_by(
    args: Arguments<'_>,
    f: fn(&Layout, &tilewright_layout::Tiler) -> Result<Layout>,
) -> Answer {
    let tiler = args.tiler(1)?;
    inside(args, |a| f(a, &tiler))
}

/// An operation on the first argument, or on the layout inside its swizzle.
fn inside(args: Arguments<'_>, f: impl Fn(&Layout) -> Result<Layout>) -> Answer {
    if !args.is_composed(0) {
        return Ok(f(&args.layout(0)?)?.into());
    }
    let all = args.composed(0)?;
    let inner = f(&all.inner)?;
    Ok(Value::Composed(all.with_inner(inner)))
}

type Composed = tilewright_layout::ComposedLayout;

fn cast(
    args: Arguments<'_>,
    plain: fn(&Layout, &i64) -> Result<Layout>,
    composed: fn(&Composed, i64) -> Result<Composed>,
) -> Answer {
    let n = args.int(1)?;
    if args.is_composed(0) {
        return Ok(Value::Composed(composed(&args.composed(0)?, n)?));
    }
    Ok(plain(&args.layout(0)?, &n)?.into())
}
