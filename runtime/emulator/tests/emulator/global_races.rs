//! Races in global memory: within a CTA, between CTAs, and with the async proxy.

use super::kernel::{Run, Shape, launch, module};
use tilewright_emulator::{AsyncOrder, Options, Sanitize, WarpOrder};

/// Thread t of 64 in CTA c of 4: %r1 = t, %r2 = 64 c + t, %rd2 the address of word %r2 of the
/// buffer at %rd1, %rd3 that of word t.
const BASE: &str = "ld.param.u64 %rd1, [p0]; .shared .align 128 .b8 s[256];
    mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; shl.b32 %r2, %r3, 6; add.u32 %r2, %r2, %r1;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r3, 0; setp.eq.u32 %p3, %r2, 0;
    mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd1;
    shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;";

fn runs(body: &str) -> Vec<Run> {
    let text = module(1, "", &format!("{BASE}\n{body}"));
    let orders = [
        (WarpOrder::RoundRobin, AsyncOrder::Late, true),
        (WarpOrder::Reverse, AsyncOrder::Early, false),
        (WarpOrder::Random(3), AsyncOrder::Random(4), true),
    ];
    let run = |(warp_order, async_order, parallel)| {
        let options = Options {
            sanitize: Sanitize::Strict,
            warp_order,
            async_order,
            parallel,
            ..Options::default()
        };
        let shape = Shape {
            grid: 4,
            block: 64,
            shared: 0,
        };
        launch(&text, &shape, &[Some(&[0; 4096])], &options)
    };
    orders.into_iter().map(run).collect()
}

fn gives(ids: &[&str], body: &str) {
    for run in runs(body) {
        assert_eq!(run.ids(), ids, "{body}\n{:#?}", run.report.findings);
    }
}

/// Under one of the schedules at least.
fn gives_some(id: &str, body: &str) {
    let runs = runs(body);
    let found = runs.iter().any(|run| run.ids().contains(&id));
    assert!(found, "{body}");
}

#[test]
fn the_read_only_cache_sees_no_store_of_the_launch() {
    let through = |load: &str| format!("st.global.u32 [%rd2], %r2; {load} %r6, [%rd2];");
    gives(&[], &through("ld.global.u32"));
    gives(&["read_only_written"], &through("ld.global.nc.u32"));
    // Ordered by a barrier of the CTA all the same; what is read first is what was there.
    let other = "xor.b32 %r6, %r2, 1; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd4, %rd1;";
    let behind = "st.global.u32 [%rd2], %r2; bar.sync 0;";
    gives(&[], &format!("{other} {behind} ld.global.u32 %r6, [%rd4];"));
    let stale = format!("{other} {behind} ld.global.nc.u32 %r6, [%rd4];");
    gives(&["read_only_written"], &stale);
    gives(
        &[],
        "ld.global.nc.u32 %r6, [%rd2]; st.global.u32 [%rd2], %r6;",
    );
    // What another CTA stored, ordered by a counter.
    let counted = turnstile("", "atom.global.acq_rel.gpu.add.u32", "");
    let counted = counted.replace("ld.global.u32 %r9", "ld.global.nc.u32 %r9");
    gives(&["read_only_written"], &counted);
}

#[test]
fn ctas_own_what_they_write() {
    gives(&[], "st.global.u32 [%rd2], %r2;");
    gives(&["race_global"], "st.global.u32 [%rd3], %r2;");
    // The same bytes twice are suspicious at most.
    gives(&["race_same_value"], "st.global.u32 [%rd3], %r1;");
    // Lanes of one instruction that store different ones are no better than CTAs that do.
    let alone = "setp.lt.u32 %p3, %r2, 32; and.b32 %r6, %r3, 0;";
    gives(
        &["race_global"],
        &format!("{alone} @%p3 st.global.u32 [%rd1], %r1;"),
    );
    gives(&[], &format!("{alone} @%p3 st.global.u32 [%rd1], %r6;"));
    // Neighbours may share a word, not a byte.
    let halves = "mul.wide.u32 %rd4, %r2, 2; add.u64 %rd4, %rd4, %rd1; add.u64 %rd4, %rd4, 2;
        cvt.u16.u32 %h1, %r2; st.global.u16 [%rd4], %h1;";
    gives(&[], halves);
    gives(
        &["race_global"],
        "@%p2 st.global.u32 [%rd3], %r2; @!%p2 ld.global.u32 %r6, [%rd3];",
    );
}

