//! Asynchronous copies, matrix moves and tensor-core products.

use super::decoder::Decoder;
use super::memory::shared_address;
use super::operands::{Decoded, to_dst, to_src};
use crate::finding::Space;
use crate::inst::{AccessSpace, AsyncCopy, Exec, MatrixMove, Mma, PredSrc, Reg, Src};
use crate::operand::Operand;
use crate::tensor_core::{Element, Sum};
use crate::types::Ty;

pub(super) fn cp_async(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let count = d.count(3, 5)?;
    let bytes = d.number(2)?;
    let allowed: &[u64] = if d.has("cg") { &[16] } else { &[4, 8, 16] };
    if !allowed.contains(&bytes) {
        return Err(format!("size {bytes}; allowed are {allowed:?}"));
    }
    let mut copy = AsyncCopy {
        dst: shared_address(d, 0)?,
        src: d.address(1)?.0,
        bytes: bytes as u32,
        src_bytes: None,
        ignore_src: PredSrc::Const(false),
    };
    let extra = count - 3 - usize::from(d.has("L2::cache_hint") && count > 3);
    if extra > 0 {
        match d.operand(3)? {
            Operand::Pred { .. } => copy.ignore_src = d.pred_src(3)?,
            _ => copy.src_bytes = Some(d.src(3, Ty::U32)?),
        }
    }
    Ok(Exec::AsyncCopy(Box::new(copy)))
}

pub(super) fn commit(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::AsyncCommit)
}

pub(super) fn wait_group(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    Ok(Exec::AsyncWait {
        pending: d.number(0)? as u32,
        all: false,
    })
}

pub(super) fn wait_all(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::AsyncWait {
        pending: 0,
        all: true,
    })
}

/// The number of 8x8 matrices.
fn matrices(d: &Decoder<'_, '_>) -> usize {
    d.choose(&[("x1", 1), ("x2", 2), ("x4", 4)]).unwrap_or(1)
}

fn matrix_space(d: &Decoder<'_, '_>) -> AccessSpace {
    if d.has("shared") || d.has("shared::cta") {
        AccessSpace::Of(Space::Shared)
    } else {
        AccessSpace::Generic
    }
}

fn registers(d: &Decoder<'_, '_>, index: usize) -> Decoded<Vec<Reg>> {
    d.elements(index)?
        .into_iter()
        .map(|operand| to_dst(operand, 32))
        .collect()
}

pub(super) fn sources(d: &Decoder<'_, '_>, index: usize, ty: Ty) -> Decoded<Vec<Src>> {
    d.elements(index)?
        .into_iter()
        .map(|operand| to_src(operand, ty))
        .collect()
}

pub(super) fn ldmatrix(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let dst = registers(d, 0)?;
    if dst.len() != matrices(d) {
        return Err(format!(
            "{} destinations for {} matrices",
            dst.len(),
            matrices(d)
        ));
    }
    let moved = MatrixMove {
        address: shared_address(d, 1)?,
        space: matrix_space(d),
        trans: d.has("trans"),
        dst: dst.into_iter().map(Some).collect(),
        src: Vec::new(),
    };
    Ok(Exec::LoadMatrix(Box::new(moved)))
}

pub(super) fn stmatrix(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let src = sources(d, 1, Ty::B32)?;
    if src.len() != matrices(d) {
        return Err(format!(
            "{} sources for {} matrices",
            src.len(),
            matrices(d)
        ));
    }
    let moved = MatrixMove {
        address: shared_address(d, 0)?,
        space: matrix_space(d),
        trans: d.has("trans"),
        dst: Vec::new(),
        src,
    };
    Ok(Exec::StoreMatrix(Box::new(moved)))
}

pub(super) fn movmatrix(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    Ok(Exec::MoveMatrix {
        dst: d.dst(0, 32)?,
        src: d.src(1, Ty::B32)?,
    })
}

pub(super) fn element(ty: Ty) -> Decoded<Element> {
    Ok(match ty {
        Ty::F16 => Element::F16,
        Ty::Bf16 => Element::Bf16,
        Ty::Tf32 => Element::Tf32,
        Ty::E4m3 => Element::E4m3,
        Ty::E5m2 => Element::E5m2,
        Ty::F64 => Element::F64,
        Ty::S8 => Element::S8,
        Ty::U8 => Element::U8,
        Ty::S4 => Element::S4,
        Ty::U4 => Element::U4,
        _ => return Err(format!("unsupported element type .{}", ty.name())),
    })
}

pub(super) fn accumulator(ty: Ty, saturate: bool) -> Decoded<Sum> {
    Ok(match ty {
        Ty::F16 => Sum::F16,
        Ty::F32 => Sum::F32,
        Ty::F64 => Sum::F64,
        Ty::S32 => Sum::S32 { saturate },
        _ => return Err(format!("unsupported accumulator type .{}", ty.name())),
    })
}

