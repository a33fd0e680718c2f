//! Packed operands: right kernels of every way, and such with one thing wrong.

use super::pipeline::planned;
use super::{change_first, refusal};
use crate::ir::thread::expr::{add, int, long, sub};
use crate::ir::thread::program::{Arg, BinOp, Expr, Program, Stmt};
use crate::ir::tile::build::build;
use crate::plan::copies::packed_weights::PADDED_ROWS;
use crate::plan::data::model::Plan;
use crate::{certify, lower};

/// A product of sm_90a with a packed factor, or with two.
fn right(a: &str, more: &str) -> (Plan, Program) {
    let text = format!(
        "
kernel: gemm
name: gemm_packed
arch: sm_90a
operands:
  a: {{ dtype: bf16, layout: '(m,k):{a}' }}
  b: {{ dtype: bf16, layout: '(n,k):packed' }}
  d: {{ dtype: bf16, layout: '(m,n):(ldd,1)' }}
accumulator: f32
{more}
"
    );
    let (plan, kernel) = planned(&text);
    let program = lower::lower(&plan, &kernel).unwrap();
    (plan, program)
}

fn certified(plan: &Plan, program: &Program) -> crate::error::Result<certify::Certificate> {
    certify::certify(plan, &build(plan).unwrap(), program)
}

const PINGPONG: &str = "cta_tile: '(128,128,64)'\npipeline: { schedule: pingpong }";

#[test]
fn every_way_is_certified() {
    for (a, more) in [
        ("(lda,1)", PINGPONG),
        ("packed", PINGPONG),
        (
            "packed",
            "cta_tile: '(128,64,128)'\ncluster: '(2,2,1)'\nscheduler: { raster: hilbert_8 }",
        ),
        (
            "(lda,1)",
            "cta_tile: '(128,256,64)'\nscheduler: { kind: stream_k }\npipeline: { stages: 3 }",
        ),
        ("(lda,1)", "cta_tile: '(64,32,192)'"),
    ] {
        let (plan, program) = right(a, more);
        let b = plan.named_operand("b").unwrap();
        let copy = plan.bulk(b.id).unwrap();
        let order = plan.order(b).unwrap().unwrap();
        assert_eq!(order.problems(2), Vec::<String>::new());
        assert_eq!(copy.atom.id.contains("multicast"), more.contains("cluster"));
        let certificate = certified(&plan, &program).unwrap();
        assert!(certificate.guarded_by_predicate > 0, "{more}");
    }
}

/// The same order whatever the tile, the schedule and the cluster.
#[test]
fn tiles_do_not_show_in_the_order() {
    let order = |more: &str| {
        let (plan, _) = right("(lda,1)", more);
        plan.order(plan.named_operand("b").unwrap())
            .unwrap()
            .unwrap()
    };
    let first = order(PINGPONG);
    let text = "Sw<3,3,3>o(8,64):(64,1) by (0,1) in multiples of (32,2)";
    assert_eq!(first.to_string(), text);
    for more in [
        "cta_tile: '(64,256,128)'",
        "cta_tile: '(256,64,64)'\ncluster: '(1,2,1)'",
        "cta_tile: '(128,32,64)'\nscheduler: { kind: stream_k }\npipeline: { stages: 5 }",
    ] {
        assert_eq!(order(more), first, "{more}");
    }
}

/// Changes the address of the first bulk copy.
fn moved(program: &mut Program, change: impl Fn(&mut Expr)) {
    let found = change_first(&mut program.body, &mut |statement| {
        let Stmt::Atom { atom, args } = statement else {
            return false;
        };
        let is_bulk = atom.copy.as_ref().is_some_and(|copy| copy.bulk.is_some());
        let at = atom.operands.iter().position(|one| one.name == "src");
        match at.and_then(|at| args.get_mut(at)) {
            Some(Arg::Address(address)) if is_bulk => {
                change(&mut address.offset);
                true
            }
            _ => false,
        }
    });
    assert!(found);
}

#[test]
fn a_tile_behind_the_last_is_refused() {
    let (plan, program) = right("(lda,1)", "cta_tile: '(128,64,64)'\ncluster: '(1,2,1)'");
    certified(&plan, &program).unwrap();
    // The number of the tile as it is, however far behind the operand's end.
    let mut free = program.clone();
    let mut names = program.vars.iter();
    let number = names.position(|var| var.name == "packed_tile").unwrap();
    let freed = change_first(&mut free.body, &mut |statement| {
        let Stmt::Let(var, value) = statement else {
            return false;
        };
        let Expr::Binary(BinOp::Min, own, _) = &*value else {
            return false;
        };
        let is_it = var.0 as usize == number;
        if is_it {
            *value = own.as_ref().clone();
        }
        is_it
    });
    assert!(freed);
    let message = refusal(certified(&plan, &free));
    assert!(message.contains("what n has behind the bytes"), "{message}");
}

#[test]
fn bytes_beyond_a_row_of_patterns_are_refused() {
    let (plan, program) = right("(lda,1)", PINGPONG);
    let mut far = program.clone();
    let bytes = 64 * 2 * PADDED_ROWS;
    moved(&mut far, |offset| {
        *offset = add(offset.clone(), long(bytes));
    });
    let message = refusal(certified(&plan, &far));
    assert!(message.contains("what n has behind the bytes"), "{message}");
    let mut before = program.clone();
    moved(&mut before, |offset| {
        *offset = sub(offset.clone(), long(16));
    });
    let message = refusal(certified(&plan, &before));
    assert!(message.contains("the place in its row"), "{message}");
    let mut long = program;
    let found = change_first(&mut long.body, &mut |statement| {
        let Stmt::Atom { atom, args } = statement else {
            return false;
        };
        let at = atom.operands.iter().position(|one| one.name == "bytes");
        let bytes = at.and_then(|at| args.get_mut(at));
        bytes.is_some_and(|bytes| {
            *bytes = Arg::Int(int(64 * 2 * PADDED_ROWS));
            true
        })
    });
    assert!(found);
    let message = refusal(certified(&plan, &long));
    assert!(message.contains("what n has behind the bytes"), "{message}");
}

#[test]
fn bulk_copies_are_of_packed_operands() {
    let (mut plan, program) = right("(lda,1)", "cta_tile: '(128,64,128)'");
    let mut operands = plan.operands.iter_mut();
    operands.find(|one| one.name == "b").unwrap().packed = false;
    let message = refusal(certified(&plan, &program));
    assert!(message.contains("b is not packed"), "{message}");
}