#[test]
fn reads_of_other_ctas_race_with_writes() {
    let first = "@%p2 st.global.v2.u32 [%rd1+2048], {%r2, %r2};";
    gives(
        &["race_global"],
        &format!("@!%p1 bra X; {first} @!%p2 ld.global.u32 %r6, [%rd1+2052]; X:"),
    );
    gives(
        &[],
        &format!("@!%p1 bra X; {first} @!%p2 ld.global.u32 %r6, [%rd1+2056]; X:"),
    );
}

#[test]
fn threads_of_a_cta_need_a_barrier() {
    let body = |between: &str| {
        format!(
            "st.global.u32 [%rd2], %r2; {between} xor.b32 %r7, %r2, 63;
             mul.wide.u32 %rd4, %r7, 4; add.u64 %rd4, %rd4, %rd1; ld.global.u32 %r6, [%rd4];"
        )
    };
    gives(&[], &body("bar.sync 0;"));
    gives(&["race_global"], &body(""));
}

/// The last CTA to arrive at a counter reads what the others wrote.
fn turnstile(before: &str, atomic: &str, after: &str) -> String {
    format!(
        "st.global.u32 [%rd2], %r2; {before} bar.sync 0; .shared .align 4 .b32 last;
         @%p1 {atomic} %r8, [%rd1+2048], 1; @%p1 st.shared.u32 [last], %r8; bar.sync 0;
         {after} ld.shared.u32 %r8, [last]; setp.ne.u32 %p4, %r8, 3; @%p4 bra X;
         ld.global.u32 %r9, [%rd3]; ld.global.u32 %r9, [%rd3+768]; X:"
    )
}

#[test]
fn a_counter_with_fences_orders_ctas() {
    let fence = "fence.acq_rel.gpu;";
    gives(&[], &turnstile(fence, "atom.global.add.u32", fence));
    gives(&[], &turnstile("", "atom.global.acq_rel.gpu.add.u32", ""));
    gives(&["race_global"], &turnstile("", "atom.global.add.u32", ""));
    gives(
        &["race_global"],
        &turnstile("", "atom.global.add.u32", fence),
    );
}

/// The first CTA stores and raises a flag, the second waits for it and loads.
fn flag(store: &str, arrive: &str, release: &str, acquire: &str, wait: &str) -> String {
    format!(
        "setp.gt.u32 %p5, %r3, 1; @%p5 bra X; @!%p2 bra W; {store} {arrive} @!%p1 bra X;
         {release} bra X;
         W: @!%p1 bra V; L: {acquire} setp.eq.u32 %p4, %r8, 0; @%p4 bra L;
         V: {wait} ld.global.u32 %r9, [%rd3]; X:"
    )
}

const STORE: &str = "st.global.u32 [%rd3], %r1;";

const RELEASE: &str = "st.release.gpu.global.u32 [%rd1+2048], 1;";

const ACQUIRE: &str = "ld.acquire.gpu.global.u32 %r8, [%rd1+2048];";

#[test]
fn threads_meet_the_one_that_releases_or_acquires() {
    let barrier = "bar.sync 0;";
    let wait = "bar.sync 1;";
    gives(&[], &flag(STORE, barrier, RELEASE, ACQUIRE, wait));
    let apart = [
        flag(STORE, "", RELEASE, ACQUIRE, wait),
        flag(STORE, barrier, RELEASE, ACQUIRE, ""),
        // Stores behind the release of their own thread.
        flag("", barrier, &format!("{RELEASE} {STORE}"), ACQUIRE, wait),
    ];
    for body in apart {
        gives(&["race_global"], &body);
        for run in runs(&body) {
            let found = run.report.findings.first().unwrap();
            assert!(found.message.contains("but not these two"), "{found}");
        }
    }
    // The counter's last one, where a thread's stores are not before the release.
    let counted = turnstile("", "atom.global.acq_rel.gpu.add.u32", "");
    gives(&["race_global"], &counted.replacen("bar.sync 0;", "", 1));
}

