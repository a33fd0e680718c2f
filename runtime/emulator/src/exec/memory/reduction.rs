//! The new value of a memory location behind an atomic or a reduction.

use crate::inst::{AtomOp, AtomType, Reduction};
use crate::num::double::{add64, minmax64};
use crate::num::float::{FloatMods, add32, minmax32};
use crate::num::int::{sign_extend, truncate};
use crate::num::short::Short;

/// The new value of an element that a copy reduces.
pub(crate) fn reduce(reduction: &Reduction, old: u64, value: u64) -> u64 {
    let Reduction { op, ty, bits } = *reduction;
    combine((op, ty, bits), old, value, 0)
}

/// The new value of a memory location.
pub(crate) fn combine(
    (op, ty, bits): (AtomOp, AtomType, u32),
    old: u64,
    value: u64,
    swap: u64,
) -> u64 {
    let value = truncate(value, bits);
    match op {
        AtomOp::And => old & value,
        AtomOp::Or => old | value,
        AtomOp::Xor => old ^ value,
        AtomOp::Exch => value,
        AtomOp::Cas => {
            if old == value {
                truncate(swap, bits)
            } else {
                old
            }
        }
        AtomOp::Inc => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
        AtomOp::Add => add(ty, bits, old, value),
        AtomOp::Min => pick(ty, bits, old, value, false),
        AtomOp::Max => pick(ty, bits, old, value, true),
    }
}

fn halves(old: u64, value: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    f(old & 0xffff, value & 0xffff) | f(old >> 16 & 0xffff, value >> 16 & 0xffff) << 16
}

fn add(ty: AtomType, bits: u32, old: u64, value: u64) -> u64 {
    let rn = FloatMods(0);
    match ty {
        // ISA 9.7.13.6: f32 addition on global memory flushes subnormals.
        AtomType::F32 => add32(old, value, rn),
        AtomType::F64 => add64(old, value, rn),
        AtomType::F16 => Short::F16.add(old, value, rn),
        AtomType::Bf16 => Short::BF16.add(old, value, rn),
        AtomType::F16x2 => halves(old, value, |a, b| Short::F16.add(a, b, rn)),
        AtomType::Bf16x2 => halves(old, value, |a, b| Short::BF16.add(a, b, rn)),
        _ => truncate(old.wrapping_add(value), bits),
    }
}

fn pick(ty: AtomType, bits: u32, old: u64, value: u64, larger: bool) -> u64 {
    let rn = FloatMods(0);
    let first = |old_wins: bool| if old_wins { old } else { value };
    match ty {
        AtomType::Signed => {
            let (a, b) = (
                sign_extend(old, bits) as i64,
                sign_extend(value, bits) as i64,
            );
            first((a >= b) == larger)
        }
        AtomType::F16 => Short::F16.minmax(old, value, larger, rn),
        AtomType::Bf16 => Short::BF16.minmax(old, value, larger, rn),
        AtomType::F16x2 => halves(old, value, |a, b| Short::F16.minmax(a, b, larger, rn)),
        AtomType::Bf16x2 => halves(old, value, |a, b| Short::BF16.minmax(a, b, larger, rn)),
        AtomType::F64 => minmax64(old, value, larger),
        AtomType::F32 => minmax32(old, value, larger, rn),
        _ => first((old >= value) == larger),
    }
}
