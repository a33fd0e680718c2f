//! Floating-point arithmetic on f32, f64, f16, bf16 and their pairs.

use super::decoder::Decoder;
use super::lanes::{ZERO, lanes};
use super::operands::Decoded;
use crate::inst::{Exec, LaneFn, Lanes, Src};
use crate::num::approx::Approx;
use crate::num::double;
use crate::num::float::{self, FloatMods};
use crate::num::round::Round;
use crate::num::short::Short;
use crate::types::Ty;

/// The modifiers of a floating-point instruction.
pub(super) fn mods(d: &Decoder<'_, '_>) -> FloatMods {
    let modes = [
        ("rz", Round::Zero),
        ("rm", Round::Down),
        ("rp", Round::Up),
        ("rna", Round::Away),
    ];
    let mode = d.choose(&modes).unwrap_or(Round::Nearest);
    let mut mods = FloatMods::new(mode);
    for (name, bit) in [
        ("ftz", FloatMods::FTZ),
        ("sat", FloatMods::SAT),
        ("relu", FloatMods::RELU),
        ("NaN", FloatMods::NAN),
        ("abs", FloatMods::ABS),
    ] {
        if d.has(name) {
            mods.0 |= bit;
        }
    }
    mods
}

/// Refuses what f16, bf16 and f64 do not have.
fn check(d: &Decoder<'_, '_>, mods: FloatMods) -> Decoded<()> {
    let ty = d.ty(0);
    let double = ty == Ty::F64 && mods.0 & (FloatMods::FTZ | FloatMods::SAT) != 0;
    let short = !matches!(ty, Ty::F32 | Ty::F64) && mods.mode() != Round::Nearest;
    if d.has("cc") || d.has("lo") || d.has("hi") || d.has("wide") || double || short {
        return Err(format!("unsupported modifier with .{}", ty.name()));
    }
    Ok(())
}

/// Applies a 16-bit operation to one or both halves.
macro_rules! short {
    ($pair:expr, $short:ident, |$a:ident, $b:ident, $c:ident, $m:ident| $e:expr) => {
        if $pair {
            lanes!(|x, y, z, word| {
                let $m = FloatMods(word);
                let half = |$a: u64, $b: u64, $c: u64| {
                    let _ = ($b, $c);
                    let $short = if word & BRAIN != 0 {
                        Short::BF16
                    } else {
                        Short::F16
                    };
                    $e & 0xffff
                };
                half(x & 0xffff, y & 0xffff, z & 0xffff)
                    | half(x >> 16 & 0xffff, y >> 16 & 0xffff, z >> 16 & 0xffff) << 16
            })
        } else {
            lanes!(|x, y, z, word| {
                let $m = FloatMods(word);
                let ($a, $b, $c) = (x, y, z);
                let _ = ($b, $c);
                let $short = if word & BRAIN != 0 {
                    Short::BF16
                } else {
                    Short::F16
                };
                $e
            })
        }
    };
}

/// Marks bfloat16 in the modifier word.
const BRAIN: u32 = 1 << 16;

fn is_pair(ty: Ty) -> bool {
    matches!(ty, Ty::F16x2 | Ty::Bf16x2)
}

fn brain(ty: Ty) -> u32 {
    if matches!(ty, Ty::Bf16 | Ty::Bf16x2) {
        BRAIN
    } else {
        0
    }
}

