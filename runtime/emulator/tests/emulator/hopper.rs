//! mbarriers and clusters: what they do, and what is said when they are misused.

use super::kernel::{Shape, WARP, launch, module};
use tilewright_emulator::{
    Arg, Content, Finding, FindingId, Launch, Level, Memory, Module, Options, Params, Report,
    Sanitize, WarpOrder, run,
};

const OBJECT: &str = ".shared .align 8 .b64 bar; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 2; bar.sync 0;";

fn ids(body: &str) -> Vec<&'static str> {
    let text = module(0, "", &format!("{OBJECT}\n{body}"));
    launch(&text, &WARP, &[], &Options::default()).ids()
}

#[test]
fn misuse_of_an_mbarrier_has_its_names() {
    let again = "@%p1 mbarrier.init.shared::cta.b64 [bar], 2;";
    assert_eq!(ids(again), ["mbarrier_init_again"]);
    assert_eq!(
        ids(&format!(
            "@%p1 mbarrier.inval.shared::cta.b64 [bar]; {again}"
        )),
        [""; 0]
    );
    let one = "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]";
    assert_eq!(ids(&format!("{one}; {one};")), [""; 0]);
    assert_eq!(ids(&format!("{one};")), ["mbarrier_tx_pending_at_exit"]);
    assert_eq!(ids(&format!("{one}, 3;")), ["mbarrier_overarrive"]);
    assert_eq!(
        ids(&format!("@%p1 st.shared.u32 [bar+4], 0; {one};")),
        ["mbarrier_clobbered", "mbarrier_uninit"]
    );
    assert_eq!(
        ids(&format!(
            "@%p1 mbarrier.inval.shared::cta.b64 [bar]; {one};"
        )),
        ["mbarrier_uninit"]
    );
}

/// An object that counts one arrival too few completes its phases and is left with a rest, which
/// completes a phase too early after some rounds: strict readers want to know before.
#[test]
fn a_rest_of_arrivals_is_an_error_in_strict_mode_only() {
    let level = |arrivals: &str, sanitize| {
        let text = module(0, "", &format!("{OBJECT}\n{arrivals}"));
        let options = Options {
            sanitize,
            ..Options::default()
        };
        let report = launch(&text, &WARP, &[], &options).report;
        let of_exit = |found: &&Finding| found.id == FindingId::MbarrierTxPendingAtExit;
        report
            .findings
            .iter()
            .find(of_exit)
            .map(|found| found.level)
    };
    let one = "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar];";
    let three = one.repeat(3);
    assert_eq!(level(&three, Sanitize::Strict), Some(Level::Error));
    assert_eq!(level(&three, Sanitize::Default), Some(Level::Info));
    assert_eq!(level(&one.repeat(2), Sanitize::Strict), None);
}

#[test]
fn a_run_may_end_with_its_first_error() {
    let body = "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar], 3;
        @%p1 st.shared.u32 [bar+4], 0; @%p1 mbarrier.arrive.shared::cta.b64 _, [bar];";
    let text = module(0, "", &format!("{OBJECT}\n{body}"));
    let ids = |stops_at_error| {
        let options = Options {
            stops_at_error,
            ..Options::default()
        };
        launch(&text, &WARP, &[], &options).ids()
    };
    let all = [
        "mbarrier_clobbered",
        "mbarrier_overarrive",
        "mbarrier_uninit",
    ];
    assert_eq!(ids(false), all);
    assert_eq!(ids(true), ["mbarrier_overarrive"]);
}

/// A wait may come back before its phase is complete; asking once is not enough then.
#[test]
fn a_wait_may_time_out() {
    let body = |again: &str| {
        format!(
            ".shared .align 8 .b32 cell; @!%p1 bra X;
            W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; {again}
            ld.shared.u32 %r2, [cell]; bra Y;
            X: setp.eq.u32 %p3, %r1, 32; @!%p3 bra Y; st.shared.u32 [cell], 7;
            mbarrier.arrive.shared::cta.b64 _, [bar], 2; Y:"
        )
    };
    let ids = |again: &str, waits_time_out| {
        let text = module(0, "", &format!("{OBJECT}\n{}", body(again)));
        let shape = Shape { block: 64, ..WARP };
        let options = Options {
            waits_time_out,
            // The first warp comes last to the barrier and first to its wait.
            warp_order: WarpOrder::Reverse,
            ..Options::default()
        };
        launch(&text, &shape, &[], &options).ids()
    };
    let again = "@!%p2 bra W;";
    assert_eq!(ids(again, false), [""; 0]);
    assert_eq!(ids(again, true), [""; 0]);
    assert_eq!(ids("", false), [""; 0]);
    assert_eq!(ids("", true), ["race_shared"]);
}

/// A wait for what lies outside of shared memory is reported, and does not go on until a budget
/// ends it.
#[test]
fn a_wait_outside_of_shared_memory_goes_on() {
    let body = "@!%p1 bra X;
        W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar+1048576], 0; @!%p2 bra W; X:";
    let text = module(0, "", &format!("{OBJECT}\n{body}"));
    let run = launch(&text, &WARP, &[], &Options::default());
    assert_eq!(run.ids(), ["oob_shared"]);
    assert!(run.report.warp_instructions < 100);
}

