//! The pipeline of a warp-specialized kernel with one thing wrong at a time.

use super::refusal;
use crate::certify;
use crate::ir::tile::{Kernel, Op, Slot, Team};
use crate::plan::model::Plan;
use crate::{ir, lower, plan, spec};

pub(super) fn right(more: &str) -> (Plan, Kernel) {
    let text = format!(
        "
kernel: gemm
name: gemm_roles
arch: sm_90a
operands:
  a: {{ dtype: bf16, layout: '(m,k):(lda,1)' }}
  b: {{ dtype: bf16, layout: '(n,k):(ldb,1)' }}
  d: {{ dtype: bf16, layout: '(m,n):(ldd,1)' }}
accumulator: f32
cta_tile: '(128,128,64)'
{more}
"
    );
    let file = spec::parse("-", &text).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let kernel = ir::build::build(&plan).unwrap();
    (plan, kernel)
}

pub(super) const KINDS: [&str; 7] = [
    "pipeline: { stages: 3 }",
    "pipeline: { stages: 3, in_flight: 0 }",
    "cluster: '(2,1,1)'\npipeline: { stages: 4 }",
    "pipeline: { stages: 3, schedule: pingpong }",
    "pipeline: { stages: 3, schedule: cooperative }\ncopy: { d: { r2g: auto } }",
    "pipeline: { stages: 3, schedule: cooperative }\nscheduler: { kind: stream_k }",
    "pipeline: { stages: 3, schedule: pingpong }\nscheduler: { kind: stream_k }",
];

fn judge(plan: &Plan, kernel: &Kernel) -> crate::error::Result<certify::Certificate> {
    let program = lower::lower(plan, &ir::build::build(plan).unwrap()).unwrap();
    certify::certify(plan, kernel, &program)
}

/// Changes the operations of one team's body, at any depth, until one is changed.
fn change(kernel: &mut Kernel, team: Team, at: &mut impl FnMut(&mut Vec<Op>) -> bool) -> bool {
    fn walk(ops: &mut Vec<Op>, at: &mut impl FnMut(&mut Vec<Op>) -> bool) -> bool {
        at(ops)
            || ops.iter_mut().any(|op| match op {
                Op::ForEachTile(body) | Op::ForEachPiece(body) | Op::ForEachKTile(body) => {
                    walk(body, at)
                }
                _ => false,
            })
    }
    let roles = kernel.body.iter_mut().find_map(|op| match op {
        Op::Roles(roles) => Some(roles),
        _ => None,
    });
    let role = roles.unwrap().iter_mut().find(|role| role.team == team);
    walk(&mut role.unwrap().body, at)
}

pub(super) fn without(kernel: &Kernel, team: Team, gone: &Op) -> Option<Kernel> {
    let mut kernel = kernel.clone();
    let changed = change(&mut kernel, team, &mut |ops| {
        let at = ops.iter().position(|op| op == gone);
        at.map(|at| ops.remove(at)).is_some()
    });
    changed.then_some(kernel)
}

fn twice(kernel: &Kernel, team: Team, again: &Op) -> Option<Kernel> {
    let mut kernel = kernel.clone();
    let changed = change(&mut kernel, team, &mut |ops| {
        let at = ops.iter().position(|op| op == again);
        at.map(|at| ops.insert(at, again.clone())).is_some()
    });
    changed.then_some(kernel)
}

#[test]
fn a_kernel_launched_early_follows_the_one_before_it_first() {
    let (plan, kernel) = right(KINDS[0]);
    let follow = |op: &Op| *op == Op::FollowGrid;
    let at = kernel.body.iter().position(follow).unwrap();
    let mut without = kernel.clone();
    without.body.remove(at);
    let mut late = without.clone();
    late.body.push(Op::FollowGrid);
    for wrong in [without, late] {
        let message = refusal(judge(&plan, &wrong));
        assert!(
            message.contains("has waited for the kernel before it"),
            "{message}"
        );
    }
    let (plan, _) = right("scheduler: { launch: plain }");
    let message = refusal(judge(&plan, &kernel));
    assert!(message.contains("ends before it is launched"), "{message}");
}