pub(super) fn add_sub(d: &Decoder<'_, '_>, subtract: bool) -> Decoded<Exec> {
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    const SIGN32: u64 = 1 << 31;
    const SIGN64: u64 = 1 << 63;
    let f: LaneFn = match (ty, subtract) {
        (Ty::F32, false) if mods == FloatMods(0) => {
            lanes!(|a, b, c, m| float::add32(a, b, FloatMods(0)))
        }
        (Ty::F32, true) if mods == FloatMods(0) => {
            lanes!(|a, b, c, m| float::add32(a, b ^ SIGN32, FloatMods(0)))
        }
        (Ty::F32, false) => lanes!(|a, b, c, m| float::add32(a, b, FloatMods(m))),
        (Ty::F32, true) => lanes!(|a, b, c, m| float::add32(a, b ^ SIGN32, FloatMods(m))),
        (Ty::F64, false) => lanes!(|a, b, c, m| double::add64(a, b, FloatMods(m))),
        (Ty::F64, true) => lanes!(|a, b, c, m| double::add64(a, b ^ SIGN64, FloatMods(m))),
        (_, false) => short!(is_pair(ty), s, |a, b, c, m| s.add(a, b, m)),
        (_, true) => short!(is_pair(ty), s, |a, b, c, m| s.sub(a, b, m)),
    };
    d.binary(f, ty, mods.0 | brain(ty))
}

pub(super) fn mul(d: &Decoder<'_, '_>) -> Decoded<Exec> {
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    let f: LaneFn = match ty {
        Ty::F32 if mods == FloatMods(0) => lanes!(|a, b, c, m| float::mul32(a, b, FloatMods(0))),
        Ty::F32 => lanes!(|a, b, c, m| float::mul32(a, b, FloatMods(m))),
        Ty::F64 => lanes!(|a, b, c, m| double::mul64(a, b, FloatMods(m))),
        _ => short!(is_pair(ty), s, |a, b, c, m| s.mul(a, b, m)),
    };
    d.binary(f, ty, mods.0 | brain(ty))
}

pub(super) fn fma(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    let f: LaneFn = match ty {
        Ty::F32 if mods == FloatMods(0) => lanes!(|a, b, c, m| float::fma32(a, b, c, FloatMods(0))),
        Ty::F32 => lanes!(|a, b, c, m| float::fma32(a, b, c, FloatMods(m))),
        Ty::F64 => lanes!(|a, b, c, m| double::fma64(a, b, c, FloatMods(m))),
        _ => short!(is_pair(ty), s, |a, b, c, m| s.fma(a, b, c, m)),
    };
    d.ternary(f, ty, mods.0 | brain(ty))
}

pub(super) fn div(d: &Decoder<'_, '_>) -> Decoded<Exec> {
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    let approximate = d.has("approx") || d.has("full");
    if approximate && ty != Ty::F32 {
        return Err(format!(
            "unsupported modifier with .{}: .approx and .full are for .f32",
            ty.name()
        ));
    }
    let f: LaneFn = match ty {
        Ty::F32 if d.has("full") => lanes!(|a, b, c, m| {
            let ftz = FloatMods(m).has(FloatMods::FTZ);
            u64::from(Approx::full_quotient(a as u32, b as u32, ftz))
        }),
        Ty::F32 if approximate => lanes!(|a, b, c, m| {
            let ftz = FloatMods(m).has(FloatMods::FTZ);
            u64::from(Approx::quotient(a as u32, b as u32, ftz))
        }),
        Ty::F32 => lanes!(|a, b, c, m| float::div32(a, b, FloatMods(m))),
        _ => lanes!(|a, b, c, m| double::div64(a, b, FloatMods(m))),
    };
    d.binary(f, ty, mods.0)
}

/// `neg` and `abs`.
pub(super) fn sign(d: &Decoder<'_, '_>, negate: bool) -> Decoded<Exec> {
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    let f: LaneFn = match (ty, negate) {
        (Ty::F32, true) => lanes!(|a, b, c, m| flushed(a ^ 1 << 31, m)),
        (Ty::F32, false) => lanes!(|a, b, c, m| flushed(a & 0x7fff_ffff, m)),
        (Ty::F64, true) => lanes!(|a, b, c, m| a ^ 1 << 63),
        (Ty::F64, false) => lanes!(|a, b, c, m| a & !(1 << 63)),
        (_, true) => short!(is_pair(ty), s, |a, b, c, m| flushed_short(s, a ^ 0x8000, m)),
        (_, false) => short!(is_pair(ty), s, |a, b, c, m| flushed_short(s, a & 0x7fff, m)),
    };
    d.unary(f, ty, mods.0 | brain(ty))
}

