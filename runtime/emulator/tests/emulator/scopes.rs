//! What arrivals and strong accesses of one CTA order for another one, by their scope.

use super::kernel::{module, sorted_ids};
use tilewright_emulator::{
    Arg, AsyncOrder, Content, Launch, Memory, Module, Options, Params, Sanitize, WarpOrder, run,
};

/// Thread 0 of CTA 0 runs `first`, thread 0 of CTA 1 `second`; both have `bar`, an mbarrier of one
/// arrival, and `s`. Where these are in CTA 0 is in %r10 and %r11, in CTA 1 in %r12 and %r13.
fn ids(sanitize: Sanitize, first: &str, second: &str) -> Vec<&'static str> {
    const SYNC: &str = "barrier.cluster.arrive; barrier.cluster.wait;";
    let body = format!(
        ".shared .align 8 .b64 bar; .shared .align 16 .b8 s[64]; ld.param.u64 %rd1, [p0];
         mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %cluster_ctarank;
         setp.eq.u32 %p2, %r2, 0; mov.u32 %r20, bar; mov.u32 %r21, s;
         mapa.shared::cluster.u32 %r10, %r20, 0; mapa.shared::cluster.u32 %r11, %r21, 0;
         mapa.shared::cluster.u32 %r12, %r20, 1; mapa.shared::cluster.u32 %r13, %r21, 1;
         @%p1 mbarrier.init.shared::cta.b64 [bar], 1; @%p1 st.shared.v2.u64 [s], {{0, 0}};
         @%p1 fence.mbarrier_init.release.cluster; {SYNC}
         @!%p1 bra END; @!%p2 bra SECOND; {first} bra.uni END;
         SECOND: {second} END: {SYNC}"
    );
    let module = Module::parse(&module(1, "", &body)).unwrap_or_else(|e| panic!("{e}"));
    let mut found = Vec::new();
    let orders = [
        (WarpOrder::RoundRobin, AsyncOrder::Late),
        (WarpOrder::Reverse, AsyncOrder::Early),
    ];
    for (warp_order, async_order) in orders {
        let mut memory = Memory::new();
        let out = memory.alloc("out", 64, Content::Undefined).unwrap();
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [2, 1, 1],
            block: [32, 1, 1],
            cluster: [2, 1, 1],
            programmatic: false,
            dynamic_shared_bytes: 0,
            params: Params::Args(vec![Arg::Buffer(out)]),
        };
        let options = Options {
            sanitize,
            warp_order,
            async_order,
            ..Options::default()
        };
        let report = run(&module, &launch, &mut memory, &options).unwrap();
        found.extend(report.findings);
    }
    sorted_ids(&found)
}

fn wait(acquire: &str) -> String {
    format!("W: mbarrier.try_wait.parity{acquire}.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;")
}

#[test]
fn data_travels_with_the_scope_of_the_cluster_only() {
    let orders = |release: &str, acquire: &str, sanitize| {
        let first = format!("{} ld.shared.u32 %r7, [s];", wait(acquire));
        let second = format!(
            "st.shared::cluster.u32 [%r11], 7;
             mbarrier.arrive{release}.shared::cluster.b64 _, [%r10];"
        );
        ids(sanitize, &first, &second).is_empty()
    };
    for release in ["", ".release.cta", ".release.cluster"] {
        for acquire in ["", ".acquire.cta", ".acquire.cluster"] {
            let reaches = release.ends_with("cluster") && acquire.ends_with("cluster");
            let strict = orders(release, acquire, Sanitize::Strict);
            assert_eq!(strict, reaches, "{release} {acquire}");
            assert!(orders(release, acquire, Sanitize::Default));
        }
    }
    let first = format!("{} ld.shared.u32 %r7, [s];", wait(""));
    let second = "st.shared::cluster.u32 [%r11], 7;
        mbarrier.arrive.shared::cluster.b64 _, [%r10];";
    assert_eq!(ids(Sanitize::Strict, &first, second), ["race_shared"]);
}

#[test]
fn a_relaxed_arrival_passes_on_what_a_fence_released() {
    let first = format!("{} ld.shared.u32 %r7, [s];", wait(".acquire.cluster"));
    let second = |fence: &str| {
        format!(
            "st.shared::cluster.u32 [%r11], 7; {fence}
             mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r10];"
        )
    };
    assert_eq!(
        ids(Sanitize::Strict, &first, &second("fence.acq_rel.cluster;")),
        [""; 0]
    );
    assert_eq!(ids(Sanitize::Strict, &first, &second("")), ["race_shared"]);
    let relaxed = first.replace(".acquire.cluster", ".relaxed.cluster");
    let fenced = second("fence.acq_rel.cluster;");
    assert_eq!(ids(Sanitize::Strict, &relaxed, &fenced), ["race_shared"]);
    // A fence behind a relaxed wait acquires, where it reaches the other CTA and does acquire.
    let behind = |fence: &str| relaxed.replace("ld.shared", &format!("{fence} ld.shared"));
    for (fence, orders) in [
        ("fence.acq_rel.cluster;", true),
        ("fence.acquire.gpu;", true),
        ("fence.sc.cluster;", true),
        ("fence.acq_rel.cta;", false),
        ("fence.release.cluster;", false),
    ] {
        let found = ids(Sanitize::Strict, &behind(fence), &fenced);
        assert_eq!(found.is_empty(), orders, "{fence} {found:?}");
    }
    let acquires = second("fence.acquire.cluster;");
    assert_eq!(ids(Sanitize::Strict, &first, &acquires), ["race_shared"]);
    let releases = second("fence.release.cluster;");
    assert_eq!(ids(Sanitize::Strict, &first, &releases), [""; 0]);
}

