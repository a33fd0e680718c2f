//! Operands as written to what instructions read and write: registers, predicates, numbers.

use crate::inst::{PredSrc, Reg, Src};
use crate::lexer::Literal;
use crate::module::FUNCTION_WINDOW;
use crate::operand::Operand;
use crate::types::Ty;

/// What decoding gives; the opcode is prepended to the message.
pub(crate) type Decoded<T> = Result<T, String>;

/// Bases whose registers may be wider than their types (ISA 9.4.1).
pub(super) const WIDER: [&str; 4] = ["ld", "ldu", "st", "cvt"];

/// A destination register as wide as the result.
pub(crate) fn to_dst(operand: Operand<'_>, bits: u32) -> Decoded<Reg> {
    match operand {
        Operand::Reg { reg, .. } if reg.width > bits.max(8) => Err(format!(
            "destination register has {} bits, the result {bits}",
            reg.width
        )),
        operand => to_wider_dst(operand, bits),
    }
}

/// A destination register that may be wider.
pub(crate) fn to_wider_dst(operand: Operand<'_>, bits: u32) -> Decoded<Reg> {
    match operand {
        Operand::Reg {
            reg,
            offset: 0,
            negate: false,
        } if reg.width >= bits => Ok(Reg {
            slot: reg.slot,
            width: bits.max(8),
        }),
        Operand::Reg { reg, .. } => Err(format!(
            "destination register has {} bits, the result {bits}",
            reg.width
        )),
        other => Err(format!(
            "destination is {}, not a register",
            other.describe()
        )),
    }
}

/// A source as wide as its type.
pub(crate) fn to_src(operand: Operand<'_>, ty: Ty) -> Decoded<Src> {
    match operand {
        Operand::Reg { reg, .. } if reg.width > ty.bits().max(8) => Err(format!(
            "source register has {} bits, .{} less",
            reg.width,
            ty.name()
        )),
        operand => to_wider_src(operand, ty),
    }
}

/// A source whose register may be wider than its type.
pub(crate) fn to_wider_src(operand: Operand<'_>, ty: Ty) -> Decoded<Src> {
    match operand {
        Operand::Reg {
            reg,
            offset: 0,
            negate: false,
        } => {
            if reg.width < ty.bits() {
                return Err(format!(
                    "source register has {} bits, .{} more",
                    reg.width,
                    ty.name()
                ));
            }
            Ok(Src::Reg(reg.slot))
        }
        Operand::Reg {
            reg,
            offset,
            negate: false,
        } => match i32::try_from(offset) {
            Ok(offset) if reg.width >= ty.bits() => Ok(Src::Moved {
                slot: reg.slot,
                offset,
                width: reg.width.clamp(1, 64) as u8,
            }),
            _ => Err("unsupported offset of a register".to_owned()),
        },
        Operand::Reg { .. } => Err("unsupported operand: register with a sign".to_owned()),
        Operand::Literal(value) => {
            let is_whole = matches!(value, Literal::Int(_));
            match (is_whole, ty.is_float(), ty.is_integer()) {
                (true, true, _) => Err(format!(
                    "a whole number is given where .{} takes a float: write it as one, 0f… or 1.0",
                    ty.name()
                )),
                (false, _, true) => Err(format!(
                    "a float is given where .{} takes a whole number",
                    ty.name()
                )),
                _ => Ok(Src::Imm(literal_bits(value, ty))),
            }
        }
        Operand::Special(special) => Ok(Src::Special(special)),
        Operand::Variable { base, offset, .. } => Ok(offset_src(base, offset)),
        Operand::Function(id) => Ok(Src::Imm(FUNCTION_WINDOW + 16 * u64::from(id))),
        other => Err(format!("source is {}, not a value", other.describe())),
    }
}

/// A variable's address plus a constant.
fn offset_src(base: Src, offset: i64) -> Src {
    match base {
        Src::Imm(value) => Src::Imm(value.wrapping_add(offset as u64)),
        Src::Shared { var, offset: start } => Src::Shared {
            var,
            offset: start.wrapping_add(offset as u32),
        },
        Src::Local(start) => Src::Local(start.wrapping_add(offset as u32)),
        other => other,
    }
}

pub(crate) fn to_pred_dst(operand: Operand<'_>) -> Decoded<u32> {
    match operand {
        Operand::Pred {
            slot,
            negate: false,
        } => Ok(slot),
        other => Err(format!(
            "destination is {}, not a predicate",
            other.describe()
        )),
    }
}

pub(crate) fn to_pred_src(operand: Operand<'_>) -> Decoded<PredSrc> {
    match operand {
        Operand::Pred { slot, negate } => Ok(PredSrc::Reg { slot, negate }),
        Operand::Literal(Literal::Int(value)) => Ok(PredSrc::Const(value != 0)),
        other => Err(format!("source is {}, not a predicate", other.describe())),
    }
}

/// The bits of a number in a type: integers as they are, floats converted to the type where needed.
pub(crate) fn literal_bits(value: Literal, ty: Ty) -> u64 {
    match (value, ty) {
        (Literal::Int(value), _) => value,
        (Literal::Single(bits), Ty::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Literal::Single(bits), _) => u64::from(bits),
        (Literal::Double(bits), Ty::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Literal::Double(bits), _) => bits,
    }
}
