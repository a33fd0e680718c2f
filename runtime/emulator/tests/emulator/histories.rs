//! What led to a finding: a run that is made again for one finds it again, with both accesses.

use super::kernel::{Run, Shape, launch, module};
use tilewright_emulator::{
    AsyncOrder, Event, EventKind, Finding, FindingId, History, Options, WarpOrder,
};

const SHAPE: Shape = Shape {
    grid: 1,
    block: 64,
    shared: 0,
};

const ORDERS: [(WarpOrder, AsyncOrder); 4] = [
    (WarpOrder::RoundRobin, AsyncOrder::Late),
    (WarpOrder::Reverse, AsyncOrder::Early),
    (WarpOrder::Random(5), AsyncOrder::Late),
    (WarpOrder::RoundRobin, AsyncOrder::Random(4)),
];

/// The first finding of that kind under each order, and what led to it.
fn told(shape: &Shape, body: &str, id: FindingId) -> Vec<(Finding, Vec<History>)> {
    let text = module(1, "", body);
    let told = |(warp_order, async_order)| {
        let mut options = Options {
            warp_order,
            async_order,
            ..Options::default()
        };
        let run = |options: &Options| -> Run { launch(&text, shape, &[None], options) };
        let first = run(&options).report;
        let finding = first.findings.iter().find(|finding| finding.id == id)?;
        assert!(first.histories.is_empty());
        options.history = Some(Box::new(finding.clone()));
        let again = run(&options).report;
        Some((finding.clone(), again.histories))
    };
    let all: Vec<_> = ORDERS.into_iter().filter_map(told).collect();
    assert!(!all.is_empty(), "{id} is not found: {body}");
    all
}

fn at(history: &History, pc: u32, warp: u32) -> Vec<Event> {
    let events = history.events.iter().copied();
    events
        .filter(|event| (event.pc, event.by.warp) == (pc, warp))
        .collect()
}

/// Only the third of four slots is read too early.
const SLOTS: &str = "
    .shared .align 4 .b8 s[16]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r3, 0;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 63;
    L: @%p1 st.shared.u32 [%r2], %r3;
    setp.eq.u32 %p3, %r3, 2; @%p3 bra N; bar.sync 0;
    N: @%p2 ld.shared.u32 %r4, [%r2]; bar.sync 1;
    add.u32 %r2, %r2, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p4, %r3, 4; @%p4 bra L;";

#[test]
fn the_accesses_of_a_race_are_those_of_its_address() {
    for (finding, histories) in told(&SHAPE, SLOTS, FindingId::RaceShared) {
        let [history] = histories.as_slice() else {
            panic!("{histories:?}");
        };
        assert_eq!(history.ctas, [[0; 3]]);
        let found = history.found.unwrap();
        assert_eq!(found, history.steps, "the run ends with the finding");
        let other = finding.other.unwrap();
        // Of all runs of the loop the one that touches the third word is kept.
        for (pc, warp) in [
            (finding.pc, finding.warp),
            (other.pc, other.by.unwrap().warp),
        ] {
            let events = at(history, pc, warp);
            assert_eq!(events.len(), 1, "{events:?}");
            assert_eq!(events[0].kind, EventKind::Access);
            assert_eq!(events[0].hits.count_ones(), 1);
            assert!(events[0].step <= found);
        }
        let steps: Vec<u64> = history.events.iter().map(|event| event.step).collect();
        assert!(steps.is_sorted(), "{steps:?}");
        let barriers = history.events.iter();
        let barriers = barriers.filter(|event| event.kind == EventKind::Barrier);
        assert!(barriers.count() >= 4);
    }
}

#[test]
fn operations_last_until_somebody_waits() {
    const BODY: &str = "
        .shared .align 16 .b8 s[64]; ld.param.u64 %rd1, [p0]; mov.u32 %r1, s;
        mov.u32 %r9, %tid.x; setp.ne.u32 %p1, %r9, 0; @%p1 bra E;
        st.global.u32 [%rd1], 1; st.global.u32 [%rd1+4], 1;
        st.global.u32 [%rd1+8], 1; st.global.u32 [%rd1+12], 1;
        cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group;
        cp.async.ca.shared.global [%r1+16], [%rd1+4], 4; cp.async.commit_group;
        cp.async.wait_group 1; ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r1+16]; E:";
    for (finding, histories) in told(&SHAPE, BODY, FindingId::AsyncNotWaited) {
        let history = &histories[0];
        let operations: Vec<_> = history.operations.iter().filter(|one| one.hits).collect();
        // The first copy is over and touches another address.
        assert_eq!(operations.len(), 1, "{history:#?}");
        assert_eq!(operations[0].ended, None);
        let reads = at(history, finding.pc, 0);
        assert!(operations[0].issued < reads[0].step);
        let kinds: Vec<EventKind> = history.events.iter().map(|event| event.kind).collect();
        let count = |kind: EventKind| kinds.iter().filter(|one| **one == kind).count();
        assert_eq!((count(EventKind::Commit), count(EventKind::Wait)), (2, 1));
    }
}

#[test]
fn both_clusters_of_a_race_are_told() {
    const BODY: &str = "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
        setp.ne.u32 %p1, %r1, 3; @%p1 bra E; st.global.u32 [%rd1+64], %r2; E:";
    let shape = Shape { grid: 4, ..SHAPE };
    for (finding, histories) in told(&shape, BODY, FindingId::RaceGlobal) {
        let other = finding.other.unwrap().by.unwrap();
        let ctas: Vec<_> = histories.iter().flat_map(|history| &history.ctas).collect();
        assert_eq!(ctas.len(), 2, "{histories:?}");
        assert!(ctas.contains(&&finding.cta) && ctas.contains(&&other.cta));
        for history in &histories {
            let hits = history.events.iter().filter(|event| event.hits != 0);
            assert_eq!(hits.map(|event| event.hits).collect::<Vec<_>>(), [1 << 3]);
        }
    }
}

#[test]
fn what_ends_nowhere_is_told_without_running_on() {
    const STUCK: &str = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;
        @%p1 bra E; barrier.sync 1, 64; E: bar.sync 0;";
    for (finding, histories) in told(&SHAPE, STUCK, FindingId::Deadlock) {
        let history = &histories[0];
        assert_eq!(history.found, None);
        let last = |warp: u32| {
            let mut events = history.events.iter().rev();
            *events.find(|event| event.by.warp == warp).unwrap()
        };
        assert!(last(0).waits && last(1).waits, "{finding}: {history:#?}");
    }
    // Nothing writes the flag: turns of the loop are counted, in this run too.
    const POLLS: &str = "ld.param.u64 %rd1, [p0]; mov.u32 %r1, 0; st.global.u32 [%rd1], %r1;
        W: ld.relaxed.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra W;";
    for (_, histories) in told(&SHAPE, POLLS, FindingId::NoProgress) {
        assert!(histories[0].steps < 1_000_000, "{}", histories[0].steps);
    }
}
