//! What element types demand of an operand: those that stand two to a byte are moved by whole
//! bytes, and some are stored but not multiplied.
//!
//! Comes in: operands of a spec. Goes out: violations with a way out, and what launches guarantee,
//! so that no byte is shared by two rows or two threads.

use tilewright_formula::Extent;

use crate::dtype::DType;
use crate::error::Violation;
use crate::plan::assumption::Assumption;
use crate::plan::choose::Chooser;
use crate::plan::model::Plan;
use crate::spec::model::{FormKind, Operand, Role, Spec};

/// Code of limits of elements that share a byte.
const CODE: &str = "two-to-a-byte";

/// Element types that no product of matrices is generated of.
pub const NOT_MULTIPLIED: &[DType] = &[
    DType::E2M1,
    DType::UE8M0,
    DType::S4,
    DType::U4,
    DType::S16,
    DType::U16,
];

/// Refuses element types where a form does not take them.
pub(super) fn check(spec: &Spec, chooser: &mut Chooser<'_>) {
    if spec.form() == FormKind::Rows {
        return;
    }
    for operand in &spec.operands {
        let (name, dtype) = (&operand.name, operand.dtype);
        let is_factor = matches!(operand.role, Role::A | Role::B);
        let message = if is_factor && NOT_MULTIPLIED.contains(&dtype) {
            format!(
                "operand {name} is {dtype}: products of {dtype} are not generated yet: cast it to \
                 bf16 or s8 in a kernel before this one"
            )
        } else if dtype.per_byte() > 1 {
            format!(
                "operand {name} is {dtype}, two elements to a byte: products do not move such \
                 operands yet: take bf16 or s8 here, and cast in a kernel of its own"
            )
        } else {
            continue;
        };
        chooser.violations.push(Violation {
            keys: vec![format!("operands.{name}.dtype")],
            ..Violation::new("product-type", message)
        });
    }
}

/// Whether a thread moves whole bytes of an operand of which it has so many elements side by side
/// along an axis, if along any; a violation otherwise.
pub(super) fn whole_bytes(
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
pub(super) fn assume(chooser: &mut Chooser<'_>, plan: &mut Plan, operand: &Operand) {
    let per_byte = i64::from(operand.dtype.per_byte());
    let Some(axis) = operand.contiguous_axis().filter(|_| per_byte > 1) else {
        return;
    };
    let mode = &operand.axis(axis).mode;
    let mut modes = plan.computes.formula.modes.iter();
    let facts = modes.find(|facts| facts.name == *mode);
    if let Some(Extent::Constant(extent)) = facts.map(|facts| facts.extent) {
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
