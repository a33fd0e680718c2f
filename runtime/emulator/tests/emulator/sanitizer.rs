//! Each finding is made by the smallest kernel that deserves it, and not by its right neighbour.

use super::kernel::{Run, Shape, WARP, launch, module};
use tilewright_emulator::{
    Arg, AsyncOrder, Content, FindingId, Launch, Memory, Module, Options, Params, Sanitize, run,
};

fn warp(body: &str) -> Run {
    launch(&module(1, "", body), &WARP, &[None], &Options::default())
}

fn block(threads: u32, body: &str) -> Run {
    let shape = Shape {
        grid: 1,
        block: threads,
        shared: 0,
    };
    launch(&module(1, "", body), &shape, &[None], &Options::default())
}

/// A body that runs clean and one that makes exactly the finding.
fn pair(id: &str, clean: &str, wrong: &str) {
    assert_eq!(warp(clean).ids(), Vec::<&str>::new(), "{clean}");
    assert_eq!(warp(wrong).ids(), [id], "{wrong}");
}

const BASE: &str = "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %laneid; mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;";

#[test]
fn bounds_of_every_space() {
    let end = |offset: i32| format!("{BASE} st.global.u32 [%rd1+{offset}], 1;");
    pair("oob_global", &end(4092), &end(4096));
    pair("oob_global", &end(0), &end(-4));
    let shared = |offset| {
        let first = "setp.eq.u32 %p1, %r1, 0; .shared .align 4 .b8 s[64];";
        format!("{BASE} {first} @%p1 st.shared.u32 [s+{offset}], 1;")
    };
    pair("oob_shared", &shared(60), &shared(64));
    let local = |offset| format!(".local .align 4 .b8 l[16]; st.local.u32 [l+{offset}], 1;");
    pair("oob_local", &local(12), &local(16));
    let param = |offset| format!("ld.param.u32 %r1, [p0+{offset}];");
    pair("oob_param", &param(4), &param(8));
}

#[test]
fn a_finding_names_buffer_offset_line_and_lane() {
    let body = format!("{BASE}\nsetp.eq.u32 %p1, %r1, 5;\n@%p1 st.global.u32 [%rd1+4100], 1;");
    let run = warp(&body);
    let finding = &run.report.findings[0];
    let location = finding.location.as_ref().unwrap();
    assert_eq!(
        (location.buffer.as_deref(), location.offset_bytes),
        (Some("b0"), 4100)
    );
    assert_eq!(
        (finding.lanes, finding.warp, finding.cta, finding.line),
        (1 << 5, 0, [0; 3], 11)
    );
    let text = finding.to_string();
    assert!(
        text.starts_with("error: oob_global: 4 bytes at 0x700001004 are in no buffer"),
        "{text}"
    );
}

#[test]
fn red_zones_lie_between_buffers() {
    let mut memory = Memory::new();
    let a = memory.alloc("a", 100, Content::Undefined).unwrap();
    let b = memory
        .alloc_offset("b", 100, 4, Content::Undefined)
        .unwrap();
    assert!(memory.address(b) >= memory.address(a) + 100 + 4096);
    assert_eq!((memory.address(a) % 256, memory.address(b) % 256), (0, 4));
}

#[test]
fn alignment() {
    let at = |offset| format!("{BASE} st.global.v2.u32 [%rd1+{offset}], {{1, 2}};");
    pair("misaligned", &at(8), &at(4));
    let copy = |offset| {
        format!(
            ".shared .align 16 .b8 s[64]; {BASE} setp.eq.u32 %p1, %r1, 0;
            @%p1 st.global.v4.u32 [%rd1], {{1, 2, 3, 4}}; @%p1 st.global.u32 [%rd1+16], 5;
            @%p1 cp.async.ca.shared.global [s+{offset}], [%rd1], 8; cp.async.wait_all;"
        )
    };
    pair("misaligned", &copy(8), &copy(4));
}

#[test]
fn a_copy_reads_no_more_than_it_writes() {
    let copy = |source| {
        format!(
            ".shared .align 16 .b8 s[64]; {BASE} setp.eq.u32 %p1, %r1, 0;
            @%p1 st.global.v4.u32 [%rd1], {{1, 2, 3, 4}}; mov.u32 %r2, {source};
            @%p1 cp.async.ca.shared.global [s], [%rd1], 8, %r2; cp.async.wait_all;"
        )
    };
    pair("oob_global", &copy(8), &copy(12));
}