#[test]
fn fences_of_one_thread_order_those_that_met_it() {
    let (raise, read) = (
        "st.relaxed.gpu.global.u32 [%rd1+2048], 1;",
        "ld.relaxed.gpu.global.u32 %r8, [%rd1+2048];",
    );
    let fence = "fence.acq_rel.gpu;";
    let body = |release: &str, wait: &str| flag(STORE, "bar.sync 0;", release, read, wait);
    let fenced = format!("{fence} {raise}");
    gives(&[], &body(&fenced, "@%p1 fence.acq_rel.gpu; bar.sync 1;"));
    gives(&[], &body(&fenced, "bar.sync 1; fence.acq_rel.gpu;"));
    gives(&["race_global"], &body(&fenced, "bar.sync 1;"));
    gives(
        &["race_global"],
        &body(raise, "fence.acq_rel.gpu; bar.sync 1;"),
    );
    gives(&["race_global"], &body(&fenced, "fence.acq_rel.gpu;"));
    // A fence covers what is before it: not the stores behind it, nor those of others that no
    // barrier orders before it.
    let (acquired, barrier) = ("@%p1 fence.acq_rel.gpu; bar.sync 1;", "bar.sync 0;");
    let with = |before: &str, between: &str| {
        let store = format!("{before} {STORE} {between}");
        flag(&store, barrier, raise, read, acquired)
    };
    gives(&[], &with("", fence));
    gives(&["race_global"], &with(fence, ""));
    gives(&["race_global"], &with("", "@%p1 fence.acq_rel.gpu;"));
}

#[test]
fn copies_of_threads_read_global_memory() {
    let copy = "cp.async.ca.shared.global [%r5], [%rd4], 4; cp.async.wait_all;";
    let other = "xor.b32 %r6, %r2, 1; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd4, %rd1;
        shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4;";
    let body = |between: &str| format!("{other} st.global.u32 [%rd2], %r2; {between} {copy}");
    gives(&[], &body("bar.sync 0;"));
    gives(&["race_global"], &body(""));
}

/// `cp.async` may read until its thread has waited, and whoever writes must be behind that.
#[test]
fn copies_of_threads_read_until_they_are_waited_for() {
    let body = |behind: &str| {
        format!(
            "mov.u32 %r5, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r5, %r4;
             cp.async.ca.shared.global [%r5], [%rd2], 4; cp.async.commit_group; {behind}"
        )
    };
    let (wait, own) = ("cp.async.wait_group 0;", "st.global.u32 [%rd2], %r2;");
    let other = "xor.b32 %r6, %r2, 1; mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd4, %rd1;
        st.global.u32 [%rd4], %r2;";
    gives(&[], &body(&format!("{wait} {own}")));
    gives(&["race_global"], &body(&format!("{own} {wait}")));
    gives(&[], &body(&format!("{wait} bar.sync 0; {other}")));
    gives(
        &["race_global"],
        &body(&format!("bar.sync 0; {other} {wait}")),
    );
    let late = "cp.async.wait_group 1; bar.sync 0;";
    gives(&["race_global"], &body(&format!("{late} {other} {wait}")));
}

/// A flag is what one writes and the other reads: whole, and the store that is read.
#[test]
fn flags_are_read_as_they_were_written() {
    let (wide, barrier) = ("st.release.gpu.global.u64 [%rd1+2048], 1;", "bar.sync 0;");
    let waits =
        |release: &str, acquire: &str| flag(STORE, barrier, release, acquire, "bar.sync 1;");
    gives(&["race_global"], &waits(wide, ACQUIRE));
    let long = "ld.acquire.gpu.global.u64 %rd4, [%rd1+2048]; cvt.u32.u64 %r8, %rd4;";
    gives(&[], &waits(wide, long));
    // A relaxed store behind the release of its own thread goes on with it, one of another thread
    // takes its place; an atomic passes it on.
    let relaxed = "st.relaxed.gpu.global.u32 [%rd1+2048], 1;";
    gives(&[], &waits(&format!("{RELEASE} {relaxed}"), ACQUIRE));
    let third = |second: &str| {
        format!(
            "setp.gt.u32 %p5, %r3, 2; @%p5 bra X; setp.eq.u32 %p6, %r3, 2; @%p6 bra W;
             @!%p1 bra X; @!%p2 bra T; st.global.u32 [%rd1], 5;
             st.release.gpu.global.u32 [%rd1+2048], 1; bra X;
             T: L: ld.relaxed.gpu.global.u32 %r8, [%rd1+2048]; setp.ne.u32 %p4, %r8, 1;
             @%p4 bra L; {second} bra X;
             W: @!%p1 bra X; M: ld.acquire.gpu.global.u32 %r8, [%rd1+2048];
             setp.lt.u32 %p4, %r8, 2; @%p4 bra M; ld.global.u32 %r9, [%rd1]; X:"
        )
    };
    // Where no poll comes between the two stores.
    gives_some(
        "race_global",
        &third("st.relaxed.gpu.global.u32 [%rd1+2048], 2;"),
    );
    gives(
        &[],
        &third("atom.relaxed.gpu.global.add.u32 %r8, [%rd1+2048], 1;"),
    );
}

