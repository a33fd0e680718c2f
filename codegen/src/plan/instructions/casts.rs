//! What casts and fills compute, as elements have it.

use std::sync::Arc;

use tilewright_formula::{Expr, ExprKind, ValueType};

use crate::atoms::model::Atom;
use crate::dtype::DType;
use crate::element::{Call, Code, Element, Packing, Slot};

/// The cast that an atom does.
pub fn cast(atom: &Arc<Atom>, [from, to]: [Packing; 2]) -> Element {
    let lanes = atom.convert.map_or(1, |facts| facts.values);
    let of_register = |packing: Packing| (packing.ty.bits() / packing.dtype.bits()).max(1);
    let registers = lanes.div_ceil(of_register(from));
    Element {
        value: leaf(ExprKind::Parameter(0), from.dtype),
        inputs: vec![from],
        output: to,
        code: Code {
            lanes,
            calls: vec![Call {
                atom: atom.clone(),
                inputs: vec![(0..registers).map(|at| Slot::Input(0, at)).collect()],
                outputs: vec![to.ty],
            }],
            results: vec![Slot::Call(0, 0)],
        },
    }
}

/// Zero.
pub fn zero(to: Packing) -> Element {
    Element {
        value: leaf(ExprKind::Integer(0), to.dtype),
        inputs: Vec::new(),
        output: to,
        code: Code {
            lanes: 1,
            calls: Vec::new(),
            results: vec![Slot::Bits(0, to.ty)],
        },
    }
}

/// A number, which elements of that type hold.
pub fn fill(value: f64, to: Packing) -> Element {
    let mut filled = zero(to);
    if value != 0.0 {
        filled.value = leaf(ExprKind::Real(value), to.dtype);
        filled.code.results = vec![Slot::Bits(bits(value, to.dtype), to.ty)];
    }
    filled
}

/// A number as the bits of a register that holds computed values of that type.
pub fn bits(value: f64, dtype: DType) -> u64 {
    match ValueType::of(dtype) {
        ValueType::F32 => u64::from((value as f32).to_bits()),
        ValueType::F64 => value.to_bits(),
        ValueType::S32 | ValueType::Bool | ValueType::Raw(_) => {
            u64::from((value as i32).cast_unsigned())
        }
    }
}

fn leaf(kind: ExprKind, dtype: DType) -> Expr {
    Expr {
        kind,
        ty: ValueType::of(dtype),
        free: 0,
        span: 0..0,
    }
}
