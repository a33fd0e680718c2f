//! What a caller may promise a kernel: what kernels of its function may ask for, and nothing else.

use tilewright_bundle::{Assumption, Kernel, Operand};

/// Whether a promise is one that kernels of this function may ask for: this kernel does, or another
/// one may, of the entries of a table.
pub(crate) fn is_promise(kernel: &Kernel, promise: &str) -> bool {
    let mut assumed = kernel.assumptions.iter();
    assumed.any(|one| matches!(one, Assumption::Promise { promise: own, .. } if own == promise))
        || tables(kernel).any(|table| Assumption::distinct_entries(table) == promise)
}

/// Every promise that [`is_promise`] knows.
pub(super) fn promises(kernel: &Kernel) -> Vec<String> {
    let mut known: Vec<String> = tables(kernel).map(Assumption::distinct_entries).collect();
    for assumption in &kernel.assumptions {
        if let Assumption::Promise { promise, .. } = assumption
            && !known.contains(promise)
        {
            known.push(promise.clone());
        }
    }
    known
}

/// The inputs whose elements may be places in other operands.
fn tables(kernel: &Kernel) -> impl Iterator<Item = &str> {
    let operands = kernel.semantics.operands.iter();
    // Integers, signed and not: s32, u8.
    let is_integer = |operand: &Operand| operand.dtype.text().starts_with(['s', 'u']);
    let inputs = operands.filter(move |operand| !operand.role.is_written() && is_integer(operand));
    inputs.map(|operand| operand.name.as_str())
}
