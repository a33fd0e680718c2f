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

fn leaf(kind: ExprKind, dtype: DType) -> Expr {
    Expr {
        kind,
        ty: ValueType::of(dtype),
        free: 0,
        span: 0..0,
    }
}
