//! The pipeline of a warp-specialized kernel with one thing wrong at a time.

use std::sync::Arc;

use super::refusal;
use crate::atoms::model::RegType;
use crate::dtype::DType;
use crate::element::Packing;
use crate::ir::tile::{End, Kernel, Op, PipeId, Sync, Trips, View, WHOLE};
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;
use crate::plan::instructions::casts::zero;
use crate::{certify, ir, lower, plan, spec};

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
    planned(&text)
}

/// The plan of a spec's text, and the kernel in tiles.
pub(super) fn planned(text: &str) -> (Plan, Kernel) {
    let file = spec::parse("-", text).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let kernel = ir::tile::build::build(&plan).unwrap();
    (plan, kernel)
}

/// The plan of a spec's text, of a kernel that has a certificate and no access unproved.
pub(super) fn certified(name: &str, text: &str) -> (Plan, certify::Certificate) {
    let (plan, kernel) = planned(text);
    let program = lower::lower(&plan, &kernel).unwrap();
    let certificate = certify::certify(&plan, &kernel, &program);
    let certificate = certificate.unwrap_or_else(|error| panic!("{name}: {}", error.report(false)));
    certify::guards_of(&plan, &program).unwrap_or_else(|error| panic!("{name}: {error}"));
    (plan, certificate)
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

pub(super) fn judge(plan: &Plan, kernel: &Kernel) -> crate::error::Result<certify::Certificate> {
    let program = lower::lower(plan, &ir::tile::build::build(plan).unwrap()).unwrap();
    certify::certify(plan, kernel, &program)
}

/// Changes the operations of one team's body, at any depth, until one is changed.
pub(super) fn change(
    kernel: &mut Kernel,
    team: Team,
    at: &mut impl FnMut(&mut Vec<Op>) -> bool,
) -> bool {
    fn walk(ops: &mut Vec<Op>, at: &mut impl FnMut(&mut Vec<Op>) -> bool) -> bool {
        at(ops)
            || ops.iter_mut().any(|op| match op {
                Op::ForEachWorkTile(body) | Op::ForEachPartial(body) | Op::ForEachKTile(body) => {
                    walk(body, at)
                }
                Op::IfBoxesEnd(way, other)
                | Op::IfInside(way, other)
                | Op::IfVectors(way, other)
                | Op::ForEachChunk(_, way, other)
                | Op::IfContinues(way, other) => walk(way, at) || walk(other, at),
                _ => false,
            })
    }
    let teams = kernel.body.iter_mut().find_map(|op| match op {
        Op::Teams(teams) => Some(teams),
        _ => None,
    });
    match teams {
        Some(teams) => {
            let body = teams.iter_mut().find(|(other, _)| *other == team);
            body.is_some_and(|(_, body)| walk(body, at))
        }
        None => walk(&mut kernel.body, at),
    }
}

/// The pipe of that name.
pub(super) fn pipe(kernel: &Kernel, name: &str) -> PipeId {
    let at = kernel.pipes.iter().position(|pipe| pipe.name == name);
    at.map_or(PipeId(usize::MAX), PipeId)
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
    let newer = |text: &str| planned(&text.replace("arch: sm_80", "arch: sm_90"));
    let plainly = |text: &str| newer(&format!("{text}scheduler: {{ launch: plain }}\n"));
    let alike = ALIKE.map(|text| (newer(text), plainly(text)));
    let roles = (right(KINDS[0]), right("scheduler: { launch: plain }"));
    for ((plan, kernel), (plain, _)) in alike.into_iter().chain([roles]) {
        let follow = |op: &Op| *op == Op::Sync(Sync::Follow);
        let at = kernel.body.iter().position(follow).unwrap();
        let mut without = kernel.clone();
        without.body.remove(at);
        let mut late = without.clone();
        late.body.push(Op::Sync(Sync::Follow));
        for wrong in [without, late] {
            let message = refusal(judge(&plan, &wrong));
            assert!(
                message.contains("has waited for the kernel before it"),
                "{message}"
            );
        }
        let message = refusal(judge(&plain, &kernel));
        assert!(message.contains("ends before it is launched"), "{message}");
    }
}

#[test]
fn right_pipelines_are_certified() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        assert!(judge(&plan, &kernel).unwrap().pipeline_runs >= 24, "{more}");
    }
}

