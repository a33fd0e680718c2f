//! Kernels of several products through registers, with one plane wrong at a time.

use super::pipeline::{change, planned};
use super::refusal;
use crate::certify::{certify, computed_of, guards_of};
use crate::ir::tile::{Kernel, Op, Place, TileId, View};
use crate::lower;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;

/// Asynchronous copies into a ring.
const MULTISTAGE: &str = "
kernel: swiglu
name: swiglu_multistage
arch: sm_80
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(h,p,k):(s1b,s2b,1)' }
  d: { dtype: bf16, layout: '(m,h):(ldd,1)' }
modes: { p: 2 }
compute: |
  acc[m,h,p] = sum[k] a[m,k] * b[h,p,k]
  d[m,h] = silu(acc[m,h,0]) * acc[m,h,1]
cta_tile: '(64,32,32)'
";
/// Elements through registers, the planes innermost.
const SYNCHRONOUS: &str = "
kernel: swiglu
name: swiglu_synchronous
arch: sm_70
operands:
  a: { dtype: f16, layout: '(m,k):(rsa,csa)' }
  b: { dtype: f16, layout: '(h,p,k):(s1b,1,s3b)' }
  d: { dtype: f32, layout: '(m,h):(rsd,csd)' }
modes: { p: 3 }
compute: |
  acc[m,h,p] = sum[k] a[m,k] * b[h,p,k]
  d[m,h] = acc[m,h,0] * acc[m,h,1] - acc[m,h,2]
cta_tile: '(16,16,16)'
";
const ALL: [&str; 2] = [MULTISTAGE, SYNCHRONOUS];

/// A fault: whether it could be planted.
type Fault = fn(&Kernel, &mut Op) -> bool;

/// The tile of that plane in global memory.
fn gmem(kernel: &Kernel, plane: i64) -> TileId {
    let is = |place: &Place| matches!(place, Place::Gmem(_, Some(one)) if *one == plane);
    let mut tiles = kernel.tiles.iter();
    TileId(tiles.position(|tile| is(&tile.place)).unwrap())
}

const FAULTS: [(&str, Fault); 3] = [
    ("the first plane loaded for the second", |kernel, op| {
        let [first, second] = [0, 1].map(|plane| gmem(kernel, plane));
        match op {
            Op::Copy { from, .. } if from.tile() == second => {
                *from = View::Gmem(first);
                true
            }
            _ => false,
        }
    }),
    ("sums of the other plane", |kernel, op| match op {
        Op::Mma { acc, .. } => {
            let second = kernel.tiles.iter().position(|tile| tile.name == "acc_1");
            *acc = vec![TileId(second.unwrap())];
            true
        }
        _ => false,
    }),
    (
        "fragments of a plane loaded from another's slot",
        |kernel, op| {
            let is = |tile: TileId, name: &str| {
                let tile = &kernel.tiles[tile.0];
                tile.name == name && matches!(tile.place, Place::Smem(_))
            };
            let other = (0..kernel.tiles.len())
                .map(TileId)
                .find(|tile| is(*tile, "b_1"));
            match op {
                Op::Copy {
                    from: View::Smem(from, ..),
                    ..
                } if is(*from, "b_0") => {
                    *from = other.unwrap();
                    true
                }
                _ => false,
            }
        },
    ),
];

fn guarded(plan: &Plan, kernel: &Kernel) -> crate::error::Result<()> {
    let program = lower::lower(plan, kernel).unwrap();
    guards_of(plan, &program).map(|_| ())
}

#[test]
fn right_kernels_of_planes_are_certified() {
    for text in ALL {
        let (plan, kernel) = planned(text);
        let program = lower::lower(&plan, &kernel).unwrap();
        certify(&plan, &kernel, &program).unwrap();
        guarded(&plan, &kernel).unwrap();
    }
}

#[test]
fn products_of_the_wrong_plane_are_refused() {
    for text in ALL {
        for (name, plant) in FAULTS {
            let (plan, kernel) = planned(text);
            let mut wrong = kernel.clone();
            let planted = change(&mut wrong, Team::All, &mut |ops| {
                ops.iter_mut().any(|op| plant(&kernel, op))
            });
            assert!(planted, "{name}");
            let message = refusal(computed_of(&plan, &wrong));
            assert!(message.contains("data: "), "{name}: {message}");
        }
    }
}

#[test]
fn planes_behind_the_last_are_no_elements() {
    for text in ALL {
        let (plan, mut kernel) = planned(text);
        let second = gmem(&kernel, 1);
        let Place::Gmem(operand, _) = kernel.tiles[second.0].place else {
            return;
        };
        let planes = plan.planes();
        kernel.tiles[second.0].place = Place::Gmem(operand, Some(planes));
        let message = refusal(guarded(&plan, &kernel));
        assert!(message.contains("to the end of p"), "{message}");
    }
}

#[test]
fn vectors_of_planes_need_the_planes_stride() {
    let (mut plan, kernel) = planned(MULTISTAGE);
    plan.assumptions
        .retain(|one| !matches!(one, Assumption::StrideMultiple { stride, .. } if stride == "s2b"));
    let program = lower::lower(&plan, &kernel).unwrap();
    let message = refusal(certify(&plan, &kernel, &program));
    assert!(message.contains("aligned to 16 bytes"), "{message}");
}
