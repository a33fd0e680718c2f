//! Elements that share a byte are moved by whole bytes.
//!
//! Comes in: how many of them a thread has side by side. Goes out: violations with a way out, and
//! what launches guarantee, so that no byte is shared by two rows or two threads.

use crate::error::{Violation, message};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Operand, Spec};
use crate::spec::keys::paths;

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
        Some(axis) => message!(
            "{}: {name} is {dtype}, two elements to a byte, and threads have {together} side by \
             side along {}: use a multiple of 2 of {} there",
            paths::named(what),
            operand.axis(axis).mode,
            paths::CTA_TILE
        ),
        None if operand.looked_into().is_some_and(|axis| Some(axis) == row) => message!(
            "{}: {name} is {dtype}, two elements to a byte, of which entries of a table take one: \
             look into another axis of it, or store {name} in whole bytes",
            paths::named(what)
        ),
        None => message!(
            "{}: {name} is {dtype}, two elements to a byte, which one thread moves; threads have \
             single elements along its mode of stride 1: let that be the mode along which the \
             other operands are contiguous, or store {name} in whole bytes",
            paths::named(what)
        ),
    };
    chooser.violations.push(Violation {
        keys: vec![paths::of_operand(name, "dtype").path().to_owned()],
        ..Violation::new(CODE, message)
    });
    false
}

/// Whether elements that a thread has side by side lie so in an operand too, which has them apart
/// along that axis, if along any; a violation where those of another share a byte.
pub(in crate::plan) fn side_by_side(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    (operand, apart): (&Operand, Option<usize>),
    what: &str,
) -> bool {
    let mut operands = spec.problem.operands.iter();
    let pairs = operands.find(|one| one.dtype.per_byte() > 1);
    let (Some(axis), Some(pairs)) = (apart, pairs) else {
        return true;
    };
    let (name, mode) = (&operand.name, &operand.axis(axis).mode);
    let message = format!(
        "{what}: {} is {}, two elements to a byte, so that threads have elements side by side \
         along {mode}, where {name} has them apart: let {name} have stride 1 along {mode}, or \
         store {} in whole bytes",
        pairs.name, pairs.dtype, pairs.name
    );
    chooser.violations.push(Violation {
        keys: vec![
            paths::of_operand(name, "layout").path().to_owned(),
            paths::of_operand(&pairs.name, "dtype").path().to_owned(),
        ],
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
            let message = message!(
                "{} is {extent}, and {} is {}, two elements to a byte along {mode}: use a multiple \
                 of {per_byte}",
                paths::mode(mode),
                operand.name,
                operand.dtype
            );
            chooser.violations.push(Violation {
                keys: vec![paths::mode(mode).path().to_owned()],
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
