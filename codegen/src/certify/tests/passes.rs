//! Kernels that go along a mode in chunks: right ones, and such with one thing wrong.

use std::sync::Arc;

use super::pipeline::{change, judge, planned};
use super::{change_first, refusal};
use crate::certify::{self, computed_of, guards_of};
use crate::element::Packing;
use crate::ir::thread::expr::{add, int};
use crate::ir::thread::program::{BinOp, Expr, Stmt};
use crate::ir::tile::{Bounds, FoldId, Kernel, Op, View};
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;
use crate::plan::instructions::casts::fill;
use crate::{ir, lower};

const SOFTMAX: &str = "
kernel: softmax
name: softmax_passes
arch: sm_80
operands:
  x: { dtype: bf16, layout: '(m,n):(ldx,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
compute: |
  t[m] = max[n] x[m,n]
  e[m,n] = exp(x[m,n] - t[m])
  z[m] = sum[n] e[m,n]
  d[m,n] = e[m,n] / z[m]
cta_tile: '(2,512)'
threads: 64
scheduler: { passes: many }
";

/// Columns, whose chunks are rows of vectors.
const COLUMNS: &str = "
kernel: reduce
name: reduce_passes
arch: sm_80
operands:
  x: { dtype: f32, layout: '(m,n):(ldx,1)' }
  s: { dtype: f32, layout: '(n):(1)' }
  t: { dtype: f32, layout: '(n):(1)' }
compute: |
  s[n] = sum[m] x[m,n]
  t[n] = max[m] abs(x[m,n])
cta_tile: { n: 32, m: 64 }
threads: 128
scheduler: { passes: many }
";

/// What is stored in one pass is made in several.
const RESIDUAL: &str = "
kernel: rmsnorm
name: rmsnorm_passes
arch: sm_80
operands:
  x: { dtype: bf16, layout: '(m,n):(ldx,1)' }
  r: { dtype: bf16, layout: '(m,n):(ldr,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
  h: { dtype: bf16, layout: '(m,n):(ldh,1)' }
compute: |
  h[m,n] = x[m,n] + r[m,n]
  q[m] = mean[n] h[m,n] * h[m,n]
  d[m,n] = h[m,n] * rsqrt(q[m] + 1)
cta_tile: '(1,512)'
scheduler: { passes: alternating }
";

const KINDS: [&str; 3] = [SOFTMAX, COLUMNS, RESIDUAL];

/// The loops over chunks, one after the other.
fn loops(ops: &[Op]) -> Vec<&Op> {
    let mut found = Vec::new();
    for op in ops {
        found.extend(matches!(op, Op::ForEachChunk(..)).then_some(op));
        for body in op.bodies() {
            found.extend(loops(body));
        }
    }
    found
}

#[test]
fn right_kernels_are_certified_on_several_chunks() {
    for text in KINDS {
        let (plan, kernel) = planned(text);
        let passes = plan.flow.as_ref().unwrap().passes.clone().unwrap();
        let chunk = plan.extent(passes.over);
        let mode = plan.mode(passes.over).unwrap();
        let computed = judge(&plan, &kernel).unwrap().computed;
        let extents: Vec<i64> = computed.iter().map(|one| one.extents[mode]).collect();
        let has = |is: &dyn Fn(i64) -> bool| extents.iter().any(|extent| is(*extent));
        assert!(
            has(&|extent| extent > 2 * chunk && extent % chunk != 0),
            "{extents:?}"
        );
        assert!(has(&|extent| extent == 2 * chunk), "{extents:?}");
        assert!(has(&|extent| extent < chunk), "{extents:?}");
    }
}

#[test]
fn each_pass_is_a_loop_over_chunks_and_a_rest() {
    let (plan, kernel) = planned(RESIDUAL);
    let text = kernel.to_string();
    let body = text.split("for each work tile").nth(1).unwrap();
    let lines: Vec<&str> = body.lines().skip(1).take(10).map(str::trim).collect();
    let wanted = [
        "r.acc_0[0] = 0",
        "for each chunk of n {",
        "copy g.x -> r.x[0]",
        "copy g.r -> r.r[0]",
        "r.h[0] = (r.x[0] + r.r[0])",
        "copy r.h[0] -> g.h",
        "r.body_0[0] = (r.h[0] * r.h[0])",
        "r.acc_0[0] = fold 0 of r.acc_0[0] and r.body_0[0]",
        "} for the rest {",
        "if it ends with a vector {",
    ];
    assert_eq!(lines, wanted, "{text}");
    // One row is never cut, and h is stored by the first pass alone, on each of its ways.
    assert_eq!(loops(&kernel.body).len(), 2, "{text}");
    assert_eq!(text.matches("-> g.h").count(), 3, "{text}");
    assert_eq!(text.matches("-> g.d").count(), 3, "{text}");
    let text = plan.to_string();
    assert!(text.contains("pass 1: x, r, h, body_0, mean_0\n"), "{text}");
    assert!(text.contains("pass 2: x, r, h, d\n"), "{text}");
    assert!(!text.contains("n <="), "{text}");
}

/// A fault: whether it could be planted.
type Fault = fn(&Plan, &mut Kernel) -> bool;

fn once(kernel: &mut Kernel, mut at: impl FnMut(&mut Vec<Op>) -> bool) -> bool {
    change(kernel, Team::All, &mut at)
}

fn one(kernel: &mut Kernel, mut change: impl FnMut(&mut Op) -> bool) -> bool {
    once(kernel, |ops| ops.iter_mut().any(&mut change))
}

/// What makes something of nothing.
fn is_fill(op: &Op) -> bool {
    matches!(op, Op::Map { from, .. } if from.is_empty())
}

fn is_store(op: &Op) -> bool {
    matches!(
        op,
        Op::Copy {
            to: View::Gmem(_),
            ..
        }
    )
}

/// Faults, and in how many of the kinds each can be planted.
const FAULTS: [(&str, usize, Fault); 14] = [
    ("values so far that begin at nothing", 3, |_, kernel| {
        once(kernel, |ops| {
            let at = ops.iter().position(is_fill);
            at.map(|at| ops.remove(at)).is_some()
        })
    }),
    (
        "values so far that begin at another number",
        3,
        |_, kernel| {
            one(kernel, |op| match op {
                Op::Map { from, element, .. } if from.is_empty() => {
                    let Packing { dtype, ty } = element.output;
                    *element = Arc::new(fill(100.0, Packing { dtype, ty }));
                    true
                }
                _ => false,
            })
        },
    ),
    ("values that begin anew with each chunk", 3, |_, kernel| {
        once(kernel, |ops| {
            let Some(at) = ops.iter().position(is_fill) else {
                return false;
            };
            let fill = ops.remove(at);
            let whole = ops.iter_mut().find_map(|op| match op {
                Op::ForEachChunk(_, whole, _) => Some(whole),
                _ => None,
            });
            whole.map(|whole| whole.insert(0, fill)).is_some()
        })
    }),
    ("the rest left out", 3, |_, kernel| {
        one(kernel, |op| match op {
            Op::ForEachChunk(_, _, rest) => {
                rest.clear();
                true
            }
            _ => false,
        })
    }),
    ("the rest taken for a whole chunk", 3, |_, kernel| {
        one(kernel, |op| match op {
            Op::ForEachChunk(_, whole, rest) => {
                rest.clone_from(whole);
                true
            }
            _ => false,
        })
    }),
    ("whole chunks left out", 3, |_, kernel| {
        one(kernel, |op| match op {
            Op::ForEachChunk(_, whole, _) => {
                whole.clear();
                true
            }
            _ => false,
        })
    }),
    ("chunks taken for the tile's own place", 3, |_, kernel| {
        once(kernel, |ops| {
            let at = ops.iter().position(|op| matches!(op, Op::ForEachChunk(..)));
            let Some(Op::ForEachChunk(_, whole, _)) = at.map(|at| ops[at].clone()) else {
                return false;
            };
            ops.splice(at.unwrap_or(0)..=at.unwrap_or(0), whole);
            true
        })
    }),
    ("values that take no part", 3, |_, kernel| {
        once(kernel, |ops| {
            let at = ops
                .iter()
                .position(|op| matches!(op, Op::Accumulate { .. }));
            at.map(|at| ops.remove(at)).is_some()
        })
    }),
    ("values that take part twice", 3, |plan, kernel| {
        // The largest value is the same.
        let sums = |number: usize| {
            let folds = plan.flow.as_ref().map(|flow| &flow.folds);
            folds.is_some_and(|folds| folds[number].how.identity() == 0.0)
        };
        once(kernel, |ops| {
            let accumulates =
                |op: &Op| matches!(op, Op::Accumulate { by: FoldId(by), .. } if sums(*by));
            let at = ops.iter().position(accumulates);
            at.map(|at| ops.insert(at, ops[at].clone())).is_some()
        })
    }),
    ("values behind the end that take part", 3, |_, kernel| {
        one(kernel, |op| match op {
            Op::Accumulate { bounds, .. } if *bounds != Bounds::Inside => {
                *bounds = Bounds::Inside;
                true
            }
            _ => false,
        })
    }),
    ("another fold's values so far", 2, |_, kernel| {
        let mut last = None;
        let mut see = |op: &Op| {
            if let Op::Accumulate { to, .. } = op {
                last = Some(*to);
            }
        };
        for op in loops(&kernel.body) {
            op.bodies().into_iter().flatten().for_each(&mut see);
        }
        one(kernel, |op| match op {
            Op::Fold { from, .. } if Some(*from) != last => {
                *from = last.unwrap_or(*from);
                true
            }
            _ => false,
        })
    }),
    ("a fold of what is not there yet", 3, |_, kernel| {
        once(kernel, |ops| {
            let fold = ops.iter().position(|op| matches!(op, Op::Fold { .. }));
            let chunks = ops.iter().position(|op| matches!(op, Op::ForEachChunk(..)));
            let (Some(fold), Some(chunks)) = (fold, chunks) else {
                return false;
            };
            let fold = ops.remove(fold);
            ops.insert(chunks, fold);
            true
        })
    }),
    ("stores left out", 3, |_, kernel| {
        once(kernel, |ops| {
            let at = ops.iter().position(is_store);
            at.map(|at| ops.remove(at)).is_some()
        })
    }),
    ("a pass made twice", 3, |_, kernel| {
        once(kernel, |ops| {
            let stores = |op: &Op| op.bodies().into_iter().flatten().any(is_store);
            let at = ops.iter().position(stores);
            at.map(|at| ops.insert(at, ops[at].clone())).is_some()
        })
    }),
];

#[test]
fn what_computes_something_else_is_refused() {
    let (mut counts, mut open) = (Vec::new(), Vec::new());
    for (name, _, plant) in FAULTS {
        let mut planted = 0;
        for text in KINDS {
            let (plan, kernel) = planned(text);
            let mut wrong = kernel.clone();
            if !plant(&plan, &mut wrong) {
                continue;
            }
            assert_ne!(wrong, kernel, "{name}");
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

/// Changes a program of each kind, and wants no access of it shown inside any more.
fn refuses(what: &str, mut change: impl FnMut(&mut Stmt) -> bool) {
    for text in KINDS {
        let (plan, _) = planned(text);
        let kernel = ir::tile::build::build(&plan).unwrap();
        let mut program = lower::lower(&plan, &kernel).unwrap();
        assert!(guards_of(&plan, &program).unwrap().by_predicate > 0);
        assert!(change_first(&mut program.body, &mut change), "{what}");
        let message = refusal(certify::certify(&plan, &kernel, &program));
        assert!(
            message.contains("no test shows it inside"),
            "{what}: {message}"
        );
    }
}

#[test]
fn a_chunk_too_many_is_refused() {
    refuses("one more", |statement| match statement {
        Stmt::For { to, .. } => {
            *to = add(to.clone(), int(1));
            true
        }
        _ => false,
    });
    refuses("one before the first", |statement| match statement {
        Stmt::For { from, .. } => {
            *from = int(-1);
            true
        }
        _ => false,
    });
    // The loop alone bounds its chunks.
    refuses(
        "the whole extent for its chunks",
        |statement| match statement {
            Stmt::Let(_, value @ Expr::Binary(..)) => {
                let Expr::Binary(BinOp::Div, extent, chunk) = value else {
                    return false;
                };
                let is_chunk = matches!(**chunk, Expr::Int(64 | 512, _));
                let is_extent = matches!(**extent, Expr::Param(_));
                if is_chunk && is_extent {
                    *value = Expr::clone(extent);
                }
                is_chunk && is_extent
            }
            _ => false,
        },
    );
}
