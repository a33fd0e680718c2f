//! Divergence, loops, calls, barriers, special registers, variables.

use super::kernel::{Shape, WARP, launch, module};
use tilewright_emulator::{AsyncOrder, Options, WarpOrder};

const STORE: &str = "mov.u32 %r60, %tid.x; mul.wide.u32 %rd60, %r60, 4;
    ld.param.u64 %rd61, [p0]; add.u64 %rd61, %rd61, %rd60; st.global.u32 [%rd61], %r0;";

fn words(before: &str, body: &str, shape: &Shape, options: &Options) -> Vec<u32> {
    let text = module(1, before, &format!("{body}\n{STORE}"));
    let run = launch(&text, shape, &[None], options);
    assert!(run.report.is_clean(), "{:?}", run.report.findings);
    run.words(0)[..shape.block as usize].to_vec()
}

fn schedules() -> Vec<Options> {
    let orders = [
        WarpOrder::RoundRobin,
        WarpOrder::Reverse,
        WarpOrder::Random(1),
        WarpOrder::Random(2),
    ];
    let options = |warp_order| Options {
        warp_order,
        async_order: AsyncOrder::Late,
        ..Options::default()
    };
    orders.into_iter().map(options).collect()
}

#[test]
fn divergent_loops_reconverge() {
    // Collatz steps of tid + 1: every lane leaves the loop at its own time.
    let body = "mov.u32 %r1, %tid.x; add.u32 %r1, %r1, 1; mov.u32 %r0, 0;
        LOOP: setp.eq.u32 %p1, %r1, 1; @%p1 bra DONE;
        and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 0; @%p2 bra EVEN;
        mad.lo.u32 %r1, %r1, 3, 1; bra NEXT;
        EVEN: shr.u32 %r1, %r1, 1;
        NEXT: add.u32 %r0, %r0, 1; bra LOOP;
        DONE: bar.warp.sync -1;";
    let got = words("", body, &WARP, &Options::default());
    for (index, steps) in got.into_iter().enumerate() {
        let (mut n, mut count) = (index as u64 + 1, 0);
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            count += 1;
        }
        assert_eq!(steps, count);
    }
}

#[test]
fn a_spinning_lane_lets_the_others_go_on() {
    // Lane 0 spins at a low pc until lane 1, at a higher one, has written.
    let body = ".shared .align 4 .b32 flag;
        mov.u32 %r1, %tid.x; mov.u32 %r0, %r1;
        setp.eq.u32 %p1, %r1, 2; @%p1 st.shared.u32 [flag], 0; bar.warp.sync -1;
        setp.ne.u32 %p1, %r1, 0; @%p1 bra OTHERS;
        SPIN: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;
        bra END;
        OTHERS: setp.eq.u32 %p3, %r1, 1; @%p3 st.volatile.shared.u32 [flag], 1;
        END:";
    assert_eq!(
        words("", body, &WARP, &Options::default()),
        (0..32).collect::<Vec<u32>>()
    );
}

#[test]
fn recursion_indirect_calls_and_results_in_registers() {
    let functions = "
        .func (.param .b32 out) fib(.param .b32 n);
        .func (.param .b32 out) fib(.param .b32 n) {
            .reg .b32 %a<6>; .reg .pred %q;
            ld.param.u32 %a0, [n]; mov.u32 %a1, %a0;
            setp.lt.u32 %q, %a0, 2; @%q bra OUT;
            { .param .b32 x; .param .b32 y; sub.u32 %a2, %a0, 1; st.param.b32 [x], %a2;
              call (y), fib, (x); ld.param.b32 %a3, [y]; }
            { .param .b32 x; .param .b32 y; sub.u32 %a2, %a0, 2; st.param.b32 [x], %a2;
              call (y), fib, (x); ld.param.b32 %a4, [y]; }
            add.u32 %a1, %a3, %a4;
            OUT: st.param.b32 [out], %a1; ret;
        }
        .func (.reg .b32 o) twice(.reg .b32 i) { add.u32 o, i, i; ret; }
        .func (.reg .b32 o) square(.reg .b32 i) { mul.lo.u32 o, i, i; ret; }
        .global .u64 table[2] = { twice, square };";
    let body = "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 7;
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call.uni (y), fib, (x);
            ld.param.b32 %r3, [y]; }
        and.b32 %r4, %r1, 1; mul.wide.u32 %rd1, %r4, 8; mov.u64 %rd2, table;
            add.u64 %rd2, %rd2, %rd1;
        ld.global.u64 %rd3, [%rd2];
        PROTO: .callprototype (.reg .b32 _) _ (.reg .b32 _);
        call (%r0), %rd3, (%r3), PROTO;";
    let got = words(functions, body, &WARP, &Options::default());
    let fib = [0, 1, 1, 2, 3, 5, 8, 13];
    for (lane, value) in got.into_iter().enumerate() {
        let n = fib[lane % 8];
        assert_eq!(
            value,
            if lane % 2 == 0 { 2 * n } else { n * n },
            "lane {lane}"
        );
    }
}

