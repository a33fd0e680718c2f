//! `wgmma`: shapes, types and operands (ISA 9.7.15).

use super::decoder::Decoder;
use super::matrix::{element, sources};
use super::operands::{Decoded, to_dst};
use crate::inst::{Exec, PredSrc, Reg, Src, Wgmma};
use crate::operand::Operand;
use crate::tensor_core::{Element, Sum};
use crate::types::Ty;

pub(super) fn fence(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::WgmmaFence)
}

pub(super) fn commit(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::WgmmaCommit)
}

pub(super) fn wait(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    let pending = d.number(0)? as u32;
    Ok(Exec::WgmmaWait { pending })
}

/// N and K of `m64nNkK`.
fn extents(d: &Decoder<'_, '_>) -> Decoded<(usize, usize)> {
    let shape = d.starting_with("m64n").ok_or("no shape")?;
    let (n, k) = shape
        .trim_start_matches("m64n")
        .split_once('k')
        .ok_or("no shape")?;
    match (n.parse(), k.parse()) {
        (Ok(n), Ok(k)) => Ok((n, k)),
        _ => Err(format!("unsupported shape {shape}")),
    }
}

/// Checks that the types go together; gives the type of D.
fn accumulator(d: &Decoder<'_, '_>, n: usize) -> Decoded<Sum> {
    let (a, b) = (d.ty(1), d.ty(2));
    let saturate = d.has("satfinite");
    let integer = |ty: Ty| matches!(ty, Ty::S8 | Ty::U8);
    let fp8 = |ty: Ty| matches!(ty, Ty::E4m3 | Ty::E5m2);
    let fits = match d.ty(0) {
        Ty::S32 => integer(a) && integer(b),
        Ty::F16 => a == Ty::F16 && b == Ty::F16 || fp8(a) && fp8(b),
        Ty::F32 => a == b && matches!(a, Ty::F16 | Ty::Bf16 | Ty::Tf32) || fp8(a) && fp8(b),
        _ => false,
    };
    if !fits || saturate && !integer(a) {
        let [d, a, b] = [d.ty(0), a, b].map(Ty::name);
        return Err(format!("unsupported types .{d}.{a}.{b}"));
    }
    if integer(a) && n > 32 && !n.is_multiple_of(16) || integer(a) && n == 24 + 16 {
        return Err(format!("integer products have no n of {n}"));
    }
    Ok(match d.ty(0) {
        Ty::S32 => Sum::S32 { saturate },
        Ty::F16 => Sum::F16,
        _ => Sum::F32,
    })
}

/// 1 or -1: whether to negate.
fn scale(d: &Decoder<'_, '_>, index: usize) -> Decoded<bool> {
    match d.number(index)? as i64 {
        1 => Ok(false),
        -1 => Ok(true),
        other => Err(format!("scale {other}; 1 or -1")),
    }
}

fn transposed(d: &Decoder<'_, '_>, index: usize, ty: Element) -> Decoded<bool> {
    match d.number(index)? {
        0 => Ok(false),
        1 if ty.bits() == 16 => Ok(true),
        other => Err(format!("unsupported transposition {other} of this type")),
    }
}

pub(super) fn product(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (n, k) = extents(d)?;
    let d_type = accumulator(d, n)?;
    let (a_type, b_type) = (element(d.ty(1))?, element(d.ty(2))?);
    let wanted = 256 / a_type.bits();
    if k != wanted {
        return Err(format!("k is {k}; these types take {wanted}"));
    }
    let from_registers = matches!(d.operand(1)?, Operand::Vector { .. });
    let integer = matches!(d_type, Sum::S32 { .. });
    let short = a_type.bits() == 16;
    let most = match (integer, short) {
        (true, _) => 4,
        (_, false) => 6,
        _ if from_registers => 7,
        _ => 8,
    };
    // Trailing flags may be left out only together.
    let count = d.count(4, most)?;
    let dst: Decoded<Vec<Reg>> = d
        .elements(0)?
        .into_iter()
        .map(|operand| to_dst(operand, 32))
        .collect();
    let dst = dst?;
    let registers = if d_type == Sum::F16 { n / 4 } else { n / 2 };
    if dst.len() != registers {
        return Err(format!("D has {} registers, needs {registers}", dst.len()));
    }
    let a: Result<Vec<Src>, Src> = if from_registers {
        let sources = sources(d, 1, Ty::B32)?;
        if sources.len() != 4 {
            return Err(format!("A has {} registers, needs 4", sources.len()));
        }
        Ok(sources)
    } else {
        Err(d.src(1, Ty::B64)?)
    };
    let scale_d = match d.operand(3)? {
        Operand::Pred { .. } => d.pred_src(3)?,
        _ => PredSrc::Const(d.number(3)? != 0),
    };
    let trans_b = if from_registers { 6 } else { 7 };
    Ok(Exec::Wgmma(Box::new(Wgmma {
        n,
        k,
        a_type,
        b_type,
        d_type,
        d: dst,
        a,
        b: d.src(2, Ty::B64)?,
        scale_d,
        negate_a: count > 4 && scale(d, 4)?,
        negate_b: count > 5 && scale(d, 5)?,
        trans_a: !from_registers && count > 6 && transposed(d, 6, a_type)?,
        trans_b: count > trans_b && transposed(d, trans_b, b_type)?,
    })))
}
