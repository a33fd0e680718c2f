//! Loops that wait: they end when somebody ends them, whatever is counted and not executed, and
//! those that nobody can end are found at once.

use super::kernel::{Run, Shape, WARP, launch, module};
use tilewright_emulator::{AsyncOrder, Options, Stop, WarpOrder};

const ORDERS: [WarpOrder; 3] = [
    WarpOrder::RoundRobin,
    WarpOrder::Reverse,
    WarpOrder::Random(5),
];

fn run(body: &str, shape: &Shape, order: WarpOrder, profile: bool) -> Run {
    let options = Options {
        warp_order: order,
        async_order: AsyncOrder::Late,
        profile,
        ..Options::default()
    };
    let zeros = [0u8; 4096];
    launch(&module(1, "", body), shape, &[Some(&zeros)], &options)
}

/// Warp 1 works for a while and sets a flag that the other warps spin on, each in a way of its own.
const WAY: [&str; 4] = [
    "S: ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 77; @%p1 bra S;",
    "S: ld.acquire.gpu.global.u32 %r1, [%rd1]; nanosleep.u32 20; xor.b32 %r1, %r1, 77;
     setp.ne.u32 %p1, %r1, 0; @%p1 bra S;",
    "S: atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 77, 77; setp.ne.u32 %p1, %r1, 77; @%p1 bra S;",
    "S: atom.global.add.u32 %r1, [%rd1], 0; membar.gl; setp.eq.u32 %p1, %r1, 77; @!%p1 bra S;",
];

fn flag(wait: &str, work: u32) -> String {
    format!(
        "ld.param.u64 %rd1, [p0]; mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5;
         setp.eq.u32 %p2, %r3, 1; @%p2 bra W;
         {wait}
         mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+128], %r1; bra E;
         W: mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, {work}; @%p3 bra L;
         mov.u32 %r5, 77; and.b32 %r6, %r2, 31; setp.eq.u32 %p4, %r6, 0;
         @%p4 atom.release.gpu.global.exch.b32 %r7, [%rd1], %r5;
         E:"
    )
}

/// A run, compared with one that executes every instruction.
fn compared(body: &str, shape: &Shape, order: WarpOrder) -> Run {
    // A profile takes every instruction one by one.
    let (counted, executed) = (
        run(body, shape, order, false),
        run(body, shape, order, true),
    );
    let (a, b) = (&counted.report, &executed.report);
    assert_eq!(a.findings, b.findings, "{order:?} {body}");
    assert_eq!(counted.words(0), executed.words(0), "{order:?} {body}");
    assert_eq!(a.counters, b.counters, "{order:?} {body}");
    assert_eq!(a.warp_instructions, b.warp_instructions, "{order:?} {body}");
    counted
}

#[test]
fn what_is_counted_is_what_execution_counts() {
    let block = Shape { block: 96, ..WARP };
    for wait in WAY {
        for order in ORDERS {
            let counted = compared(&flag(wait, 10_000), &block, order);
            let findings = &counted.report.findings;
            assert!(counted.report.is_clean(), "{wait}: {findings:?}");
            assert!(counted.report.warp_instructions > 60_000, "{wait}");
        }
    }
}

/// What a loop may do beside its wait, without anybody seeing it; %r1 is the flag, %r20 to %r29 are
/// the loop's own.
const BESIDE: [&str; 8] = [
    "add.u32 %r20, %r20, 1;",
    "mov.u32 %r20, %clock; mov.u64 %rd20, %globaltimer;",
    "mov.u32 %r21, %clock; add.u32 %r20, %r20, %r21; mov.u32 %r22, %r20;",
    "mul.lo.u32 %r20, %r20, 1664525; add.u32 %r20, %r20, 1013904223; xor.b32 %r21, %r20, %r1;",
    "mov.u32 %r22, %r21; mov.u32 %r21, %r20; add.u32 %r20, %r20, %laneid;",
    "shl.b32 %r20, %r20, 1; add.u32 %r20, %r20, 20; min.u32 %r20, %r20, 640; nanosleep.u32 %r20;",
    "add.cc.u32 %r20, %r20, 0x40000001; addc.u32 %r21, %r21, 7;",
    "mov.u32 %r23, 0; J: add.u32 %r23, %r23, 1; add.u32 %r20, %r20, %r23;
     setp.lt.u32 %p5, %r23, 5; @%p5 bra J;",
];

/// What it stores beside, each time what is there already.
const STORED: [&str; 3] = [
    "st.global.u32 [%rd1+8], 0;",
    "st.volatile.global.u8 [%rd1+9], 0;",
    "atom.global.or.b32 %r24, [%rd1+8], 0;",
];