#[test]
fn a_deadlock_names_the_mbarrier_and_what_is_missing() {
    let body = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;
        W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;";
    let text = module(0, "", &format!("{OBJECT}\n@!%p1 bra X; {body} X:"));
    let run = launch(&text, &WARP, &[], &Options::default());
    let found = run
        .report
        .findings
        .iter()
        .find(|f| f.id.as_str() == "deadlock");
    let message = &found.unwrap().message;
    assert!(
        message.contains("1 of 2 arrivals missing, 64 bytes missing"),
        "{message}"
    );
    let both = module(
        0,
        "",
        &format!("{OBJECT}\n@!%p1 bra X; {body} X:").replace("bar], 2", "bar], 1"),
    );
    let run = launch(&both, &WARP, &[], &Options::default());
    assert_eq!(run.ids(), ["deadlock", "mbarrier_tx_mismatch"]);
}

fn cluster(body: &str) -> (Vec<u32>, Report) {
    let module = Module::parse(&module(1, "", body)).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = Memory::new();
    let out = memory.alloc("out", 512, Content::Undefined).unwrap();
    let launch = Launch {
        entry: "k".to_owned(),
        grid: [4, 1, 1],
        block: [32, 1, 1],
        cluster: [2, 1, 1],
        programmatic: false,
        dynamic_shared_bytes: 0,
        params: Params::Args(vec![Arg::Buffer(out)]),
    };
    let report = run(&module, &launch, &mut memory, &Options::default()).unwrap();
    let words = memory.read(out);
    let words = words.chunks_exact(4);
    let words = words
        .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
        .collect();
    (words, report)
}

const SYNC: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

#[test]
fn a_cluster_reads_its_neighbours_shared_memory() {
    let body = |first: &str, last: &str| {
        format!(
            ".shared .align 4 .b8 s[128]; mov.u32 %r1, %laneid; mov.u32 %r2, %cluster_ctarank;
             mov.u32 %r3, %ctaid.x; shl.b32 %r4, %r3, 5; add.u32 %r4, %r4, %r1;
             shl.b32 %r5, %r1, 2; mov.u32 %r6, s; add.u32 %r5, %r5, %r6;
             st.shared.u32 [%r5], %r4; {first} xor.b32 %r7, %r2, 1;
             mapa.shared::cluster.u32 %r8, %r5, %r7; ld.shared::cluster.u32 %r9, [%r8];
             ld.param.u64 %rd1, [p0]; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2;
             st.global.u32 [%rd1], %r9; {last}"
        )
    };
    let (words, report) = cluster(&body(SYNC, SYNC));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    for (index, word) in words.iter().enumerate() {
        assert_eq!(*word as usize, index ^ 32);
    }
    let has = |report: &Report, id: &str| report.findings.iter().any(|f| f.id.as_str() == id);
    assert!(has(
        &cluster(&body("", SYNC)).1,
        "dsmem_before_cluster_sync"
    ));
    assert!(has(&cluster(&body(SYNC, "")).1, "dsmem_cta_exited"));
}

#[test]
fn setmaxnreg_goes_the_way_it_says() {
    let shape = Shape {
        grid: 1,
        block: 128,
        shared: 0,
    };
    let text = |body: &str| {
        let own = module(0, "", body).replace(".target sm_90", ".target sm_90a");
        own.replace(".visible .entry k()", ENTRY)
    };
    const ENTRY: &str = ".visible .entry k() .maxnreg 128";
    let ids = |body: &str| launch(&text(body), &shape, &[], &Options::default()).ids();
    assert_eq!(ids("setmaxnreg.dec.sync.aligned.u32 40;"), [""; 0]);
    assert_eq!(ids("setmaxnreg.dec.sync.aligned.u32 160;"), ["setmaxnreg"]);
    assert_eq!(
        ids("setmaxnreg.inc.sync.aligned.u32 160;"),
        ["deadlock", "setmaxnreg"]
    );
}

#[test]
fn a_parity_two_phases_old_is_told() {
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [bar], 2;";
    let wait = |n: u32, parity: u32| {
        format!(
            "W{n}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], {parity}; @!%p2 bra W{n};"
        )
    };
    let body = |between: &str| {
        let (first, second) = match between {
            "" => (String::new(), String::new()),
            _ => (wait(0, 0), wait(1, 1)),
        };
        format!(
            "@!%p1 bra X; {arrive} {first} {arrive} {second} {arrive} {} X:",
            wait(2, 0)
        )
    };
    assert_eq!(ids(&body("waits")), [""; 0]);
    assert_eq!(ids(&body("")), ["mbarrier_phase_skipped"]);
}

#[test]
fn a_parity_is_0_or_1() {
    let body = |parity: u32| {
        format!(
            "@!%p1 bra X; mbarrier.arrive.shared::cta.b64 _, [bar], 2;
            W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], {parity}; @!%p2 bra W; X:"
        )
    };
    assert_eq!(ids(&body(0)), [""; 0]);
    assert_eq!(ids(&body(2)), ["mbarrier_parity"]);
}
