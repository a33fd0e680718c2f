//! Memory order through LLVM's passes: what a barrier or a wait separates stays separated.

use super::*;
use crate::ptx::{IrForm, emit, llvm_ir};

/// The opcodes of interest, in the order of the text.
fn opcodes(text: &str, wanted: &[&str]) -> Vec<String> {
    let ops = text
        .lines()
        .filter_map(|line| line.trim().split([' ', '\t', ';']).next());
    ops.filter_map(|op| wanted.iter().find(|wanted| op.starts_with(**wanted)))
        .map(|op| (*op).to_owned())
        .collect()
}

/// Reads the same shared words before and after the statement, and stores both.
fn around(load: &str, middle: Stmt) -> Vec<String> {
    let mut b = Build::new("around");
    b.0.smem_bytes = 4096;
    let (s, d) = (b.source("s"), b.output("d"));
    let (first, second) = (
        b.file("first", RegType::B32, 4),
        b.file("second", RegType::B32, 4),
    );
    let bytes = || mul(tid(), int(16));
    b.atom(load, vec![regs(&first), smem(bytes(), 0)]);
    let copy = vec![
        smem(bytes(), 0),
        gmem(s, wide(bytes()), 0),
        Arg::Int(int(16)),
    ];
    b.atom("sm80_cp_async_cg_16", copy);
    b.atom("sm80_cp_async_commit_group", vec![]);
    b.push(middle);
    b.atom(load, vec![regs(&second), smem(bytes(), 0)]);
    b.atom(
        "sm50_st_global_16",
        vec![gmem(d, wide(bytes()), 0), regs(&first)],
    );
    b.atom(
        "sm50_st_global_16",
        vec![gmem(d, wide(bytes()), 2048), regs(&second)],
    );
    let text = emit(&b.0, &arch("sm_80"), "around").unwrap().text;
    opcodes(
        &text,
        &[
            "ld.shared",
            "ldmatrix",
            "cp.async.cg",
            "cp.async.commit",
            "cp.async.wait",
            "bar.sync",
        ],
    )
}

#[test]
fn shared_reads_stay_on_their_side() {
    for (load, op) in [
        ("sm50_ld_shared_16", "ld.shared"),
        ("sm75_ldmatrix_x4", "ldmatrix"),
    ] {
        let wait = run("sm80_cp_async_wait_group", vec![Arg::Imm(0)]);
        let order = around(load, wait);
        assert_eq!(
            order,
            [op, "cp.async.cg", "cp.async.commit", "cp.async.wait", op]
        );
        let order = around(load, run("sm50_barrier_cta_sync", vec![]));
        assert_eq!(
            order,
            [op, "cp.async.cg", "cp.async.commit", "bar.sync", op]
        );
    }
}

#[test]
fn a_read_is_not_forwarded_across_a_barrier() {
    let mut b = Build::new("forward");
    b.0.smem_bytes = 4096;
    let d = b.output("d");
    let (x, y) = (b.file("x", RegType::B32, 1), b.file("y", RegType::B32, 1));
    let mine = || mul(tid(), int(4));
    b.push(Stmt::Zero(x.clone()));
    b.atom("sm50_st_shared_4", vec![smem(mine(), 0), regs(&x)]);
    b.atom("sm50_barrier_cta_sync", vec![]);
    b.atom("sm50_ld_shared_4", vec![regs(&y), smem(mine(), 0)]);
    b.atom("sm50_barrier_cta_sync", vec![]);
    b.atom("sm50_st_shared_4", vec![smem(mine(), 0), regs(&x)]);
    b.atom("sm50_st_global_4", vec![gmem(d, wide(mine()), 0), regs(&y)]);
    let text = emit(&b.0, &arch("sm_80"), "forward").unwrap().text;
    let order = opcodes(&text, &["ld.shared", "st.shared", "bar.sync"]);
    assert_eq!(
        order,
        [
            "st.shared",
            "bar.sync",
            "ld.shared",
            "bar.sync",
            "st.shared"
        ]
    );
}

#[test]
fn reads_in_a_loop_are_not_hoisted_over_its_wait() {
    let mut b = Build::new("ring");
    b.0.smem_bytes = 8192;
    let (s, d) = (b.source("s"), b.output("d"));
    let k = b.param("k", ParamType::I32);
    let i = b.var("i", IntType::I32, false);
    let m = b.file("m", RegType::B32, 4);
    let frag = b.file("frag", RegType::B32, 2);
    let acc = b.file("acc", RegType::F32, 4);
    let bytes = || mul(tid(), int(16));
    b.push(Stmt::Zero([acc.clone(), frag.clone()].concat()));
    let body = vec![
        run(
            "sm80_cp_async_cg_16",
            vec![
                smem(bytes(), 0),
                gmem(s, wide(bytes()), 0),
                Arg::Int(int(16)),
            ],
        ),
        run("sm80_cp_async_commit_group", vec![]),
        run("sm80_cp_async_wait_group", vec![Arg::Imm(0)]),
        run("sm50_barrier_cta_sync", vec![]),
        run("sm75_ldmatrix_x4", vec![regs(&m), smem(bytes(), 0)]),
        run(
            "sm80_mma_16x8x16_f32_f16_f16",
            vec![regs(&acc), regs(&m), regs(&frag), regs(&acc)],
        ),
        run("sm50_barrier_cta_sync", vec![]),
    ];
    b.push(Stmt::For {
        var: i,
        from: int(0),
        to: Expr::Param(k),
        step: int(1),
        body,
    });
    b.atom(
        "sm50_st_global_16",
        vec![gmem(d, wide(bytes()), 0), regs(&acc)],
    );
    let text = emit(&b.0, &arch("sm_80"), "ring").unwrap().text;
    let wanted = [
        "cp.async.cg",
        "cp.async.commit",
        "cp.async.wait",
        "bar.sync",
        "ldmatrix",
        "mma.sync",
    ];
    let order = opcodes(&text, &wanted);
    assert_eq!(
        order,
        [
            "cp.async.cg",
            "cp.async.commit",
            "cp.async.wait",
            "bar.sync",
            "ldmatrix",
            "mma.sync",
            "bar.sync"
        ]
    );
}

#[test]
fn collective_calls_stay_convergent() {
    let ir = llvm_ir(&programs::mma(), &arch("sm_80"), "mma", IrForm::Optimized).unwrap();
    let call = ir
        .lines()
        .find(|line| line.contains("call") && line.contains("llvm.nvvm.mma"))
        .unwrap();
    let group = call
        .rsplit_once('#')
        .map(|(_, number)| format!("attributes #{} ", number.trim()))
        .unwrap();
    let attributes = ir.lines().find(|line| line.starts_with(&group)).unwrap();
    assert!(attributes.contains("convergent"), "{attributes}");
}
