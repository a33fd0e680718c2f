//! How shapes and layouts relate, the rules of others for comparison, and who holds an element.

use tilewright_layout::{
    Comparison, Holder, Layout, Operand, Side, crd2crd, cute_rule, dice, disjoint_intervals,
    inner_partition, left_divisible, left_pseudo_inverse, max_common_layout, nullspace,
    outer_partition, tile_to_shape_by, weakly_compatible, weakly_congruent,
};

use super::Function;
use super::arguments::{Answer, Arguments};
use crate::layout::value::{Tensor, Value, map_tensor};

/// The functions of this chapter.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "weakly_congruent",
        parameters: &["a: tuple | layout", "b: tuple | layout"],
        gives: "bool",
        about: "whether the tree of a is the beginning of that of b",
        run: |args| {
            let (a, b) = (args.shape(0)?, args.shape(1)?);
            Ok(Value::Bool(weakly_congruent(a.profile(), b.profile())))
        },
    },
    Function {
        name: "weakly_compatible",
        parameters: &["a: tuple | layout", "b: tuple | layout"],
        gives: "bool",
        about: "whether every leaf of a divides the size of its subtree of b",
        run: |args| {
            let (a, b) = (args.shape(0)?, args.shape(1)?);
            Ok(Value::Bool(weakly_compatible(&a, &b)?))
        },
    },
    Function {
        name: "crd2crd",
        parameters: &["c: coordinate", "from: tuple", "to: tuple"],
        gives: "tuple",
        about: "the coordinate of the same linear index in another shape",
        run: |args| {
            Ok(Value::Tuple(crd2crd(
                &args.tuple(0)?,
                &args.shape(1)?,
                &args.shape(2)?,
            )?))
        },
    },
    Function {
        name: "dice",
        parameters: &["c: coordinate", "l: layout"],
        gives: "layout",
        about: "the modes that a slice at c would fix",
        run: |args| {
            let coord = args.slots(0)?;
            Ok(match args.tensor(1)? {
                Tensor::Plain(l) => dice(&coord, &l)?.into(),
                Tensor::Coords(l) => dice(&coord, &l)?.into(),
                _ => return args.wrong(1, "a layout without symbols"),
            })
        },
    },
    Function {
        name: "nullspace",
        parameters: &["l: layout"],
        gives: "layout",
        about: "the coordinates that modes of stride 0 send to 0",
        run: |args| match args.tensor(0)? {
            Tensor::Plain(l) => Ok(nullspace(&l)?.into()),
            Tensor::Coords(l) => Ok(nullspace(&l)?.into()),
            Tensor::Symbolic(l) => Ok(nullspace(&l)?.into()),
            Tensor::SymbolicCoords(l) => Ok(nullspace(&l)?.into()),
        },
    },
    Function {
        name: "left_pseudo_inverse",
        parameters: &["l: layout"],
        gives: "layout",
        about: "an r with l(r(l(i))) = l(i), where several indices share an offset",
        run: |args| Ok(left_pseudo_inverse(&args.layout(0)?)?.into()),
    },
    Function {
        name: "max_common_layout",
        parameters: &["a: layout", "b: layout"],
        gives: "layout",
        about: "the indices from 0 on whose values agree and are consecutive",
        run: |args| Ok(max_common_layout(&args.layout(0)?, &args.layout(1)?)?.into()),
    },
    Function {
        name: "tile_to_shape_by",
        parameters: &["block: layout", "shape: tuple", "order: int…"],
        gives: "layout",
        about: "tile_to_shape with the modes repeated in this order",
        run: |args| {
            let (block, shape) = (args.layout(0)?, args.tuple(1)?);
            Ok(tile_to_shape_by(&block, &shape, &args.numbers(2)?)?.into())
        },
    },
    Function {
        name: "inner_partition",
        parameters: &["l: layout", "tile: tiler", "c: coordinate"],
        gives: "[layout, offset]",
        about: "the tile at a coordinate of the rest",
        run: |args| {
            let part = inner_partition(&args.layout(0)?, &args.tiler(1)?, &args.slots(2)?)?;
            Ok(pair(part))
        },
    },
    Function {
        name: "outer_partition",
        parameters: &["l: layout", "tile: tiler", "c: coordinate"],
        gives: "[layout, offset]",
        about: "what lies at one coordinate of every tile",
        run: |args| {
            let part = outer_partition(&args.layout(0)?, &args.tiler(1)?, &args.slots(2)?)?;
            Ok(pair(part))
        },
    },
    Function {
        name: "cute_rule",
        parameters: &["a: layout", "b: layout"],
        gives: "layout",
        about: "what CuTe C++ answers for a o b, right or wrong",
        run: |args| Ok(cute_rule(&args.layout(0)?, &args.layout(1)?)?.into()),
    },
    Function {
        name: "left_divisible",
        parameters: &["a: layout", "b: layout"],
        gives: "bool",
        about: "whether the left-divisibility conditions hold; refuses with the one that fails",
        run: |args| holds(left_divisible(&args.layout(0)?, &args.layout(1)?)),
    },
    Function {
        name: "disjoint_intervals",
        parameters: &["a: layout", "b: layout"],
        gives: "bool",
        about: "whether the intervals of the modes are disjoint; refuses with the two that meet",
        run: |args| holds(disjoint_intervals(&args.layout(0)?, &args.layout(1)?)),
    },
    Function {
        name: "compare",
        parameters: &["a: layout", "b: layout"],
        gives: "text",
        about: "a o b by the exact decision and by the rules of others, side by side",
        run: |args| {
            let report = Comparison::of(&args.layout(0)?, &args.layout(1)?).to_string();
            Ok(Value::Text(report.trim_end().to_owned()))
        },
    },
    Function {
        name: "holders_a",
        parameters: &["mma: tiled mma", "shape: tuple", "c: coordinate"],
        gives: "list",
        about: "[thread, value] of whoever holds element (m,k) of A",
        run: |args| mma_holders(args, Operand::A),
    },
    Function {
        name: "holders_b",
        parameters: &["mma: tiled mma", "shape: tuple", "c: coordinate"],
        gives: "list",
        about: "[thread, value] of whoever holds element (n,k) of B",
        run: |args| mma_holders(args, Operand::B),
    },
    Function {
        name: "holders_c",
        parameters: &["mma: tiled mma", "shape: tuple", "c: coordinate"],
        gives: "list",
        about: "[thread, value] of whoever holds element (m,n) of C",
        run: |args| mma_holders(args, Operand::C),
    },
    Function {
        name: "holders_s",
        parameters: &["copy: tiled copy", "shape: tuple", "c: coordinate"],
        gives: "list",
        about: "[thread, value] of whoever reads an element of the source",
        run: |args| copy_holders(args, Side::Source),
    },
    Function {
        name: "holders_d",
        parameters: &["copy: tiled copy", "shape: tuple", "c: coordinate"],
        gives: "list",
        about: "[thread, value] of whoever writes an element of the destination",
        run: |args| copy_holders(args, Side::Destination),
    },
    Function {
        name: "share",
        parameters: &["partition: layout", "thread: int"],
        gives: "[layout, offset]",
        about: "the values of one thread of a partition, and its offset",
        run: share,
    },
];

