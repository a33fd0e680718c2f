//! Names and functions read from small sources.
#![allow(clippy::unwrap_used)]

use super::*;

fn names(text: &str, depth: usize) -> Vec<String> {
    root_names(&parse(text).unwrap(), depth)
        .into_iter()
        .map(|found| found.name)
        .collect()
}

#[test]
fn names_behind_crate_are_found_wherever_they_stand() {
    assert_eq!(names("use crate::error::Error;", 1), ["error"]);
    assert_eq!(
        names("use crate::{arch::Arch, spec::{Spec, Span}, Name};", 1),
        ["arch", "spec", "Name"]
    );
    assert_eq!(names("fn f() { g(crate::plan::make()); }", 1), ["plan"]);
    assert_eq!(
        names("fn f() { println!(\"{}\", crate::ptx::emit()) }", 1),
        ["ptx"]
    );
    assert_eq!(names("pub(crate) fn f() {}", 1), [""; 0]);
}

#[test]
fn names_behind_super_count_only_when_they_reach_the_root() {
    assert_eq!(names("use super::arch;", 1), ["arch"]);
    assert_eq!(names("use super::arch;", 2), [""; 0]);
    assert_eq!(names("use super::super::plan::Plan;", 2), ["plan"]);
    assert_eq!(names("use super::{arch, plan::Plan};", 1), ["arch", "plan"]);
}

#[test]
fn comments_strings_and_tests_name_nothing() {
    assert_eq!(
        names(
            "//! see crate::spec\n/// crate::plan\nfn f() { \"crate::ir\" }",
            1
        ),
        [""; 0]
    );
    assert_eq!(
        names(
            "#[cfg(test)]\nmod tests { use crate::pack; }\nuse crate::ir;",
            1
        ),
        ["ir"]
    );
    assert_eq!(names("#[cfg(test)]\nmod tests;\nuse crate::ir;", 1), ["ir"]);
    assert_eq!(names("#[cfg(not(test))]\nuse crate::ir;", 1), ["ir"]);
}

#[test]
fn functions_are_measured_with_their_matches() {
    let text = "impl A {\n fn short() {}\n fn long(x: u8) -> u8 {\n match x {\n \
                1 => 2,\n _ => 3,\n }\n }\n}\n\
                trait T { fn declared(); }";
    let found = functions(&parse(text).unwrap());
    let short = Function {
        name: "short".into(),
        line: 2,
        lines: 1,
        longest_match_lines: 0,
    };
    let long = Function {
        name: "long".into(),
        line: 3,
        lines: 6,
        longest_match_lines: 4,
    };
    assert_eq!(found, [short, long]);
}
