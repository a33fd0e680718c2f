//! Bit operations: counts, fields, shifts, permutations, dot products of bytes.

use super::decoder::Decoder;
use super::lanes::{ZERO, bits, lanes, signed, width};
use super::operands::{Decoded, to_dst, to_pred_dst};
use crate::inst::{Exec, LaneFn, Lanes, Logic};
use crate::num::int::{self, Permute, sign_extend, truncate};
use crate::operand::Operand;
use crate::types::Ty;

/// An operation `.u32 d, a` on an argument of a wider type.
fn count_bits(d: &Decoder<'_, '_>, f: LaneFn) -> Decoded<Exec> {
    d.count(2, 2)?;
    let ty = d.ty(0);
    Ok(Exec::Alu {
        f,
        imm: width(ty),
        dst: d.dst(0, 32)?,
        src: [d.src(1, ty)?, ZERO, ZERO],
    })
}

pub(super) fn popc(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    count_bits(
        d,
        lanes!(|a, b, c, m| u64::from(truncate(a, bits(m)).count_ones())),
    )
}

pub(super) fn clz(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn =
        lanes!(|a, b, c, m| u64::from(truncate(a, bits(m)).leading_zeros() + bits(m) - 64));
    count_bits(d, f)
}

pub(super) fn bfind(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    if d.has("shiftamt") {
        return count_bits(
            d,
            lanes!(|a, b, c, m| int::bit_find(a, bits(m), signed(m), true)),
        );
    }
    count_bits(
        d,
        lanes!(|a, b, c, m| int::bit_find(a, bits(m), signed(m), false)),
    )
}

pub(super) fn fns(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = lanes!(|a, b, c, m| {
        let (mask, base, offset) = (a as u32, b as u32 & 31, c as i32);
        let step: i32 = if offset < 0 { -1 } else { 1 };
        let mut wanted = if offset == 0 {
            1
        } else {
            offset.unsigned_abs()
        };
        let mut position = base as i32;
        let mut found = u32::MAX;
        while (0..32).contains(&position) && wanted > 0 {
            if mask >> position & 1 == 1 {
                wanted -= 1;
                found = if wanted == 0 { position as u32 } else { found };
            }
            if offset == 0 {
                break;
            }
            position += step;
        }
        u64::from(found)
    });
    d.ternary(f, Ty::B32, 0)
}

pub(super) fn brev(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    d.unary(
        lanes!(|a, b, c, m| a.reverse_bits() >> (64 - bits(m))),
        ty,
        width(ty),
    )
}

pub(super) fn bfe(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let f: LaneFn = lanes!(|a, b, c, m| int::bit_field_extract(a, b, c, bits(m), signed(m)));
    d.mixed(f, ty, [ty, Ty::U32, Ty::U32], width(ty))
}

pub(super) fn bfi(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    d.count(5, 5)?;
    // Position and length share one source lane only when both are constants; else they are
    // packed first.
    let (pos, len) = (d.src(3, Ty::U32)?, d.src(4, Ty::U32)?);
    let (dst, src) = (d.dst(0, ty.bits())?, [d.src(1, ty)?, d.src(2, ty)?]);
    Ok(Exec::Insert {
        bits: ty.bits(),
        dst,
        src,
        pos,
        len,
    })
}

pub(super) fn bmsk(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = lanes!(|a, b, c, m| int::bit_mask(a, b, m != 0));
    d.binary(f, Ty::B32, u32::from(d.has("wrap")))
}

pub(super) fn szext(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let wrap = u32::from(d.has("wrap")) << 16;
    let f: LaneFn = lanes!(|a, b, c, m| {
        let width = b as u32;
        let width = if m >> 16 != 0 { width & 31 } else { width };
        match width {
            0 => 0,
            32.. => a,
            _ if signed(m) => sign_extend(a, width),
            _ => truncate(a, width),
        }
    });
    d.binary(f, ty, width(ty) | wrap)
}

/// Signs of both byte operands in two bits.
fn dot_signs(d: &Decoder<'_, '_>) -> u32 {
    u32::from(d.ty(0).is_signed()) | u32::from(d.ty(1).is_signed()) << 1
}