/// Kernels whose threads all do the same.
pub(super) const ALIKE: [&str; 4] = [
    super::GEMM,
    "kernel: gemm
name: gemm_alike
arch: sm_80
operands:
  a: { dtype: f32, layout: '(m,k):(lda,1)' }
  b: { dtype: f32, layout: '(n,k):(1,ldb)' }
  d: { dtype: f32, layout: '(m,n):(ldd,1)' }
accumulator: f32
cta_tile: '(64,64,16)'
",
    "kernel: copy
name: copy_alike
arch: sm_80
operands:
  s: { dtype: f32, layout: '(m,n):(lds,1)' }
  d: { dtype: f32, layout: '(m,n):(1,ldd)' }
cta_tile: '(32,32)'
",
    "kernel: copy
name: copy_alike
arch: sm_80
operands:
  s: { dtype: f32, layout: '(m,n):(lds,1)' }
  d: { dtype: f32, layout: '(m,n):(ldd,1)' }
cta_tile: '(32,32)'
copy: { s: { g2s: auto, s2r: auto } }
",
];

/// Every operation on the pipes of a team's body: each once.
fn syncs(kernel: &Kernel, team: Team) -> Vec<Op> {
    let mut all = Vec::new();
    change(&mut kernel.clone(), team, &mut |ops| {
        all.extend(ops.iter().filter(|op| matches!(op, Op::Sync(_))).cloned());
        false
    });
    all.dedup();
    all.sort_by_key(|op| format!("{op:?}"));
    all.dedup();
    all
}

#[test]
fn any_synchronization_dropped_is_found() {
    let roles = KINDS.map(right).into_iter();
    for (plan, kernel) in roles.chain(ALIKE.map(planned)) {
        assert!(found_if_dropped(&plan, &kernel, |_| true) > 0, "{kernel}");
    }
}

/// How many synchronizations of a kernel were dropped, of those asked for: each is found missing.
pub(super) fn found_if_dropped(
    plan: &Plan,
    kernel: &Kernel,
    asked: impl Fn(Sync) -> bool,
) -> usize {
    let mut tried = 0;
    for team in kernel.teams.iter().map(|members| members.team) {
        let own = |op: &Op| matches!(op, Op::Sync(sync) if asked(*sync));
        for op in syncs(kernel, team).into_iter().filter(own) {
            let broken = without(kernel, team, &op).unwrap();
            let message = match judge(plan, &broken) {
                Err(error) => error.report(false),
                Ok(_) => panic!("{op:?} of {team} is dropped from\n{kernel}"),
            };
            assert!(message.contains("pipeline:"), "{op:?}: {message}");
            tried += 1;
        }
    }
    tried
}

#[test]
fn what_tells_or_moves_twice_is_found() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        let (ring, turns) = (pipe(&kernel, "ring"), pipe(&kernel, "turns"));
        let (producer, consumers) = (Team::Producer, Team::Consumers);
        let broken = [
            twice(&kernel, producer, &Op::Sync(Sync::Arm(ring))),
            twice(
                &kernel,
                producer,
                &Op::Sync(Sync::Skip(ring, End::Fill, Trips::One)),
            ),
            twice(&kernel, consumers, &Op::Sync(Sync::Release(ring, 1))),
            twice(&kernel, consumers, &Op::Sync(Sync::Commit(turns))),
        ];
        assert!(broken.iter().flatten().count() >= 2, "{more}");
        for kernel in broken.iter().flatten() {
            let message = refusal(judge(&plan, kernel));
            assert!(message.contains("pipeline:"), "{message}\n{kernel}");
        }
    }
}

