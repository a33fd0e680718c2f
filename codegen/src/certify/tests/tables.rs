//! Kernels whose elements lie where tables say.

use std::rc::Rc;

use super::pipeline::{self, planned};
use crate::certify::{certify, computed_of, guards_of};
use crate::ir::thread::program::{CmpOp, Expr, IntType, Program, Stmt};
use crate::ir::tile::{Kernel, Op, TileId, View};
use crate::lower;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::data::teams::Team;

/// Rows, with numbers of their own beside them.
const GATHERED: &str = "
kernel: gather
name: gather_rows
arch: sm_80
operands:
  s: { dtype: bf16, layout: '(r,n):(lds,1)' }
  rows: { dtype: s32, layout: '(m):(1)' }
  scale: { dtype: f32, layout: '(m):(1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
compute: d[m,n] = s[rows[m],n] * scale[m]
cta_tile: '(32,64)'
";
/// A table for each of several matrices, whose rows are folded in passes.
const FOLDED: &str = "
kernel: gather
name: gather_folded
arch: sm_80
operands:
  s: { dtype: f32, layout: '(b,r,n):(s1s,s2s,1)' }
  rows: { dtype: s32, layout: '(b,m):(ldrows,1)' }
  d: { dtype: f32, layout: '(b,m,n):(s1d,s2d,1)' }
compute: |
  q[b,m] = sum[n] s[b,rows[b,m],n]
  d[b,m,n] = s[b,rows[b,m],n] - q[b,m] + size(r)
cta_tile: { m: 4, n: 256 }
scheduler: { passes: many }
";
/// From where one table says to where another does.
const MOVED: &str = "
kernel: scatter
name: scatter_moved
arch: sm_80
operands:
  s: { dtype: f32, layout: '(p,n):(lds,1)' }
  from: { dtype: s32, layout: '(m):(1)' }
  to: { dtype: s32, layout: '(m):(1)' }
  d: { dtype: f32, layout: '(r,n):(ldd,1)' }
compute: d[to[m],n] = s[from[m],n]
cta_tile: '(16,64)'
";
/// Elements one by one, of rows and columns that a table and a coordinate say.
const PICKED: &str = "
kernel: gather
name: gather_picked
arch: sm_80
operands:
  s: { dtype: f32, layout: '(m,r):(lds,1)' }
  at: { dtype: s32, layout: '(m):(1)' }
  d: { dtype: f32, layout: '(m):(1)' }
compute: d[m] = s[m,at[m]]
cta_tile: '(128)'
";
const ALL: [&str; 4] = [GATHERED, FOLDED, MOVED, PICKED];

fn lowered(text: &str) -> (Plan, Kernel, Program) {
    let (plan, kernel) = planned(text);
    let program = lower::lower(&plan, &kernel).unwrap();
    (plan, kernel, program)
}

#[test]
fn every_entry_is_shown_inside_and_every_element_is_right() {
    for text in ALL {
        let (plan, kernel, program) = lowered(text);
        let certificate = certify(&plan, &kernel, &program);
        let certificate = certificate.unwrap_or_else(|error| panic!("{}", error.report(false)));
        let looked_into = plan.computes.looked_into();
        assert_eq!(looked_into.len(), if text == MOVED { 2 } else { 1 });
        for mode in looked_into {
            let extents = certificate.computed.iter().map(|one| one.extents[mode]);
            let mut several: Vec<i64> = extents.collect();
            several.sort_unstable();
            several.dedup();
            assert!(several.len() > 2 && several.contains(&1), "{several:?}");
            assert!(!plan.work.grid().text().contains(mode), "{plan}");
        }
    }
}

/// Distinct entries are promised by who scatters, and by nobody else.
#[test]
fn scatters_want_distinct_entries() {
    for text in ALL {
        let (plan, _) = planned(text);
        let distinct = plan.assumptions.iter().filter_map(|one| match one {
            Assumption::DistinctEntries { table, .. } => Some(&plan.operand(*table).name),
            _ => None,
        });
        let wanted: &[&str] = match text {
            MOVED => &["to"],
            _ => &[],
        };
        assert_eq!(distinct.collect::<Vec<_>>(), wanted);
    }
}

/// What a test of an entry becomes.
type Change = fn(CmpOp, &Expr, &Expr) -> Option<Expr>;

fn is_entry(program: &Program, expr: &Expr) -> bool {
    match expr {
        Expr::Var(var) => program.vars[var.0 as usize].name == "entry",
        _ => false,
    }
}

fn changed(program: &Program, expr: &Expr, change: Change) -> Expr {
    let again = |expr: &Rc<Expr>| Rc::new(changed(program, expr, change));
    match expr {
        Expr::Compare(op, a, b) if is_entry(program, a) || is_entry(program, b) => {
            change(*op, a, b).unwrap_or_else(|| expr.clone())
        }
        Expr::Binary(op, a, b) => Expr::Binary(*op, again(a), again(b)),
        other => other.clone(),
    }
}

fn change_tests(program: &Program, body: &mut [Stmt], change: Change) {
    for statement in body {
        match statement {
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                *cond = changed(program, cond, change);
                change_tests(program, then, change);
                change_tests(program, otherwise, change);
            }
            Stmt::For { body, .. } => change_tests(program, body, change),
            _ => {}
        }
    }
}

