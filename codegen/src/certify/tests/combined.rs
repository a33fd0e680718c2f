//! Kernels that combine values with what outputs held: right ones, and such with one thing wrong.

use super::interpret::{drop_op, once, one};
use super::pipeline::{judge, planned};
use crate::certify::{self, computed_of};
use crate::ir::thread::program::{Expr, IntType, Stmt};
use crate::ir::tile::{Bounds, CombineId, CopyId, Kernel, Op, Slice, View};
use crate::plan::data::model::Plan;
use crate::{ir, lower};

/// A product of each way, and rows: held whole, and in passes.
pub(super) const KINDS: [&str; 5] = [
    "kernel: amax
name: amax_fma
arch: sm_70
operands:
  a: { dtype: f32, layout: '(m,k):(lda,1)' }
  b: { dtype: f32, layout: '(n,k):(ldb,1)' }
  d: { dtype: f32, layout: '(m,n):(ldd,1)' }
  amax: { dtype: f32, layout: '():()' }
  c: { dtype: f32, layout: '(n):(1)' }
compute: |
  y[m,n] = sum[k] a[m,k] * b[n,k]
  d[m,n] = y[m,n]
  amax max= abs(y[m,n])
  c[n] min= y[m,n]
cta_tile: '(64,64,8)'
",
    "kernel: amax
name: amax_multistage
arch: sm_80
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
  amax: { dtype: f32, layout: '():()' }
  r: { dtype: f32, layout: '(m):(s1r)' }
compute: |
  y[m,n] = sum[k] a[m,k] * b[n,k]
  d[m,n] = y[m,n]
  amax max= abs(y[m,n])
  r[m] min= y[m,n]
cta_tile: '(64,128,32)'
",
    "kernel: amax
name: amax_roles
arch: sm_90a
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
  amax: { dtype: f32, layout: '():()' }
  r: { dtype: f32, layout: '(m):(1)' }
compute: |
  y[m,n] = sum[k] a[m,k] * b[n,k]
  d[m,n] = y[m,n]
  amax max= abs(y[m,n])
  r[m] min= y[m,n]
cta_tile: '(128,128,64)'
",
    "kernel: amax
name: amax_rows
arch: sm_80
operands:
  x: { dtype: bf16, layout: '(m,n):(ldx,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
  amax: { dtype: f32, layout: '():()' }
  c: { dtype: f32, layout: '(n):(1)' }
compute: |
  t[m] = max[n] abs(x[m,n])
  d[m,n] = x[m,n] / t[m]
  amax max= t[m]
  c[n] min= x[m,n] * t[m]
cta_tile: '(4,512)'
",
    "kernel: amax
name: amax_passes
arch: sm_80
operands:
  x: { dtype: bf16, layout: '(m,n):(ldx,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
  amax: { dtype: f32, layout: '():()' }
  c: { dtype: f32, layout: '(n):(1)' }
compute: |
  t[m] = max[n] abs(x[m,n])
  d[m,n] = x[m,n] / t[m]
  amax max= t[m]
  c[n] min= x[m,n] * t[m]
cta_tile: '(2,512)'
threads: 64
scheduler: { passes: many }
",
];

/// A fault: whether it could be planted.
pub(super) type Fault = fn(&mut Plan, &mut Kernel) -> bool;

fn combines(op: &Op) -> bool {
    matches!(op, Op::Combine { .. })
}

/// Faults, and in how many of the kinds each can be planted.
pub(super) const FAULTS: [(&str, usize, Fault); 11] = [
    ("values left out", 5, |_, kernel| drop_op(kernel, combines)),
    ("values combined twice", 5, |_, kernel| {
        once(kernel, |ops| {
            let at = ops.iter().position(combines);
            at.map(|at| ops.insert(at, ops[at].clone())).is_some()
        })
    }),
    ("values behind the end", 5, |_, kernel| {
        one(kernel, |op| match op {
            Op::Combine { bounds, .. } if *bounds != Bounds::Inside => {
                *bounds = Bounds::Inside;
                true
            }
            _ => false,
        })
    }),
    ("one share for another", 2, |_, kernel| {
        one(kernel, |op| match op {
            Op::Combine { share, .. } if share.1 > 1 => {
                *share = Slice((share.0 + 1) % share.1, share.1);
                true
            }
            _ => false,
        })
    }),
    ("the last share left out", 2, |_, kernel| {
        drop_op(
            kernel,
            |op| matches!(op, Op::Combine { share, .. } if share.1 > 1 && share.0 + 1 == share.1),
        )
    }),
    ("values of another tile", 5, |_, kernel| {
        let mut last = None;
        one(kernel, |op| match op {
            Op::Combine { from, .. } => match last {
                Some(other) if other != *from => {
                    *from = other;
                    true
                }
                _ => {
                    last = Some(*from);
                    false
                }
            },
            _ => false,
        })
    }),
    ("folded in another output's registers", 5, |_, kernel| {
        let mut last: Option<View> = None;
        one(kernel, |op| match op {
            Op::Combine { held, .. } => match last {
                Some(other) if other != *held => {
                    *held = other;
                    true
                }
                _ => {
                    last = Some(*held);
                    false
                }
            },
            _ => false,
        })
    }),
    ("the smaller for the larger", 5, |_, kernel| {
        one(kernel, |op| match op {
            Op::Combine { how, .. } => {
                *how = CombineId(1 - how.0);
                true
            }
            _ => false,
        })
    }),
    ("stored in place of combined", 5, |plan, kernel| {
        let store = crate::atoms::catalogue().unwrap().iter().find(|atom| {
            let facts = atom.copy.as_ref();
            facts.is_some_and(|facts| facts.reduce.is_none() && facts.access_bytes == 4)
        });
        one(kernel, |op| match (op, store) {
            (
                Op::Combine {
                    by: CopyId::Tiled(number),
                    ..
                },
                Some(store),
            ) => {
                plan.steps[*number].atom = store.clone();
                true
            }
            _ => false,
        })
    }),
    ("lanes of other elements put together", 5, |plan, _| {
        let combinings = plan.flow.as_mut().map(|flow| &mut flow.combinings);
        let mut combinings = combinings.into_iter().flatten();
        let some = combinings.find(|combining| combining.lanes != 31);
        some.map(|combining| combining.lanes = 31).is_some()
    }),
    ("combined with another output", 5, |_, kernel| {
        let mut last = None;
        one(kernel, |op| match op {
            Op::Combine { to, .. } => match last {
                Some(other) if other != *to => {
                    *to = other;
                    true
                }
                _ => {
                    last = Some(*to);
                    false
                }
            },
            _ => false,
        })
    }),
];

#[test]
fn right_kernels_combine_each_value_once() {
    for text in KINDS {
        let (plan, kernel) = planned(text);
        let certificate = judge(&plan, &kernel).unwrap();
        let [large, small, ..] = certificate.computed.as_slice() else {
            panic!("{:?}", certificate.computed);
        };
        assert!(large.elements > small.elements, "{text}");
    }
}

#[test]
fn what_combines_something_else_is_refused() {
    let (mut counts, mut open) = (Vec::new(), Vec::new());
    for (name, _, plant) in FAULTS {
        let mut planted = 0;
        for text in KINDS {
            let (mut plan, kernel) = planned(text);
            let mut wrong = kernel.clone();
            if !plant(&mut plan, &mut wrong) {
                continue;
            }
            planted += 1;
            if let Ok(computed) = computed_of(&plan, &wrong) {
                open.push(format!("{name}: {}: {computed:?}", plan.id));
            }
        }
        counts.push((name, planted));
    }
    assert!(open.is_empty(), "{open:#?}");
    assert_eq!(counts, FAULTS.map(|(name, wanted, _)| (name, wanted)));
}

/// Rows that are not there have no place in an output; a kernel that goes there is refused.
#[test]
fn a_row_past_the_end_is_no_place_in_an_output() {
    let (plan, kernel) = planned(KINDS[1]);
    let mut program = lower::lower(&plan, &ir::tile::build::build(&plan).unwrap()).unwrap();
    let combines = |statement: &Stmt| match statement {
        Stmt::Atom { atom, .. } => atom.copy.as_ref().is_some_and(|copy| copy.reduce.is_some()),
        _ => false,
    };
    let dropped = super::change_first(&mut program.body, &mut |statement| match statement {
        Stmt::If { cond, then, .. } if then.iter().any(combines) => {
            let tests = matches!(cond, Expr::Binary(..));
            if tests {
                *cond = Expr::Int(1, IntType::I1);
            }
            tests
        }
        _ => false,
    });
    assert!(dropped, "no store has a test");
    let message = super::refusal(certify::certify(&plan, &kernel, &program));
    assert!(message.contains("no test shows it inside"), "{message}");
}
