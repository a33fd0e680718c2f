//! Comparisons, selections and logic, on data and on predicates.

use super::decoder::Decoder;
use super::lanes::{ZERO, lanes};
use super::operands::{Decoded, to_pred_dst};
use crate::inst::{Combine, CompareFn, Exec, LaneFn, Lanes, PredOp, PredSrc};
use crate::num::float::flush;
use crate::num::int::{sign_extend, truncate};
use crate::num::short::Short;
use crate::operand::Operand;
use crate::types::Ty;
use std::cmp::Ordering;

/// Bit in the modifier word: flush subnormal inputs.
const FTZ: u32 = 1 << 8;

/// A comparison loop over an ordering of lanes; `$holds` gets `None` for unordered operands.
macro_rules! compare {
    ($order:expr, $holds:expr) => {
        |x: &Lanes, y: &Lanes, m: u32| {
            let mut mask = 0u32;
            for lane in 0..32 {
                let order: Option<Ordering> = $order(x[lane], y[lane], m);
                mask |= u32::from($holds(order)) << lane;
            }
            mask
        }
    };
}

fn signed(a: u64, b: u64, m: u32) -> Option<Ordering> {
    let bits = m & 0xff;
    Some((sign_extend(a, bits) as i64).cmp(&(sign_extend(b, bits) as i64)))
}

fn unsigned(a: u64, b: u64, m: u32) -> Option<Ordering> {
    let bits = m & 0xff;
    Some(truncate(a, bits).cmp(&truncate(b, bits)))
}

fn single(a: u64, b: u64, m: u32) -> Option<Ordering> {
    let read = |bits: u64| {
        f32::from_bits(if m & FTZ == 0 {
            bits as u32
        } else {
            flush(bits as u32)
        })
    };
    read(a).partial_cmp(&read(b))
}

fn double(a: u64, b: u64, _: u32) -> Option<Ordering> {
    f64::from_bits(a).partial_cmp(&f64::from_bits(b))
}

fn half(a: u64, b: u64, m: u32) -> Option<Ordering> {
    let read = |bits: u64| {
        let tiny = m & FTZ != 0 && bits & 0x7c00 == 0;
        if tiny { 0.0 } else { Short::F16.value(bits) }
    };
    read(a).partial_cmp(&read(b))
}

fn brain(a: u64, b: u64, _: u32) -> Option<Ordering> {
    Short::BF16.value(a).partial_cmp(&Short::BF16.value(b))
}

/// All comparison operators over one ordering.
macro_rules! operators {
    ($op:expr, $order:ident) => {{
        use Ordering::{Equal, Greater, Less};
        let f: CompareFn = match $op {
            "eq" => compare!($order, |o| o == Some(Equal)),
            "ne" => compare!($order, |o| matches!(o, Some(Less | Greater))),
            "lt" | "lo" => compare!($order, |o| o == Some(Less)),
            "le" | "ls" => compare!($order, |o| matches!(o, Some(Less | Equal))),
            "gt" | "hi" => compare!($order, |o| o == Some(Greater)),
            "ge" | "hs" => compare!($order, |o| matches!(o, Some(Greater | Equal))),
            "equ" => compare!($order, |o| matches!(o, None | Some(Equal))),
            "neu" => compare!($order, |o| o != Some(Equal)),
            "ltu" => compare!($order, |o| matches!(o, None | Some(Less))),
            "leu" => compare!($order, |o| o != Some(Greater)),
            "gtu" => compare!($order, |o| matches!(o, None | Some(Greater))),
            "geu" => compare!($order, |o| o != Some(Less)),
            "num" => compare!($order, |o: Option<Ordering>| o.is_some()),
            _ => compare!($order, |o: Option<Ordering>| o.is_none()),
        };
        f
    }};
}

const OPERATORS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

/// The comparison of an instruction and its modifier word.
fn comparison(d: &Decoder<'_, '_>, ty: Ty) -> Decoded<(CompareFn, u32)> {
    let op = OPERATORS.into_iter().find(|op| d.has(op)).unwrap_or("eq");
    let ordered = matches!(op, "eq" | "ne" | "lt" | "le" | "gt" | "ge");
    if !ty.is_float() && !ordered && (ty.is_signed() || !matches!(op, "lo" | "ls" | "hi" | "hs")) {
        return Err(format!("unsupported comparison .{op} of .{}", ty.name()));
    }
    if matches!(ty, Ty::B16 | Ty::B32 | Ty::B64) && !matches!(op, "eq" | "ne") {
        return Err(format!("unsupported comparison .{op} of .{}", ty.name()));
    }
    let imm = ty.bits() | if d.has("ftz") { FTZ } else { 0 };
    let f = match ty {
        Ty::F32 => operators!(op, single),
        Ty::F64 => operators!(op, double),
        Ty::F16 | Ty::F16x2 => operators!(op, half),
        Ty::Bf16 | Ty::Bf16x2 => operators!(op, brain),
        _ if ty.is_signed() => operators!(op, signed),
        _ => operators!(op, unsigned),
    };
    Ok((f, imm))
}

