//! The first change that CONTRIBUTING tells compiles where it says, and means what it says.
#![allow(clippy::unwrap_used)]

mod kernel_files;

use std::fs;

use kernel_files::folder;
use tilewright_formula::{DType, Operand, Scalar, Signature, check};

/// The fields of a struct's value, in their order, one a line.
fn fields(block: &str) -> Vec<&str> {
    let lines = block.lines().map(str::trim);
    let named = lines.filter_map(|line| Some(line.split_once(": ")?.0));
    named.collect()
}

/// The block of CONTRIBUTING that a reader adds.
fn told() -> String {
    let page = fs::read_to_string(folder("CONTRIBUTING.md")).unwrap();
    let blocks = page.split("```rust\n").skip(1);
    let mut blocks = blocks.map(|rest| rest.split_once("```").unwrap().0.to_owned());
    let block = blocks.next().unwrap();
    assert!(blocks.next().is_none(), "one block of Rust is told");
    block
}

/// As the compiler would have it: no field is missing, none unknown.
#[test]
fn the_row_has_the_fields_of_the_other_rows() {
    let source = fs::read_to_string(folder("runtime/formula/src/functions.rs")).unwrap();
    let table = source
        .split_once("pub const DERIVED: &[Derived] = &[\n")
        .unwrap()
        .1;
    let row = table.split_once("    },\n").unwrap().0;
    let block = told();
    let is_row = block.starts_with("    Derived {\n") && block.ends_with("    },\n");
    assert!(is_row, "a row, as those of the table:\n{block}");
    assert_eq!(fields(&block), fields(row), "CONTRIBUTING, then the table");
}

/// Its definition is one of the notation.
#[test]
fn the_definition_is_a_formula() {
    let block = told();
    let line = block
        .lines()
        .find_map(|line| line.trim().strip_prefix("definition: \""))
        .unwrap();
    let definition = line.strip_suffix("\",").unwrap();
    let scalar = Scalar {
        name: "x".to_owned(),
        dtype: DType::F32,
    };
    let signature = Signature {
        operands: ["v", "d"]
            .map(|name| Operand::new(name, DType::F32, &["m"]))
            .to_vec(),
        scalars: vec![scalar],
        ..Signature::default()
    };
    let formula = format!("d[m] = v[m] * ({definition})");
    assert!(check(&formula, &signature).is_ok(), "{formula}");
}