fn flushed(value: u64, m: u32) -> u64 {
    if m & FloatMods::FTZ == 0 {
        value
    } else {
        u64::from(float::flush(value as u32))
    }
}

fn flushed_short(short: Short, value: u64, mods: FloatMods) -> u64 {
    let tiny = short == Short::F16 && mods.has(FloatMods::FTZ) && value & 0x7c00 == 0;
    if tiny { value & 0x8000 } else { value & 0xffff }
}

pub(super) fn min_max(d: &Decoder<'_, '_>, larger: bool) -> Decoded<Exec> {
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    if d.has("xorsign") != d.has("abs") || d.has("relu") {
        return Err(
            "unsupported modifier: .xorsign goes with .abs, .relu is for integers".to_owned(),
        );
    }
    let f: LaneFn = match (ty, larger) {
        (Ty::F32, true) => lanes!(|a, b, c, m| float::minmax32(a, b, true, FloatMods(m))),
        (Ty::F32, false) => lanes!(|a, b, c, m| float::minmax32(a, b, false, FloatMods(m))),
        (Ty::F64, true) => lanes!(|a, b, c, m| double::minmax64(a, b, true)),
        (Ty::F64, false) => lanes!(|a, b, c, m| double::minmax64(a, b, false)),
        (_, true) => short!(is_pair(ty), s, |a, b, c, m| s.minmax(a, b, true, m)),
        (_, false) => short!(is_pair(ty), s, |a, b, c, m| s.minmax(a, b, false, m)),
    };
    if d.operands.len() == 4 && ty == Ty::F32 {
        let f: LaneFn = match larger {
            true => lanes!(|a, b, c, m| {
                let m = FloatMods(m);
                float::minmax32(float::minmax32(a, b, true, m), c, true, m)
            }),
            false => lanes!(|a, b, c, m| {
                let m = FloatMods(m);
                float::minmax32(float::minmax32(a, b, false, m), c, false, m)
            }),
        };
        return d.ternary(f, ty, mods.0);
    }
    d.binary(f, ty, mods.0 | brain(ty))
}

pub(super) fn rcp_sqrt(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    if d.has("approx") {
        return approx(d);
    }
    let (ty, mods) = (d.ty(0), mods(d));
    check(d, mods)?;
    const ONE32: u64 = 0x3f80_0000;
    const ONE64: u64 = 0x3ff0_0000_0000_0000;
    let f: LaneFn = match (d.form.spec.base, ty) {
        ("rcp", Ty::F32) => lanes!(|a, b, c, m| float::div32(ONE32, a, FloatMods(m))),
        ("rcp", _) => lanes!(|a, b, c, m| double::div64(ONE64, a, FloatMods(m))),
        (_, Ty::F32) => lanes!(|a, b, c, m| float::sqrt32(a, FloatMods(m))),
        _ => lanes!(|a, b, c, m| double::sqrt64(a, FloatMods(m))),
    };
    d.unary(f, ty, mods.0)
}

/// Where the modifier word has the number of an approximate function.
const FUNCTION_AT: u32 = 24;

/// The function that a modifier word names.
fn function(word: u32) -> Approx {
    let number = (word >> FUNCTION_AT) as usize;
    Approx::ALL.get(number).copied().unwrap_or(Approx::Rcp)
}

fn short_approx(known: Approx, short: Short, a: u64) -> u64 {
    u64::from(match short {
        Short::F16 => known.half(a as u16),
        Short::BF16 => known.brain(a as u16),
    })
}

/// What `.ftz` must be with a type; `None` where both forms are there.
fn wanted_flush(ty: Ty) -> Option<bool> {
    match ty {
        Ty::Bf16 | Ty::Bf16x2 | Ty::F64 => Some(true),
        Ty::F16 | Ty::F16x2 => Some(false),
        _ => None,
    }
}

