//! Loops that wait: they end when somebody ends them, whatever is counted and not executed, and
//! those that nobody can end are found at once.

use super::kernel::{Run, Shape, WARP, launch, module};
use tilewright_emulator::{AsyncOrder, InstClass, Options, WarpOrder};

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

#[test]
fn what_is_counted_is_what_execution_counts() {
    let block = Shape { block: 96, ..WARP };
    for wait in WAY {
        for order in ORDERS {
            // A profile takes every instruction one by one.
            let body = flag(wait, 40_000);
            let (counted, executed) = (
                run(&body, &block, order, false),
                run(&body, &block, order, true),
            );
            assert!(
                counted.report.is_clean(),
                "{wait}: {:?}",
                counted.report.findings
            );
            assert_eq!(counted.words(0), executed.words(0), "{wait}");
            assert!(counted.report.warp_instructions > 120_000, "{wait}");
            if order != WarpOrder::Random(5) {
                // Turns end at whole iterations, so that a few instructions more or less are taken.
                for class in InstClass::ALL {
                    let [counted, executed] = [&counted, &executed]
                        .map(|run| run.report.counters.class(class).executions);
                    let apart = counted.abs_diff(executed);
                    assert!(
                        100 * apart <= executed,
                        "{wait} {order:?} {class:?}: {counted} {executed}"
                    );
                }
            }
        }
    }
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
fn a_loop_that_counts_runs_until_its_budget_ends() {
    let options = Options {
        instructions_per_warp: 50_000,
        ..Options::default()
    };
    let text = module(1, "", "A: add.u32 %r1, %r1, 1; bra A;");
    let run = launch(&text, &WARP, &[None], &options);
    assert!(run.ids().contains(&"no_progress"));
    assert_eq!(run.report.warp_instructions, 50_001);
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
