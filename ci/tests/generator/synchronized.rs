//! What a plan chooses to synchronize by is what its program calls: nothing is missing, and nothing
//! is chosen in vain.

use std::collections::BTreeSet;

use tilewright_codegen::atoms::model::Kind;
use tilewright_codegen::ir::thread::program::Stmt;
use tilewright_codegen::spec::{self, Point};
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

/// The ids that a point's program calls, which are those that its plan chose; `None` where there is
/// no plan.
fn agreed(point: &Point) -> Option<BTreeSet<String>> {
    let plan = plan::plan(point).ok()?;
    let program = lower::lower(&plan, &ir::tile::build::build(&plan).unwrap()).unwrap();
    let mut ids = BTreeSet::new();
    called(&program.body, &mut ids);
    let chosen: BTreeSet<String> = plan.sync.values().map(|atom| atom.id.clone()).collect();
    assert_eq!(ids, chosen, "{}", point.id);
    Some(ids)
}

#[test]
fn shipped_programs_call_what_plans_choose() {
    let points = [shipped::points(), shipped::ladder()].concat();
    let calls = shipped::on_each(&points, |point| agreed(point).unwrap());
    let all: BTreeSet<String> = calls.into_iter().flatten().collect();
    assert!(all.len() > 20, "only {all:?} are called");
}

/// A warp-specialized gemm; what asks for synchronization of its own follows.
const ROLES: &str = "
kernel: gemm
name: gemm_synchronized
arch: sm_90a
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
accumulator: f32
";

/// Every combination of what asks for it.
fn specs() -> Vec<String> {
    let keys = [
        [
            "cta_tile: '(128,64,64)'\npipeline: { schedule: cooperative, stages: 2 }",
            "cta_tile: '(64,64,64)'\npipeline: { schedule: pingpong, stages: 2 }",
            "cta_tile: '(64,64,64)'\npipeline: { schedule: cooperative, stages: 2 }",
        ],
        ["", "cluster: '(2,1,1)'", "cluster: '(1,2,1)'"],
        [
            "scheduler: { kind: single, launch: plain }",
            "scheduler: { kind: persistent, launch: programmatic }",
            "scheduler: { kind: stream_k, launch: plain }",
        ],
        [
            "",
            "copy: { d: { r2g: auto } }",
            "copy: { d: { r2s: auto, s2g: auto } }",
        ],
    ];
    keys.iter().fold(vec![ROLES.to_owned()], |specs, values| {
        let with = |spec: String| values.map(|value| format!("{spec}{value}\n"));
        specs.into_iter().flat_map(with).collect()
    })
}

#[test]
fn every_combination_calls_what_its_plan_chooses() {
    let points: Vec<Point> = specs()
        .iter()
        .flat_map(|text| spec::parse("-", text).unwrap().points)
        .collect();
    let calls = shipped::on_each(&points, agreed);
    let ways: BTreeSet<_> = calls.into_iter().flatten().collect();
    // Without a cluster, turns add nothing to boxes or to stream-k: three ways with boxes, five
    // from registers. With one they always add a barrier: six of each.
    assert_eq!(ways.len(), 3 + 5 + 6 + 6, "{ways:#?}");
}
