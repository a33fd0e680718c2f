//! The kernels of two bundles: paired, and compared.
//!
//! Kernels of one id are a pair; of the others those of one spec are, in their order.

use std::collections::BTreeMap;

use tilewright_bundle::{Bundle, Kernel};

use super::{entry, lines};

/// What moved of the kernels, those of one spec together.
pub fn moved(before: &Bundle, after: &Bundle) -> Vec<String> {
    let left = |of: &'_ Bundle, other: &Bundle| -> BTreeMap<String, Vec<usize>> {
        let mut left: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, kernel) in of.kernels().iter().enumerate() {
            if other.kernel(&kernel.id).is_none() {
                left.entry(kernel.spec.clone()).or_default().push(at);
            }
        }
        left
    };
    let (old, new) = (left(before, after), left(after, before));
    let mut lines = Vec::new();
    for kernel in before.kernels() {
        if let Some(now) = after.kernel(&kernel.id) {
            lines.extend(pair(before, kernel, after, now));
        }
    }
    let mut specs: Vec<&String> = old.keys().chain(new.keys()).collect();
    specs.sort();
    specs.dedup();
    for spec in specs {
        let [old, new] = [&old, &new].map(|left| left.get(spec).map_or(&[][..], Vec::as_slice));
        let both = old.len().min(new.len());
        for (was, is) in old.iter().zip(new) {
            let (was, is) = (&before.kernels()[*was], &after.kernels()[*is]);
            lines.extend(pair(before, was, after, is));
        }
        let gone = old.iter().skip(both).map(|at| &before.kernels()[*at].id);
        lines.extend(gone.map(|id| format!("{id} is gone")));
        let come = new.iter().skip(both).map(|at| &after.kernels()[*at].id);
        lines.extend(come.map(|id| format!("{id} is new")));
    }
    lines
}

/// What moved from one kernel to another.
fn pair(before: &Bundle, was: &Kernel, after: &Bundle, is: &Kernel) -> Vec<String> {
    let mut told = Vec::new();
    if was.content_hash == is.content_hash && was.id == is.id {
        return told;
    }
    told.push(match was.id == is.id {
        true => format!("{} differs", is.id),
        false => format!("{} became {}", was.id, is.id),
    });
    let moved = entry::moved(was, is).into_iter();
    told.extend(moved.map(|line| format!("  {line}")));
    let [old, new] = [(before, was), (after, is)].map(|(bundle, kernel)| {
        let text = bundle.ptx(kernel);
        (text, by_operation(kernel, text))
    });
    if old.0 == new.0 {
        told.push("  the PTX is the same".to_owned());
        return told;
    }
    let count = |text: &str| text.lines().count();
    told.push(format!(
        "  lines of PTX: {} -> {}",
        count(old.0),
        count(new.0)
    ));
    // An edited text has no operations.
    if was.lines.is_some() != is.lines.is_some() {
        let edited = lines::edited(old.0, new.0).into_iter();
        told.extend(edited.map(|line| format!("    {line}")));
        return told;
    }
    let mut operations: Vec<&String> = old.1.keys().chain(new.1.keys()).collect();
    operations.sort();
    operations.dedup();
    for operation in operations {
        let [was, is] = [&old.1, &new.1].map(|counts| counts.get(operation).copied().unwrap_or(0));
        if was != is {
            told.push(format!("    {operation}: {was} -> {is}"));
        }
    }
    told
}

/// Lines of PTX by the tile operation that they come from, as far as the table says.
fn by_operation(kernel: &Kernel, text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let Some(table) = &kernel.lines else {
        return counts;
    };
    for (at, line) in (1u32..).zip(text.lines()) {
        if let Some(origin) = table.origin(at).filter(|_| !line.trim().is_empty()) {
            *counts.entry(origin.op.clone()).or_default() += 1;
        }
    }
    counts
}
