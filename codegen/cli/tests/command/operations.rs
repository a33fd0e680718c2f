//! `layout eval`: every operation of the algebra by name, and the instructions of the catalogue.

use crate::session::{Run, tilewright};

fn eval(expression: &str) -> Run {
    tilewright(["layout", "eval", expression])
}

/// An expression a line, its value on the next behind `=`; `let` gives a name to a part.
const ROWS: &str = include_str!("../data/operations.txt");

/// The expressions of the file, names replaced, and their values.
fn rows() -> Vec<(String, &'static str)> {
    let mut names: Vec<(&str, String)> = Vec::new();
    let mut rows = Vec::new();
    let full = |names: &[(&str, String)], text: &str| {
        let replace = |text: String, (name, part): &(&str, String)| text.replace(name, part);
        names.iter().rev().fold(text.to_owned(), replace)
    };
    let mut lines = ROWS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let Some(line) = lines.next() {
        if let Some(definition) = line.strip_prefix("let ") {
            let (name, part) = definition.split_once(" = ").unwrap();
            names.push((name, full(&names, part)));
            continue;
        }
        let value = lines.next().unwrap().strip_prefix("    = ").unwrap();
        rows.push((full(&names, line), value));
    }
    rows
}

#[test]
fn every_operation_has_its_value() {
    let rows = rows();
    assert!(rows.len() > 130);
    for (expression, value) in rows {
        let run = eval(&expression).expect(0);
        assert_eq!(run.stdout.trim_end(), value, "{expression}");
        assert_eq!(run.stderr, "", "{expression}");
    }
}

#[test]
fn no_function_is_left_out() {
    let listing = tilewright(["layout", "eval", "--list", "--json"]).expect(0);
    let (listing, rows) = (listing.json(), rows());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for function in listing.as_array().unwrap() {
        let name = function["name"].as_str().unwrap();
        let call = format!("{name}(");
        let calls = |row: &str| {
            let mut found = row.match_indices(&call);
            found.any(|(at, _)| !row[..at].ends_with(word))
        };
        // The comparison has words for a value.
        let called = rows.iter().any(|(row, _)| calls(row)) || name == "compare";
        assert!(called, "{name} is called by no row");
    }
    let report = eval("compare((36,18):(1,72), (9,4):(4,9))")
        .expect(0)
        .stdout;
    assert!(report.contains("accepts (9,4):(4,9): wrong"), "{report}");
}

#[test]
fn copy_atoms_in_bits_are_made_for_elements_first() {
    let bits = "copy_bits(32:1, (32,128):(128,1), (32,(32,4)):(32,(1,1024)), \
                (32,(32,4)):(32,(1,1024)))";
    let run = eval(&format!(
        "make_tiled_copy({bits}, (4,8):(8,1), (1,8):(0,1))"
    ))
    .expect(2);
    assert!(run.stderr.contains("copy_atom_for(atom, bits)"), "{run:?}");
    let run = eval(&format!("copy_atom_for({bits}, 7)")).expect(1);
    assert!(run.stderr.contains("128 is not a multiple of 7"), "{run:?}");
    // 64 bytes are more than the 16 that a thread reads.
    let run = eval(&format!("copy_atom_for({bits}, 512)")).expect(1);
    assert!(
        run.stderr.contains("128 is not a multiple of 512"),
        "{run:?}"
    );
}

#[cfg(feature = "codegen")]
#[test]
fn instructions_of_the_catalogue_by_their_ids() {
    let show = |args: &[&str]| tilewright([&["layout", "show"], args].concat());
    let mma = show(&["sm80_mma_16x8x16_f32_bf16_bf16"]).expect(0).stdout;
    assert!(mma.starts_with("mma m16n8k16\n"), "{mma}");
    // The accumulator's first row: thread 0 holds (0,0) and (0,1).
    assert!(mma.contains("  T0V0  T0V1  T1V0  T1V1  T2V0"), "{mma}");
    let copy = show(&["sm75_ldmatrix_x4"]).expect(0).stdout;
    let title = "copy atom of 32 threads, in elements of 2 bytes\n";
    assert!(copy.starts_with(title), "{copy}");
    let run = show(&["--elem-bytes", "64", "sm75_ldmatrix_x4"]).expect(2);
    assert!(run.stderr.contains("not a multiple of"), "{run:?}");
    for format in ["svg", "latex", "json"] {
        show(&["--format", format, "sm75_ldmatrix_x2_trans"]).expect(0);
    }
    let value = "copy_atom(1:0, (1,8):(0,1), (1,8):(0,1), (1,8):(0,1))";
    let run = eval("copy_atom_for(sm80_cp_async_cg_16, 16)").expect(0);
    assert_eq!(run.stdout.trim_end(), value);
    // Rows of 16 bytes: lane 1 of each warp points at the row below that of lane 0.
    let tiled = "make_tiled_copy_a(copy_atom_for(sm75_ldmatrix_x4, 16), \
                 tiled_mma(sm80_mma_16x8x16_f32_bf16_bf16, (2,2,1)))";
    for (thread, offset) in [(0, 0), (1, 64), (8, 512), (16, 8), (32, 1024), (64, 0)] {
        let run = eval(&format!("partition_s({tiled}, (64,64):(64,1), {thread})")).expect(0);
        let end = format!(", {offset}]");
        assert!(run.stdout.trim_end().ends_with(&end), "{thread}: {run:?}");
    }
    let run = eval("sm80_mma_16x8x16_f32_bf16_bf61").expect(2);
    assert!(
        run.stderr
            .contains("did you mean `sm80_mma_16x8x16_f32_bf16_bf16`?"),
        "{run:?}"
    );
}

#[cfg(not(feature = "codegen"))]
#[test]
fn a_build_without_the_catalogue_says_so() {
    let run = eval("sm80_mma_16x8x16_f32_bf16_bf16").expect(2);
    assert!(
        run.stderr.contains("this build has no catalogue"),
        "{run:?}"
    );
}
