//! What boxes bring to an epilogue, with one thing wrong at a time.

use super::pipeline::{change, found_if_dropped, judge, pipe, planned, without};
use super::refusal;
use crate::ir::tile::{End, Kernel, Op, Stage, Sync, View};
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;

fn right(more: &str) -> (Plan, Kernel) {
    planned(&format!(
        "
kernel: residual
name: residual_ahead
arch: sm_90a
operands:
  a: {{ dtype: bf16, layout: '(m,k):(lda,1)' }}
  b: {{ dtype: bf16, layout: '(n,k):(ldb,1)' }}
  c: {{ dtype: bf16, layout: '(m,n):(ldc,1)' }}
  r: {{ dtype: f32, layout: '(m,n):(ldr,1)' }}
  d: {{ dtype: bf16, layout: '(m,n):(ldd,1)' }}
compute: |
  acc[m,n] = sum[k] a[m,k] * b[n,k]
  d[m,n] = acc[m,n] * r[m,n] + c[m,n]
cta_tile: '(128,64,64)'
{more}
"
    ))
}

const KINDS: [&str; 4] = [
    "pipeline: { stages: 3, schedule: pingpong }\ncopy: { c: { g2s: auto } }",
    "pipeline: { stages: 3, schedule: cooperative }\ncopy: { c: { g2s: auto }, r: { g2s: auto } }",
    "pipeline: { stages: 4, schedule: pingpong }\ncluster: '(2,1,1)'\ncopy: { r: { s2r: auto } }",
    "pipeline: { stages: 2, schedule: cooperative }\ncopy: { r: { g2s: auto }, d: { r2g: auto } }",
];

/// The reads of slots that are loaded for the epilogue.
fn is_read(op: &Op) -> bool {
    matches!(
        op,
        Op::Copy {
            from: View::Smem(_, Stage::At(End::Empty), None),
            to: View::Rmem(..),
            ..
        }
    )
}

#[test]
fn kernels_that_load_ahead_are_certified() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        let certificate = judge(&plan, &kernel).unwrap_or_else(|error| panic!("{more}\n{error}"));
        assert!(certificate.pipeline_runs >= 24, "{more}");
        let epilogue_loads = &kernel.pipes[pipe(&kernel, "ahead").0];
        let pingpong = more.contains("pingpong");
        assert_eq!(epilogue_loads.slots, if pingpong { 2 } else { 1 }, "{more}");
    }
}

#[test]
fn any_synchronization_dropped_is_found() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        let epilogue_loads = pipe(&kernel, "ahead");
        let tried = found_if_dropped(&plan, &kernel, |sync| sync.pipe() == Some(epilogue_loads));
        assert!(tried >= 7, "{more}: {tried}");
    }
}

#[test]
fn a_slot_is_read_between_its_wait_and_its_release() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        let epilogue_loads = pipe(&kernel, "ahead");
        let release = Op::Sync(Sync::Release(epilogue_loads, 0));
        let mut early = without(&kernel, Team::Consumers, &release).unwrap();
        let wait = Op::Sync(Sync::Await(epilogue_loads, 0));
        assert!(change(&mut early, Team::Consumers, &mut |ops| {
            let at = ops.iter().position(|op| *op == wait);
            at.map(|at| ops.insert(at + 1, release.clone())).is_some()
        }));
        let message = refusal(judge(&plan, &early));
        assert!(message.contains("reads slot 0 unawaited"), "{message}");
    }
}

#[test]
fn what_is_not_read_or_is_another_operands_is_found() {
    for more in KINDS {
        let (plan, kernel) = right(more);
        let mut unread = kernel.clone();
        assert!(change(&mut unread, Team::Consumers, &mut |ops| {
            let at = ops.iter().position(is_read);
            at.map(|at| ops.remove(at)).is_some()
        }));
        refusal(judge(&plan, &unread));
        let mut other = kernel.clone();
        let d = kernel.tiles.iter().position(|tile| tile.name == "d");
        assert!(change(&mut other, Team::Producer, &mut |ops| {
            let into = |view: &View| kernel.pipe_of(view.tile()) == Some(pipe(&kernel, "ahead"));
            ops.iter_mut().any(|op| match op {
                Op::Copy { from, to, .. } if into(to) => {
                    *from = View::Gmem(crate::ir::tile::TileId(d.unwrap()));
                    true
                }
                _ => false,
            })
        }));
        refusal(judge(&plan, &other));
    }
}

#[test]
fn bytes_that_do_not_come_are_found() {
    let (mut plan, kernel) = right(KINDS[0]);
    let roles = plan.roles.as_mut().unwrap();
    roles.pipes[1].ring.bytes += 16;
    let message = refusal(judge(&plan, &kernel));
    assert!(
        message.contains("bring 16384 bytes, its barrier waits for 16400"),
        "{message}"
    );
}
