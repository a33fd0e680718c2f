//! Elements that share a byte are moved by whole bytes.
//!
//! Comes in: how many of them a thread has side by side. Goes out: violations with a way out, and
//! what launches guarantee, so that no byte is shared by two rows or two threads.

use crate::error::Violation;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::Operand;

/// Code of limits of elements that share a byte.
const CODE: &str = "two-to-a-byte";

/// Whether a thread moves whole bytes of an operand of which it has so many elements side by side
/// along an axis, if along any; a violation otherwise.
pub(in crate::plan) fn whole_bytes(
    chooser: &mut Chooser<'_>,
    operand: &Operand,
    (along, together): (Option<usize>, u32),
    what: &str,
) -> bool {
    let (name, dtype) = (&operand.name, operand.dtype);
    let per_byte = dtype.per_byte();
    if per_byte == 1 || along.is_some() && together.is_multiple_of(per_byte) {
        return true;
    }
    let row = operand.contiguous_axis();
    let message = match along {
        Some(axis) => format!(
            "{what}: {name} is {dtype}, two elements to a byte, and threads have {together} side \
             by side along {}: use a multiple of 2 of cta_tile there",
            operand.axis(axis).mode
        ),
        None if operand.looked_into().is_some_and(|axis| Some(axis) == row) => format!(
            "{what}: {name} is {dtype}, two elements to a byte, of which entries of a table take \
             one: look into another axis of it, or store {name} in whole bytes"
        ),
        None => format!(
            "{what}: {name} is {dtype}, two elements to a byte, which one thread moves; threads \
             have single elements along its mode of stride 1: let that be the mode along which \
             the other operands are contiguous, or store {name} in whole bytes"
        ),
    };
    chooser.violations.push(Violation {
        keys: vec![format!("operands.{name}.dtype")],
        ..Violation::new(CODE, message)
    });
    false
}

/// Notes that rows of an operand whose elements share bytes end with a byte.
pub(in crate::plan) fn assume(chooser: &mut Chooser<'_>, plan: &mut Plan, operand: &Operand) {
    let per_byte = i64::from(operand.dtype.per_byte());
    let Some(axis) = operand.contiguous_axis().filter(|_| per_byte > 1) else {
        return;
    };
    let mode = &operand.axis(axis).mode;
    if let Some(extent) = plan.computes.formula.constant_of(mode) {
        if extent % per_byte != 0 {
            let message = format!(
                "modes.{mode} is {extent}, and {} is {}, two elements to a byte along {mode}: use \
                 a multiple of {per_byte}",
                operand.name, operand.dtype
            );
            chooser.violations.push(Violation {
                keys: vec![format!("modes.{mode}")],
                ..Violation::new(CODE, message)
            });
        }
        return;
    }
    let whole = Assumption::ExtentMultiple {
        mode: mode.clone(),
        multiple: per_byte,
        reason: format!(
            "{} is {}, two elements to a byte",
            operand.name, operand.dtype
        ),
    };
    if !plan.assumptions.contains(&whole) {
        plan.assumptions.push(whole);
    }
}
