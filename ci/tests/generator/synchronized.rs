//! What a plan chooses to synchronize by is what its program calls: nothing is missing, and nothing
//! is chosen in vain.

use std::collections::BTreeSet;

use tilewright_codegen::atoms::model::Kind;
use tilewright_codegen::ir::program::Stmt;
use tilewright_codegen::{ir, lower, plan};

use crate::shipped;

/// The ids of all synchronization atoms of those statements.
fn called(body: &[Stmt], ids: &mut BTreeSet<String>) {
    for statement in body {
        match statement {
            Stmt::Atom { atom, .. } if atom.kind == Kind::Sync => {
                ids.insert(atom.id.clone());
            }
            Stmt::For { body, .. } => called(body, ids),
            Stmt::If {
                then, otherwise, ..
            } => [then, otherwise]
                .into_iter()
                .for_each(|body| called(body, ids)),
            _ => {}
        }
    }
}

#[test]
fn programs_call_what_plans_choose() {
    let points = [shipped::points(), shipped::ladder()].concat();
    let calls = shipped::on_each(&points, |point| {
        let plan = plan::plan(point).unwrap();
        let program = lower::lower(&plan, &ir::build::build(&plan).unwrap()).unwrap();
        let mut ids = BTreeSet::new();
        called(&program.body, &mut ids);
        let chosen: BTreeSet<String> = plan.sync.values().map(|atom| atom.id.clone()).collect();
        assert_eq!(ids, chosen, "{}", point.id);
        ids
    });
    let all: BTreeSet<String> = calls.into_iter().flatten().collect();
    assert!(all.len() > 20, "only {all:?} are called");
}
