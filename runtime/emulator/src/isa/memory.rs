//! Moves, loads, stores, atomics and address conversions.

use super::integer::{ZERO, lanes};
use super::{Decoded, Decoder, to_dst, to_pred_dst, to_src};
use crate::finding::Space;
use crate::inst::{
    AccessSpace, Address, AtomOp, AtomType, Atomic, Exec, LaneFn, Lanes, Order, PredOp, PredSrc,
    Reg, Scope, Src,
};
use crate::operand::Operand;
use crate::types::Ty;

pub(super) fn mov(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let ty = d.ty(0);
    if ty == Ty::Pred {
        let (dst, a) = (to_pred_dst(d.operand(0)?)?, d.pred_src(1)?);
        return Ok(Exec::Pred {
            op: PredOp::Move,
            dst,
            a,
            b: PredSrc::Const(true),
        });
    }
    match (d.operand(0)?, d.operand(1)?) {
        (Operand::Vector { len, .. }, _) => {
            let part = part_type(ty, len)?;
            let parts: Decoded<Vec<Option<Reg>>> = d
                .elements(0)?
                .into_iter()
                .map(|operand| match operand {
                    Operand::Sink => Ok(None),
                    operand => to_dst(operand, part.bits()).map(Some),
                })
                .collect();
            let (dst, src) = (parts?.into_boxed_slice(), d.src(1, ty)?);
            Ok(Exec::Unpack {
                dst,
                part_bits: part.bits(),
                src,
            })
        }
        (_, Operand::Vector { len, .. }) => {
            let part = part_type(ty, len)?;
            let parts: Decoded<Vec<Src>> = d
                .elements(1)?
                .into_iter()
                .map(|operand| to_src(operand, part))
                .collect();
            let parts = parts?.into_boxed_slice();
            Ok(Exec::Pack {
                dst: d.dst(0, ty.bits())?,
                part_bits: part.bits(),
                parts,
            })
        }
        _ => {
            // Addresses and wide special registers may be moved into narrower types.
            let f: LaneFn = lanes!(|a, b, c, m| a);
            let src = [d.src(1, ty)?, ZERO, ZERO];
            Ok(Exec::Alu {
                f,
                imm: 0,
                dst: d.dst(0, ty.bits())?,
                src,
            })
        }
    }
}

/// The type of one of `len` parts.
fn part_type(ty: Ty, len: usize) -> Decoded<Ty> {
    match (ty.bits() as usize).checked_div(len) {
        Some(8) => Ok(Ty::B8),
        Some(16) => Ok(Ty::B16),
        Some(32) => Ok(Ty::B32),
        Some(64) => Ok(Ty::B64),
        _ => Err(format!(
            "unsupported vector of {len} parts of .{}",
            ty.name()
        )),
    }
}

/// The space an access names, where `.param` of a function means its frame.
fn space(d: &Decoder<'_, '_>, named: Option<Space>, is_address: bool) -> AccessSpace {
    let chosen = d.choose(&[
        ("global", Space::Global),
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
        ("local", Space::Local),
        ("const", Space::Const),
        ("param", Space::Param),
        ("param::entry", Space::Param),
        ("param::func", Space::Local),
    ]);
    match chosen {
        Some(Space::Param) if named == Some(Space::Local) => AccessSpace::Of(Space::Local),
        Some(Space::Param) if named.is_none() && !d.is_entry => AccessSpace::Of(Space::Local),
        Some(space) => AccessSpace::Of(space),
        // A variable's name without a space is an address of that variable's space.
        None if is_address => named.map_or(AccessSpace::Generic, AccessSpace::Of),
        None => AccessSpace::Generic,
    }
}

/// How an access orders itself with others.
fn order(d: &Decoder<'_, '_>) -> Order {
    let scopes = [("cta", Scope::Cta), ("cluster", Scope::Cluster)];
    let both = d.has("acq_rel");
    Order {
        strong: is_strong(d),
        acquire: both || d.has("acquire"),
        release: both || d.has("release"),
        scope: d.choose(&scopes).unwrap_or_default(),
    }
}

/// Whether an access is not weak.
fn is_strong(d: &Decoder<'_, '_>) -> bool {
    let strong = ["relaxed", "acquire", "release", "acq_rel", "volatile"];
    strong.iter().any(|name| d.has(name))
}

/// Strong accesses to global memory order CTAs; their kernels run CTA by CTA.
fn note_strong(d: &mut Decoder<'_, '_>, space: AccessSpace, atomic: bool) {
    let global = matches!(space, AccessSpace::Generic | AccessSpace::Of(Space::Global));
    if global && (atomic || is_strong(d)) {
        d.function.communicates = true;
    }
}

/// Reductions on global memory order CTAs like atomics do.
pub(super) fn note_global(d: &mut Decoder<'_, '_>, reduces: bool) {
    d.function.communicates |= reduces;
}

