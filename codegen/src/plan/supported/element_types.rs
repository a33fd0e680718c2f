//! What element types demand of an operand: those that stand two to a byte are moved by whole
//! bytes, and some are stored but not multiplied.
//!
//! Comes in: operands of a spec. Goes out: violations with a way out, and what launches guarantee,
//! so that no byte is shared by two rows or two threads.

use crate::dtype::DType;
use crate::error::{Violation, message};
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{FormKind, Operand, Spec};
use crate::spec::keys::paths;

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
pub(in crate::plan) fn check(spec: &Spec, chooser: &mut Chooser<'_>) {
    if spec.problem.form() == FormKind::Rows {
        return;
    }
    for operand in &spec.problem.operands {
        let (name, dtype) = (&operand.name, operand.dtype);
        let is_factor = operand.factor().is_some();
        let message = if is_factor && NOT_MULTIPLIED.contains(&dtype) {
            let mut others = spec.problem.operands.iter();
            let is_other = |one: &&Operand| one.id != operand.id && one.factor().is_some();
            let other = others.find(is_other);
            // What tensor cores multiply with the other factor.
            let to = match other.map(|other| other.dtype) {
                Some(DType::S8 | DType::U8) => "s8",
                Some(other) if NOT_MULTIPLIED.contains(&other) => "bf16 or s8, as the other",
                Some(DType::F16) => "f16",
                Some(DType::F32 | DType::TF32) => "f32",
                _ => "bf16",
            };
            message!(
                "{} is {dtype}: products of {dtype} are not generated yet: cast it to {to} in a \
                 kernel before this one",
                paths::operand(name)
            )
        } else if dtype.per_byte() > 1 {
            message!(
                "{} is {dtype}, two elements to a byte: products do not move such operands yet: \
                 take bf16 or s8 here, and cast in a kernel of its own",
                paths::operand(name)
            )
        } else {
            continue;
        };
        chooser.violations.push(Violation {
            keys: vec![paths::of_operand(name, "dtype").path().to_owned()],
            ..Violation::new("product-type", message)
        });
    }
}
