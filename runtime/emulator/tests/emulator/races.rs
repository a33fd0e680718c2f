//! Each race is found, and not in its right neighbour, under every schedule.

use super::kernel::{Run, Shape, launch, module};
use tilewright_emulator::{AsyncOrder, Finding, FindingId, Options, Sanitize, WarpOrder};

const SHAPE: Shape = Shape {
    grid: 1,
    block: 64,
    shared: 0,
};

/// Thread t of 64 has %r1 = t, %r2 the address of word t of `s`, %r3 that of its mirror.
const BASE: &str = "ld.param.u64 %rd1, [p0]; .shared .align 128 .b8 s[256];
    .shared .align 8 .b64 bar; mov.u32 %r1, %tid.x; mov.u32 %r9, s;
    setp.eq.u32 %p1, %r1, 0; shl.b32 %r2, %r1, 2; sub.u32 %r3, 252, %r2;
    add.u32 %r2, %r2, %r9; add.u32 %r3, %r3, %r9;";

fn runs(body: &str, sanitize: Sanitize) -> Vec<Run> {
    runs_of(&SHAPE, body, sanitize)
}

fn runs_of(shape: &Shape, body: &str, sanitize: Sanitize) -> Vec<Run> {
    let text = module(1, "", &format!("{BASE}\n{body}"));
    let orders = [
        (WarpOrder::RoundRobin, AsyncOrder::Late),
        (WarpOrder::Reverse, AsyncOrder::Early),
        (WarpOrder::Random(3), AsyncOrder::Late),
        (WarpOrder::RoundRobin, AsyncOrder::Random(4)),
    ];
    let run = |(warp_order, async_order)| {
        let options = Options {
            warp_order,
            async_order,
            sanitize,
            ..Options::default()
        };
        launch(&text, shape, &[None], &options)
    };
    orders.into_iter().map(run).collect()
}

/// Every schedule gives exactly these ids.
fn gives(sanitize: Sanitize, ids: &[&str], body: &str) {
    for run in runs(body, sanitize) {
        assert_eq!(run.ids(), ids, "{body}\n{:?}", run.report.findings);
    }
}

#[test]
fn threads_need_a_barrier_between_them() {
    let body = |between| {
        format!(
            "st.shared.u32 [%r2], %r1; {between} ld.shared.u32 %r4, [%r2];
        st.shared.u32 [%r2], %r4; {between} ld.shared.u32 %r5, [%r3];"
        )
    };
    gives(Sanitize::Default, &[], &body("bar.sync 0;"));
    for run in runs(&body("bar.warp.sync -1;"), Sanitize::Default) {
        assert!(
            run.ids().contains(&"race_shared"),
            "{:?}",
            run.report.findings
        );
    }
}

#[test]
fn stores_of_half_words_race_with_readers_of_the_same_half() {
    let body = |read: &str, between: &str| {
        format!(
            "mov.b16 %h1, 1; st.shared.b16 [%r2], %h1; st.shared.b16 [%r2+2], %h1; bar.sync 0;
        ld.shared.b16 %h2, [{read}]; {between} st.shared.b16 [%r2], %h1;"
        )
    };
    gives(Sanitize::Default, &[], &body("%r3", "bar.sync 0;"));
    gives(Sanitize::Default, &[], &body("%r3+2", ""));
    gives(Sanitize::Default, &["race_shared"], &body("%r3", ""));
}

#[test]
fn a_race_names_both_sides() {
    let body = "st.shared.u32 [%r2], %r1; ld.shared.u32 %r5, [%r3];";
    for run in runs(body, Sanitize::Default) {
        let is_race = |found: &&Finding| found.id == FindingId::RaceShared;
        let race = run.report.findings.iter().find(is_race).unwrap();
        let other = race.other.as_ref().unwrap();
        let by = other.by.unwrap();
        assert_eq!((race.warp ^ by.warp, race.line), (1, other.line));
        assert_eq!(race.lanes, by.lanes.reverse_bits());
        assert!(race.to_string().contains("against cta (0,0,0), warp"));
    }
}

#[test]
fn equal_values_are_no_error() {
    gives(
        Sanitize::Default,
        &["race_same_value"],
        "st.shared.u32 [s], 7;",
    );
}

