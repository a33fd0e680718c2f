//! Integer arithmetic; rows shared with floats go on to [`super::floating`].

use super::decoder::Decoder;
use super::floating;
use super::lanes::{ZERO, bits, extend, lanes, signed, width};
use super::operands::Decoded;
use crate::inst::{Exec, LaneFn, Lanes};
use crate::num::int::{self, truncate};
use crate::types::Ty;

fn pairwise(a: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    f(a & 0xffff, b & 0xffff) & 0xffff | (f(a >> 16 & 0xffff, b >> 16 & 0xffff) & 0xffff) << 16
}

pub(super) fn add_sub(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let base = d.form.spec.base;
    let subtract = base.starts_with("sub");
    if ty.is_float() {
        return floating::add_sub(d, subtract);
    }
    if d.has("rn") || d.has("rz") || d.has("rm") || d.has("rp") || d.has("ftz") {
        return Err(format!(
            "rounding and .ftz are for floats, not .{}",
            ty.name()
        ));
    }
    let (carry_in, carry_out) = (base.ends_with('c'), d.has("cc"));
    if carry_in || carry_out {
        d.count(3, 3)?;
        if ty.bits() < 32 {
            return Err(format!("unsupported type .{} with .cc", ty.name()));
        }
        let (dst, src) = (d.dst(0, ty.bits())?, [d.src(1, ty)?, d.src(2, ty)?]);
        return Ok(Exec::Carry {
            subtract,
            carry_in,
            carry_out,
            bits: ty.bits(),
            dst,
            src,
        });
    }
    if matches!(ty, Ty::U16x2 | Ty::S16x2) {
        return d.binary(
            lanes!(|a, b, c, m| pairwise(a, b, u64::wrapping_add)),
            ty,
            0,
        );
    }
    if d.has("sat") {
        if ty != Ty::S32 {
            return Err(format!("unsupported .sat with .{}: only .s32", ty.name()));
        }
        let f: LaneFn = if subtract {
            lanes!(|a, b, c, m| u64::from((a as i32).saturating_sub(b as i32) as u32))
        } else {
            lanes!(|a, b, c, m| u64::from((a as i32).saturating_add(b as i32) as u32))
        };
        return d.binary(f, ty, 0);
    }
    let f: LaneFn = match subtract {
        true => lanes!(|a, b, c, m| a.wrapping_sub(b)),
        false => lanes!(|a, b, c, m| a.wrapping_add(b)),
    };
    d.binary(f, ty, 0)
}

fn wider(ty: Ty) -> Decoded<Ty> {
    Ok(match ty {
        Ty::U16 => Ty::U32,
        Ty::S16 => Ty::S32,
        Ty::U32 => Ty::U64,
        Ty::S32 => Ty::S64,
        _ => return Err(format!("unsupported .wide of .{}", ty.name())),
    })
}

pub(super) fn mul(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    if ty.is_float() {
        return floating::mul(d);
    }
    if d.has("wide") {
        let to = wider(ty)?;
        d.count(3, 3)?;
        let src = [d.src(1, ty)?, d.src(2, ty)?, ZERO];
        let f: LaneFn = match ty {
            Ty::U32 => lanes!(|a, b, c, m| u64::from(a as u32) * u64::from(b as u32)),
            Ty::S32 => lanes!(|a, b, c, m| (i64::from(a as i32) * i64::from(b as i32)) as u64),
            _ => lanes!(|a, b, c, m| extend(a, m).wrapping_mul(extend(b, m))),
        };
        return Ok(Exec::Alu {
            f,
            imm: width(ty),
            dst: d.dst(0, to.bits())?,
            src,
        });
    }
    let f: LaneFn = match (d.has("hi"), d.has("lo")) {
        (true, _) => lanes!(|a, b, c, m| int::mul_high(a, b, bits(m), signed(m))),
        (_, true) => lanes!(|a, b, c, m| a.wrapping_mul(b)),
        _ => return Err("integer products need .lo, .hi or .wide".to_owned()),
    };
    d.binary(f, ty, width(ty))
}

pub(super) fn mad(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    if ty.is_float() {
        return floating::fma(d);
    }
    let (carry_in, carry_out) = (d.form.spec.base == "madc", d.has("cc"));
    if carry_in || carry_out {
        d.count(4, 4)?;
        let f: LaneFn = if d.has("hi") {
            lanes!(|a, b, c, m| int::mul_high(a, b, bits(m), signed(m)))
        } else {
            lanes!(|a, b, c, m| truncate(a.wrapping_mul(b), bits(m)))
        };
        let src = [d.src(1, ty)?, d.src(2, ty)?, d.src(3, ty)?];
        let dst = d.dst(0, ty.bits())?;
        return Ok(Exec::MadCarry {
            f,
            carry_in,
            carry_out,
            bits: width(ty),
            dst,
            src,
        });
    }
    if d.has("wide") {
        let to = wider(ty)?;
        let f: LaneFn = match ty {
            Ty::U32 => {
                lanes!(|a, b, c, m| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c))
            }
            Ty::S32 => lanes!(|a, b, c, m| {
                ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c)
            }),
            _ => lanes!(|a, b, c, m| extend(a, m).wrapping_mul(extend(b, m)).wrapping_add(c)),
        };
        return d.mixed(f, to, [ty, ty, to], width(ty));
    }
    if d.has("sat") {
        if ty != Ty::S32 || !d.has("hi") {
            return Err("unsupported .sat: only mad.hi.sat.s32".to_owned());
        }
        let f: LaneFn = lanes!(|a, b, c, m| {
            let high = int::mul_high(a, b, 32, true) as i32;
            u64::from(high.saturating_add(c as i32) as u32)
        });
        return d.ternary(f, ty, 0);
    }
    let f: LaneFn = match (d.has("hi"), d.has("lo")) {
        (true, _) => lanes!(|a, b, c, m| int::mul_high(a, b, bits(m), signed(m)).wrapping_add(c)),
        (_, true) => lanes!(|a, b, c, m| a.wrapping_mul(b).wrapping_add(c)),
        _ => return Err("integer products need .lo, .hi or .wide".to_owned()),
    };
    d.ternary(f, ty, width(ty))
}

