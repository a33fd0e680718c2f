//! What orders accesses before and behind a product: in strict mode each warp of the four needs the
//! order by itself, in the default mode one of them has it for all.

use crate::emulator::kernel::{Run, Shape, launch, module};
use tilewright_emulator::{AsyncOrder, Options, Sanitize, WarpOrder};

/// A of 64x16 at `s`, B of 8x16 behind it, both K-major and without swizzle. Rows 16w to 16w+15 of
/// A are 512 bytes, of which each lane of warp w has 16 at %r4; sixteen lanes of warp 3 (%p1) have
/// 16 bytes of B each, at %r6.
const BASE: &str = ".shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; shr.u32 %r3, %r1, 5;
    shl.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; and.b32 %r5, %r1, 31;
    shl.b32 %r6, %r5, 4; cvt.u64.u32 %rd2, %r6; add.u64 %rd2, %rd2, %rd1;
    add.u32 %r6, %r6, %r2; add.u32 %r6, %r6, 2048;
    setp.eq.u32 %p2, %r3, 3; setp.lt.u32 %p1, %r5, 16; and.pred %p1, %p1, %p2;
    setp.eq.u32 %p3, %r1, 96; mov.u32 %r9, 0x3f803f80;
    and.b32 %r7, %r2, 0x3ffff; shr.u32 %r7, %r7, 4; cvt.u64.u32 %rd3, %r7;
    or.b64 %rd3, %rd3, 0x0000001000080000; add.u64 %rd4, %rd3, 128;
    mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0;";

const STORE_A: &str = "st.shared.v4.u32 [%r4], {%r9, %r9, %r9, %r9};";
const STORE_B: &str = "@%p1 st.shared.v4.u32 [%r6], {%r9, %r9, %r9, %r9};";
const FENCE: &str = "fence.proxy.async;";
const BARRIER: &str = "bar.sync 0;";
const PRODUCT: &str = "wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, %rd3, %rd4,
        1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

fn runs(body: &str, sanitize: Sanitize) -> Vec<Run> {
    let text = module(1, "", &format!("{BASE}\n{body}"));
    let text = text.replace(".target sm_90", ".target sm_90a");
    let shape = Shape {
        grid: 1,
        block: 128,
        shared: 0,
    };
    let orders = [
        (WarpOrder::RoundRobin, AsyncOrder::Late),
        (WarpOrder::Reverse, AsyncOrder::Early),
        (WarpOrder::Random(3), AsyncOrder::Late),
        (WarpOrder::Random(4), AsyncOrder::Random(5)),
    ];
    let run = |(warp_order, async_order)| {
        let options = Options {
            warp_order,
            async_order,
            sanitize,
            ..Options::default()
        };
        launch(&text, &shape, &[Some(&[0; 4096])], &options)
    };
    orders.into_iter().map(run).collect()
}

/// In strict mode every schedule gives exactly these ids, in the default mode none.
fn strict_gives(ids: &[&str], parts: &[&str]) {
    let body = parts.join("\n");
    for (sanitize, ids) in [(Sanitize::Strict, ids), (Sanitize::Default, &[])] {
        for run in runs(&body, sanitize) {
            let found = &run.report.findings;
            assert_eq!(run.ids(), ids, "{sanitize:?}\n{body}\n{found:?}");
        }
    }
}

#[test]
fn what_one_warp_stores_needs_a_barrier_before_the_product_of_four() {
    let stored = |between| [STORE_A, STORE_B, FENCE, between, PRODUCT];
    strict_gives(&["race_shared"], &stored(""));
    strict_gives(&["race_shared"], &stored("bar.warp.sync -1;"));
    strict_gives(&[], &stored(BARRIER));
}

#[test]
fn the_warp_that_nothing_orders_is_named() {
    let body = [STORE_A, STORE_B, FENCE, PRODUCT].join("\n");
    for run in runs(&body, Sanitize::Strict) {
        for race in &run.report.findings {
            let by = race.other.as_ref().and_then(|other| other.by).unwrap();
            assert!(race.warp < 3 && by.warp == 3, "{race}");
        }
    }
}

#[test]
fn a_warp_that_fences_does_it_for_itself() {
    let fenced = |fence| [STORE_A, STORE_B, BARRIER, fence, PRODUCT];
    strict_gives(&["missing_proxy_fence"], &fenced("@%p2 fence.proxy.async;"));
    strict_gives(&[], &fenced(FENCE));
}

#[test]
fn a_warp_reads_its_own_rows_of_a() {
    let stored = |a| {
        [
            STORE_B,
            FENCE,
            BARRIER,
            a,
            FENCE,
            "bar.warp.sync -1;",
            PRODUCT,
        ]
    };
    strict_gives(&[], &stored(STORE_A));
    // Each warp stores the rows of another one too.
    let next = "add.u32 %r8, %r4, 512; and.b32 %r8, %r8, 2047; add.u32 %r8, %r8, %r2;";
    let next = format!(
        "{STORE_A} {BARRIER} {next} {}",
        STORE_A.replace("%r4", "%r8")
    );
    strict_gives(&["race_shared"], &stored(&next));
    strict_gives(&[], &stored(&format!("{next} {FENCE} {BARRIER}")));
}

#[test]
fn b_is_rewritten_between_two_products() {
    let again = |before, behind| {
        let first = [STORE_A, STORE_B, FENCE, BARRIER, PRODUCT];
        [&first[..], &[before, STORE_B, FENCE, behind, PRODUCT]].concat()
    };
    let overwritten = "bulk_source_overwritten";
    strict_gives(&[overwritten, "race_shared"], &again("", ""));
    strict_gives(&[overwritten], &again("", BARRIER));
    strict_gives(&["race_shared"], &again(BARRIER, ""));
    strict_gives(&[], &again(BARRIER, BARRIER));
}

#[test]
fn a_copy_is_waited_for_by_one_warp() {
    let copy = "@%p1 cp.async.ca.shared.global [%r6], [%rd2], 16; cp.async.commit_group;
        cp.async.wait_group 0;";
    let copied = |between| [STORE_A, copy, FENCE, between, PRODUCT];
    strict_gives(&["async_not_waited"], &copied(""));
    strict_gives(&[], &copied(BARRIER));
}

#[test]
fn every_warp_waits_for_the_mbarrier_of_a_copy() {
    let copied = |wait: &str| {
        format!(
            "@%p3 mbarrier.init.shared.b64 [bar], 1; {BARRIER}
            @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
            @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+2048], [%rd1],
                256, [bar];
            {wait} {STORE_A} {FENCE} {PRODUCT}"
        )
    };
    let wait = "WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra WAIT;";
    let alone = format!("@!%p2 bra ON; {wait} ON:");
    strict_gives(&["async_not_waited"], &[&copied(&alone)]);
    strict_gives(&[], &[&copied(wait)]);
}

#[test]
fn a_copy_comes_behind_the_waits_of_all_warps() {
    let copy = |between| {
        format!(
            "@%p3 mbarrier.init.shared.b64 [bar], 1; {STORE_A} {STORE_B} {FENCE} {BARRIER} {PRODUCT}
            {between} {FENCE}
            @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
            @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+2048], [%rd1],
                256, [bar];
            WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra WAIT;"
        )
    };
    strict_gives(&["race_tma_overwrite"], &[&copy("")]);
    strict_gives(&[], &[&copy(BARRIER)]);
}