/// Of one instruction as of two: lanes of it, and warps that come to it one after the other.
#[test]
fn values_that_differ_are_a_race_at_one_instruction() {
    let race = |body: &str| {
        for run in runs(body, Sanitize::Default) {
            let found = &run.report.findings;
            assert!(run.ids().contains(&"race_shared"), "{body}\n{found:?}");
        }
    };
    let same = |body: &str| gives(Sanitize::Default, &["race_same_value"], body);
    race("shr.u32 %r4, %r1, 5; st.shared.u32 [s], %r4;");
    race("shr.u32 %r4, %r1, 5; setp.eq.u32 %p2, %r4, 0; @%p2 st.shared.u32 [s], %r1;");
    same("setp.lt.u32 %p2, %r1, 32; @%p2 st.shared.u32 [s], 7;");
    let one = "setp.lt.u32 %p2, %r1, 1; and.b32 %r4, %r1, 31; setp.eq.u32 %p3, %r4, 0;";
    race(&format!("{one} @%p3 st.shared.u32 [s], %r1;"));
    same(&format!("{one} @%p3 st.shared.v2.u32 [s], {{%r4, 9}};"));
    race(&format!("{one} @%p3 st.shared.v2.u32 [s], {{%r4, %r1}};"));
}

#[test]
fn atomics_do_not_race_with_each_other() {
    let zero = "@%p1 st.shared.u32 [s], 0; bar.sync 0;";
    gives(
        Sanitize::Strict,
        &[],
        &format!("{zero} atom.shared.add.u32 %r4, [s], 1;"),
    );
    for run in runs(
        &format!("{zero} atom.shared.add.u32 %r4, [s], 1; ld.shared.u32 %r5, [s];"),
        Sanitize::Default,
    ) {
        assert!(run.ids().contains(&"race_shared"), "{:?}", run.ids());
    }
}

#[test]
fn an_mbarrier_orders_what_came_before_the_arrival() {
    let body = |init: &str, before: &str, after: &str| {
        format!(
            "@%p1 mbarrier.init.shared::cta.b64 [bar], 64; {init}
             {before} mbarrier.arrive.shared::cta.b64 %rd5, [bar]; {after}
             W: mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd5; @!%p2 bra W;
             ld.shared.u32 %r5, [%r3];"
        )
    };
    let store = "st.shared.u32 [%r2], %r1;";
    gives(Sanitize::Strict, &[], &body("bar.sync 0;", store, ""));
    for run in runs(&body("bar.sync 0;", "", store), Sanitize::Default) {
        let ids = run.ids();
        assert!(ids.contains(&"race_shared"), "{:?}", run.report.findings);
    }
}

#[test]
fn the_async_proxy_needs_its_fence() {
    let body = |fence, wait| {
        format!(
            "st.shared.u32 [%r2], %r1; {fence} bar.sync 0;
             @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 256;
             @%p1 cp.async.bulk.commit_group; {wait}
             @%p1 st.shared.u32 [s], 1;"
        )
    };
    let wait = "@%p1 cp.async.bulk.wait_group.read 0;";
    let fence = "fence.proxy.async.shared::cta;";
    gives(Sanitize::Strict, &[], &body(fence, wait));
    gives(Sanitize::Default, &["missing_proxy_fence"], &body("", wait));
    gives(Sanitize::Strict, &[], &body("fence.proxy.async;", wait));
    let other = body("fence.proxy.async.global;", wait);
    gives(Sanitize::Default, &["missing_proxy_fence"], &other);
    gives(
        Sanitize::Default,
        &["async_not_waited", "bulk_source_overwritten"],
        &body(fence, ""),
    );
}

#[test]
fn a_copy_must_be_waited_for_by_its_readers() {
    let body = |wait| {
        format!(
            "shl.b32 %r7, %r1, 2; cvt.u64.u32 %rd2, %r7;
             add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r1; fence.proxy.async;
             @%p1 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
             @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
             @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
                 [s], [%rd1], 256, [bar];
             {wait} ld.shared.u32 %r5, [%r2];"
        )
    };
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;";
    gives(Sanitize::Strict, &[], &body(wait));
    let stop = "@%p1 bra W; bra X; W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
        @!%p2 bra W; X:";
    for run in runs(&body(stop), Sanitize::Default) {
        let ids = run.ids();
        assert!(
            ids.contains(&"async_not_waited"),
            "{:?}",
            run.report.findings
        );
    }
}