#[test]
fn defined_bytes() {
    pair(
        "uninit_global",
        &format!(
            "{BASE} st.global.u16 [%rd3], 1; st.global.u16 [%rd3+2], 1; ld.global.u32 %r2, [%rd3];"
        ),
        &format!("{BASE} st.global.u16 [%rd3], 1; ld.global.u32 %r2, [%rd3];"),
    );
    let shared = ".shared .align 4 .b8 s[8]; elect.sync _|%p1, -1; @%p1 st.shared.u8 [s], 1;
        bar.warp.sync -1;";
    pair(
        "uninit_shared",
        &format!("{shared} ld.shared.u8 %r1, [s];"),
        &format!("{shared} ld.shared.u16 %r1, [s];"),
    );
    let local = ".local .align 4 .b8 l[8]; st.local.u32 [l], 1;";
    pair(
        "uninit_local",
        &format!("{local} ld.local.u32 %r1, [l];"),
        &format!("{local} ld.local.u32 %r1, [l+4];"),
    );
    pair(
        "uninit_register",
        "mov.u32 %r1, 1; add.u32 %r0, %r1, 1;",
        "add.u32 %r0, %r1, 1;",
    );
    pair(
        "div_by_zero",
        "mov.u32 %r1, 7; div.u32 %r0, %r1, 7;",
        "mov.u32 %r1, 7; div.u32 %r0, %r1, 0;",
    );
}

#[test]
fn a_guard_is_a_read() {
    let exit = "bra L; L: mov.u32 %r1, 2;";
    for guarded in [
        "st.global.u32 [%rd1], 1;",
        "ld.global.u32 %r1, [%rd1];",
        "mov.u32 %r1, 1;",
        "setp.eq.u32 %p1, 1, 1;",
        "bar.sync 0;",
        "ret;",
        "exit;",
        exit,
    ] {
        let body = |written: &str, negated: &str| {
            let before = "ld.param.u64 %rd1, [p0]; st.global.u32 [%rd1], 1;";
            format!("{before} {written} bar.warp.sync -1; @{negated}%p1 {guarded}")
        };
        for negated in ["", "!"] {
            let written = body("setp.eq.u32 %p1, 0, 1;", negated);
            pair("uninit_register", &written, &body("", negated));
        }
    }
    // The lanes whose predicate was not written are named, and no others.
    let some = format!("{BASE} setp.lt.u32 %p1, %r1, 16; @%p1 setp.eq.u32 %p2, 1, 1;");
    let run = warp(&format!("{some} @%p2 mov.u32 %r2, 1;"));
    let finding = &run.report.findings[0];
    assert_eq!((finding.lanes, finding.count), (0xffff_0000, 1));
    assert_eq!(
        finding.message,
        "is guarded by a predicate register that was never written"
    );
}

#[test]
fn asynchronous_copies_have_to_be_waited_for() {
    let copy = ".shared .align 16 .b8 s[512]; mov.u32 %r1, %laneid; shl.b32 %r2, %r1, 4;
        mov.u32 %r3, s;
        add.u32 %r2, %r2, %r3; cvt.u64.u32 %rd4, %r1; shl.b64 %rd4, %rd4, 4;
            ld.param.u64 %rd1, [p0];
        add.u64 %rd3, %rd1, %rd4; st.global.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};
        cp.async.cg.shared.global [%r2], [%rd3], 16;";
    let read = "ld.shared.u32 %r5, [%r2];";
    let good = format!("{copy} cp.async.commit_group; cp.async.wait_group 0; {read}");
    for order in [AsyncOrder::Early, AsyncOrder::Late] {
        let options = Options {
            async_order: order,
            ..Options::default()
        };
        let ids = |body: &str| launch(&module(1, "", body), &WARP, &[None], &options).ids();
        assert_eq!(ids(&good), Vec::<&str>::new());
        assert_eq!(
            ids(&format!("{copy} cp.async.wait_all; {read}")),
            Vec::<&str>::new()
        );
        let forgotten = [
            format!("{copy} cp.async.commit_group; {read}"),
            format!("{copy} cp.async.wait_group 0; {read}"),
            format!("{copy} cp.async.commit_group; cp.async.wait_group 1; {read}"),
            format!("{copy} st.shared.u32 [%r2], 1;"),
        ];
        for body in forgotten {
            assert_eq!(ids(&body), ["async_not_waited"], "{body}");
        }
    }
}