pub(super) fn dp4a(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = lanes!(|a, b, c, m| int::dot4(a, b, c, m & 1 != 0, m & 2 != 0));
    d.ternary(f, Ty::B32, dot_signs(d))
}

pub(super) fn dp2a(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = lanes!(|a, b, c, m| int::dot2(a, b, c, m & 1 != 0, m & 2 != 0, m & 4 != 0));
    d.ternary(f, Ty::B32, dot_signs(d) | u32::from(d.has("hi")) << 2)
}

pub(super) fn cnot(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    d.unary(
        lanes!(|a, b, c, m| u64::from(truncate(a, bits(m)) == 0)),
        ty,
        width(ty),
    )
}

pub(super) fn lop3(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    if d.has("and") || d.has("or") {
        return lop3_with_predicate(d);
    }
    if d.has("xor") {
        return Err("unsupported .xor; .and or .or".to_owned());
    }
    d.count(5, 5)?;
    let table = d.number(4)?;
    let src = [d.src(1, Ty::B32)?, d.src(2, Ty::B32)?, d.src(3, Ty::B32)?];
    let f: LaneFn = lanes!(|a, b, c, m| int::logic3(a, b, c, m));
    Ok(Exec::Alu {
        f,
        imm: table as u32 & 0xff,
        dst: d.dst(0, 32)?,
        src,
    })
}

/// `d|p, a, b, c, table, q`: p tells whether the result is not 0, joined with q.
fn lop3_with_predicate(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(6, 6)?;
    let (dst, p) = match d.pair(0)? {
        (Operand::Sink, Some(p)) => (None, p),
        (dst, Some(p)) => (Some(to_dst(dst, 32)?), p),
        _ => return Err("the destination is a pair d|p".to_owned()),
    };
    Ok(Exec::Logic(Box::new(Logic {
        table: d.number(4)? as u32 & 0xff,
        dst,
        p: to_pred_dst(p)?,
        src: [d.src(1, Ty::B32)?, d.src(2, Ty::B32)?, d.src(3, Ty::B32)?],
        or: d.has("or"),
        with: d.pred_src(5)?,
    })))
}

pub(super) fn shf(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = match (d.has("l"), d.has("wrap")) {
        (true, true) => lanes!(|a, b, c, m| int::funnel(a, b, c, true, true)),
        (true, false) => lanes!(|a, b, c, m| int::funnel(a, b, c, true, false)),
        (false, true) => lanes!(|a, b, c, m| int::funnel(a, b, c, false, true)),
        (false, false) => lanes!(|a, b, c, m| int::funnel(a, b, c, false, false)),
    };
    d.ternary(f, Ty::B32, 0)
}

/// `d, a, amount`: the amount is 32 bits whatever the type.
fn shift(d: &Decoder<'_, '_>, f: LaneFn) -> Decoded<Exec> {
    d.count(3, 3)?;
    let ty = d.ty(0);
    let src = [d.src(1, ty)?, d.src(2, Ty::U32)?, ZERO];
    Ok(Exec::Alu {
        f,
        imm: width(ty),
        dst: d.dst(0, ty.bits())?,
        src,
    })
}

pub(super) fn shl(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = lanes!(|a, b, c, m| if b as u32 >= bits(m) {
        0
    } else {
        a << (b as u32 & 63)
    });
    shift(d, f)
}

pub(super) fn shr(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = if d.ty(0).is_signed() {
        lanes!(|a, b, c, m| (sign_extend(a, bits(m)) as i64 >> (b as u32).min(63)) as u64)
    } else {
        lanes!(|a, b, c, m| {
            if b as u32 >= bits(m) {
                0
            } else {
                truncate(a, bits(m)) >> (b as u32 & 63)
            }
        })
    };
    shift(d, f)
}

pub(super) fn prmt(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = match () {
        () if d.has("f4e") => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::F4e)),
        () if d.has("b4e") => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::B4e)),
        () if d.has("rc8") => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::Rc8)),
        () if d.has("ecl") => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::Ecl)),
        () if d.has("ecr") => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::Ecr)),
        () if d.has("rc16") => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::Rc16)),
        () => lanes!(|a, b, c, m| int::permute(a, b, c, Permute::Index)),
    };
    d.ternary(f, Ty::B32, 0)
}