/// Waits for the flag, does something beside, and stores what came of that.
fn beside(what: &str, bound: &str) -> String {
    format!(
        "mov.u32 %r20, 0; mov.u32 %r21, %laneid; mov.u32 %r22, 0; mov.u64 %rd20, 0;
         S: {what} ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 77; {bound}
         @%p1 bra S;
         cvt.u32.u64 %r25, %rd20; add.u32 %r20, %r20, %r21; xor.b32 %r20, %r20, %r22;
         xor.b32 %r1, %r20, %r25;"
    )
}

#[test]
fn what_registers_hold_is_what_execution_leaves() {
    let block = Shape { block: 96, ..WARP };
    for what in BESIDE.iter().chain(&STORED) {
        for order in ORDERS {
            compared(&flag(&beside(what, ""), 6000), &block, order);
        }
    }
}

#[test]
fn what_nobody_sees_does_not_hide_that_nobody_ends_a_loop() {
    for block in [32, 96] {
        let shape = Shape { block, ..WARP };
        for what in BESIDE.iter().chain(&STORED) {
            for order in ORDERS {
                let body = flag(&beside(what, ""), 10).replace("mov.u32 %r5, 77", "mov.u32 %r5, 7");
                let run = run(&body, &shape, order, false);
                assert!(run.ids().contains(&"no_progress"), "{what}");
                let message = &run.report.findings.last().unwrap().message;
                assert!(message.contains("that nobody makes"), "{what}: {message}");
                let instructions = run.report.warp_instructions;
                assert!(instructions < 500_000, "{what}: {instructions}");
            }
        }
    }
}

#[test]
fn what_bounds_a_loop_ends_it_where_execution_ends_it() {
    let block = Shape { block: 96, ..WARP };
    let bounds = [
        (
            "add.u32 %r20, %r20, 3;",
            "setp.lt.and.u32 %p1, %r20, 9000, %p1;",
        ),
        (
            "sub.u32 %r20, %r20, 1;",
            "setp.ne.and.u32 %p1, %r20, 0xfffff448, %p1;",
        ),
        (
            "mov.u32 %r20, %clock;",
            "setp.lt.and.u32 %p1, %r20, 16234, %p1;",
        ),
        // Each lane has a bound of its own.
        (
            "add.u32 %r21, %r21, 1;",
            "setp.lt.and.u32 %p1, %r21, 3000, %p1;",
        ),
        // The counter is looked at by another guard as well.
        (
            "add.u32 %r20, %r20, 1; setp.gt.u32 %p6, %r20, 2400; @%p6 add.u32 %r22, %r22, 1;",
            "setp.lt.and.u32 %p1, %r22, 600, %p1;",
        ),
    ];
    for (what, bound) in bounds {
        for order in ORDERS {
            compared(&flag(&beside(what, bound), 70_000), &block, order);
            let never = flag(&beside(what, bound), 10).replace("mov.u32 %r5, 77", "mov.u32 %r5, 7");
            let run = compared(&never, &block, order);
            assert!(run.report.is_clean(), "{bound}: {:?}", run.report.findings);
        }
    }
}

#[test]
fn a_bound_behind_the_budget_costs_little() {
    // 10 million instructions, of which a hundredth is executed.
    let bound = "setp.lt.and.u32 %p1, %r20, 1000000000, %p1;";
    let body = flag(&beside("add.u32 %r20, %r20, 1;", bound), 10);
    let body = body.replace("mov.u32 %r5, 77", "mov.u32 %r5, 7");
    let run = run(&body, &WARP, WarpOrder::RoundRobin, false);
    assert_eq!(run.ids(), ["no_progress"]);
    let message = &run.report.findings[0].message;
    assert!(
        message.contains("the warp executed 10000000 instructions"),
        "{message}"
    );
    assert_eq!(run.report.warp_instructions, 10_000_001);
}

#[test]
fn stores_that_undo_one_another_are_executed() {
    // Each of two warps stores a number of its own, and counts how often it finds the other one.
    let body = "ld.param.u64 %rd1, [p0]; mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5;
        mov.u32 %r20, 0; mov.u32 %r21, 0;
        S: ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, %r3;
        @%p1 add.u32 %r20, %r20, 1; st.volatile.global.u32 [%rd1], %r3;
        add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 3000; @%p1 bra S;
        mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+128], %r20;";
    for order in ORDERS {
        let run = compared(body, &Shape { block: 64, ..WARP }, order);
        assert!(run.words(0)[32 + 32..][..32].iter().all(|found| *found > 1));
    }
}

#[test]
fn a_walk_over_flags_that_nobody_sets_is_found() {
    let body = "ld.param.u64 %rd1, [p0];
        T: mov.u32 %r3, 0; mov.u32 %r4, 1;
        S: mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd2, %rd1;
        ld.volatile.global.u32 %r1, [%rd2]; and.b32 %r4, %r4, %r1;
        add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 12; @%p1 bra S;
        setp.eq.u32 %p2, %r4, 0; @%p2 bra T;";
    let run = run(body, &WARP, WarpOrder::RoundRobin, false);
    assert_eq!(run.ids(), ["no_progress"]);
    assert!(run.report.warp_instructions < 100_000);
}

