//! Malformed programs and impossible targets are errors; LLVM never sees them.

use super::*;
use crate::error::Error;
use crate::ptx::emit;

fn refused(change: impl FnOnce(&mut Program)) -> String {
    let mut program = programs::vector_copy();
    change(&mut program);
    match emit(&program, &arch("sm_80"), "k") {
        Err(Error::Bug {
            stage: "ptx",
            message,
            ..
        }) => message,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn atoms_of_later_architectures_are_unsupported() {
    let unsupported = |program: &Program, name: &str| match emit(program, &arch(name), "k") {
        Err(Error::Unsupported { feature, arch, .. }) => (feature, arch),
        other => panic!("not refused: {other:?}"),
    };
    let (feature, on) = unsupported(&programs::staged(), "sm_75");
    assert_eq!((&feature[..], &on[..]), ("sm80_cp_async_cg_16", "sm_75"));
    let mut large = programs::staged();
    large.smem_bytes = 200_000;
    assert!(unsupported(&large, "sm_80").0.contains("200000 bytes"));
    assert!(emit(&large, &arch("sm_90"), "k").is_ok());
}

#[test]
fn the_version_is_the_lowest_that_serves() {
    let version = |program: Program, name| emit(&program, &arch(name), "k").unwrap().version;
    assert_eq!(version(programs::vector_copy(), "sm_70"), 60);
    assert_eq!(version(programs::vector_copy(), "sm_80"), 70);
    assert_eq!(version(programs::hinted_copy(), "sm_80"), 74);
    assert_eq!(version(programs::hinted_copy(), "sm_90"), 78);
    assert_eq!(version(programs::vector_copy(), "sm_90a"), 80);
}

#[test]
fn malformed_programs_are_bugs() {
    let message = refused(|p| p.entry = "k;\n.entry x".to_owned());
    assert!(message.contains("identifier"), "{message}");
    assert!(refused(|p| p.threads = 2048).contains("1024"));
    assert!(refused(|p| p.files[0].len = 2).contains("register 2 of 2"));
    assert!(refused(|p| p.files[0].ty = RegType::B16).contains("given are"));
    assert!(refused(|p| p.vars[0].mutable = true).contains("mutable"));
    assert!(refused(|p| p.vars[0].ty = IntType::I64).contains("I64"));
    assert!(refused(|p| p.params[1].ty = p.params[0].ty).contains("read-only"));
    assert!(refused(|p| p.params[2].ty = ParamType::I64).contains("two types"));
    assert!(refused(|p| drop(p.body.remove(0))).contains("outside its scope"));
    assert!(refused(|p| p.body.push(p.body[0].clone())).contains("defined twice"));
    assert!(
        refused(|p| p.body.push(run("sm50_barrier_cta_sync", vec![Arg::Imm(0)])))
            .contains("0 arguments")
    );
    let zero_step = |p: &mut Program| {
        let var = VarId(0);
        p.body.push(Stmt::For {
            var,
            from: int(0),
            to: int(4),
            step: int(0),
            body: vec![],
        });
    };
    assert!(refused(zero_step).contains("not positive"));
    let divide = |p: &mut Program| {
        let cond = less(binary(BinOp::Rem, tid(), int(0)), int(1));
        p.body.push(Stmt::If {
            cond,
            then: vec![],
            otherwise: vec![],
        });
    };
    assert!(refused(divide).contains("division"));
    assert!(refused(|p| p.files[0].len = u32::MAX).contains("at most 16384"));
    assert!(refused(|p| p.params.resize(600, p.params[2].clone())).contains("bytes of parameters"));
    let deep = |p: &mut Program| {
        let sum = (0..2000).fold(int(0), |sum, _| add(sum, tid()));
        p.body.push(Stmt::If {
            cond: less(sum, int(1)),
            then: vec![],
            otherwise: vec![],
        });
    };
    assert!(refused(deep).contains("nest deeper"));
}

#[test]
fn all_problems_are_reported_at_once() {
    let message = refused(|p| {
        p.threads = 0;
        p.smem_align_bytes = 3;
        p.files[0].len = 6;
    });
    assert!(
        message.contains("0 threads")
            && message.contains("aligned to 3")
            && message.contains("register 6 of 6")
    );
}