#[test]
fn entries_that_are_not_tested_are_found() {
    let faults: [(&str, Change); 3] = [
        ("the coordinate along", |op, _, _| {
            (op == CmpOp::Le).then_some(Expr::Int(1, IntType::I1))
        }),
        ("the bytes from there to the end of", |op, _, _| {
            (op == CmpOp::Lt).then_some(Expr::Int(1, IntType::I1))
        }),
        ("the bytes from there to the end of", |op, a, b| {
            let [a, b] = [a, b].map(|side| Rc::new(side.clone()));
            (op == CmpOp::Lt).then_some(Expr::Compare(CmpOp::Le, a, b))
        }),
    ];
    for text in ALL {
        let (plan, _, program) = lowered(text);
        for (part, change) in faults {
            let mut broken = program.clone();
            change_tests(&program, &mut broken.body, change);
            assert_ne!(broken, program);
            let message = guards_of(&plan, &broken).unwrap_err().to_string();
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}

/// The extent of another mode in the place of what is looked into.
#[test]
fn entries_below_another_extent_are_found() {
    for text in ALL {
        let (plan, _, mut program) = lowered(text);
        let looked_into = plan.computes.looked_into()[0].to_owned();
        for param in &mut program.params {
            if param.name == looked_into {
                param.name = "m".to_owned();
            } else if param.name == "m" {
                param.name = looked_into.clone();
            }
        }
        assert!(guards_of(&plan, &program).is_err(), "{text}");
    }
}

/// What the copies of a kernel become where this changes one; those that it does not keep go.
fn fault(text: &str, change: &mut dyn FnMut(&mut View, &mut View) -> bool) -> String {
    let (plan, mut kernel) = planned(text);
    let before = kernel.clone();
    pipeline::change(&mut kernel, Team::All, &mut |ops| {
        ops.retain_mut(|op| match op {
            Op::Copy { from, to, .. } => change(from, to),
            _ => true,
        });
        false
    });
    assert_ne!(kernel, before, "{text}");
    computed_of(&plan, &kernel).unwrap_err().to_string()
}

#[test]
fn elements_that_lie_elsewhere_are_found() {
    for text in ALL {
        // Those of the first entry for all.
        let message = fault(text, &mut |from, to| {
            for view in [from, to] {
                if let View::Looked(tile, _) = *view {
                    *view = View::Gmem(tile);
                }
            }
            true
        });
        assert!(message.contains("data: "), "{message}");
    }
    let (_, kernel) = planned(MOVED);
    let tables = kernel.tiles.iter().enumerate();
    let tables = tables.filter(|(_, tile)| ["from", "to"].contains(&tile.name.as_str()));
    let tables: Vec<_> = tables.filter(|(_, tile)| tile.modes[1].1 == 1).collect();
    let other = |table: usize| tables.iter().map(|(at, _)| *at).rfind(|at| *at != table);
    let message = fault(MOVED, &mut |from, to| {
        for view in [from, to] {
            if let View::Looked(tile, table) = *view {
                let other = other(table.0).unwrap();
                *view = View::Looked(tile, TileId(other));
            }
        }
        true
    });
    assert!(message.contains("data: "), "{message}");
}

#[test]
fn tables_that_are_not_there_yet_are_found() {
    for text in ALL {
        let (_, kernel) = planned(text);
        let is_table = |view: &View| {
            let tile = &kernel.tiles[view.tile().0];
            ["rows", "from", "at"].contains(&tile.name.as_str())
        };
        let message = fault(text, &mut |from, to| match (&*from, &*to) {
            (View::Gmem(_), View::Rmem(..)) => !is_table(from),
            _ => true,
        });
        let part = "looks up what nothing was written to";
        assert!(message.contains(part), "{message}");
    }
}