/// Nothing orders two copies of one thread, in one group or in two, but a wait between them.
#[test]
fn copies_to_one_place_need_a_wait_between_them() {
    let copy = "cp.async.ca.shared.global [%r2], [%rd2], 4;";
    let body = |between: &str| {
        format!(
            "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r1;
             {copy} {between} {copy} cp.async.commit_group; cp.async.wait_group 0;"
        )
    };
    let commit = "cp.async.commit_group;";
    gives(Sanitize::Strict, &["async_not_waited"], &body(""));
    gives(Sanitize::Strict, &["async_not_waited"], &body(commit));
    let waited = format!("{commit} cp.async.wait_group 0;");
    gives(Sanitize::Strict, &[], &body(&waited));
    let bulk = "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [s], [%rd1], 256, [bar];";
    let body = |between: &str| {
        format!(
            "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r1;
             fence.proxy.async; @%p1 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
             @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512; {bulk} {between} {bulk}
             W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;"
        )
    };
    for run in runs(&body(""), Sanitize::Strict) {
        assert!(run.ids().contains(&"async_not_waited"), "{:?}", run.ids());
    }
}

#[test]
fn each_thread_waits_for_its_own_copies() {
    let body = |first: &str, then: &str| {
        format!(
            "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r1;
             cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group;
             and.b32 %r4, %r1, 16; setp.eq.u32 %p2, %r4, 0; {first} cp.async.wait_group 0;
             bar.sync 0; {then} xor.b32 %r5, %r2, 64; ld.shared.u32 %r6, [%r5];"
        )
    };
    gives(Sanitize::Strict, &[], &body("", ""));
    let late = "@!%p2 cp.async.wait_group 0;";
    gives(Sanitize::Strict, &["async_not_waited"], &body("@%p2", late));
}

#[test]
fn every_reader_of_a_word_is_remembered() {
    let shape = Shape {
        block: 256,
        ..SHAPE
    };
    let body = |left_out: u32| {
        format!(
            "@%p1 st.shared.u32 [s], 7; bar.sync 0; ld.shared.u32 %r4, [s];
             shr.u32 %r5, %r1, 5; setp.eq.u32 %p2, %r5, {left_out}; @%p2 bra X;
             bar.sync 1, 224; @%p1 st.shared.u32 [s], 8; X:"
        )
    };
    for left_out in 1..8 {
        for run in runs_of(&shape, &body(left_out), Sanitize::Default) {
            assert_eq!(run.ids(), ["race_shared"], "warp {left_out}");
        }
    }
    let all = body(9).replace("224", "256");
    for run in runs_of(&shape, &all, Sanitize::Default) {
        assert_eq!(run.ids(), [""; 0], "{:?}", run.report.findings);
    }
}

#[test]
fn a_barrier_is_used_again_by_who_knows_of_its_last_use() {
    let shape = Shape {
        block: 128,
        ..SHAPE
    };
    let halves = |first: &str, second: &str| {
        let half = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 64;";
        let body = format!("{half} @%p1 bra A; {second} bra B; A: {first} B:");
        launch(&module(1, "", &body), &shape, &[None], &Options::default()).ids()
    };
    let (own, all) = ("bar.sync 1, 64;", "bar.sync 0;");
    assert_eq!(halves(own, own), ["barrier_reuse"]);
    assert_eq!(halves(own, "bar.sync 2, 64;"), [""; 0]);
    assert_eq!(halves(&format!("{own} {own}"), ""), [""; 0]);
    let meet = "barrier_divergent_site";
    let in_turn = (format!("{own} {all}"), format!("{all} {own}"));
    assert_eq!(halves(&in_turn.0, &in_turn.1), [meet]);
    // Who has only arrived does not know that the others have.
    let turns = (
        "bar.arrive 1, 128; bar.arrive 1, 128;",
        "bar.sync 1, 128; bar.sync 1, 128;",
    );
    assert!(halves(turns.0, turns.1).contains(&"barrier_overrun"));
    let turns = (
        "bar.arrive 1, 128; bar.sync 2, 128; bar.arrive 1, 128;",
        "bar.sync 1, 128; bar.arrive 2, 128; bar.sync 1, 128;",
    );
    assert_eq!(halves(turns.0, turns.1), [meet]);
}
