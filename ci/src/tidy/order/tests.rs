//! Small folders whose modules are in order, and some whose are not.
#![allow(clippy::unwrap_used)]

use super::*;

const LISTED: &str = "//! Decides.\npub mod data;\nmod copies;\npub use copies::Copies;\n";

fn complaints(path: &str, text: &str) -> Vec<String> {
    let files = [
        SourceFile::new("codegen/src/lib.rs", "//! A crate.\nmod plan;\n"),
        SourceFile::new("codegen/src/plan/mod.rs", LISTED),
        SourceFile::new(path, text),
    ];
    let found = check(&files);
    found.iter().map(Complaint::to_string).collect()
}

#[test]
fn a_module_may_use_those_beside_it_that_are_listed_above() {
    let uses = "use crate::plan::data::Plan;\nuse super::super::data;\n";
    assert!(complaints("codegen/src/plan/copies/tiled.rs", uses).is_empty());
    let own = "use crate::plan::copies::tiled::Tiled;";
    assert!(complaints("codegen/src/plan/copies/wide.rs", own).is_empty());
    let other = "use crate::ir::copies;";
    assert!(complaints("codegen/src/plan/data.rs", other).is_empty());
}

#[test]
fn a_module_may_not_use_those_beside_it_that_are_listed_below() {
    let told =
        ["codegen/src/plan/data/moves.rs:2: `data` uses `copies`, which `plan` lists below it"];
    let path = "codegen/src/plan/data/moves.rs";
    assert_eq!(complaints(path, "\nuse crate::plan::copies::tiled;"), told);
    assert_eq!(complaints(path, "\nuse super::super::copies;"), told);
    let reexported = "fn f(copies: &crate::plan::Copies) {}";
    assert_eq!(complaints("codegen/src/plan/data.rs", reexported).len(), 1);
}
