//! A kernel of a bundle in full, as text: what it computes, and everything a launch of it needs.

use std::fmt::Write as _;

use tilewright_bundle::{Kernel, ParamValue, TensorMapAbi};

use crate::terminal::{self, STRONG, Table};

/// The card of a kernel, a few paragraphs without a line between them.
pub(super) fn render(kernel: &Kernel) -> String {
    let abi = &kernel.abi;
    let id = terminal::paint(STRONG, &kernel.id);
    let mut card = format!("{id}\n");
    let mut line = |head: &str, text: String| {
        let _ = writeln!(card, "  {head:<9} {text}");
    };
    for operand in &kernel.semantics.operands {
        let dtype = operand.dtype;
        let role = if operand.role.is_written() {
            "writes"
        } else {
            "reads"
        };
        line(role, format!("{} {dtype} {}", operand.name, operand.layout));
    }
    if let Some(epilogue) = &kernel.semantics.epilogue {
        line("computes", epilogue.clone());
    }
    line("entry", entry(kernel));
    let [x, y, z] = &abi.grid;
    line("grid", format!("({x}, {y}, {z})"));
    line("block", dims(abi.block));
    if let Some(cluster) = abi.cluster {
        line("cluster", dims(cluster));
    }
    if abi.programmatic {
        line("launch", "programmatic".to_string());
    }
    let statics = kernel.resources.static_smem_bytes;
    line(
        "smem",
        format!("{} dynamic, {statics} static bytes", abi.dynamic_smem_bytes),
    );
    line("workspace", format!("{} bytes", abi.workspace_bytes));
    for assumption in &kernel.assumptions {
        let (text, reason) = (assumption.text(), assumption.reason());
        line("assumes", format!("{text} ({reason})"));
    }
    card.push_str(&params(kernel));
    card
}

fn entry(kernel: &Kernel) -> String {
    let (ptx, driver) = (&kernel.ptx, kernel.min_driver);
    format!(
        "{}, PTX {} for {}, CUDA {}.{} or newer",
        kernel.entry,
        ptx.version,
        ptx.target,
        driver / 1000,
        driver % 1000 / 10
    )
}

fn dims([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// One row for each parameter: where it lies and what it passes.
fn params(kernel: &Kernel) -> String {
    let mut table = Table::new(["  param", "offset", "bytes", "type"]);
    let mut values = vec!["value".to_owned()];
    for param in &kernel.abi.params {
        let (ty, value) = match &param.value {
            ParamValue::Pointer { operand } => ("pointer", operand.clone()),
            ParamValue::Workspace => ("pointer", "workspace".to_owned()),
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
    let mut text = format!(
        "{} {} {}:{} box {} swizzle {}",
        map.operand,
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