fn pair((layout, offset): (Layout, i64)) -> Value {
    Value::List(vec![layout.into(), offset.into()])
}

fn holds(condition: tilewright_layout::Result<()>) -> Answer {
    condition?;
    Ok(Value::Bool(true))
}

fn held(holders: Vec<Holder>) -> Answer {
    let one = |holder: Holder| Value::List(vec![holder.thread.into(), holder.value.into()]);
    Ok(Value::List(holders.into_iter().map(one).collect()))
}

fn mma_holders(args: Arguments<'_>, operand: Operand) -> Answer {
    held(
        args.tiled_mma(0)?
            .holders(operand, &args.tuple(1)?, &args.tuple(2)?)?,
    )
}

fn copy_holders(args: Arguments<'_>, side: Side) -> Answer {
    held(
        args.tiled_copy(0)?
            .holders(side, &args.tuple(1)?, &args.tuple(2)?)?,
    )
}

/// Mode 0 of a partition is the thread: its value is the offset, the other modes stay.
fn share(args: Arguments<'_>) -> Answer {
    use tilewright_layout::Int as _;
    let thread = args.int(1)?;
    let tensor = args.tensor(0)?;
    let offset = match &tensor {
        Tensor::Plain(l) => l.mode(0).map(|mode| mode.at(thread).map(Value::from)),
        Tensor::Coords(l) => l.mode(0).map(|mode| mode.at(thread).map(Value::from)),
        Tensor::Symbolic(l) => {
            let thread = tilewright_layout::Sym::constant(thread);
            l.mode(0).map(|mode| mode.at(thread).map(Value::from))
        }
        Tensor::SymbolicCoords(l) => {
            let thread = tilewright_layout::Sym::constant(thread);
            l.mode(0).map(|mode| mode.at(thread).map(Value::from))
        }
    };
    let Some(offset) = offset else {
        return args.wrong(0, "a partition: (thread, values…)");
    };
    let values = map_tensor!(tensor, l => Layout::from_modes(l.modes().skip(1))?);
    Ok(Value::List(vec![Value::Tensor(values), offset?]))
}