#[test]
fn a_loop_that_nobody_ends_is_found_at_once() {
    let block = Shape { block: 96, ..WARP };
    for wait in WAY {
        for order in ORDERS {
            // The flag is never 77: warp 1 exits.
            let body = flag(wait, 10).replace("mov.u32 %r5, 77", "mov.u32 %r5, 76");
            let run = run(&body, &block, order, false);
            assert_eq!(run.ids(), ["no_progress"], "{wait}");
            let message = &run.report.findings[0].message;
            assert!(message.contains("that nobody makes"), "{message}");
            assert!(run.report.warp_instructions < 500_000, "{wait}");
        }
    }
}

#[test]
fn a_poll_of_a_barrier_that_nobody_completes_is_found() {
    let body = ".shared .align 8 .b64 bar; .reg .b32 %bar; mov.u32 %bar, bar; mov.u32 %r1, %laneid;
        setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared::cta.b64 [bar], 1; bar.warp.sync -1;
        P: mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra P;";
    let run = run(body, &WARP, WarpOrder::RoundRobin, false);
    assert_eq!(run.ids(), ["no_progress"]);
    assert!(run.report.warp_instructions < 100_000);
}

#[test]
fn a_loop_whose_counter_ends_it_runs_until_its_budget_ends() {
    let options = Options {
        instructions_per_warp: 50_000,
        ..Options::default()
    };
    let text = module(
        1,
        "",
        "mov.u32 %r1, 0; A: add.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra A;",
    );
    let run = launch(&text, &WARP, &[None], &options);
    assert!(run.ids().contains(&"no_progress"));
    assert_eq!(run.report.warp_instructions, 50_001);
}

/// Neither budget would end it: the wish does, from another thread.
#[test]
fn a_run_that_is_wished_to_stop_is_cut_short() {
    let stop = Stop::default();
    let options = Options {
        instructions_per_warp: u64::MAX,
        instructions_total: u64::MAX,
        stop: Some(stop.clone()),
        ..Options::default()
    };
    let text = module(
        1,
        "",
        "mov.u64 %rd1, 0; A: add.u64 %rd1, %rd1, 1; setp.ne.u64 %p1, %rd1, 0; @%p1 bra A;",
    );
    let run = std::thread::scope(|scope| {
        scope.spawn(|| stop.wish());
        launch(&text, &WARP, &[None], &options)
    });
    assert!(run.report.is_cut_short);
    let ended = launch(&module(1, "", "ret;"), &WARP, &[None], &Options::default());
    assert!(!ended.report.is_cut_short);
}

#[test]
fn a_lane_that_spins_on_its_own_warp_is_ended_by_it() {
    // Lane 0 waits for a flag that another lane sets after some turns of its own.
    let body = "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %laneid; setp.ne.u32 %p1, %r1, 0;
        @%p1 bra O;
        S: ld.volatile.global.u32 %r2, [%rd1]; setp.ne.u32 %p2, %r2, 5; @%p2 bra S; bra E;
        O: mov.u32 %r3, 0; L: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 500; @%p3 bra L;
        setp.eq.u32 %p4, %r1, 7; mov.u32 %r4, 5; @%p4 st.volatile.global.u32 [%rd1], %r4;
        E:";
    for order in ORDERS {
        let run = run(body, &WARP, order, false);
        assert!(run.report.is_clean(), "{:?}", run.report.findings);
    }
}

/// Each of 16 CTAs waits for the one before it: in whatever order they come, all end.
#[test]
fn a_chain_of_ctas_comes_to_its_end_in_every_order() {
    let body = "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
        setp.ne.u32 %p1, %r1, 0; @%p1 bra L; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1;
        setp.eq.u32 %p2, %r2, 0; @%p2 bra G;
        S: ld.acquire.gpu.global.u32 %r3, [%rd2+128]; setp.eq.u32 %p3, %r3, 0; @%p3 bra S;
        G: add.u32 %r4, %r2, 1; st.global.u32 [%rd2], %r4;
        st.release.gpu.global.u32 [%rd2+132], %r4; L:";
    let shape = Shape {
        grid: 16,
        block: 64,
        shared: 0,
    };
    for seed in 0..40 {
        let run = run(body, &shape, WarpOrder::Random(seed), false);
        assert!(run.report.is_clean(), "{seed}: {:#?}", run.report.findings);
        let wanted: Vec<u32> = (1..=16).collect();
        assert_eq!(run.words(0)[..16], wanted, "{seed}");
    }
}
