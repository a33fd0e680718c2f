//! `atom` and `red`, and the pairs of operation and type that PTX has.

use super::decoder::Decoder;
use super::memory::{in_registers, note_strong, order, space, vector};
use super::operands::{Decoded, to_dst, to_src};
use crate::inst::{AtomOp, AtomType, Atomic, Exec, Reg, Src};
use crate::operand::Operand;
use crate::types::Ty;

pub(super) fn atom_type(ty: Ty) -> AtomType {
    match ty {
        Ty::F16 => AtomType::F16,
        Ty::F16x2 => AtomType::F16x2,
        Ty::Bf16 => AtomType::Bf16,
        Ty::Bf16x2 => AtomType::Bf16x2,
        Ty::F32 => AtomType::F32,
        Ty::F64 => AtomType::F64,
        _ if ty.is_signed() => AtomType::Signed,
        Ty::U32 | Ty::U64 => AtomType::Unsigned,
        _ => AtomType::Bits,
    }
}

/// Refuses pairs of operation and type that PTX does not have.
pub(super) fn check_atom(op: AtomOp, ty: Ty) -> Decoded<()> {
    let bits = matches!(ty, Ty::B16 | Ty::B32 | Ty::B64 | Ty::B128);
    let fits = match op {
        AtomOp::Add => !bits,
        AtomOp::Min | AtomOp::Max => !bits && !matches!(ty, Ty::F32 | Ty::F64),
        AtomOp::And | AtomOp::Or | AtomOp::Xor => matches!(ty, Ty::B32 | Ty::B64),
        AtomOp::Exch | AtomOp::Cas => bits,
        AtomOp::Inc | AtomOp::Dec => ty == Ty::U32,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("unsupported type .{} of this operation", ty.name()))
    }
}

/// The registers that take what was there before.
fn destinations(d: &Decoder<'_, '_>, ty: Ty) -> Decoded<Vec<Option<Reg>>> {
    let place = |operand| match operand {
        Operand::Sink => Ok(None),
        operand => to_dst(operand, ty.bits()).map(Some),
    };
    d.elements(0)?.into_iter().map(place).collect()
}

/// The elements of an operand.
fn sources(d: &Decoder<'_, '_>, index: usize, ty: Ty) -> Decoded<Vec<Src>> {
    let elements = d.elements(index)?.into_iter();
    elements.map(|operand| to_src(operand, ty)).collect()
}

pub(super) fn atom(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let ty = d.ty(0);
    let ops = [
        ("add", AtomOp::Add),
        ("min", AtomOp::Min),
        ("max", AtomOp::Max),
        ("and", AtomOp::And),
        ("or", AtomOp::Or),
        ("xor", AtomOp::Xor),
        ("exch", AtomOp::Exch),
        ("cas", AtomOp::Cas),
        ("inc", AtomOp::Inc),
        ("dec", AtomOp::Dec),
    ];
    let op = d.choose(&ops).ok_or("no operation")?;
    // ISA 9.7.13.6: types .u32 .s32 .u64 .b32 .b64 are also written for cas, exch and the logic
    // operations.
    check_atom(op, ty)?;
    let returns = d.form.spec.base == "atom";
    let first = usize::from(returns);
    let swaps = usize::from(op == AtomOp::Cas);
    let hint = usize::from(d.has("L2::cache_hint"));
    d.count(2 + first + swaps, 2 + first + swaps + hint)?;
    let (address, named) = d.address(first)?;
    let space = space(d, named, true);
    note_strong(d, space, true);
    let (ty, count) = in_registers(ty, vector(d));
    let dst = if returns {
        destinations(d, ty)?
    } else {
        vec![None; count]
    };
    let values = sources(d, first + 1, ty)?;
    let swap = if swaps == 1 {
        sources(d, first + 2, ty)?
    } else {
        Vec::new()
    };
    if dst.len() != count || values.len() != count || swap.len() != swaps * count {
        return Err(format!("{} values for {count} elements", values.len()));
    }
    let (bits, ty) = (ty.bits(), atom_type(ty));
    let order = order(d);
    Ok(Exec::Atomic(Box::new(Atomic {
        op,
        ty,
        bits,
        space,
        address,
        dst,
        values,
        swap,
        order,
    })))
}
