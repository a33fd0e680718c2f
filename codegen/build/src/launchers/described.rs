//! What a launcher's documentation says: the formula, the operands, what its kernels assume.

use std::collections::BTreeMap;

use tilewright_bundle::{Kernel, Operand, Role};

/// Kernels that are told by name of those that assume the same.
const TOLD: usize = 3;

/// The lines on a function.
pub(super) fn function(kernels: &[&Kernel], specs: &[&str]) -> Vec<String> {
    let Some(first) = kernels.first() else {
        return Vec::new();
    };
    let semantics = &first.semantics;
    let mut lines = vec![" Computes".to_owned(), String::new(), " ```text".to_owned()];
    lines.extend(semantics.compute.lines().map(|line| format!(" {line}")));
    lines.push(" ```".to_owned());
    lines.push(String::new());
    for (mode, extent) in &semantics.modes {
        lines.push(format!(" `{mode}` is {extent} in every launch."));
        lines.push(String::new());
    }
    let (count, specs) = (kernels.len(), specs.join("`, `"));
    let kernels_are = if count == 1 { "kernel" } else { "kernels" };
    lines.push(format!(" {count} {kernels_are}, of `{specs}`."));
    lines.push(String::new());
    lines.extend(assumptions(kernels));
    lines
}

/// What kernels assume, those that assume the same together.
fn assumptions(kernels: &[&Kernel]) -> Vec<String> {
    let mut groups: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for kernel in kernels {
        let assumed = kernel.assumptions.iter();
        let mut assumed: Vec<String> = assumed
            .map(|one| format!("`{}` ({})", one.text(), escaped(one.reason())))
            .collect();
        if kernel.maps_operands() {
            assumed.push("rows of whole 16 bytes (tensor maps)".to_owned());
        }
        groups.entry(assumed).or_default().push(&kernel.id);
    }
    let mut lines = Vec::new();
    for (assumed, ids) in groups {
        let told = ids.iter().take(TOLD).map(|id| format!("`{id}`"));
        let mut told = told.collect::<Vec<_>>().join(", ");
        if ids.len() > TOLD {
            told += &format!(" and {} more", ids.len() - TOLD);
        }
        let assumed = match assumed.is_empty() {
            true => "nothing".to_owned(),
            false => assumed.join("; "),
        };
        let verb = if ids.len() == 1 { "assumes" } else { "assume" };
        lines.push(format!(" - {told} {verb} {assumed}"));
    }
    lines
}

/// The line on an operand: its type, shape, the strides that kernels take, and where it may lie.
pub(super) fn operand(operand: &Operand, kernels: &[&Kernel]) -> String {
    let (name, dtype) = (&operand.name, operand.dtype);
    let what = match operand.role {
        Role::In => "Read",
        Role::Out => "Written",
        Role::InOut => "Combined with what it holds",
    };
    let together = match dtype.per_byte() {
        1 => "",
        _ => ", two elements to a value",
    };
    if operand.packed.is_some() {
        return format!(
            "{what}: `{name}`, {dtype}{together}, `{}` in the order of the kernels' own: what \
             `pack` gives.",
            shape(operand)
        );
    }
    let mut layouts: Vec<&str> = Vec::new();
    for kernel in kernels {
        let layout = kernel.semantics.operand(name);
        let layout = layout.map_or("", |operand| operand.layout.text());
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    let first = match layouts.len() {
        1 => "",
        _ => "; without strides as the first of these",
    };
    let layouts = layouts.join("` or `");
    let over = operand.over.as_ref().map_or_else(String::new, |input| {
        format!(" It may take the place of `{input}`, which is `In::in_place()` then.")
    });
    format!("{what}: `{name}`, {dtype}{together}, `{layouts}`{first}.{over}")
}

fn shape(operand: &Operand) -> &str {
    let text = operand.layout.text();
    text.split_once(':').map_or(text, |(shape, _)| shape)
}

/// Text as prose that Markdown does not take for links.
pub(super) fn escaped(text: &str) -> String {
    text.replace('[', "\\[")
}
