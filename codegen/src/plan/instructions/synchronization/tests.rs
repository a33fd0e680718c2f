//! Atoms of synchronization come from the catalogue by their facts alone: what it lacks is a
//! violated limit, what it has anew is taken without a change of code.
#![allow(clippy::panic, clippy::unwrap_used)]

use crate::atoms::Catalogue;
use crate::atoms::sync::{Act, Scope, SyncFacts};
use crate::atoms::tests::syncs::edited;
use crate::error::Error;
use crate::plan::attempt::attempt;
use crate::plan::data::model::Plan;
use crate::spec;

const ROLES: &str = include_str!("../../../../../ci/data/specs_golden/gemm/small_roles.yaml");
const TN: &str = include_str!("../../../../../ci/data/specs_golden/gemm/small_tn.yaml");

fn planned(spec: &str, catalogue: &Catalogue) -> Result<Plan, Vec<String>> {
    let file = spec::parse("-", spec).unwrap();
    match attempt(&file.points[0], catalogue) {
        Ok(plan) => Ok(plan),
        Err(Error::Plan { violations, .. }) => Err(violations
            .iter()
            .map(|one| format!("[{}] {} {:?}", one.code, one.message, one.keys))
            .collect()),
        Err(other) => panic!("{other}"),
    }
}

/// An edit that makes records of those facts do something else.
fn hidden(facts: &str) -> (String, String) {
    (
        format!("sync: {{ {facts}"),
        format!("sync: {{ space: rmem, {facts}"),
    )
}

/// A record of those facts for that architecture.
fn record(id: &str, facts: &str, operands: &str, needs: &str) -> String {
    format!(
        "- {{ id: {id}, kind: sync, sync: {{ {facts} }}, operands: [{operands}], align_bytes: 8, \
         {needs}, min_ptx: 80, source: s, emit: {{ template: t }} }}\n"
    )
}

const GROUPS: &str = "{ name: groups, is: imm }";
const COPIES: &str = "does: await_copies, scope: thread";

#[test]
fn everything_lacking_is_told_at_once() {
    let edits = ["does: mbarrier_init", "does: launch_grids", "does: arrive"].map(hidden);
    let catalogue = edited(&edits, "[]");
    let found = planned(ROLES, &catalogue).unwrap_err();
    assert_eq!(
        found,
        [
            "[no-sync-atom] pipeline.schedule cooperative or pingpong needs an instruction that \
             makes an mbarrier (CTA), arch sm_90a has none: use pipeline.schedule multistage \
             [\"pipeline.schedule\", \"arch\"]",
            "[no-sync-atom] a cluster of several CTAs needs an instruction that arrives at the \
             barrier of all threads (cluster), arch sm_90a has none: use cluster (1,1,1) \
             [\"cluster\", \"arch\"]",
            "[no-sync-atom] scheduler.launch programmatic needs an instruction that lets the next \
             grids be launched (GPU), arch sm_90a has none: use scheduler.launch plain \
             [\"scheduler.launch\", \"arch\"]",
        ]
    );
    // A kernel that does without them is planned.
    assert!(planned(TN, &catalogue).is_ok());
}

#[test]
fn the_architectures_that_have_it_are_told() {
    let later = record("later", COPIES, GROUPS, "min_sm: 90");
    let found = planned(TN, &edited(&[hidden(COPIES)], &later)).unwrap_err();
    assert_eq!(
        found,
        [
            "[no-sync-atom] an asynchronous copy (g2s) needs an instruction that waits for groups \
             of asynchronous copies (thread), arch sm_80 has none: use arch sm_90 or sm_90a, or \
             copies through registers (g2r) [\"arch\"]"
        ]
    );
}

#[test]
fn a_later_architectures_instruction_is_a_record() {
    let wait = SyncFacts::of(Act::MbarrierAwait, Scope::Cta);
    let facts = "does: mbarrier_await, scope: cta";
    let turned = "{ name: parity, is: int }, { name: barrier, is: address, space: smem }";
    let exact = record("turned", facts, turned, "min_sm: 90, exact: true");
    let newer = record("newer", facts, turned, "min_sm: 100");
    let plan = planned(ROLES, &edited(&[], &(exact + &newer))).unwrap();
    assert_eq!(plan.sync[&wait].id, "turned");
    let choice = plan.choices.iter().find(|one| one.taken == "turned");
    assert_eq!(
        choice.unwrap().to_string(),
        "what waits for an mbarrier (CTA): turned\n  not newer: newer needs sm_100, the arch is \
         sm_90a [atom-arch]"
    );
    // Lowering gives arguments by name, whatever their order.
    let program =
        crate::lower::lower(&plan, &crate::ir::tile::build::build(&plan).unwrap()).unwrap();
    let calls = program.to_string();
    let calls: Vec<_> = calls
        .lines()
        .filter(|line| line.contains("turned "))
        .collect();
    assert!(calls.len() > 2 && !program.to_string().contains("sm90_mbarrier_wait"));
    assert!(
        calls
            .iter()
            .all(|call| call.trim().starts_with("turned parity"))
    );
}
