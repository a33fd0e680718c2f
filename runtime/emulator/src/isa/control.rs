//! Branches, calls and what does nothing here.

use super::decoder::Decoder;
use super::lanes::lanes;
use super::operands::{Decoded, to_wider_src};
use crate::inst::{Actual, Call, Exec, LaneFn, Lanes, Src};
use crate::lexer::Literal;
use crate::operand::Operand;
use crate::types::Ty;

pub(super) fn bra(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 1)?;
    Ok(Exec::Branch {
        target: d.label(0)?,
    })
}

pub(super) fn brx(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    let index = d.src(0, Ty::U32)?;
    let table = d.label(1)?;
    Ok(Exec::BranchIndexed {
        index,
        targets: Box::new([table]),
    })
}

fn actual(operand: Operand<'_>, result: bool) -> Decoded<Actual> {
    Ok(match operand {
        Operand::Variable {
            base: Src::Local(offset),
            ..
        } => Actual::Local(offset),
        Operand::Pred {
            slot,
            negate: false,
        } => Actual::Pred(slot),
        Operand::Sink => Actual::Sink,
        Operand::Reg {
            reg,
            offset: 0,
            negate: false,
        } if result => Actual::Result(reg),
        operand if !result => Actual::Value(to_wider_src(operand, Ty::B8)?),
        other => return Err(format!("unsupported result: {}", other.describe())),
    })
}

pub(super) fn call(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(1, 4)?;
    let list = |index: usize, result: bool| -> Decoded<Vec<Actual>> {
        d.elements(index)?
            .into_iter()
            .map(|operand| actual(operand, result))
            .collect()
    };
    let is_list = |index: usize| matches!(d.operand(index), Ok(Operand::Vector { .. }));
    let results = if is_list(0) {
        list(0, true)?
    } else {
        Vec::new()
    };
    let at = usize::from(is_list(0));
    let target = match d.operand(at)? {
        Operand::Function(id) => Ok(id),
        Operand::Reg { reg, offset: 0, .. } => Err(Src::Reg(reg.slot)),
        Operand::Literal(Literal::Int(value)) => Err(Src::Imm(value)),
        Operand::Name(name) => return Err(format!("function {name} is not declared")),
        other => return Err(format!("call of {}", other.describe())),
    };
    let args = if is_list(at + 1) {
        list(at + 1, false)?
    } else {
        Vec::new()
    };
    Ok(Exec::Call(Box::new(Call {
        target,
        results,
        args,
    })))
}

pub(super) fn ret(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::Return)
}

pub(super) fn exit(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::Exit)
}

pub(super) fn trap(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(0, 0)?;
    Ok(Exec::Trap)
}

/// Hints, and fences of a machine whose memory is sequentially consistent.
pub(super) fn nop(_: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    Ok(Exec::Nop)
}

/// `griddepcontrol`.
pub(super) fn griddepcontrol(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    Ok(if d.has("wait") {
        Exec::FollowGrid
    } else {
        Exec::Nop
    })
}

/// `discard [a], 128`.
pub(super) fn discard(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    d.count(2, 2)?;
    match d.number(1)? {
        128 => Ok(Exec::Discard {
            address: d.address(0)?.0,
        }),
        other => Err(format!("size {other}; only 128")),
    }
}

/// Cache policies are opaque; 0 stands for all of them.
pub(super) fn create_policy(d: &mut Decoder<'_, '_>) -> Decoded<Exec> {
    let f: LaneFn = lanes!(|a, b, c, m| 0);
    let zero = Src::Imm(0);
    Ok(Exec::Alu {
        f,
        imm: 0,
        dst: d.dst(0, 64)?,
        src: [zero, zero, zero],
    })
}
