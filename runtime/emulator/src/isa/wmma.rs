//! `wmma`: shapes, types and fragments (ISA 9.7.14.4).

use super::decoder::Decoder;
use super::matrix::{accumulator, element, sources};
use super::operands::{Decoded, to_dst};
use crate::finding::Space;
use crate::inst::{AccessSpace, Exec, Fragment, FragmentMove, Reg, Src, Wmma};
use crate::tensor_core::{Element, Sum};
use crate::types::Ty;

/// M, N and K.
type Shape = (usize, usize, usize);

const SHAPES: &[(&str, Shape)] = &[
    ("m16n16k16", (16, 16, 16)),
    ("m32n8k16", (32, 8, 16)),
    ("m8n32k16", (8, 32, 16)),
    ("m16n16k8", (16, 16, 8)),
    ("m8n8k4", (8, 8, 4)),
];

/// One row: K, element types, accumulator types that go with them.
const ROWS: &[(usize, &[Ty], &[Ty])] = &[
    (16, &[Ty::F16], &[Ty::F16, Ty::F32]),
    (16, &[Ty::Bf16], &[Ty::F32]),
    (16, &[Ty::S8, Ty::U8], &[Ty::S32]),
    (8, &[Ty::Tf32], &[Ty::F32]),
    (4, &[Ty::F64], &[Ty::F64]),
];

fn shape(d: &Decoder<'_, '_>) -> Decoded<Shape> {
    d.choose(SHAPES).ok_or_else(|| "no shape".to_owned())
}

fn fragment(rows: usize, columns: usize, ty: Ty, operand: bool) -> Fragment {
    let bits = ty.bits() as usize;
    let mut fragment = Fragment {
        rows,
        columns,
        bits,
        registers: 0,
    };
    // A and B of f16 have eight registers whatever their size.
    fragment.registers = match operand && ty == Ty::F16 {
        true => 8,
        false => fragment.distinct(),
    };
    fragment
}

/// The type of registers of a fragment.
fn register(ty: Ty) -> Ty {
    if ty == Ty::F64 { Ty::B64 } else { Ty::B32 }
}

fn counted(name: &str, given: usize, fragment: &Fragment) -> Decoded<()> {
    match fragment.registers {
        needed if given == needed => Ok(()),
        needed => Err(format!("{name} has {given} registers, needs {needed}")),
    }
}

fn destinations(d: &Decoder<'_, '_>, index: usize, ty: Ty) -> Decoded<Vec<Reg>> {
    let operands = d.elements(index)?.into_iter();
    operands
        .map(|operand| to_dst(operand, register(ty).bits()))
        .collect()
}

/// The move of one of the matrices `names`; `address` and `data` are operands.
fn moved(d: &mut Decoder<'_, '_>, address: usize) -> Decoded<FragmentMove> {
    let count = d.count(2, 3)?;
    let ((m, n, k), ty) = (shape(d)?, d.ty(0));
    let role = d.choose(&[("a", 'a'), ("b", 'b')]).unwrap_or('c');
    let fits = |row: &&(usize, &[Ty], &[Ty])| {
        let types = if role == 'c' { row.2 } else { row.1 };
        row.0 == k && types.contains(&ty)
    };
    if !ROWS.iter().any(|row| fits(&row)) {
        return Err(format!("unsupported type .{} of m{m}n{n}k{k}", ty.name()));
    }
    let (rows, columns) = match role {
        'a' => (m, k),
        'b' => (k, n),
        _ => (m, n),
    };
    let column_major = d.has("col");
    let stride = match count {
        3 => d.src(2, Ty::U32)?,
        _ => Src::Imm(if column_major { rows } else { columns } as u64),
    };
    let space = match () {
        () if d.has("global") => AccessSpace::Of(Space::Global),
        () if d.has("shared") || d.has("shared::cta") => AccessSpace::Of(Space::Shared),
        () => AccessSpace::Generic,
    };
    Ok(FragmentMove {
        fragment: fragment(rows, columns, ty, role != 'c'),
        space,
        address: d.address(address)?.0,
        stride,
        column_major,
        dst: Vec::new(),
        src: Vec::new(),
    })
}

pub(super) fn load(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let mut moved = moved(d, 1)?;
    moved.dst = destinations(d, 0, d.ty(0))?;
    counted("the destination", moved.dst.len(), &moved.fragment)?;
    Ok(Exec::LoadFragment(Box::new(moved)))
}

pub(super) fn store(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let mut moved = moved(d, 0)?;
    moved.src = sources(d, 1, register(d.ty(0)))?;
    counted("the source", moved.src.len(), &moved.fragment)?;
    Ok(Exec::StoreFragment(Box::new(moved)))
}

pub(super) fn mma(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(4, 4)?;
    let (m, n, k) = shape(d)?;
    // Elements are named unless they are f16.
    let short = d.ty(2) == Ty::Pred;
    let [d_ty, a_ty, b_ty, c_ty] = match short {
        true => [d.ty(0), Ty::F16, Ty::F16, d.ty(1)],
        false => [0, 1, 2, 3].map(|index| d.ty(index)),
    };
    let fits = ROWS.iter().any(|(depth, elements, sums)| {
        let same = a_ty == b_ty;
        *depth == k
            && same
            && elements.contains(&a_ty)
            && sums.contains(&d_ty)
            && sums.contains(&c_ty)
    });
    let saturates = d.has("satfinite");
    if !fits || saturates && d_ty != Ty::S32 {
        let names = [d_ty, a_ty, b_ty, c_ty].map(Ty::name).join(".");
        return Err(format!("unsupported types .{names} of m{m}n{n}k{k}"));
    }
    let fragments = [
        fragment(m, k, a_ty, true),
        fragment(k, n, b_ty, true),
        fragment(m, n, c_ty, false),
        fragment(m, n, d_ty, false),
    ];
    let (a_type, b_type): (Element, Element) = (element(a_ty)?, element(b_ty)?);
    let (c_type, d_type): (Sum, Sum) =
        (accumulator(c_ty, saturates)?, accumulator(d_ty, saturates)?);
    let wmma = Wmma {
        k,
        a_type,
        b_type,
        c_type,
        d_type,
        fragments,
        d: destinations(d, 0, d_ty)?,
        a: sources(d, 1, register(a_ty))?,
        b: sources(d, 2, register(b_ty))?,
        c: sources(d, 3, register(c_ty))?,
    };
    counted("a", wmma.a.len(), &fragments[0])?;
    counted("b", wmma.b.len(), &fragments[1])?;
    counted("c", wmma.c.len(), &fragments[2])?;
    counted("d", wmma.d.len(), &fragments[3])?;
    Ok(Exec::Wmma(Box::new(wmma)))
}
