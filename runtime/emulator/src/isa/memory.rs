//! Moves, loads, stores and address conversions.

use super::decoder::Decoder;
use super::lanes::{ZERO, lanes};
use super::operands::{Decoded, to_dst, to_pred_dst, to_src, to_wider_dst, to_wider_src};
use crate::finding::Space;
use crate::inst::{
    Access, AccessSpace, Address, Exec, LaneFn, Lanes, Order, PredOp, PredSrc, Reg, Scope, Src,
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
        (Operand::Vector { .. }, Operand::Vector { .. }) => move_vector(d, ty),
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

/// `mov.v4.u32 {…}, {…}`, and `mov.b128` by its halves.
fn move_vector(d: &Decoder<'_, '_>, ty: Ty) -> Decoded<Exec> {
    let (part, count) = in_registers(ty, vector(d));
    let (to, from) = (d.elements(0)?, d.elements(1)?);
    if to.len() != count || from.len() != count {
        let (to, from) = (to.len(), from.len());
        return Err(format!("{from} registers to {to}; this type has {count}"));
    }
    let dst: Decoded<_> = to
        .into_iter()
        .map(|operand| match operand {
            Operand::Sink => Ok(None),
            operand => to_dst(operand, part.bits()).map(Some),
        })
        .collect();
    let src: Decoded<_> = from
        .into_iter()
        .map(|operand| to_src(operand, part))
        .collect();
    let (dst, src) = (dst?, src?);
    Ok(Exec::MoveVector { dst, src })
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
pub(super) fn space(d: &Decoder<'_, '_>, named: Option<Space>, is_address: bool) -> AccessSpace {
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
pub(super) fn order(d: &Decoder<'_, '_>) -> Order {
    let scopes = [("cta", Scope::Cta), ("cluster", Scope::Cluster)];
    let both = d.has("acq_rel");
    Order {
        strong: is_strong(d),
        acquire: both || d.has("acquire"),
        release: both || d.has("release"),
        scope: d.choose(&scopes).unwrap_or_default(),
        constant: d.has("nc"),
    }
}

/// Whether an access is not weak.
fn is_strong(d: &Decoder<'_, '_>) -> bool {
    let strong = ["relaxed", "acquire", "release", "acq_rel", "volatile"];
    strong.iter().any(|name| d.has(name))
}

/// Strong accesses to global memory order CTAs; their kernels run CTA by CTA.
pub(super) fn note_strong(d: &mut Decoder<'_, '_>, space: AccessSpace, atomic: bool) {
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
pub(super) fn vector(d: &Decoder<'_, '_>) -> usize {
    d.choose(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
}

/// A value of 128 bits is two registers of 64.
pub(super) fn in_registers(ty: Ty, count: usize) -> (Ty, usize) {
    match ty {
        Ty::B128 => (Ty::B64, 2 * count),
        ty => (ty, count),
    }
}

/// What loads and stores share: the address at one operand, the values at another.
fn access<'a>(
    d: &mut Decoder<'_, 'a>,
    (address, values): (usize, usize),
) -> Decoded<(Access, Ty, Vec<Operand<'a>>)> {
    d.count(2, if d.has("L2::cache_hint") { 3 } else { 2 })?;
    let (ty, count) = in_registers(d.ty(0), vector(d));
    let bytes = ty.bytes() as usize * count;
    // ISA 9.7.9.8: 32 bytes go to and from global memory only.
    let (address, named) = d.address(address)?;
    let space = space(d, named, true);
    let most = if space == AccessSpace::Of(Space::Global) {
        32
    } else {
        16
    };
    if bytes > most {
        return Err(format!(
            "unsupported vector access of {bytes} bytes: at most {most} in this space"
        ));
    }
    note_strong(d, space, false);
    let operands = d.elements(values)?;
    if operands.len() != count {
        return Err(format!("{} registers for {count} elements", operands.len()));
    }
    let access = Access {
        space,
        address,
        order: order(d),
        bytes: ty.bytes(),
        count: count as u32,
    };
    Ok((access, ty, operands))
}

pub(super) fn ld(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (access, ty, operands) = access(d, (1, 0))?;
    let place = |operand| match operand {
        Operand::Sink => Ok(None),
        // A signed value fills the register by its sign, any other by zeros.
        Operand::Reg {
            reg,
            offset: 0,
            negate: false,
        } if reg.width >= ty.bits() => Ok(Some(reg)),
        operand => to_wider_dst(operand, ty.bits()).map(Some),
    };
    let dst: Decoded<_> = operands.into_iter().map(place).collect();
    let sign_bits = if ty.is_signed() { ty.bits() } else { 0 };
    Ok(Exec::Load {
        access,
        sign_bits,
        dst: dst?,
    })
}

pub(super) fn st(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let (access, ty, operands) = access(d, (0, 1))?;
    if matches!(access.space, AccessSpace::Of(Space::Const | Space::Param)) {
        return Err("unsupported store to a read-only space".to_owned());
    }
    let src: Decoded<_> = operands
        .into_iter()
        .map(|operand| to_wider_src(operand, ty))
        .collect();
    Ok(Exec::Store { access, src: src? })
}

fn named_space(d: &Decoder<'_, '_>) -> Space {
    d.choose(&[
        ("shared", Space::Shared),
        ("shared::cta", Space::Shared),
        ("shared::cluster", Space::Shared),
        ("local", Space::Local),
        ("const", Space::Const),
        ("param", Space::Param),
        ("param::entry", Space::Param),
    ])
    .unwrap_or(Space::Global)
}

pub(super) fn cvta(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let ty = d.ty(0);
    if ty.bits() != d.address_bits {
        let (given, bits) = (ty.name(), d.address_bits);
        return Err(format!("unsupported .{given}: addresses have {bits} bits"));
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
        dst: d.dst(0, ty.bits())?,
        src: d.src(1, ty)?,
    })
}

pub(super) fn isspacep(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let address = if d.address_bits == 32 {
        Ty::B32
    } else {
        Ty::B64
    };
    Ok(Exec::IsSpace {
        space: named_space(d),
        own: !d.has("shared::cluster"),
        dst: to_pred_dst(d.operand(0)?)?,
        src: d.src(1, address)?,
    })
}

/// An address operand in shared memory.
pub(super) fn shared_address(d: &Decoder<'_, '_>, index: usize) -> Decoded<Address> {
    d.address(index).map(|(address, _)| address)
}
