//! Small crates that keep their layering and break it.
#![allow(clippy::unwrap_used)]

use super::*;

const ROOT: &str = "//! A crate.\npub mod error;\nmod arch;\npub mod plan;\n\
                    pub use plan::{Plan, Role as PlanRole};\npub use error::Error;\n";

fn complaints(path: &str, text: &str) -> Vec<String> {
    let files = [
        SourceFile::new("codegen/src/lib.rs", ROOT),
        SourceFile::new(path, text),
    ];
    check(&files).iter().map(Complaint::to_string).collect()
}

#[test]
fn a_module_may_use_those_above_it() {
    assert!(complaints("codegen/src/plan.rs", "use crate::{arch::Arch, error};").is_empty());
    assert!(complaints("codegen/src/plan/role.rs", "use crate::plan::Plan;").is_empty());
    assert!(complaints("codegen/src/arch.rs", "use super::error::Error;").is_empty());
    assert!(complaints("codegen/src/arch.rs", "use crate::Error;").is_empty());
}

#[test]
fn a_module_may_not_use_those_below_it() {
    assert_eq!(
        complaints(
            "codegen/src/arch.rs",
            "\nuse crate::{error::Error, plan::Plan};"
        ),
        ["codegen/src/arch.rs:2: `arch` uses `plan`, which is listed below it"]
    );
    assert_eq!(
        complaints("codegen/src/arch/sm90.rs", "use super::super::plan;").len(),
        1
    );
    assert_eq!(
        complaints("codegen/src/error.rs", "fn f(plan: &crate::Plan) {}").len(),
        1
    );
}

#[test]
fn tests_may_use_everything() {
    assert!(
        complaints(
            "codegen/src/arch.rs",
            "#[cfg(test)] mod t { use crate::plan; }"
        )
        .is_empty()
    );
    assert!(complaints("codegen/src/arch/tests.rs", "use crate::plan::Plan;").is_empty());
}

#[test]
fn programs_beside_the_library_are_crates_of_their_own() {
    assert!(complaints("codegen/src/bin/tool.rs", "use codegen::plan::Plan;").is_empty());
}

#[test]
fn a_file_that_no_root_lists_is_found() {
    assert_eq!(
        complaints("codegen/src/orphan.rs", ""),
        ["codegen/src/orphan.rs:1: the crate's root file lists no module `orphan`"]
    );
}
