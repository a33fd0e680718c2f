//! Instructions that few compilers write.

use super::kernel::{Shape, WARP, lanes, launch, module};
use tilewright_emulator::Options;

#[test]
fn lop3_tells_whether_its_result_is_zero() {
    let a = std::array::from_fn(|lane| lane as u64);
    let body = |op: &str, dst: &str, q: u32| {
        format!(
            "setp.ne.u32 %p2, {q}, 0; lop3.{op}.b32 {dst}|%p1, %r1, 6, 0, 0xc0, %p2;
             selp.u32 %r10, 100, 0, %p1; add.u32 %r10, %r10, %r9; cvt.u64.u32 %rd0, %r10;"
        )
    };
    for (op, q) in [("or", 0), ("or", 1), ("and", 0), ("and", 1)] {
        let text = format!("mov.u32 %r9, 0; {}", body(op, "%r9", q));
        let out = lanes(&text, &a, &a, &a);
        for (lane, out) in out.iter().enumerate() {
            let value = lane as u64 & 6;
            let holds = match op {
                "or" => value != 0 || q == 1,
                _ => value != 0 && q == 1,
            };
            assert_eq!(
                *out,
                value + if holds { 100 } else { 0 },
                "{op} {q} lane {lane}"
            );
        }
        let sink = format!("mov.u32 %r9, 0; {}", body(op, "_", q));
        assert!(lanes(&sink, &a, &a, &a).iter().all(|out| out % 100 == 0));
    }
}

#[test]
fn discarded_bytes_are_undefined() {
    let ids = |address: &str, load: &str| {
        let body = format!(
            "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 0;
             @%p1 discard.global.L2 [{address}], 128; @%p1 ld.global.u32 %r2, [{load}];"
        );
        let text = module(1, "", &body);
        launch(&text, &WARP, &[Some(&[1; 512])], &Options::default()).ids()
    };
    assert_eq!(ids("%rd1+128", "%rd1+252"), ["uninit_global"]);
    assert_eq!(ids("%rd1+128", "%rd1+124"), [""; 0]);
    assert_eq!(ids("%rd1+128", "%rd1+256"), [""; 0]);
    assert_eq!(ids("%rd1+64", "%rd1"), ["misaligned"]);
    assert_eq!(ids("%rd1+512", "%rd1"), ["oob_global"]);
}

#[test]
fn an_indexed_branch_beyond_its_list_is_told() {
    let shape = Shape { block: 32, ..WARP };
    let ids = |index: &str| {
        let body = format!(
            "mov.u32 %r1, %laneid; {index} T: .branchtargets A, B; brx.idx %r1, T;
             A: bra.uni C; B: bra.uni C; C:"
        );
        launch(&module(0, "", &body), &shape, &[], &Options::default()).ids()
    };
    assert_eq!(ids("and.b32 %r1, %r1, 1;"), [""; 0]);
    assert_eq!(ids(""), ["oob_param"]);
}

#[test]
fn a_register_plus_a_constant_is_a_source() {
    let a = std::array::from_fn(|lane| lane as u64);
    let out = lanes(
        "mov.u64 %rd5, %rd1; add.u64 %rd0, %rd5 + 7, %rd5;",
        &a,
        &a,
        &a,
    );
    for (lane, out) in out.iter().enumerate() {
        assert_eq!(*out, 2 * lane as u64 + 7);
    }
    let out = lanes("mov.u32 %r4, %r1 + -1; cvt.u64.u32 %rd0, %r4;", &a, &a, &a);
    assert_eq!(out[0], 0xffff_ffff);
    assert_eq!(out[5], 4);
    let wraps = "setp.lo.u32 %p1, %r1 + -2, 2; selp.u64 %rd0, 1, 0, %p1;";
    let out = lanes(wraps, &a, &a, &a);
    assert_eq!(out[..5], [0, 0, 1, 1, 0]);
}
