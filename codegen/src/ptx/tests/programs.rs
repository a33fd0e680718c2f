//! The programs of the goldens.

use super::*;

/// `d[i] = s[i]` in 16-byte pieces, two to a thread 2048 bytes apart, each guarded.
pub(super) fn vector_copy() -> Program {
    let mut b = Build::new("vector_copy");
    let (s, d) = (b.source("s"), b.output("d"));
    let n = b.param("n", ParamType::I32);
    let at = b.var("at", IntType::I32, false);
    let data = b.file("data", RegType::B32, 8);
    let cta = Expr::Special(Special::CtaidX);
    b.push(Stmt::Let(at, add(mul(cta, int(256)), tid())));
    let bytes = || mul(wide(Expr::Var(at)), Expr::Int(16, IntType::I64));
    for half in 0..2 {
        let part = &data[4 * half..4 * half + 4];
        let imm = 2048 * half as i64;
        let guard = less(add(Expr::Var(at), int(128 * half as i64)), Expr::Param(n));
        let then = vec![
            run("sm50_ld_global_16", vec![regs(part), gmem(s, bytes(), imm)]),
            run("sm50_st_global_16", vec![gmem(d, bytes(), imm), regs(part)]),
        ];
        b.push(Stmt::If {
            cond: guard,
            then,
            otherwise: vec![],
        });
    }
    b.0
}

/// The same copy with cache-hinted templates.
pub(super) fn hinted_copy() -> Program {
    let mut program = vector_copy();
    program.entry = "hinted_copy".to_owned();
    let swap = |stmt: &mut Stmt| {
        let Stmt::Atom { atom, .. } = stmt else {
            return;
        };
        let id = if atom.id.contains("_ld_") {
            "sm80_ld_global_nc_l1_no_allocate_l2_evict_first_16"
        } else {
            "sm70_st_global_l1_no_allocate_16"
        };
        *atom = Arc::clone(catalogue().unwrap().get(id).unwrap());
    };
    for stmt in &mut program.body {
        if let Stmt::If { then, .. } = stmt {
            then.iter_mut().for_each(swap);
        }
    }
    program
}

/// 16-byte pieces to shared memory by cp.async, back by ldmatrix.
pub(super) fn staged() -> Program {
    let mut b = Build::new("staged");
    b.0.smem_bytes = 4096;
    let (s, d) = (b.source("s"), b.output("d"));
    let valid = b.param("valid", ParamType::I32);
    let m = b.file("m", RegType::B32, 4);
    let bytes = || mul(tid(), int(16));
    let rows = || binary(BinOp::Div, bytes(), int(8));
    let swizzled = || binary(BinOp::Xor, bytes(), binary(BinOp::And, rows(), int(0x70)));
    let rest = binary(
        BinOp::Max,
        binary(BinOp::Sub, Expr::Param(valid), bytes()),
        int(0),
    );
    let source_bytes = binary(BinOp::Min, rest, int(16));
    for half in [0, 2048] {
        let size = if half == 0 {
            source_bytes.clone()
        } else {
            int(16)
        };
        b.atom(
            "sm80_cp_async_cg_16",
            vec![
                smem(swizzled(), half),
                gmem(s, wide(bytes()), half),
                Arg::Int(size),
            ],
        );
        b.atom("sm80_cp_async_commit_group", vec![]);
    }
    for (groups, half) in [(1, 0), (0, 2048)] {
        b.atom("sm80_cp_async_wait_group", vec![Arg::Imm(groups)]);
        b.atom("sm50_barrier_cta_sync", vec![]);
        b.atom("sm75_ldmatrix_x4", vec![regs(&m), smem(swizzled(), half)]);
        b.atom(
            "sm50_st_global_16",
            vec![gmem(d, wide(bytes()), half), regs(&m)],
        );
    }
    b.0
}

/// One 16x8x16 product whose results are stored, packed to bf16, under a guard.
pub(super) fn mma() -> Program {
    let mut b = Build::new("mma");
    b.0.threads = 32;
    let (x, y, d) = (b.source("x"), b.source("y"), b.output("d"));
    let n = b.param("n", ParamType::I32);
    let (a, bb) = (b.file("a", RegType::B32, 4), b.file("b", RegType::B32, 2));
    let c = b.file("c", RegType::F32, 4);
    let out = b.file("out", RegType::B32, 2);
    let bytes = |width| wide(mul(tid(), int(width)));
    b.atom("sm50_ld_global_16", vec![regs(&a), gmem(x, bytes(16), 0)]);
    b.atom("sm50_ld_global_8", vec![regs(&bb), gmem(y, bytes(8), 0)]);
    b.push(Stmt::Zero(c.clone()));
    b.atom(
        "sm80_mma_16x8x16_f32_bf16_bf16",
        vec![regs(&c), regs(&a), regs(&bb), regs(&c)],
    );
    b.push(Stmt::If {
        cond: less(tid(), Expr::Param(n)),
        then: vec![
            run("sm80_cvt_bf16x2_f32", vec![regs(&out[..1]), regs(&c[..2])]),
            run("sm50_cvt_bf16x2_f32", vec![regs(&out[1..]), regs(&c[2..])]),
            run("sm50_st_global_8", vec![gmem(d, bytes(8), 0), regs(&out)]),
        ],
        otherwise: vec![],
    });
    b.0
}

/// A dot product: accumulators carried round a loop, a mutable offset, strided 64-bit addresses.
pub(super) fn looped() -> Program {
    let mut b = Build::new("looped");
    let (x, y, d) = (b.source("x"), b.source("y"), b.output("d"));
    let (k, ld) = (b.param("k", ParamType::I32), b.param("ld", ParamType::I64));
    let (i, at) = (
        b.var("i", IntType::I32, false),
        b.var("at", IntType::I64, true),
    );
    let (u, v) = (b.file("u", RegType::F32, 4), b.file("v", RegType::F32, 4));
    let acc = b.file("acc", RegType::F32, 4);
    let long = |value| Expr::Int(value, IntType::I64);
    let here = || Expr::Var(at);
    b.push(Stmt::Zero(acc.clone()));
    b.push(Stmt::Assign(at, mul(wide(tid()), Expr::Param(ld))));
    let mut body = vec![
        run("sm50_ld_global_16", vec![regs(&u), gmem(x, here(), 0)]),
        run("sm50_ld_global_16", vec![regs(&v), gmem(y, here(), 32)]),
    ];
    for at in 0..4 {
        let one = |file: &[Reg]| regs(&file[at..=at]);
        body.push(run(
            "sm50_fma_1x1x1_f32_f32_f32",
            vec![one(&acc), one(&u), one(&v), one(&acc)],
        ));
    }
    body.push(Stmt::Assign(at, add(here(), long(16))));
    body.push(Stmt::From(4));
    b.push(Stmt::For {
        var: i,
        from: int(0),
        to: Expr::Param(k),
        step: int(4),
        body,
    });
    b.atom(
        "sm50_st_global_16",
        vec![gmem(d, mul(wide(tid()), long(16)), 0), regs(&acc)],
    );
    b.0
}

/// The program of that entry.
pub(super) fn by_name(entry: &str) -> Program {
    let all = [vector_copy(), hinted_copy(), staged(), mma(), looped()];
    all.into_iter()
        .find(|program| program.entry == entry)
        .unwrap()
}
