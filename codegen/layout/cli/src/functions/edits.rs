//! Edits of the tree of modes, and simplifications.

use tilewright_layout::{
    append, coalesce, coalesce_by, concatenate, filter, filter_zeros, flatten, group, prepend,
    replace, select, take, zip, zip_modes,
};

use super::arguments::{Stop, Taken, Unified, on_layout};
use super::{Function, functions};
use crate::value::{Tensor, Value, with_tensor};

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

functions! {
    /// the fewest modes with the same values, overall or at each leaf of a profile
    "coalesce(l: layout, profile?: tuple) -> layout" => |args| match args.count() {
        1 => on_layout!(args, 0, l, I => coalesce(l)?),
        _ => {
            let profile = args.tuple(1)?;
            on_layout!(args, 0, l, I => coalesce_by(l, profile.profile())?)
        }
    };
    /// without modes of stride 0, coalesced
    "filter(l: layout) -> layout" => |args| on_layout!(args, 0, l, I => filter(l)?);
    /// modes of stride 0 get the extent 1
    "filter_zeros(l: layout) -> layout" => |args| on_layout!(args, 0, l, I => filter_zeros(l));
    /// all leaves as modes
    "flatten(l: layout) -> layout" => |args| on_layout!(args, 0, l, I => flatten(l));
    /// the modes begin..end as one mode
    "group(l: layout, begin: int, end: int) -> layout" => |args| {
        let (begin, end) = (args.index(1)?, args.index(2)?);
        on_layout!(args, 0, l, I => group(l, begin, end)?)
    };
    /// one mode
    "mode(l: layout, i: int) -> layout" => |args| {
        let index = args.index(1)?;
        let wanted = "the index of a mode that the layout has";
        let none = Stop::Wrong { argument: 1, wanted };
        on_layout!(args, 0, l, I => l.mode(index).ok_or(none)?)
    };
    /// the layouts as modes of one
    "concatenate(a: layout, more: layout…) -> layout" =>
        |args| joined!(args, 0..args.count(), p => concatenate(&p)?);
    /// a mode after the last
    "append(l: layout, mode: layout) -> layout" =>
        |args| joined!(args, [0, 1], p => append(&p[0], &p[1])?);
    /// a mode before the first
    "prepend(l: layout, mode: layout) -> layout" =>
        |args| joined!(args, [0, 1], p => prepend(&p[0], &p[1])?);
    /// the modes of these indices
    "select(l: layout, i: int…) -> layout" => |args| {
        let indices = (1..args.count()).map(|i| args.index(i)).collect::<Taken<Vec<_>>>()?;
        on_layout!(args, 0, l, I => select(l, &indices)?)
    };
    /// the modes begin..end
    "take(l: layout, begin: int, end: int) -> layout" => |args| {
        let (begin, end) = (args.index(1)?, args.index(2)?.min(1 << 12));
        on_layout!(args, 0, l, I => take(l, begin, end)?)
    };
    /// mode i replaced
    "replace(l: layout, i: int, mode: layout) -> layout" => |args| {
        let index = args.index(1)?;
        joined!(args, [0, 2], p => replace(&p[0], index, &p[1])?)
    };
    /// modes paired: ((a0,b0),(a1,b1)); of one layout, its modes' modes
    "zip(a: layout, b?: layout) -> layout" => |args| match args.count() {
        1 => on_layout!(args, 0, l, I => zip_modes(l)?),
        _ => joined!(args, [0, 1], p => zip(&p[0], &p[1])?),
    };
}