/// A copy reads through the async proxy what another CTA stored through the generic one.
#[test]
fn copies_of_what_others_stored_need_a_proxy_fence() {
    let fence = "fence.proxy.async;";
    let body = |release: &str, wait: &str| {
        format!(
            "setp.gt.u32 %p5, %r3, 1; @%p5 bra X; @!%p2 bra W; {STORE} {release}
             bar.sync 0; @%p1 {RELEASE} bra X;
             W: @!%p1 bra X; mov.u32 %r5, s; mbarrier.init.shared::cta.b64 [%r5], 1;
             L: {ACQUIRE} setp.eq.u32 %p4, %r8, 0; @%p4 bra L; {fence_init} {wait}
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 128;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
                 [%r5+128], [%rd1], 128, [%r5];
             Y: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5], 0; @!%p4 bra Y; X:",
            fence_init = "fence.mbarrier_init.release.cluster;"
        )
    };
    gives(&["missing_proxy_fence"], &body("", ""));
    gives(&[], &body(fence, ""));
    gives(&[], &body("", fence));
    // One of the thread that releases is before the stores of the others.
    gives(
        &["missing_proxy_fence"],
        &body("@%p1 fence.proxy.async;", ""),
    );
}

#[test]
fn a_weak_load_beside_an_atomic_is_the_seed_of_a_swap_alone() {
    let swap = "L: ld.global.u32 %r8, [%rd1]; add.u32 %r9, %r8, 1;
        atom.global.cas.b32 %r10, [%rd1], %r8, %r9; setp.ne.u32 %p4, %r10, %r8; @%p4 bra L;";
    for run in runs(swap) {
        assert!(run.report.is_clean(), "{:#?}", run.report.findings);
        assert_eq!(run.words(0)[0], 256);
    }
    for add in [
        "red.global.add.u32 [%rd1], 1;",
        "atom.global.add.u32 %r9, [%rd1], 1;",
    ] {
        gives(
            &["race_global"],
            &format!("ld.global.u32 %r8, [%rd1]; {add}"),
        );
        gives(
            &[],
            &format!("ld.relaxed.gpu.global.u32 %r8, [%rd1]; {add}"),
        );
    }
}

/// An acquire that does not look at what it read orders nothing: in another order of the CTAs the
/// flag is not there yet. One that waits is waited for, whichever comes first.
#[test]
fn a_flag_that_nobody_waits_for_is_found() {
    let waits = flag(STORE, "bar.sync 0;", RELEASE, ACQUIRE, "bar.sync 1;");
    let vain = waits.replace("@%p4 bra L;", "");
    gives_some("race_global", &vain);
    // Both ways, again and again.
    let turns = "setp.gt.u32 %p5, %r3, 1; @%p5 bra X; @!%p1 bra X; mov.u32 %r9, 0;
        N: shl.b32 %r6, %r9, 1; add.u32 %r6, %r6, %r3;
        L: ld.acquire.gpu.global.u32 %r8, [%rd1+2048]; setp.ne.u32 %p4, %r8, %r6; @%p4 bra L;
        ld.global.u32 %r8, [%rd1]; add.u32 %r8, %r8, 1; st.global.u32 [%rd1], %r8;
        add.u32 %r6, %r6, 1; st.release.gpu.global.u32 [%rd1+2048], %r6;
        add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 5; @%p4 bra N; X:";
    for run in runs(turns).into_iter().skip(1) {
        assert!(run.ids().is_empty(), "{:#?}", run.report.findings);
        assert_eq!(run.words(0)[0], 10);
    }
    // A GPU with room for one CTA would not come to the end.
    assert_eq!(runs(turns)[0].ids(), ["no_progress"]);
    // Polls that write what is there: what they read is theirs alone before others act.
    for poll in [
        "atom.acquire.gpu.global.exch.b32 %r8, [%rd1+2048], 0;",
        "atom.acquire.gpu.global.cas.b32 %r8, [%rd1+2048], 1, 2;",
    ] {
        let body = flag(STORE, "bar.sync 0;", RELEASE, poll, "bar.sync 1;");
        gives(&[], &body);
    }
    // Nobody raises it.
    let never = "@!%p1 bra X; L: ld.acquire.gpu.global.u32 %r8, [%rd1+2048];
        setp.eq.u32 %p4, %r8, 0; @%p4 bra L; X:";
    for run in runs(never) {
        assert!(
            run.ids().contains(&"no_progress"),
            "{:#?}",
            run.report.findings
        );
    }
}

