//! A certificate refuses what is wrong: each test breaks one thing of a right kernel.
#![allow(clippy::unwrap_used, clippy::panic)]

mod epilogue_loads;
mod combined;
mod curves;
mod folds;
mod fragments;
mod sums;
mod interpret;
mod modes;
mod batches;
mod outer;
mod packed;
mod parts;
mod passes;
mod pipeline;
mod planes;
mod tables;
mod timeline;

use crate::error::{Error, Result};
use crate::ir::thread::program::{Arg, Program, Stmt};
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;
use crate::{ir, lower, plan, spec};

const GEMM: &str = "
kernel: gemm
name: gemm_small
arch: sm_80
operands:
  a: { dtype: bf16, layout: '(m,k):(lda,1)' }
  b: { dtype: bf16, layout: '(n,k):(ldb,1)' }
  d: { dtype: bf16, layout: '(m,n):(ldd,1)' }
accumulator: f32
cta_tile: '(64,64,32)'
";

fn right() -> (Plan, Program) {
    let file = spec::parse("-", GEMM).unwrap();
    let plan = plan::plan(&file.points[0]).unwrap();
    let program = lower::lower(&plan, &ir::tile::build::build(&plan).unwrap()).unwrap();
    (plan, program)
}

fn certify(plan: &Plan, program: &Program) -> Result<super::Certificate> {
    super::certify(plan, &ir::tile::build::build(plan).unwrap(), program)
}

fn refusal<T>(result: Result<T>) -> String {
    match result {
        Err(Error::Bug {
            stage: "certificate" | "timeline",
            message,
            ..
        }) => message,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("nothing was found wrong"),
    }
}

/// Calls `change` on each atom call until it says that it changed one.
fn change_first(body: &mut [Stmt], change: &mut impl FnMut(&mut Stmt) -> bool) -> bool {
    body.iter_mut().any(|statement| {
        change(statement)
            || match statement {
                Stmt::For { body, .. } => change_first(body, change),
                Stmt::If {
                    then, otherwise, ..
                } => change_first(then, change) || change_first(otherwise, change),
                _ => false,
            }
    })
}

#[test]
fn a_right_kernel_is_certified() {
    let (plan, program) = right();
    let certificate = certify(&plan, &program).unwrap();
    assert_eq!(certificate.steps.len(), plan.steps.len());
    for step in &certificate.steps {
        assert!(
            (step.shared_memory).is_none_or(|all| all.taken == all.least),
            "{step:?}"
        );
    }
    assert!(certificate.guarded_by_size > 0 && certificate.guarded_by_predicate > 0);
}

#[test]
fn a_copy_of_half_the_tile_is_refused() {
    let (mut plan, program) = right();
    let a = plan.named_operand("a").unwrap().id;
    let half = plan.step(a, Hop::S2r).unwrap().tiled.clone();
    let step = plan
        .steps
        .iter_mut()
        .find(|step| step.operand == a && step.hop == Hop::G2s);
    step.unwrap().tiled = half;
    assert!(refusal(certify(&plan, &program)).contains("a.g2s"));
}

#[test]
fn a_tile_past_its_shared_memory_is_refused() {
    let (mut plan, program) = right();
    plan.smem[0].size_bytes /= 2;
    assert!(refusal(certify(&plan, &program)).contains("reaches byte"));
}

#[test]
fn a_swizzle_that_tears_vectors_is_refused() {
    let (mut plan, program) = right();
    plan.smem[0].layout.swizzle = tilewright_layout::Swizzle::new(2, 1, 5).unwrap();
    assert!(refusal(certify(&plan, &program)).contains("torn or unaligned"));
}

#[test]
fn a_store_without_its_predicate_is_refused() {
    let (plan, mut program) = right();
    let freed = change_first(&mut program.body, &mut |statement| {
        let Stmt::If {
            then, otherwise, ..
        } = statement
        else {
            return false;
        };
        otherwise.append(then);
        true
    });
    assert!(freed);
    let message = refusal(certify(&plan, &program));
    assert!(message.contains("no test shows it inside"), "{message}");
}

#[test]
fn a_missing_assumption_is_refused() {
    let (mut plan, program) = right();
    plan.assumptions.retain(|assumption| {
        !matches!(assumption, Assumption::StrideMultiple { stride, .. } if stride == "lda")
    });
    assert!(refusal(certify(&plan, &program)).contains("aligned to 16 bytes"));
}

#[test]
fn an_address_off_by_two_bytes_is_refused() {
    let (plan, mut program) = right();
    let moved = change_first(&mut program.body, &mut |statement| {
        let Stmt::Atom { args, .. } = statement else {
            return false;
        };
        let address = args.iter_mut().find_map(|arg| match arg {
            Arg::Address(address) => Some(address),
            _ => None,
        });
        address.is_some_and(|address| {
            address.imm += 2;
            true
        })
    });
    assert!(moved);
    assert!(refusal(certify(&plan, &program)).contains("needs addresses aligned"));
}
