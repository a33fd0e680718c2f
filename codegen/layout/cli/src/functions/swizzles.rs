//! Swizzles and the layouts behind them.

use tilewright_layout::{ComposedLayout, InverseLayout, Result, Swizzle};

use super::arguments::give;
use super::{Function, functions};
use crate::value::Value;

functions! {
    /// Sw<bits,base,shift>
    "swizzle(bits: int, base: int, shift: int) -> swizzle" =>
        |args| give(Swizzle::new(args.int(0)?, args.int(1)?, args.int(2)?));
    /// the swizzled offsets
    "swizzle_apply(s: swizzle, offsets: int…) -> int | list" => |args| {
        let swizzle = args.swizzle(0)?;
        if let (2, Some(Value::Int(offset))) = (args.count(), args.get(1)) {
            return Ok(swizzle.apply(*offset).into());
        }
        let offsets = args.numbers(1)?.into_iter();
        Ok(offsets.map(|x| swizzle.apply(x)).collect::<Vec<_>>().into())
    };
    /// the swizzle after the offset after the layout: `s o offset o l`
    "composed(s: swizzle, offset: int, l: layout) -> composed layout" => |args| {
        let (swizzle, offset, inner) = (args.swizzle(0)?, args.int(1)?, args.layout(2)?);
        Ok(ComposedLayout { swizzle, offset, inner }.into())
    };
    /// the layout after the offset after the swizzle: `l o offset o s`, as inverses are
    "inverse(l: layout, offset: int, s: swizzle) -> inverse" => |args| {
        let (layout, offset, swizzle) = (args.layout(0)?, args.int(1)?, args.swizzle(2)?);
        let Some(offset) = offset.checked_neg() else {
            return args.wrong(1, "an offset that can be subtracted");
        };
        Ok(InverseLayout { layout, offset, swizzle }.into())
    };
    /// the values at 1, 2, 4, …: over bits a swizzled layout is linear
    "xor_basis(l: layout) -> list" => |args| {
        let all = args.composed(0)?;
        let bits = all.size()?.trailing_zeros();
        give((0..bits).map(|bit| all.at(1 << bit)).collect::<Result<Vec<_>>>())
    };
}
