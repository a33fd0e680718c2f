//! Each rule meets a file that keeps it and one that breaks it.

use super::*;

fn rust(text: &str) -> SourceFile {
    SourceFile::new("codegen/src/plan.rs", text)
}

#[test]
fn a_name_that_says_nothing_is_refused() {
    assert_eq!(names(&rust("")), []);
    assert_eq!(names(&SourceFile::new("codegen/src/utils.rs", "")).len(), 1);
    assert_eq!(
        names(&SourceFile::new("codegen/src/common/plan.rs", "")).len(),
        1
    );
}

#[test]
fn each_kind_of_file_has_its_head() {
    assert_eq!(heads(&rust("//! Plans.\n")), []);
    assert_eq!(heads(&rust("use std::fmt;\n")).len(), 1);
    assert_eq!(
        heads(&SourceFile::new(
            "templates/ptx/a.tera",
            "{# Inputs: d #}\n"
        )),
        []
    );
    assert_eq!(
        heads(&SourceFile::new("templates/ptx/a.tera", "mma.sync\n")).len(),
        1
    );
    let script = "#!/usr/bin/env bash\n# Runs.\nset -euo pipefail\n";
    assert_eq!(heads(&SourceFile::new("ci/a.sh", script)), []);
    assert_eq!(heads(&SourceFile::new("ci/a.sh", &script[..28])).len(), 1);
}

#[test]
fn a_line_may_have_a_hundred_columns() {
    assert_eq!(columns(&rust(&"é".repeat(100))), []);
    assert_eq!(columns(&rust(&format!("\n{}", "x".repeat(101))))[0].line, 2);
    assert_eq!(columns(&SourceFile::new("README.md", "x".repeat(101))), []);
}

#[test]
fn a_file_ends_with_one_newline() {
    assert_eq!(endings(&rust("a\nb\n")), []);
    assert_eq!(endings(&rust("a")).len(), 1);
    assert_eq!(endings(&rust("a\n\n")).len(), 1);
    assert_eq!(
        endings(&rust("a \n"))[0].message,
        "the line ends with a space"
    );
}

#[test]
fn a_release_is_told_in_few_lines() {
    let log = |path: &str, text: &str| change_log(&SourceFile::new(path, text));
    let lines = |count: usize| "- one\n\n".repeat(count);
    let two = |first: usize, second: usize| {
        let (first, second) = (lines(first), lines(second));
        format!(
            "# Log\n\n{}## 0.2.0\n\n{first}## 0.1.0\n{second}",
            lines(20)
        )
    };
    assert_eq!(log("CHANGELOG.md", &two(15, 15)), []);
    assert_eq!(log("CHANGELOG.md", &two(16, 15))[0].line, 43);
    assert_eq!(log("CHANGELOG.md", &two(15, 40))[0].line, 75);
    assert_eq!(log("CHANGELOG.md", &two(15, 40)).len(), 1);
    assert_eq!(log("README.md", &two(16, 40)), []);
    let wide = format!("## 0.1.0\n- {}\n", "é".repeat(149));
    assert_eq!(
        log("CHANGELOG.md", &wide)[0].message,
        "151 columns; at most 150"
    );
}

#[test]
fn unfinished_work_is_refused() {
    for word in UNFINISHED {
        assert_eq!(
            words(&rust(&format!("fn f() {{}}\n// {word}\n")))[0].line,
            2,
            "{word}"
        );
    }
    assert_eq!(words(&rust("// the method is documented\n")), []);
}

#[test]
fn only_tests_may_not_sleep() {
    let text = format!("{SLEEPING}(rest);\n");
    assert_eq!(words(&rust(&text)), []);
    assert_eq!(
        words(&SourceFile::new("runtime/tests/open.rs", &text)).len(),
        1
    );
    assert_eq!(
        words(&SourceFile::new("runtime/src/open/tests.rs", &text)).len(),
        1
    );
}

#[test]
fn a_long_file_needs_an_entry_that_it_still_needs() {
    let path = "codegen/src/plan.rs";
    let allowed = [LongFile {
        path,
        lines: 900,
        reason: "a table",
    }];
    let of = |lines: usize| rust(&"x\n".repeat(lines));
    assert_eq!(file_lengths(&of(700), &[]), []);
    assert_eq!(file_lengths(&of(701), &[]).len(), 1);
    assert_eq!(file_lengths(&of(701), &allowed), []);
    assert_eq!(file_lengths(&of(901), &allowed).len(), 1);
    assert_eq!(file_lengths(&of(700), &allowed).len(), 1);
}

#[test]
fn a_long_function_is_a_flat_match_or_has_an_entry() {
    let long = format!("fn f() {{\n{}}}\n", "g();\n".repeat(69));
    let fits = format!("fn f() {{\n{}}}\n", "g();\n".repeat(68));
    let flat = format!(
        "fn f(x: u8) {{\nmatch x {{\n{}}}\n}}\n",
        "1 => g(),\n".repeat(90)
    );
    assert_eq!(function_lengths(&rust(&fits), &[]), []);
    assert_eq!(function_lengths(&rust(&flat), &[]), []);
    assert_eq!(
        function_lengths(&rust(&long), &[])[0].message,
        "`f` has 71 lines; at most 70"
    );
    let entry = LongFunction {
        path: "codegen/src/plan.rs",
        name: "f",
        reason: "a table",
    };
    assert_eq!(function_lengths(&rust(&long), &[entry]), []);
}