/// What a CTA acquired it passes on, as far as the releasing thread knows of it.
#[test]
fn order_goes_over_a_third_cta() {
    let body = |between: &str| {
        format!(
            "@%p2 st.global.u32 [%rd3], %r1; bar.sync 0;
             setp.eq.u32 %p5, %r1, 32; @%p2 bra A; setp.eq.u32 %p6, %r3, 1; @%p6 bra B;
             @!%p1 bra V; M: ld.acquire.gpu.global.u32 %r8, [%rd1+2052];
             setp.eq.u32 %p4, %r8, 0; @%p4 bra M; V: bar.sync 1; ld.global.u32 %r9, [%rd3]; bra X;
             B: @!%p1 bra W; L: ld.acquire.gpu.global.u32 %r8, [%rd1+2048];
             setp.eq.u32 %p4, %r8, 0; @%p4 bra L; W: {between}
             @%p5 st.release.gpu.global.u32 [%rd1+2052], 1; bra X;
             A: @%p1 st.release.gpu.global.u32 [%rd1+2048], 1; X:"
        )
    };
    gives(&[], &body("bar.sync 1;"));
    gives(&["race_global"], &body(""));
}

#[test]
fn bulk_stores_are_released_by_who_waited_for_them() {
    let body = |wait: &str| {
        let store = format!(
            "st.shared.u32 [%r4], %r1; fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra X;
             cp.async.bulk.global.shared::cta.bulk_group [%rd3], [s], 256;
             cp.async.bulk.commit_group; {wait}"
        );
        flag(&store, "", RELEASE, ACQUIRE, "bar.sync 1;")
    };
    gives(&[], &body("cp.async.bulk.wait_group 0;"));
    gives(&["race_global"], &body("cp.async.bulk.wait_group.read 0;"));
}

/// What has the scope of the CTA, or of the cluster, orders no CTA of another cluster.
#[test]
fn a_scope_that_does_not_hold_both_orders_neither() {
    let gpu = "fence.acq_rel.gpu;";
    for narrow in [
        "fence.acq_rel.cta;",
        "membar.cta;",
        "fence.acq_rel.cluster;",
    ] {
        let atomic = "atom.global.add.u32";
        gives(&["race_global"], &turnstile(narrow, atomic, gpu));
        gives(&["race_global"], &turnstile(gpu, atomic, narrow));
    }
    let both = &["atomic_scope", "race_global"];
    gives(both, &turnstile("", "atom.global.acq_rel.cta.add.u32", ""));
    gives(
        both,
        &turnstile(gpu, "atom.global.relaxed.cta.add.u32", gpu),
    );
}

#[test]
fn a_fence_of_initialisations_releases_no_memory() {
    let init = "@%p1 mbarrier.init.shared::cta.b64 [s], 1; fence.mbarrier_init.release.cluster;";
    let count = |before: &str| {
        let atomic = "atom.relaxed.gpu.global.add.u32";
        format!(
            "{init}\n{}",
            turnstile(before, atomic, "fence.acq_rel.gpu;")
        )
    };
    gives(&["race_global"], &count(""));
    gives(&[], &count("fence.acq_rel.gpu;"));
}

#[test]
fn atomics_reach_as_far_as_their_scope() {
    gives(&[], "red.global.add.u32 [%rd1], 1;");
    gives(
        &["atomic_scope"],
        "red.relaxed.cta.global.add.u32 [%rd1], 1;",
    );
    gives(&[], "red.relaxed.cta.global.add.u32 [%rd2], 1;");
    gives(
        &["race_global"],
        "red.global.add.u32 [%rd1], 1; @%p3 st.global.u32 [%rd1], 7;",
    );
}

#[test]
fn a_reducing_copy_and_an_atomic_are_not_atomic_to_each_other() {
    let body = |atomic: &str| {
        format!(
            "st.shared.u32 [%r4], %r1; fence.proxy.async.shared::cta; bar.sync 0;
             @!%p1 bra X;
             cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [s], 256;
             cp.async.bulk.commit_group; {atomic} cp.async.bulk.wait_group 0; X:"
        )
    };
    gives(&[], &body(""));
    gives(
        &["mixed_proxy_atomic"],
        &body("red.global.add.u32 [%rd1+4], 1;"),
    );
}

#[test]
fn bulk_stores_are_written_after_the_full_wait() {
    let body = |wait: &str, fence: &str| {
        format!(
            "st.shared.u32 [%r4], %r1; fence.proxy.async.shared::cta; bar.sync 0;
             @!%p1 bra X;
             cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 256;
             cp.async.bulk.commit_group; cp.async.bulk.wait_group{wait} 0; {fence}
             ld.global.u32 %r6, [%rd2+4]; X: bar.sync 0;"
        )
    };
    gives(&[], &body("", ""));
    gives(&["async_not_waited"], &body(".read", ""));
}