#[test]
fn right_pipelines_are_certified() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        assert!(judge(&plan, &kernel).unwrap().pipeline_runs >= 24, "{more}");
    }
}

#[test]
fn an_operation_dropped_or_doubled_is_found() {
    use crate::ir::tile::Distance;
    let (producer, consumers) = (Team::Producer, Team::Consumers);
    let previous = Op::Release(Slot::Previous);
    for more in KINDS {
        let (plan, kernel) = right(more);
        let broken = [
            without(&kernel, producer, &Op::Acquire),
            without(&kernel, producer, &Op::Arm),
            without(&kernel, producer, &Op::Advance(Distance::Slot)),
            without(&kernel, consumers, &Op::Await),
            without(&kernel, consumers, &previous),
            without(&kernel, consumers, &Op::Release(Slot::Current)),
            without(&kernel, consumers, &Op::MmaWait(0)),
            without(&kernel, consumers, &Op::MmaWait(1)),
            without(&kernel, consumers, &Op::Advance(Distance::Slot)),
            without(&kernel, consumers, &Op::Advance(Distance::Tile)),
            without(&kernel, consumers, &Op::Advance(Distance::Turns)),
            without(&kernel, consumers, &Op::Advance(Distance::Piece)),
            without(&kernel, consumers, &Op::PassTurn),
            twice(&kernel, producer, &Op::Arm),
            twice(&kernel, producer, &Op::Advance(Distance::Slot)),
            twice(&kernel, consumers, &previous),
            twice(&kernel, consumers, &Op::PassTurn),
        ];
        assert!(broken.iter().flatten().count() >= 9, "{more}");
        for kernel in broken.iter().flatten() {
            let message = refusal(judge(&plan, kernel));
            assert!(message.contains("pipeline:"), "{message}\n{kernel}");
        }
    }
}

#[test]
fn an_operation_that_belongs_to_no_role_is_refused() {
    for stranger in [Op::Barrier, Op::Wait(0), Op::NextTile, Op::InitBarriers] {
        let (plan, mut kernel) = right(KINDS[0]);
        change(&mut kernel, Team::Consumers, &mut |ops| {
            ops.insert(0, stranger.clone());
            true
        });
        let message = refusal(judge(&plan, &kernel));
        assert!(message.contains("is no operation of a role"), "{message}");
    }
}

#[test]
fn a_slot_given_back_on_one_way_of_a_branch_is_refused() {
    let (plan, mut kernel) = right(KINDS[0]);
    let release = Op::Release(Slot::Previous);
    let changed = change(&mut kernel, Team::Consumers, &mut |ops| {
        let at = ops.iter().position(|op| *op == release);
        at.map(|at| ops[at] = Op::IfInside(vec![release.clone()], Vec::new()))
            .is_some()
    });
    assert!(changed);
    let message = refusal(judge(&plan, &kernel));
    assert!(message.contains("one way of a branch only"), "{message}");
}

#[test]
fn a_wrong_count_names_who_waits() {
    let (mut plan, kernel) = right(KINDS[0]);
    plan.roles.as_mut().unwrap().ring.empty_arrivals += 1;
    let message = refusal(judge(&plan, &kernel));
    assert!(message.contains("deadlock"), "{message}");
    assert!(
        message.contains(
            "the producer of CTA 0 waits for slot 0 to be empty at the end (1 of 9 arrivals"
        ),
        "{message}"
    );
}

#[test]
fn bytes_that_do_not_come_are_found() {
    let (mut plan, kernel) = right(KINDS[0]);
    plan.roles.as_mut().unwrap().ring.bytes += 16;
    let message = refusal(judge(&plan, &kernel));
    assert!(
        message.contains("bring 32768 bytes, its barrier waits for 32784"),
        "{message}"
    );
}