/// Number of elements of a vector access.
fn vector(d: &Decoder<'_, '_>) -> usize {
    d.choose(&[("v2", 2), ("v4", 4)]).unwrap_or(1)
}

fn check_vector(ty: Ty, count: usize) -> Decoded<()> {
    let bytes = ty.bytes() as usize * count;
    if bytes > 16 {
        return Err(format!(
            "unsupported vector access of {bytes} bytes: at most 16"
        ));
    }
    Ok(())
}

pub(super) fn ld(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, if d.has("L2::cache_hint") { 3 } else { 2 })?;
    let (ty, count) = (d.ty(0), vector(d));
    check_vector(ty, count)?;
    let (address, named) = d.address(1)?;
    let space = space(d, named, true);
    note_strong(d, space, false);
    let operands = d.elements(0)?;
    if operands.len() != count {
        return Err(format!(
            "{} destinations for {count} elements",
            operands.len()
        ));
    }
    let mut dst = [None; 4];
    for (place, operand) in dst.iter_mut().zip(operands) {
        *place = match operand {
            Operand::Sink => None,
            // A signed value fills the register by its sign, any other by zeros.
            Operand::Reg {
                reg,
                offset: 0,
                negate: false,
            } if reg.width >= ty.bits() => Some(reg),
            operand => Some(to_dst(operand, ty.bits())?),
        };
    }
    let sign_bits = if ty.is_signed() { ty.bits() } else { 0 };
    let (bytes, count) = (ty.bytes(), count as u32);
    let order = order(d);
    Ok(Exec::Load {
        order,
        space,
        address,
        bytes,
        sign_bits,
        dst,
        count,
    })
}

pub(super) fn st(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, if d.has("L2::cache_hint") { 3 } else { 2 })?;
    let (ty, count) = (d.ty(0), vector(d));
    check_vector(ty, count)?;
    let (address, named) = d.address(0)?;
    let space = space(d, named, true);
    if matches!(space, AccessSpace::Of(Space::Const | Space::Param)) {
        return Err("unsupported store to a read-only space".to_owned());
    }
    note_strong(d, space, false);
    let operands = d.elements(1)?;
    if operands.len() != count {
        return Err(format!("{} sources for {count} elements", operands.len()));
    }
    let mut src = [ZERO; 4];
    for (place, operand) in src.iter_mut().zip(operands) {
        *place = to_src(operand, ty)?;
    }
    Ok(Exec::Store {
        order: order(d),
        space,
        address,
        bytes: ty.bytes(),
        src,
        count: count as u32,
    })
}

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
    let bits = matches!(ty, Ty::B16 | Ty::B32 | Ty::B64);
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
    let count = vector(d);
    let dst: Decoded<Vec<Option<Reg>>> = if returns {
        d.elements(0)?
            .into_iter()
            .map(|operand| match operand {
                Operand::Sink => Ok(None),
                operand => to_dst(operand, ty.bits()).map(Some),
            })
            .collect()
    } else {
        Ok(vec![None; count])
    };
    let values: Decoded<Vec<Src>> = d
        .elements(first + 1)?
        .into_iter()
        .map(|operand| to_src(operand, ty))
        .collect();
    let (dst, values) = (dst?, values?);
    if dst.len() != count || values.len() != count {
        return Err(format!("{} values for {count} elements", values.len()));
    }
    let swap = if swaps == 1 {
        Some(d.src(first + 2, ty)?)
    } else {
        None
    };
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

fn named_space(d: &Decoder<'_, '_>) -> Space {
    d.choose(&[
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
        ("local", Space::Local),
        ("const", Space::Const),
        ("param", Space::Param),
    ])
    .unwrap_or(Space::Global)
}

pub(super) fn cvta(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let ty = d.ty(0);
    if ty != Ty::U64 {
        return Err("unsupported .u32 addresses".to_owned());
    }
    let space = match (named_space(d), d.operand(1)?) {
        // The address of a function's parameter is one of its frame.
        (
            Space::Param,
            Operand::Variable {
                space: Some(Space::Local),
                ..
            },
        ) => Space::Local,
        (Space::Param, _) if !d.is_entry => Space::Local,
        (space, _) => space,
    };
    let to_space = d.has("to");
    Ok(Exec::Convey {
        space,
        to_space,
        dst: d.dst(0, 64)?,
        src: d.src(1, ty)?,
    })
}

pub(super) fn isspacep(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let space = named_space(d);
    Ok(Exec::IsSpace {
        space,
        dst: to_pred_dst(d.operand(0)?)?,
        src: d.src(1, Ty::B64)?,
    })
}

/// An address operand in shared memory.
pub(super) fn shared_address(d: &Decoder<'_, '_>, index: usize) -> Decoded<Address> {
    d.address(index).map(|(address, _)| address)
}
