//! Swizzles and the layouts behind them.

use tilewright_layout::{ComposedLayout, Swizzle};

use super::Function;
use super::arguments::{Answer, Arguments};
use crate::layout::value::Value;

/// The functions of this chapter.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "swizzle",
        parameters: &["bits: int", "base: int", "shift: int"],
        gives: "swizzle",
        about: "Sw<bits,base,shift>",
        run: |args| {
            let swizzle = Swizzle::new(args.int(0)?, args.int(1)?, args.int(2)?)?;
            Ok(Value::Swizzle(swizzle))
        },
    },
    Function {
        name: "swizzle_apply",
        parameters: &["s: swizzle", "offsets: int…"],
        gives: "int | list",
        about: "the swizzled offsets",
        run: |args| {
            let (swizzle, offsets) = (args.swizzle(0)?, args.numbers(1)?);
            let mut all = offsets.iter().map(|&x| Value::Int(swizzle.apply(x)));
            match (offsets.len(), args.get(1)) {
                (1, Some(Value::Int(_))) => Ok(all.next().unwrap_or(Value::Int(0))),
                _ => Ok(Value::List(all.collect())),
            }
        },
    },
    Function {
        name: "composed",
        parameters: &["s: swizzle", "offset: int", "l: layout"],
        gives: "composed layout",
        about: "the swizzle after the offset after the layout: `s o offset o l`",
        run: composed,
    },
    Function {
        name: "xor_basis",
        parameters: &["l: layout"],
        gives: "list",
        about: "the values at 1, 2, 4, …: over bits a swizzled layout is linear",
        run: |args| {
            let all = args.composed(0)?;
            let bits = all.size()?.trailing_zeros();
            let values = (0..bits).map(|bit| all.at(1 << bit).map(Value::Int));
            Ok(Value::List(values.collect::<Result<_, _>>()?))
        },
    },
];

fn composed(args: Arguments<'_>) -> Answer {
    Ok(Value::Composed(ComposedLayout {
        swizzle: args.swizzle(0)?,
        offset: args.int(1)?,
        inner: args.layout(2)?,
    }))
}