#[test]
fn short_and_ignored_sources_fill_with_zeros() {
    let body = ".shared .align 16 .b8 s[64]; ld.param.u64 %rd1, [p0]; mov.u32 %r9, -1;
        st.global.v4.u32 [%rd1], {%r9, %r9, %r9, %r9};
        mov.u32 %r1, 5; mov.u32 %r2, 0; mov.u64 %rd2, 64; setp.eq.u32 %p1, %r2, 0;
        cp.async.ca.shared.global [s], [%rd1], 16, %r1;
        cp.async.ca.shared.global [s+16], [%rd2], 16, %r2;
        cp.async.ca.shared.global [s+32], [%rd2], 16, %p1;
        cp.async.wait_all;
        ld.shared.v2.u64 {%rd5, %rd6}, [s]; ld.shared.v2.u64 {%rd7, %rd8}, [s+16];
            ld.shared.u64 %rd9, [s+32];
        st.global.u64 [%rd1], %rd5; st.global.u64 [%rd1+8], %rd6; st.global.u64 [%rd1+16], %rd7;
        st.global.u64 [%rd1+24], %rd8; st.global.u64 [%rd1+32], %rd9;";
    let run = launch(
        &module(1, "", body),
        &Shape { block: 1, ..WARP },
        &[None],
        &Options::default(),
    );
    assert_eq!(run.ids(), Vec::<&str>::new());
    assert_eq!(run.longs(0)[..5], [0xff_ffff_ffff, 0, 0, 0, 0]);
}

#[test]
fn barriers() {
    let both = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;";
    assert_eq!(
        block(64, &format!("{both} bar.sync 0;")).ids(),
        Vec::<&str>::new()
    );
    let split = |first: &str, second: &str| {
        block(
            64,
            &format!("{both} @%p1 bra A; {first} bra B; A: {second} B:"),
        )
        .ids()
    };
    assert_eq!(split("bar.sync 1, 64;", "bar.sync 0;"), ["deadlock"]);
    assert_eq!(
        split("bar.sync 1, 64;", "bar.sync 1, 64;"),
        ["barrier_divergent_site"]
    );
    assert!(split("bar.sync 1, 64;", "bar.sync 1, 96;").contains(&"barrier_count_mismatch"));
    assert_eq!(
        split("bar.arrive 1, 64;", "bar.sync 1, 64;"),
        ["barrier_divergent_site"]
    );
    assert_eq!(
        split("bar.arrive 1, 64; bar.arrive 1, 64;", "bar.sync 0;"),
        ["barrier_divergent_site", "barrier_overrun"]
    );
}

#[test]
fn a_deadlock_counts_the_lanes_of_a_divergent_barrier() {
    let body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 48; @%p1 bra A; bar.sync 3; bra B; \
     A: bar.sync 0; B:";
    let run = block(64, body);
    let mut found = run.report.findings.iter();
    let deadlock = found.find(|one| one.id == FindingId::Deadlock);
    let message = &deadlock.unwrap().message;
    assert!(
        message.contains("barrier 0 (48 of 64 threads arrived)"),
        "{message}"
    );
    assert!(
        message.contains("barrier 3 (16 of 64 threads arrived)"),
        "{message}"
    );
}

#[test]
fn deadlocks_name_who_waits_for_what() {
    let body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 3, \
     64; bra B; A: bar.sync 0; B:";
    let run = block(64, body);
    let message = &run.report.findings[0].message;
    assert!(
        message.contains("warp 0 lanes 0xffffffff at line 8: barrier 0 (32 of 64 threads arrived)"),
        "{message}"
    );
    assert!(message.contains("warp 1"), "{message}");
    assert!(
        message.contains("barrier 3 (32 of 64 threads arrived)"),
        "{message}"
    );
}

#[test]
fn collectives_need_their_lanes() {
    let half = "mov.u32 %r1, %laneid; mov.u32 %r2, 7; setp.lt.u32 %p1, %r1, 16;";
    pair(
        "sync_mask",
        &format!("{half} @%p1 bra A; bra B; A: shfl.sync.idx.b32 %r3, %r2, 0, 31, 0xffff; B:"),
        &format!("{half} @%p1 bra A; bra B; A: shfl.sync.idx.b32 %r3, %r2, 0, 31, 0xff; B:"),
    );
    pair(
        "shfl_inactive",
        &format!("{half} @%p1 bra A; bra B; A: shfl.sync.idx.b32 %r3, %r2, 15, 31, 0xffff; B:"),
        &format!("{half} @%p1 bra A; bra B; A: shfl.sync.idx.b32 %r3, %r2, 16, 31, 0xffff; B:"),
    );
    assert_eq!(
        warp(&format!("{half} bar.sync 0;")).ids(),
        Vec::<&str>::new()
    );
    let split = format!("{half} @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:");
    assert_eq!(
        warp(&split).ids(),
        ["barrier_divergent_site", "warp_divergent"]
    );
    // Who goes around it never comes, whether to its end or to another place.
    let around = |collective: &str| {
        let body = format!("{half} @%p1 bra A; {collective} A: mov.u32 %r2, 8;");
        warp(&body).ids()
    };
    for aligned in [
        "bar.sync 0;",
        "barrier.sync.aligned 0;",
        "bar.red.popc.u32 %r3, 0, %p1;",
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    ] {
        assert_eq!(around(aligned), ["warp_divergent"], "{aligned}");
    }
    assert_eq!(around("barrier.sync 0;"), Vec::<&str>::new());
    // Half a warp waits by itself, and the other half goes on, also where predicates part them.
    let halves = format!("{half} @%p1 barrier.sync 0; @!%p1 barrier.sync 0;");
    assert_eq!(warp(&halves).ids(), ["barrier_divergent_site"]);
    // Those that exited before are no part of the warp.
    let early = format!("{half} @%p1 exit; bar.sync 0;");
    assert_eq!(warp(&early).ids(), Vec::<&str>::new());
    let missing =
        format!("{half} @%p1 bra A; bar.warp.sync 0xffffffff; bra B; A: bar.warp.sync -1; B:");
    assert_eq!(warp(&missing).ids(), ["deadlock"]);
}