#[test]
fn accumulators_are_not_touched_before_their_products_are_done() {
    let (plan, mut kernel) = right(KINDS[0]);
    let products = pipe(&kernel, "products");
    let acc = kernel.pipes[products.0].tiles[0];
    let zero = Op::Map {
        to: View::Rmem(acc, 0),
        from: Vec::new(),
        element: Arc::new(zero(Packing {
            dtype: DType::F32,
            ty: RegType::F32,
        })),
        share: WHOLE,
    };
    let changed = change(&mut kernel, Team::Consumers, &mut |ops| {
        let drain = Op::Sync(Sync::Drain(products));
        let at = ops.iter().position(|op| *op == drain);
        at.map(|at| ops.insert(at, zero.clone())).is_some()
    });
    assert!(changed);
    let message = refusal(judge(&plan, &kernel));
    assert!(message.contains("touches accumulators"), "{message}");
}

#[test]
fn an_operation_that_belongs_to_no_team_is_refused() {
    for stranger in [Op::Sync(Sync::Meet), Op::InitPipes] {
        let (plan, mut kernel) = right(KINDS[0]);
        change(&mut kernel, Team::Consumers, &mut |ops| {
            ops.insert(0, stranger.clone());
            true
        });
        let message = refusal(judge(&plan, &kernel));
        assert!(message.contains("is no operation of a team"), "{message}");
    }
}

#[test]
fn a_slot_given_back_on_one_way_of_a_branch_is_refused() {
    let (plan, mut kernel) = right(KINDS[0]);
    let release = Op::Sync(Sync::Release(pipe(&kernel, "ring"), 1));
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
fn partial_sums_pass_by_their_flags_in_order() {
    let (plan, kernel) = right(KINDS[5]);
    let partials = pipe(&kernel, "partials");
    let acc = kernel.pipes[pipe(&kernel, "products").0].tiles[0];
    let [store, add] = [
        Op::StorePartial(acc, partials),
        Op::AddPartial(acc, partials),
    ];
    for (op, wanted) in [
        (&store, "raises its flag without partial sums"),
        (&add, "clears a flag whose partial sums it has not added"),
    ] {
        let without = without(&kernel, Team::Consumers, op).unwrap();
        let message = refusal(judge(&plan, &without));
        assert!(message.contains(wanted), "{message}");
    }
    let again = twice(&kernel, Team::Consumers, &add).unwrap();
    let message = refusal(judge(&plan, &again));
    assert!(message.contains("adds partial sums twice"), "{message}");
}

#[test]
fn who_continues_a_tile_waits_for_nobody() {
    let (plan, mut kernel) = right(KINDS[5]);
    let wait = Op::Sync(Sync::Await(pipe(&kernel, "partials"), 0));
    let changed = change(&mut kernel, Team::Consumers, &mut |ops| {
        let continues = ops.iter_mut().find_map(|op| match op {
            Op::IfContinues(continues, _) => Some(continues),
            _ => None,
        });
        continues.map(|ops| ops.insert(0, wait.clone())).is_some()
    });
    assert!(changed);
    let message = refusal(judge(&plan, &kernel));
    assert!(
        message.contains("waits for partial sums as it gives"),
        "{message}"
    );
}

#[test]
fn a_wrong_count_names_who_waits() {
    let (mut plan, _) = right(KINDS[0]);
    plan.roles.as_mut().unwrap().pipes[0].ring.empty_arrivals += 1;
    let kernel = ir::tile::build::build(&plan).unwrap();
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
    plan.roles.as_mut().unwrap().pipes[0].ring.bytes += 16;
    let message = refusal(judge(&plan, &kernel));
    assert!(
        message.contains("bring 32768 bytes, its barrier waits for 32784"),
        "{message}"
    );
}