#[test]
fn barriers_order_shared_memory_under_every_schedule() {
    let body = ".extern .shared .align 16 .b8 dynamic[];
        mov.u32 %r1, %tid.x; mov.u32 %r5, dynamic; shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r5;
        st.shared.u32 [%r2], %r1;
        barrier.sync 1, 128;
        xor.b32 %r3, %r1, 127; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r5; ld.shared.u32 %r0, [%r3];
        setp.gt.u32 %p1, %r1, 63; bar.red.popc.u32 %r4, 0, %p1; add.u32 %r0, %r0, %r4;";
    let shape = Shape {
        grid: 1,
        block: 128,
        shared: 512,
    };
    let want: Vec<u32> = (0..128).map(|tid| (tid ^ 127) + 64).collect();
    for options in schedules() {
        assert_eq!(words("", body, &shape, &options), want);
    }
}

#[test]
fn exited_threads_are_not_waited_for() {
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r0, %r1; setp.gt.u32 %p1, %r1, 39;
        st.global.u32 [%rd61], %r0; @%p1 exit; bar.sync 0; redux.sync.max.u32 %r0, %r1, -1;";
    let prologue = "mov.u32 %r60, %tid.x; mul.wide.u32 %rd60, %r60, 4; ld.param.u64 %rd61, [p0];
        add.u64 %rd61, %rd61, %rd60;";
    let text = module(1, "", &format!("{prologue}{body}{STORE}"));
    let shape = Shape {
        grid: 1,
        block: 64,
        shared: 0,
    };
    let run = launch(&text, &shape, &[None], &Options::default());
    let errors: Vec<_> = run.report.errors().collect();
    assert!(errors.is_empty(), "{errors:?}");
    let words = run.words(0);
    assert_eq!((words[0], words[32], words[63]), (31, 39, 63));
}

#[test]
fn variables_of_every_space() {
    let before = ".const .align 4 .u32 primes[4] = {2, 3, 5, 7};
        .global .align 4 .u32 numbers[] = {10, 20, 30};";
    let body = ".local .align 8 .b8 stack[16];
        ld.const.u32 %r1, [primes+8]; mov.u64 %rd1, numbers; ld.global.u32 %r2, [%rd1+4];
        st.local.u32 [stack+4], %r1; mov.u64 %rd2, stack; cvta.local.u64 %rd3, %rd2;
        ld.u32 %r3, [%rd3+4]; st.u32 [%rd3+8], %r2; ld.local.u32 %r4, [stack+8];
        mov.u64 %rd4, primes; cvta.const.u64 %rd5, %rd4; ld.u32 %r5, [%rd5+12];
        add.u32 %r0, %r3, %r4; mad.lo.u32 %r0, %r5, 100, %r0;";
    assert_eq!(
        words(before, body, &WARP, &Options::default()),
        vec![725; 32]
    );
}

#[test]
fn results_do_not_depend_on_parallelism() {
    let body = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 32, %r2;
        mul.wide.u32 %rd1, %r3, 4; ld.param.u64 %rd2, [p0]; add.u64 %rd2, %rd2, %rd1;
        setp.gt.u32 %p1, %r1, 29; @%p1 ld.global.u32 %r5, [%rd2]; st.global.u32 [%rd2], %r3;";
    let shape = Shape { grid: 40, ..WARP };
    let text = module(1, "", body);
    let serial = Options {
        parallel: false,
        ..Options::default()
    };
    let one = launch(&text, &shape, &[None], &serial);
    let many = launch(&text, &shape, &[None], &Options::default());
    assert_eq!(one.report, many.report);
    assert_eq!(one.words(0), many.words(0));
    assert_eq!(one.ids(), ["oob_global", "uninit_global"]);
}
