//! `cvt` in its scalar and packed forms.

use super::decoder::Decoder;
use super::floating;
use super::lanes::{ZERO, lanes};
use super::operands::Decoded;
use crate::inst::{Exec, LaneFn, Lanes, Reg, Src};
use crate::num::convert::{Conversion, Integral, Scalar};
use crate::num::int::{sign_extend, truncate};
use crate::num::round::Round;
use crate::types::Ty;

/// The element type of one side.
fn scalar(ty: Ty) -> Scalar {
    match ty {
        Ty::F16 | Ty::F16x2 => Scalar::F16,
        Ty::Bf16 | Ty::Bf16x2 => Scalar::BF16,
        Ty::F32 => Scalar::F32,
        Ty::F64 => Scalar::F64,
        Ty::Tf32 => Scalar::Tf32,
        Ty::E4m3x2 | Ty::E4m3 => Scalar::E4m3,
        Ty::E5m2x2 | Ty::E5m2 => Scalar::E5m2,
        _ => Scalar::Int {
            bits: ty.bits(),
            signed: ty.is_signed(),
        },
    }
}

fn is_packed(ty: Ty) -> bool {
    matches!(ty, Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2)
}

fn conversion(d: &Decoder<'_, '_>, to: Ty, from: Ty) -> Conversion {
    let integral = [
        ("rni", Integral::Nearest),
        ("rzi", Integral::Zero),
        ("rmi", Integral::Down),
        ("rpi", Integral::Up),
    ];
    Conversion {
        to: scalar(to),
        from: scalar(from),
        mode: floating::mods(d).mode(),
        integral: d.choose(&integral).unwrap_or(Integral::No),
        mods: floating::mods(d),
        satfinite: d.has("satfinite"),
    }
}

/// Rounding is required exactly where information can be lost.
fn check_rounding(d: &Decoder<'_, '_>, to: Ty, from: Ty) -> Decoded<()> {
    let integral = ["rni", "rzi", "rmi", "rpi"].iter().any(|name| d.has(name));
    let rounds = ["rn", "rz", "rm", "rp", "rna"]
        .iter()
        .any(|name| d.has(name));
    let names = format!(".{}.{}", to.name(), from.name());
    match (
        from.is_float() || is_packed(from),
        to.is_float() || is_packed(to),
    ) {
        (true, false) if !integral => Err(format!("{names} needs .rni, .rzi, .rmi or .rpi")),
        (false, true) if !rounds => Err(format!("{names} needs .rn, .rz, .rm or .rp")),
        (true, true) if to.bits() < from.bits() && !rounds && !is_packed(from) => {
            Err(format!("{names} needs .rn, .rz, .rm or .rp"))
        }
        (false, false) if integral || rounds => Err(format!("{names} takes no rounding")),
        _ => Ok(()),
    }
}

/// `cvt.pack`: two integers, clamped to a narrow type, side by side; the first one is the higher.
/// The third operand fills the bits above them (ISA 9.7.9.22).
pub(super) fn cvt_pack(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (to, fills) = (d.ty(0), d.ty(2) == Ty::B32);
    if fills == (to.bits() == 16) {
        let wanted = if fills { "no .b32" } else { ".b32" };
        return Err(format!(".{} takes {wanted} behind .s32", to.name()));
    }
    let f: LaneFn = lanes!(|a, b, c, m| {
        let (bits, signed) = (m & 0xff, m >> 8 & 1);
        let most = (1i64 << (bits - signed)) - 1;
        let least = -(most + 1) * i64::from(signed);
        let narrow = |v: u64| truncate(i64::from(v as i32).clamp(least, most) as u64, bits);
        c << (2 * bits) | narrow(a) << bits | narrow(b)
    });
    let imm = super::lanes::width(to);
    if fills {
        return d.mixed(f, Ty::B32, [Ty::S32, Ty::S32, Ty::B32], imm);
    }
    d.count(3, 3)?;
    Ok(Exec::Alu {
        f,
        imm,
        dst: d.dst(0, 32)?,
        src: [d.src(1, Ty::S32)?, d.src(2, Ty::S32)?, ZERO],
    })
}

pub(super) fn cvt(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (to, from) = (d.ty(0), d.ty(1));
    let conversion = conversion(d, to, from);
    if is_packed(to) && from == Ty::F32 {
        d.count(3, 3)?;
        let half_bits = to.bits() / 2;
        let src = [d.src(1, from)?, d.src(2, from)?];
        let conversion = Box::new(conversion);
        return Ok(Exec::ConvertPack {
            conversion,
            half_bits,
            dst: d.dst(0, to.bits())?,
            src,
        });
    }
    d.count(2, 2)?;
    if is_packed(to) && is_packed(from) {
        let (dst, src) = (d.dst(0, to.bits())?, d.src(1, from)?);
        let (from_bits, to_bits) = (from.bits() / 2, to.bits() / 2);
        let conversion = Box::new(conversion);
        return Ok(Exec::ConvertEach {
            conversion,
            from_bits,
            to_bits,
            dst,
            src,
        });
    }
    if is_packed(to) || is_packed(from) {
        return Err(format!(
            "unsupported conversion .{}.{}",
            to.name(),
            from.name()
        ));
    }
    check_rounding(d, to, from)?;
    // Sources may be wider than their type; 8-bit values live in 16-bit or wider registers.
    let src = d.src(1, from)?;
    let wide = d.wide_dst(0)?;
    if wide.width < to.bits() {
        return Err(format!(
            "destination register has {} bits, .{} more",
            wide.width,
            to.name()
        ));
    }
    if !from.is_float() && !to.is_float() && !d.has("sat") {
        return Ok(integer(to, from, wide, src));
    }
    if conversion.mode == Round::Away && to != Ty::Tf32 {
        return Err("unsupported .rna: only .tf32.f32".to_owned());
    }
    let sign_from = if to.is_signed() { to.bits() } else { 0 };
    Ok(Exec::Convert {
        conversion: Box::new(conversion),
        sign_from,
        dst: wide,
        src,
    })
}

/// Between integers: narrows to the smaller type, then extends by its sign to the destination.
fn integer(to: Ty, from: Ty, wide: Reg, src: Src) -> Exec {
    // Narrow to the smaller type, then extend by its sign to the destination's width.
    let (narrow, signed) = if to.bits() < from.bits() {
        (to.bits(), to.is_signed())
    } else {
        (from.bits(), from.is_signed())
    };
    let f: LaneFn = match (signed, narrow) {
        (true, 32) => lanes!(|a, b, c, m| a as u32 as i32 as i64 as u64),
        (false, 32) => lanes!(|a, b, c, m| u64::from(a as u32)),
        (true, _) => lanes!(|a, b, c, m| sign_extend(a, m)),
        (false, _) => lanes!(|a, b, c, m| truncate(a, m)),
    };
    // A signed destination narrower than its register extends by sign over the whole register.
    let extends = to.is_signed() && (signed || to.bits() <= from.bits());
    let width = if extends { wide.width } else { to.bits() };
    let dst = Reg {
        slot: wide.slot,
        width,
    };
    Exec::Alu {
        f,
        imm: narrow,
        dst,
        src: [src, ZERO, ZERO],
    }
}
