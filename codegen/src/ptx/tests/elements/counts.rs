//! How many instructions an element takes, `ci/data/ptx_stage/elements.txt`. `BLESS=1` rewrites
//! the file.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;

const PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../ci/data/ptx_stage/elements.txt"
);

/// Instructions by opcode, without loads, stores, addresses and constants.
fn instructions(text: &str, element: &Element) -> BTreeMap<String, u32> {
    let atoms = element.code.calls.len();
    let mut counts = BTreeMap::new();
    let inside = text.split("// begin inline asm").skip(1);
    for block in inside {
        let block = block.split("// end inline asm").next().unwrap_or_default();
        for statement in block.split([';', '\n']) {
            let statement = statement.trim().trim_start_matches(['{', '}']).trim();
            if statement.is_empty() || statement.starts_with('.') {
                continue;
            }
            let opcode = statement.split_whitespace().next().unwrap_or_default();
            *counts.entry(opcode.to_owned()).or_default() += 1;
        }
    }
    assert!(atoms > 0);
    counts
}

#[test]
fn elements_take_few_instructions() {
    let bf16 = packing(DType::BF16, RegType::B32);
    let mut table = String::new();
    for (text, input, output) in [
        ("exp(x[i])", F32, F32),
        ("erf(x[i])", F32, F32),
        ("gelu(x[i])", F32, F32),
        ("gelu_tanh(x[i])", F32, F32),
        ("silu(x[i])", F32, F32),
        ("sigmoid(x[i])", F32, F32),
        ("relu(x[i])", F32, bf16),
        ("gelu(x[i])", bf16, bf16),
    ] {
        let kernel = Case::new(text, &[input], output)
            .compiled("sm_90a")
            .unwrap();
        let counts = instructions(&kernel.text("sm_90a"), &kernel.element);
        let all: u32 = counts.values().sum();
        let lanes = kernel.element.code.lanes;
        let (from, to) = (input.dtype, output.dtype);
        writeln!(table, "{text} of {from} to {to}: {all} for {lanes}").unwrap();
        for (opcode, count) in counts {
            writeln!(table, "    {count} {opcode}").unwrap();
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PATH, &table).unwrap();
    }
    let wanted = std::fs::read_to_string(PATH).unwrap_or_default();
    assert_eq!(table, wanted, "{PATH} differs; BLESS=1 rewrites it");
}
