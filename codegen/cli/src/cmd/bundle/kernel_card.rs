//! A kernel of a bundle in full, as text: what it computes, and everything a launch of it needs.

use std::fmt::Write as _;

use tilewright_bundle::{Kernel, LaunchAbi, ParamValue, Role, Route, SumRule, Sums, TensorMapAbi};

use crate::terminal::{self, STRONG, Table};

/// The card of a kernel, a few paragraphs without a line between them.
pub(super) fn render(kernel: &Kernel) -> String {
    let id = terminal::paint(STRONG, &kernel.id);
    let mut card = format!("{id}\n");
    let mut line = |head: &str, text: String| {
        let _ = writeln!(card, "  {head:<9} {text}");
    };
    for operand in &kernel.semantics.operands {
        let dtype = operand.dtype;
        let role = match operand.role {
            Role::In => "reads",
            Role::Out => "writes",
            Role::InOut => "combines",
        };
        line(role, format!("{} {dtype} {}", operand.name, operand.layout));
        if let Some(order) = &operand.packed {
            line("packed", format!("{} {order}", operand.name));
        }
    }
    for statement in kernel.semantics.compute.lines() {
        line("computes", statement.to_owned());
    }
    if let Some(sums) = &kernel.semantics.sums {
        for rule in &sums.rules {
            line("adds", adding(sums, rule));
        }
    }
    for scalar in &kernel.semantics.scalars {
        line("takes", format!("{} {}", scalar.name, scalar.dtype));
    }
    for (mode, extent) in &kernel.semantics.modes {
        line("extent", format!("{mode} = {extent}"));
    }
    line("function", kernel.semantics.function.to_string());
    line("code", code(kernel));
    if kernel.certificate.is_edited() {
        line("proved", "nothing: its PTX was edited".to_owned());
    }
    line("workspace", format!("{} bytes", kernel.workspace.bytes));
    for assumption in &kernel.assumptions {
        let (text, reason) = (assumption.text(), assumption.reason());
        line("assumes", format!("{text} ({reason})"));
    }
    for launch in &kernel.launches {
        card.push_str(&launched(kernel, launch));
    }
    card
}

/// One launch: its entry, its shape, a row for each parameter.
fn launched(kernel: &Kernel, launch: &LaunchAbi) -> String {
    let mut card = String::new();
    let mut line = |head: &str, text: String| {
        let _ = writeln!(card, "  {head:<9} {text}");
    };
    line("entry", launch.entry.clone());
    let [x, y, z] = &launch.grid;
    line("grid", format!("({x}, {y}, {z})"));
    line("block", dims(launch.block));
    if let Some(cluster) = launch.cluster {
        line("cluster", dims(cluster));
    }
    if launch.programmatic {
        line("launch", "programmatic".to_string());
    }
    let statics = kernel.resources.static_smem_bytes;
    line(
        "smem",
        format!(
            "{} dynamic, {statics} static bytes",
            launch.dynamic_smem_bytes
        ),
    );
    card + &params(launch)
}

fn code(kernel: &Kernel) -> String {
    let (ptx, driver) = (&kernel.ptx, kernel.min_driver);
    let cubin = kernel
        .cubin
        .iter()
        .map(|cubin| format!(", machine code for {}", cubin.target));
    let alone = match kernel.route {
        Route::Ptx => "",
        Route::CubinOnly => ", which alone is run",
    };
    let cubin: String = cubin.chain([alone.to_owned()]).collect();
    format!(
        "PTX {} for {}, CUDA {}.{} or newer{cubin}",
        ptx.version,
        ptx.target,
        driver / 1000,
        driver % 1000 / 10
    )
}