/// How the result joins with a third predicate operand.
fn combination(d: &Decoder<'_, '_>) -> Decoded<(Combine, PredSrc)> {
    let combine = d.choose(&[
        ("and", Combine::And),
        ("or", Combine::Or),
        ("xor", Combine::Xor),
    ]);
    match combine {
        None => d.count(3, 3).map(|_| (Combine::None, PredSrc::Const(true))),
        Some(combine) => {
            d.count(4, 4)?;
            Ok((combine, d.pred_src(3)?))
        }
    }
}

pub(super) fn setp(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let (compare, imm) = comparison(d, ty)?;
    let (combine, with) = combination(d)?;
    let slot = |operand| match operand {
        Operand::Sink => Ok(None),
        operand => to_pred_dst(operand).map(Some),
    };
    let (first, second) = d.pair(0)?;
    let (p, q) = (slot(first)?, second.map_or(Ok(None), slot)?);
    let src = [d.src(1, ty)?, d.src(2, ty)?];
    if matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
        return Ok(Exec::SetPair {
            compare,
            imm,
            combine,
            p,
            q,
            dst: None,
            src,
            with,
        });
    }
    Ok(Exec::Setp {
        compare,
        imm,
        whole: !ty.is_float(),
        combine,
        p,
        q,
        src,
        with,
    })
}

pub(super) fn set(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (to, ty) = (d.ty(0), d.ty(1));
    let (compare, imm) = comparison(d, ty)?;
    let (combine, with) = combination(d)?;
    let src = [d.src(1, ty)?, d.src(2, ty)?];
    if matches!(ty, Ty::F16x2 | Ty::Bf16x2) {
        let yes = match to {
            Ty::F16x2 => 0x3c00,
            Ty::Bf16x2 => 0x3f80,
            _ => 0xffff,
        };
        let dst = Some((d.dst(0, 32)?, yes));
        return Ok(Exec::SetPair {
            compare,
            imm,
            combine,
            p: None,
            q: None,
            dst,
            src,
            with,
        });
    }
    let yes = match to {
        Ty::F32 => 0x3f80_0000,
        Ty::F16 => 0x3c00,
        Ty::Bf16 => 0x3f80,
        Ty::F16x2 | Ty::Bf16x2 => return Err("unsupported types of set".to_owned()),
        _ => u64::MAX,
    };
    Ok(Exec::Set {
        compare,
        imm,
        combine,
        yes,
        dst: d.dst(0, to.bits())?,
        src,
        with,
    })
}

pub(super) fn selp(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(4, 4)?;
    let ty = d.ty(0);
    let src = [d.src(1, ty)?, d.src(2, ty)?];
    Ok(Exec::Select {
        dst: d.dst(0, ty.bits())?,
        src,
        with: d.pred_src(3)?,
    })
}

pub(super) fn slct(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (ty, by) = (d.ty(0), d.ty(1));
    let f: LaneFn = match by {
        Ty::S32 => lanes!(|a, b, c, m| if c as i32 >= 0 { a } else { b }),
        _ => lanes!(|a, b, c, m| if f32::from_bits(c as u32) >= 0.0 {
            a
        } else {
            b
        }),
    };
    d.mixed(f, ty, [ty, ty, by], 0)
}

pub(super) fn logic(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let name = d.form.spec.base;
    if ty == Ty::Pred {
        d.count(3, 3)?;
        let op = match name {
            "and" => PredOp::And,
            "or" => PredOp::Or,
            _ => PredOp::Xor,
        };
        return Ok(Exec::Pred {
            op,
            dst: d.pred_dst(0)?,
            a: d.pred_src(1)?,
            b: d.pred_src(2)?,
        });
    }
    let f: LaneFn = match name {
        "and" => lanes!(|a, b, c, m| a & b),
        "or" => lanes!(|a, b, c, m| a | b),
        _ => lanes!(|a, b, c, m| a ^ b),
    };
    d.binary(f, ty, 0)
}

pub(super) fn not(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    if ty == Ty::Pred {
        d.count(2, 2)?;
        let (dst, a) = (d.pred_dst(0)?, d.pred_src(1)?);
        return Ok(Exec::Pred {
            op: PredOp::Not,
            dst,
            a,
            b: PredSrc::Const(true),
        });
    }
    d.count(2, 2)?;
    let f: LaneFn = lanes!(|a, b, c, m| !a);
    Ok(Exec::Alu {
        f,
        imm: 0,
        dst: d.dst(0, ty.bits())?,
        src: [d.src(1, ty)?, ZERO, ZERO],
    })
}
