//! Products whose epilogue folds results along the columns, with one thing of a fold wrong at a
//! time.

use super::interpret::{drop_op, one};
use super::pipeline::planned;
use super::refusal;
use crate::certify::{certify, computed_of, guards_of};
use crate::ir::tile::{Bounds, Kernel, Op, View};
use crate::lower;
use crate::plan::data::model::Plan;

/// All columns, a named number of them, folded twice.
const WHOLE: &str = "
kernel: softmax
name: softmax_fma
arch: sm_70
operands:
  a: { dtype: f32, layout: '(m,k):(rsa,csa)' }
  b: { dtype: f32, layout: '(n,k):(rsb,csb)' }
  d: { dtype: f32, layout: '(m,n):(rsd,csd)' }
compute: |
  acc[m,n] = sum[k] a[m,k] * b[n,k]
  t[m] = max[n] acc[m,n]
  e[m,n] = exp(acc[m,n] - t[m])
  z[m] = sum[n] e[m,n]
  d[m,n] = e[m,n] / z[m]
cta_tile: '(16,32,16)'
";
/// Blocks of columns, by tensor cores.
const BLOCKS: &str = "
kernel: quantized
name: quantized_multistage
arch: sm_89
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(i,g,k):(s1b,s2b,1)' }
  s: { dtype: f32, layout: '(m,g):(lds,1)' }
  d: { dtype: e4m3, layout: '(m,g,i):(s1d,s2d,1)' }
modes: { i: 64 }
compute: |
  acc[m,g,i] = sum[k] a[m,k] * b[i,g,k]
  q[m,g] = max(max[i] abs(acc[m,g,i]), 1)
  s[m,g] = q[m,g] / 448
  d[m,g,i] = acc[m,g,i] / s[m,g]
cta_tile: { m: 64, i: 64, k: 32 }
";
/// Blocks of columns of two products, warp-specialized, results by boxes.
pub(super) const SPECIALIZED: &str = "
kernel: norm
name: norm_specialized
arch: sm_90a
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(h,e,p,k):(s1b,s2b,s3b,1)' }
  w: { dtype: bf16, layout: '(e):(1)' }
  d: { dtype: bf16, layout: '(m,h,e):(s1d,s2d,1)' }
modes: { e: 64, p: 2 }
compute: |
  y[m,h,e,p] = sum[k] a[m,k] * b[h,e,p,k]
  z[m,h,e] = silu(y[m,h,e,0]) * y[m,h,e,1]
  q[m,h] = sum[e] z[m,h,e] * z[m,h,e]
  d[m,h,e] = z[m,h,e] * rsqrt(q[m,h] / size(e) + 1) * w[e]
cta_tile: { m: 128, e: 64, k: 64 }
";
/// All columns of a tile that is narrower than what stores are cut at, of 8-bit results.
const NARROW: &str = "
kernel: top
name: top_narrow
arch: sm_80
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }
  d: { dtype: s8, layout: '(m,n):(ldd,1)' }
  t: { dtype: f32, layout: '(m):(1)' }
compute: |
  acc[m,n] = sum[k] a[m,k] * b[n,k]
  d[m,n] = acc[m,n]
  t[m] = max[n] acc[m,n]
cta_tile: '(64,8,64)'
";
const ALL: [&str; 4] = [WHOLE, BLOCKS, SPECIALIZED, NARROW];

/// Plants a fault, if it can be planted.
type Fault = fn(&mut Plan, &mut Kernel) -> bool;

fn is_fold(op: &Op) -> bool {
    matches!(op, Op::Fold { .. })
}

const FAULTS: [(&str, Fault); 4] = [
    ("no fold, or the last share of none", |_, kernel| {
        drop_op(kernel, is_fold)
    }),
    ("lanes that have half a row", |plan, _| {
        let flow = plan.flow.as_mut().unwrap();
        flow.folds[0].spread.count /= 2;
        true
    }),
    ("what no lane has folded to its end", |_, kernel| {
        one(kernel, |op| match op {
            Op::Fold { share, .. } => {
                share.1 += 1;
                true
            }
            _ => false,
        })
    }),
    ("another row's fold", |_, kernel| {
        let mut results = Vec::new();
        one(kernel, |op| {
            if let Op::Fold { to, .. } = op {
                results.push(to.tile());
            }
            false
        });
        one(kernel, |op| match op {
            Op::Map { from, .. } if from.iter().any(|view| results.contains(&view.tile())) => {
                let first = from[0];
                let folded = from.iter_mut();
                let mut folded = folded.filter(|view| results.contains(&view.tile()));
                let folded = folded.next().unwrap();
                let is_other = *folded != first;
                *folded = View::Rmem(first.tile(), 0);
                is_other
            }
            _ => false,
        })
    }),
];

#[test]
fn right_folds_are_certified() {
    for text in ALL {
        let (plan, kernel) = planned(text);
        let program = lower::lower(&plan, &kernel).unwrap();
        certify(&plan, &kernel, &program).unwrap();
        guards_of(&plan, &program).unwrap();
    }
}

#[test]
fn wrong_folds_are_refused() {
    for text in ALL {
        for (name, plant) in FAULTS {
            let (mut plan, mut kernel) = planned(text);
            if !plant(&mut plan, &mut kernel) {
                continue;
            }
            let found = computed_of(&plan, &kernel);
            assert!(found.is_err(), "{name} of {}", plan.id);
            let message = refusal(found);
            assert!(message.contains("data: "), "{name}: {message}");
        }
    }
}

#[test]
fn columns_behind_the_last_take_no_part() {
    let (plan, mut kernel) = planned(WHOLE);
    while one(&mut kernel, |op| match op {
        Op::Fold { bounds, .. } if *bounds != Bounds::Inside => {
            *bounds = Bounds::Inside;
            true
        }
        _ => false,
    }) {}
    let message = refusal(computed_of(&plan, &kernel));
    assert!(message.contains("of which"), "{message}");
}