/// `32 products at a time by wgmma, 13 bits of each, results of 13 toward zero (sm 90, measured)`:
/// bits behind the point.
fn adding(sums: &Sums, rule: &SumRule) -> String {
    let products = match (sums.k, rule.alignments) {
        (1, _) => "1 product".to_owned(),
        (k, 1) => format!("{k} products"),
        (k, steps) => format!("{k} products in {steps} steps"),
    };
    let mut text = format!("{products} at a time by {}", sums.unit.text());
    if let Some(bits) = rule.kept_bits {
        let _ = write!(text, ", {bits} bits of each");
    }
    if let (Some(bits), Some(rounding)) = (rule.result_bits, rule.rounding) {
        let _ = write!(text, ", results of {bits} {}", rounding.text());
    }
    if let Some(splits) = &sums.splits {
        let _ = write!(text, ", in {splits} parts at most");
    }
    if !sums.is_batch_invariant() {
        let _ = write!(text, ", not batch-invariant");
    }
    let _ = write!(text, " (sm {}, {})", rule.min_sm, rule.basis.text());
    text
}

fn dims([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// One row for each parameter: where it lies and what it passes.
fn params(launch: &LaunchAbi) -> String {
    let mut table = Table::new(["  param", "offset", "bytes", "type"]);
    let mut values = vec!["value".to_owned()];
    for param in &launch.params {
        let (ty, value) = match &param.value {
            ParamValue::Pointer { operand } => ("pointer", operand.clone()),
            ParamValue::Workspace => ("pointer", "workspace".to_owned()),
            ParamValue::InWorkspace { at } => ("pointer", format!("workspace + {at} bytes")),
            ParamValue::Given(scalar) => (scalar.dtype.text(), scalar.name.clone()),
            ParamValue::Scalar { ty, expr } => (ty.text(), expr.text().to_owned()),
            ParamValue::TensorMap(map) => ("tensor map", tensor_map(map)),
        };
        let (offset, bytes) = (param.offset.to_string(), param.size.to_string());
        table.row([format!("  {}", param.name), offset, bytes, ty.to_owned()]);
        values.push(value);
    }
    // The last column reads as text: flush left.
    let rows = table.render();
    let rows = rows.lines().zip(values);
    rows.map(|(row, value)| format!("{row}  {value}\n"))
        .collect()
}

/// `a bf16 (k,m):(1,lda) box (64,128) swizzle 128B`: dimensions with the contiguous one first.
fn tensor_map(map: &TensorMapAbi) -> String {
    let list = |items: Vec<String>| format!("({})", items.join(","));
    let dims = map.dims.iter().map(ToString::to_string);
    let strides =
        std::iter::once("1".to_owned()).chain(map.strides.iter().map(ToString::to_string));
    let boxed = map.box_dims.iter().map(ToString::to_string);
    let place = match &map.in_workspace {
        Some(at) => format!("{} in workspace + {at} bytes", map.operand),
        None => map.operand.clone(),
    };
    let mut text = format!(
        "{} {} {}:{} box {} swizzle {}",
        place,
        map.dtype,
        list(dims.collect()),
        list(strides.collect()),
        list(boxed.collect()),
        map.swizzle.text()
    );
    if !map.element_strides.is_empty() {
        let steps = map.element_strides.iter().map(ToString::to_string);
        let _ = write!(text, " every {}", list(steps.collect()));
    }
    let (promotion, fill) = (map.l2_promotion.text(), map.oob_fill.text());
    let _ = write!(text, " L2 {promotion} outside {fill}");
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sums_are_a_line_for_each_rule() {
        let mut sums = Sums::fma(23);
        let line = adding(&sums, &sums.rules[0]);
        assert_eq!(
            line,
            "1 product at a time by fma, results of 23 to nearest (sm 50, defined)"
        );
        sums.k = 16;
        sums.splits = Some("min(k, 4)".parse().unwrap());
        sums.rules[0].alignments = 2;
        (sums.rules[0].kept_bits, sums.rules[0].floor) = (Some(24), Some(-133));
        assert_eq!(
            adding(&sums, &sums.rules[0]),
            "16 products in 2 steps at a time by fma, 24 bits of each, results of 23 to nearest, \
             in min(k, 4) parts at most (sm 50, defined)"
        );
    }
}
