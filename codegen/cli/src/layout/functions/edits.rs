//! Edits of the tree of modes, and simplifications.

use tilewright_layout::{
    Result, append, coalesce, coalesce_by, concatenate, filter, filter_zeros, flatten, group,
    prepend, replace, select, take, zip, zip_modes,
};

use super::Function;
use super::arguments::{Answer, Arguments, Taken, Unified};
use super::coordinates;
use crate::layout::value::{Tensor, Value, map_tensor};

/// An edit of several layouts, brought to one kind first.
macro_rules! joined {
    ($args:ident, $places:expr, $parts:ident => $result:expr) => {{
        let tensors = $places.into_iter().map(|i| $args.tensor(i));
        match $args.unify(tensors.collect::<Taken<_>>()?)? {
            Unified::Plain($parts) => Ok(Value::from($result)),
            Unified::Coords($parts) => Ok(Value::from($result)),
            Unified::Symbolic($parts) => Ok(Value::from($result)),
            Unified::SymbolicCoords($parts) => Ok(Value::from($result)),
        }
    }};
}

/// The functions of this chapter.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "coalesce",
        parameters: &["l: layout", "profile?: tuple"],
        gives: "layout",
        about: "the fewest modes with the same values, overall or at each leaf of a profile",
        run: |args| match args.count() {
            1 => simplified(args, |t| Ok(map_tensor!(t, l => coalesce(l)?))),
            _ => {
                let profile = args.tuple(1)?;
                simplified(args, |t| {
                    Ok(map_tensor!(t, l => coalesce_by(l, profile.profile())?))
                })
            }
        },
    },
    Function {
        name: "filter",
        parameters: &["l: layout"],
        gives: "layout",
        about: "without modes of stride 0, coalesced",
        run: |args| simplified(args, |t| Ok(map_tensor!(t, l => filter(l)?))),
    },
    Function {
        name: "filter_zeros",
        parameters: &["l: layout"],
        gives: "layout",
        about: "modes of stride 0 get the extent 1",
        run: |args| simplified(args, |t| Ok(map_tensor!(t, l => filter_zeros(l)))),
    },
    Function {
        name: "flatten",
        parameters: &["l: layout"],
        gives: "layout",
        about: "all leaves as modes",
        run: |args| simplified(args, |t| Ok(map_tensor!(t, l => flatten(l)))),
    },
    Function {
        name: "group",
        parameters: &["l: layout", "begin: int", "end: int"],
        gives: "layout",
        about: "the modes begin..end as one mode",
        run: |args| {
            let (begin, end) = (args.index(1)?, args.index(2)?);
            simplified(args, |t| Ok(map_tensor!(t, l => group(l, begin, end)?)))
        },
    },
    Function {
        name: "mode",
        parameters: &["l: layout", "i: int"],
        gives: "layout",
        about: "one mode",
        run: |args| match coordinates::mode(&args.tensor(0)?, args.index(1)?) {
            Some(mode) => Ok(Value::Tensor(mode)),
            None => args.wrong(1, "the index of a mode that the layout has"),
        },
    },
    Function {
        name: "concatenate",
        parameters: &["a: layout", "more: layout…"],
        gives: "layout",
        about: "the layouts as modes of one",
        run: |args| joined!(args, 0..args.count(), p => concatenate(&p)?),
    },
    Function {
        name: "append",
        parameters: &["l: layout", "mode: layout"],
        gives: "layout",
        about: "a mode after the last",
        run: |args| joined!(args, [0, 1], p => append(&p[0], &p[1])?),
    },
    Function {
        name: "prepend",
        parameters: &["l: layout", "mode: layout"],
        gives: "layout",
        about: "a mode before the first",
        run: |args| joined!(args, [0, 1], p => prepend(&p[0], &p[1])?),
    },
    Function {
        name: "select",
        parameters: &["l: layout", "i: int…"],
        gives: "layout",
        about: "the modes of these indices",
        run: |args| {
            let indices: Vec<usize> = (1..args.count())
                .map(|i| args.index(i))
                .collect::<Taken<_>>()?;
            simplified(args, |t| Ok(map_tensor!(t, l => select(l, &indices)?)))
        },
    },
    Function {
        name: "take",
        parameters: &["l: layout", "begin: int", "end: int"],
        gives: "layout",
        about: "the modes begin..end",
        run: |args| {
            let (begin, end) = (args.index(1)?, args.index(2)?.min(1 << 12));
            simplified(args, |t| Ok(map_tensor!(t, l => take(l, begin, end)?)))
        },
    },
    Function {
        name: "replace",
        parameters: &["l: layout", "i: int", "mode: layout"],
        gives: "layout",
        about: "mode i replaced",
        run: |args| {
            let index = args.index(1)?;
            joined!(args, [0, 2], p => replace(&p[0], index, &p[1])?)
        },
    },
    Function {
        name: "zip",
        parameters: &["a: layout", "b?: layout"],
        gives: "layout",
        about: "modes paired: ((a0,b0),(a1,b1)); of one layout, its modes' modes",
        run: |args| match args.count() {
            1 => simplified(args, |t| Ok(map_tensor!(t, l => zip_modes(l)?))),
            _ => joined!(args, [0, 1], p => zip(&p[0], &p[1])?),
        },
    },
];

/// An operation on the first argument, or on the layout inside its swizzle.
fn simplified(args: Arguments<'_>, f: impl Fn(&Tensor) -> Result<Tensor>) -> Answer {
    if args.is_composed(0) {
        let all = args.composed(0)?;
        return match f(&Tensor::Plain(all.inner.clone()))? {
            Tensor::Plain(inner) => Ok(Value::Composed(all.with_inner(inner))),
            _ => args.wrong(0, "a layout of numbers"),
        };
    }
    Ok(Value::Tensor(f(&args.tensor(0)?)?))
}