#[test]
fn budgets_end_what_does_not_end() {
    let options = Options {
        instructions_per_warp: 10_000,
        ..Options::default()
    };
    let run = launch(&module(1, "", "A: bra A;"), &WARP, &[None], &options);
    assert_eq!(run.ids(), ["no_progress"]);
    let options = Options {
        instructions_total: 10_000,
        ..Options::default()
    };
    let run = launch(&module(1, "", "A: bra A;"), &WARP, &[None], &options);
    assert_eq!(run.ids(), ["no_progress"]);
    let recursion = ".func f() { call f; ret; }";
    let run = launch(
        &module(1, recursion, "call f;"),
        &WARP,
        &[None],
        &Options::default(),
    );
    assert_eq!(run.ids(), ["no_progress"]);
    let run = launch(&module(1, "", "trap;"), &WARP, &[None], &Options::default());
    assert_eq!(run.ids(), ["trap"]);
}

#[test]
fn launches_keep_to_the_limits() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let text = format!(
        "{head}.visible .entry k() .reqntid 64 {{\n \
         .reg .b32 %r<2>; .shared .align 4 .b8 s[1024];\n           mov.u32 %r1, s; ret; }}"
    );
    let module = Module::parse(&text).unwrap();
    let broken = |block: u32, dynamic_shared_bytes: u32| {
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [1; 3],
            block: [block, 1, 1],
            cluster: [1; 3],
            programmatic: false,
            dynamic_shared_bytes,
            params: Params::Args(Vec::new()),
        };
        let report = run(&module, &launch, &mut Memory::new(), &Options::default()).unwrap();
        report
            .findings
            .iter()
            .map(|f| f.message.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(broken(64, 0), Vec::<String>::new());
    assert_eq!(
        broken(32, 0),
        ["block [32, 1, 1] differs from .reqntid [64, 1, 1]"]
    );
    assert_eq!(
        broken(64, 166_912),
        ["167936 bytes of shared memory; sm_80 allows 166912"]
    );
}

#[test]
fn sanitize_off_keeps_the_bounds() {
    let options = Options {
        sanitize: Sanitize::Off,
        ..Options::default()
    };
    let body = format!("{BASE} ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd1+4096], %r9;");
    let run = launch(&module(1, "", &body), &WARP, &[None], &options);
    assert_eq!(run.ids(), ["oob_global"]);
}

#[test]
fn early_launches_wait_before_they_touch_global_memory() {
    let options = Options {
        sanitize: Sanitize::Strict,
        ..Options::default()
    };
    let findings = |body: &str, programmatic: bool| {
        let parsed = Module::parse(&module(1, "", body)).unwrap();
        let mut memory = Memory::new();
        let buffer = memory.alloc("b0", 4096, Content::Undefined).unwrap();
        let launch = Launch {
            entry: "k".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: [1; 3],
            programmatic,
            dynamic_shared_bytes: 0,
            params: Params::Args(vec![Arg::Buffer(buffer)]),
        };
        let report = run(&parsed, &launch, &mut memory, &options).unwrap();
        let found = report.findings.iter();
        found
            .map(|finding| (finding.id.as_str(), finding.lanes))
            .collect::<Vec<_>>()
    };
    let store = format!("{BASE} st.global.u32 [%rd3], 1;");
    let right = format!("griddepcontrol.wait; griddepcontrol.launch_dependents; {store}");
    let late = format!("{store} griddepcontrol.wait;");
    let half = format!(
        "{BASE} setp.lt.u32 %p1, %r1, 5; @%p1 griddepcontrol.wait; st.global.u32 [%rd3], 1;"
    );
    assert_eq!(findings(&right, true), []);
    // One thread waits for the grid: those that a barrier orders behind it see what it does.
    let one = half.replace("st.global", "bar.sync 0; st.global");
    assert_eq!(findings(&one, true), []);
    for (wrong, lanes) in [(&store, !0), (&late, !0), (&half, !0 << 5)] {
        let early = [("access_before_grid_wait", lanes)];
        assert_eq!(findings(wrong, true), early, "{wrong}");
        assert_eq!(findings(wrong, false), [], "{wrong}");
    }
}
