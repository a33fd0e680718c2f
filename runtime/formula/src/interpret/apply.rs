//! A primitive on blocks of values: which arithmetic it is, by what it takes and gives.

use super::arithmetic::{chosen, chosen_integers, compared, floats, integers, logic};
use super::block::{Block, Truth};
use crate::formula::ValueType;
use crate::functions::{Op, Takes};

/// A primitive on blocks.
pub(super) fn apply(op: Op, ty: ValueType, types: &[ValueType], parts: Vec<Block>) -> Block {
    let row = op.row();
    match row.takes {
        Takes::Comparison => {
            let joined = types.iter().copied().reduce(ValueType::joined);
            let joined = joined.unwrap_or(ValueType::F32);
            let mut parts = parts.into_iter().map(|part| match joined {
                ValueType::S32 => part,
                ty => Block::Float(part.into_registers(ty)),
            });
            let (Some(a), Some(b)) = (parts.next(), parts.next()) else {
                return Block::Condition(vec![Truth::sure(false)]);
            };
            compared(op, &a, &b)
        }
        Takes::Conditions => {
            let truths = parts.into_iter().map(|part| match part {
                Block::Condition(truths) => truths,
                _ => vec![Truth::sure(false)],
            });
            logic(op, &truths.collect::<Vec<_>>())
        }
        Takes::Choice => {
            let mut parts = parts.into_iter();
            let (Some(Block::Condition(condition)), Some(then), Some(other)) =
                (parts.next(), parts.next(), parts.next())
            else {
                return Block::float(f64::NAN);
            };
            if ty == ValueType::S32 {
                return Block::Integer(chosen_integers(&condition, &then, &other));
            }
            let [then, other] = [then, other].map(|part| Block::Float(part.into_registers(ty)));
            Block::Float(chosen(&condition, &then, &other).into_iter().collect())
        }
        _ if ty == ValueType::S32 => {
            let parts: Vec<_> = parts.into_iter().map(Block::into_integers).collect();
            Block::Integer(integers(op, &parts))
        }
        _ => {
            let parts = parts.into_iter().map(|part| match op {
                Op::Add | Op::Sub => part.into_floats(ty),
                _ => part.into_registers(ty),
            });
            Block::Float(floats(row, ty, parts.collect()))
        }
    }
}