/// One row: shape, element types, accumulator types that go with it (ISA 9.7.14.5).
type MmaRow = ((usize, usize, usize), &'static [Element], &'static [Ty]);

const MMA_ROWS: &[MmaRow] = &[
    ((16, 8, 8), &[Element::F16], &[Ty::F16, Ty::F32]),
    ((16, 8, 16), &[Element::F16], &[Ty::F16, Ty::F32]),
    ((16, 8, 8), &[Element::Bf16], &[Ty::F32]),
    ((16, 8, 16), &[Element::Bf16], &[Ty::F32]),
    ((16, 8, 4), &[Element::Tf32], &[Ty::F32]),
    ((16, 8, 8), &[Element::Tf32], &[Ty::F32]),
    (
        (16, 8, 16),
        &[Element::E4m3, Element::E5m2],
        &[Ty::F16, Ty::F32],
    ),
    (
        (16, 8, 32),
        &[Element::E4m3, Element::E5m2],
        &[Ty::F16, Ty::F32],
    ),
    ((8, 8, 4), &[Element::F64], &[Ty::F64]),
    ((16, 8, 4), &[Element::F64], &[Ty::F64]),
    ((16, 8, 8), &[Element::F64], &[Ty::F64]),
    ((16, 8, 16), &[Element::F64], &[Ty::F64]),
    ((8, 8, 16), &[Element::S8, Element::U8], &[Ty::S32]),
    ((16, 8, 16), &[Element::S8, Element::U8], &[Ty::S32]),
    ((16, 8, 32), &[Element::S8, Element::U8], &[Ty::S32]),
    ((8, 8, 32), &[Element::S4, Element::U4], &[Ty::S32]),
    ((16, 8, 32), &[Element::S4, Element::U4], &[Ty::S32]),
    ((16, 8, 64), &[Element::S4, Element::U4], &[Ty::S32]),
];

const SHAPES: &[(&str, (usize, usize, usize))] = &[
    ("m16n8k4", (16, 8, 4)),
    ("m16n8k8", (16, 8, 8)),
    ("m16n8k16", (16, 8, 16)),
    ("m16n8k32", (16, 8, 32)),
    ("m16n8k64", (16, 8, 64)),
    ("m8n8k4", (8, 8, 4)),
    ("m8n8k16", (8, 8, 16)),
    ("m8n8k32", (8, 8, 32)),
];

/// Registers of one lane for a 16x8 or 8x8 tile.
fn registers_of(sum: Sum, m: usize) -> usize {
    match sum {
        Sum::F16 => m / 8,
        _ => m / 4,
    }
}

pub(super) fn mma(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(4, 4)?;
    let (m, n, k) = d.choose(SHAPES).ok_or("no shape")?;
    let (a_type, b_type) = (element(d.ty(1))?, element(d.ty(2))?);
    let fits = MMA_ROWS.iter().any(|(shape, elements, accumulators)| {
        *shape == (m, n, k)
            && elements.contains(&a_type)
            && elements.contains(&b_type)
            && accumulators.contains(&d.ty(0))
            && accumulators.contains(&d.ty(3))
    });
    let integer = d.ty(0) == Ty::S32;
    if !fits || d.has("satfinite") && !integer {
        return Err(format!("unsupported types for shape m{m}n{n}k{k}"));
    }
    let d_type = accumulator(d.ty(0), d.has("satfinite"))?;
    let c_type = accumulator(d.ty(3), d.has("satfinite"))?;
    let bits = |accumulator: Sum| {
        if accumulator == Sum::F64 { 64 } else { 32 }
    };
    let operand = if a_type == Element::F64 {
        Ty::B64
    } else {
        Ty::B32
    };
    let c_ty = if c_type == Sum::F64 { Ty::B64 } else { Ty::B32 };
    let dst: Decoded<Vec<Reg>> = d
        .elements(0)?
        .into_iter()
        .map(|operand| to_dst(operand, bits(d_type)))
        .collect();
    let mma = Mma {
        m,
        n,
        k,
        a_type,
        b_type,
        c_type,
        d_type,
        d: dst?,
        a: sources(d, 1, operand)?,
        b: sources(d, 2, operand)?,
        c: sources(d, 3, c_ty)?,
    };
    let per_register = (64.min(a_type.bits().max(32))) / a_type.bits();
    let wanted = [
        ("d", mma.d.len(), registers_of(d_type, m)),
        ("a", mma.a.len(), m * k / 32 / per_register),
        ("b", mma.b.len(), n * k / 32 / per_register),
        ("c", mma.c.len(), registers_of(c_type, m)),
    ];
    for (name, given, needed) in wanted {
        if given != needed {
            return Err(format!(
                "operand {name} has {given} registers, needs {needed}"
            ));
        }
    }
    Ok(Exec::Mma(Box::new(mma)))
}