/// Bit 16 of `imm`: the high half is wanted.
fn half_flag(d: &Decoder<'_, '_>) -> u32 {
    u32::from(d.has("hi")) << 16
}

pub(super) fn mul24(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let f: LaneFn = lanes!(|a, b, c, m| int::mul24(a, b, signed(m), m >> 16 != 0));
    d.binary(f, ty, width(ty) | half_flag(d))
}

pub(super) fn mad24(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let f: LaneFn = if d.has("sat") {
        lanes!(|a, b, c, m| {
            let product = int::mul24(a, b, signed(m), m >> 16 != 0) as i32;
            u64::from(product.saturating_add(c as i32) as u32)
        })
    } else {
        lanes!(|a, b, c, m| int::mul24(a, b, signed(m), m >> 16 != 0).wrapping_add(c))
    };
    d.ternary(f, ty, width(ty) | half_flag(d))
}

pub(super) fn sad(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let f: LaneFn = lanes!(|a, b, c, m| {
        let (a, b) = (extend(a, m), extend(b, m));
        let larger = if signed(m) {
            a as i64 > b as i64
        } else {
            a > b
        };
        let distance = if larger {
            a.wrapping_sub(b)
        } else {
            b.wrapping_sub(a)
        };
        c.wrapping_add(distance)
    });
    d.ternary(f, ty, width(ty))
}

pub(super) fn div_rem(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    if ty.is_float() {
        return floating::div(d);
    }
    d.count(3, 3)?;
    let (dst, src) = (d.dst(0, ty.bits())?, [d.src(1, ty)?, d.src(2, ty)?]);
    let remainder = d.form.spec.base == "rem";
    Ok(Exec::Divide {
        bits: ty.bits(),
        signed: ty.is_signed(),
        remainder,
        dst,
        src,
    })
}

pub(super) fn abs(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    if ty.is_float() {
        return floating::sign(d, false);
    }
    d.unary(
        lanes!(|a, b, c, m| (extend(a, m) as i64).wrapping_abs() as u64),
        ty,
        width(ty),
    )
}

pub(super) fn neg(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    if ty.is_float() {
        return floating::sign(d, true);
    }
    d.unary(lanes!(|a, b, c, m| a.wrapping_neg()), ty, 0)
}

pub(super) fn min_max(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let larger = d.form.spec.base == "max";
    if ty.is_float() {
        return floating::min_max(d, larger);
    }
    let relu = d.has("relu");
    let f: LaneFn = match (ty, larger) {
        (Ty::S16x2, true) => lanes!(|a, b, c, m| {
            let best = |a: u64, b: u64| (a as i16).max(b as i16).max(relu_floor(m)) as u16;
            pairwise(a, b, |a, b| u64::from(best(a, b)))
        }),
        (Ty::S16x2, false) => lanes!(|a, b, c, m| {
            let best = |a: u64, b: u64| (a as i16).min(b as i16).max(relu_floor(m)) as u16;
            pairwise(a, b, |a, b| u64::from(best(a, b)))
        }),
        (Ty::U16x2, true) => lanes!(|a, b, c, m| pairwise(a, b, u64::max)),
        (Ty::U16x2, false) => lanes!(|a, b, c, m| pairwise(a, b, u64::min)),
        (Ty::S32, _) if relu => match larger {
            true => lanes!(|a, b, c, m| (a as i32).max(b as i32).max(0) as u64),
            false => lanes!(|a, b, c, m| (a as i32).min(b as i32).max(0) as u64),
        },
        _ if relu => return Err(format!("unsupported .relu with .{}", ty.name())),
        (_, true) if ty.is_signed() => {
            lanes!(|a, b, c, m| (extend(a, m) as i64).max(extend(b, m) as i64) as u64)
        }
        (_, false) if ty.is_signed() => {
            lanes!(|a, b, c, m| (extend(a, m) as i64).min(extend(b, m) as i64) as u64)
        }
        (_, true) => lanes!(|a, b, c, m| extend(a, m).max(extend(b, m))),
        (_, false) => lanes!(|a, b, c, m| extend(a, m).min(extend(b, m))),
    };
    d.binary(f, ty, width(ty) | u32::from(relu) << 16)
}

#[inline]
fn relu_floor(m: u32) -> i16 {
    if m >> 16 != 0 { 0 } else { i16::MIN }
}