#[test]
fn the_end_of_asynchronous_reads_is_told_by_any_scope() {
    // CTA 1 lets a copy read its words, waits for that, and says so; CTA 0 has them refilled.
    let second = |told: &str| {
        format!(
            "fence.proxy.async.shared::cta;
             cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 16;
             cp.async.bulk.commit_group; {told}
             mbarrier.arrive.shared::cluster.b64 _, [%r10];
             V: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra V;
             cp.async.bulk.wait_group 0;"
        )
    };
    let first = format!(
        "{} fence.proxy.async; mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%r12], 16;
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
             [%r13], [s], 16, [%r12];",
        wait("")
    );
    let waited = second("cp.async.bulk.wait_group.read 0;");
    assert_eq!(ids(Sanitize::Strict, &first, &waited), [""; 0]);
    assert_eq!(
        ids(Sanitize::Strict, &first, &second("")),
        ["async_not_waited", "race_tma_overwrite"]
    );
}

#[test]
fn atomics_of_two_ctas_reach_the_cluster() {
    let add = |scope: &str| {
        (
            format!("atom.relaxed{scope}.shared.add.u32 %r7, [s], 1;"),
            format!("atom.relaxed{scope}.shared::cluster.add.u32 %r7, [%r11], 1;"),
        )
    };
    for (scope, found) in [
        (".cta", &["atomic_scope"][..]),
        (".cluster", &[]),
        (".gpu", &[]),
    ] {
        let (first, second) = add(scope);
        assert_eq!(ids(Sanitize::Strict, &first, &second), found, "{scope}");
        assert_eq!(ids(Sanitize::Default, &first, &second), [""; 0]);
    }
    // A flag with the scope of the CTA orders nothing for the other one.
    let flag = |scope: &str| {
        let first = format!(
            "W: ld.acquire{scope}.shared.u32 %r7, [s+4]; setp.ne.u32 %p3, %r7, 1; @%p3 bra W;
             ld.shared.u32 %r8, [s];"
        );
        let second = format!(
            "st.shared::cluster.u32 [%r11], 5;
             st.release{scope}.shared::cluster.u32 [%r11+4], 1;"
        );
        ids(Sanitize::Strict, &first, &second)
    };
    assert_eq!(flag(".cluster"), [""; 0]);
    assert_eq!(flag(".cta"), ["atomic_scope", "race_shared"]);
}

/// In one cluster too a flag orders what its store releases and its load acquires.
#[test]
fn a_relaxed_flag_needs_its_fences() {
    let found = |sanitize, (before, store): (&str, &str), (load, after): (&str, &str)| {
        let first = format!(
            "W: {load}.shared.u32 %r7, [s+4]; setp.ne.u32 %p3, %r7, 1; @%p3 bra W; {after}
             ld.shared.u32 %r8, [s];"
        );
        let second = format!(
            "st.shared::cluster.u32 [%r11], 5; {before} {store}.shared::cluster.u32 [%r11+4], 1;"
        );
        ids(sanitize, &first, &second)
    };
    let strict = |release, acquire| found(Sanitize::Strict, release, acquire).is_empty();
    let fence = "fence.acq_rel.cluster;";
    let releases = [
        ("", "st.release.cluster", true),
        (fence, "st.relaxed.cluster", true),
        (fence, "st.volatile", true),
        ("", "st.relaxed.cluster", false),
        ("", "st.volatile", false),
        ("fence.acq_rel.cta;", "st.relaxed.cluster", false),
    ];
    let acquires = [
        ("ld.acquire.cluster", "", true),
        ("ld.relaxed.cluster", fence, true),
        ("ld.volatile", fence, true),
        ("ld.relaxed.cluster", "", false),
        ("ld.volatile", "", false),
        ("ld.relaxed.cluster", "fence.acq_rel.cta;", false),
    ];
    for (before, store, releases) in releases {
        for (load, after, acquires) in acquires {
            let orders = strict((before, store), (load, after));
            assert_eq!(
                orders,
                releases && acquires,
                "{before} {store} {load} {after}"
            );
        }
    }
    let trusted = found(Sanitize::Default, ("", "st.volatile"), ("ld.volatile", ""));
    assert_eq!(trusted, [""; 0]);
}