pub(super) fn approx(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (ty, ftz) = (d.ty(0), d.has("ftz"));
    let name = d.form.spec.base;
    let number = Approx::ALL.iter().position(|known| known.name() == name);
    let number = number.ok_or_else(|| format!("no approximate function {name}"))?;
    let known = Approx::ALL[number];
    if ty == Ty::F64 && known == Approx::Rsqrt && !ftz {
        // Software of ptxas, whose steps are not known: here correctly rounded.
        let f: LaneFn = lanes!(|a, b, c, m| (1.0 / f64::from_bits(a).sqrt()).to_bits());
        return d.unary(f, ty, 0);
    }
    // The form of tanh has no .ftz, whatever the type.
    let flushes = d
        .form
        .spec
        .groups
        .iter()
        .any(|group| group.names.contains(&"ftz"));
    let wrong = wanted_flush(ty).is_some_and(|wanted| flushes && wanted != ftz);
    if wrong || ty == Ty::F64 && known.high_word(0).is_none() {
        let name = ty.name();
        return Err(match ftz {
            true => format!("unsupported modifiers .approx.ftz with .{name}"),
            false => format!("unsupported modifier .approx without .ftz with .{name}"),
        });
    }
    let f: LaneFn = match ty {
        Ty::F32 => lanes!(|a, b, c, m| {
            let ftz = FloatMods(m).has(FloatMods::FTZ);
            u64::from(function(m).single(a as u32, ftz))
        }),
        Ty::F64 => lanes!(|a, b, c, m| {
            let high = function(m).high_word((a >> 32) as u32);
            u64::from(high.unwrap_or_default()) << 32
        }),
        _ => short!(is_pair(ty), s, |a, b, c, m| short_approx(
            function(m.0),
            s,
            a
        )),
    };
    let word = mods(d).0 | brain(ty) | (number as u32) << FUNCTION_AT;
    let exec = d.unary(f, ty, word)?;
    Ok(match exec {
        // Seen of all functions of f32 but this one.
        Exec::Alu { f, imm, dst, src } if ty == Ty::F32 && known != Approx::Tanh => match src[0] {
            src @ Src::Imm(_) => Exec::Folded { f, imm, dst, src },
            _ => exec,
        },
        _ => exec,
    })
}

pub(super) fn testp(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let ty = d.ty(0);
    let tests = [
        ("finite", 0),
        ("infinite", 1),
        ("number", 2),
        ("notanumber", 3),
        ("normal", 4),
        ("subnormal", 5),
    ];
    let test = d.choose(&tests).unwrap_or(0);
    let compare = |a: &Lanes, _: &Lanes, m: u32| {
        let holds = |bits: u64| {
            use std::num::FpCategory::{Normal, Subnormal};
            let (value, category) = if m & 256 != 0 {
                (f64::from_bits(bits), f64::from_bits(bits).classify())
            } else {
                let value = f32::from_bits(bits as u32);
                (f64::from(value), value.classify())
            };
            match m & 7 {
                0 => value.is_finite(),
                1 => value.is_infinite(),
                2 => !value.is_nan(),
                3 => value.is_nan(),
                4 => category == Normal,
                _ => category == Subnormal,
            }
        };
        (0..32).fold(0, |mask, lane| mask | u32::from(holds(a[lane])) << lane)
    };
    Ok(Exec::Setp {
        compare,
        imm: test | u32::from(ty == Ty::F64) << 8,
        whole: false,
        combine: crate::inst::Combine::None,
        p: Some(d.pred_dst(0)?),
        q: None,
        src: [d.src(1, ty)?, ZERO],
        with: crate::inst::PredSrc::Const(true),
    })
}

pub(super) fn copysign(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let f: LaneFn = lanes!(|a, b, c, m| {
        let sign = 1 << (m - 1);
        b & (sign - 1) | a & sign
    });
    d.binary(f, ty, ty.bits())
}
