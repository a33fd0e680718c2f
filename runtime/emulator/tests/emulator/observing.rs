//! Traces of one warp and profiles by instruction.

use super::kernel::{Run, Shape, launch, module};
use tilewright_emulator::{Counters, Options, TraceStep, TraceTarget};

const SHAPE: Shape = Shape {
    grid: 3,
    block: 64,
    shared: 0,
};

const BODY: &str = ".shared .align 4 .b8 s[8192]; mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 40;
    shl.b32 %r2, %r1, 7;
    @%p1 st.shared.u32 [%r2+1024], %r1;
    bar.sync 0;
    mov.b64 %rd1, {%r1, %r2};";

fn run(options: Options) -> Run {
    launch(&module(0, "", BODY), &SHAPE, &[], &options)
}

fn traced(warp: u32, most: usize) -> Vec<TraceStep> {
    let cta = [1, 0, 0];
    let trace = Some(TraceTarget { cta, warp, most });
    let options = Options {
        trace,
        ..Options::default()
    };
    run(options).report.trace
}

#[test]
fn a_trace_has_names_values_and_active_lanes() {
    let steps = traced(1, 100);
    assert_eq!(steps.len(), 7, "{steps:#?}");
    let line = steps[0].line;
    let lines: Vec<u32> = steps.iter().map(|step| step.line - line).collect();
    assert_eq!(lines, [0, 1, 2, 3, 4, 5, 6]);
    let names = |step: &TraceStep| -> Vec<String> {
        step.operands.iter().map(|one| one.name.clone()).collect()
    };
    assert_eq!(names(&steps[1]), ["%p1", "%r1"]);
    assert_eq!(names(&steps[3]), ["%p1", "%r2", "%r1"]);
    assert_eq!(names(&steps[5]), ["%rd1", "%r1", "%r2"]);
    assert_eq!(steps[0].operands[0].after[3], 35);
    assert_eq!((steps[3].lanes, steps[3].active), (u32::MAX, 0xff));
    let pair = &steps[5].operands[0];
    assert_eq!((pair.before[2], pair.after[2]), (0, 34 << 39 | 34));
    assert_eq!(traced(1, 2).len(), 2);
    assert_eq!(traced(7, 100).len(), 0);
}

#[test]
fn a_profile_adds_up_to_the_counters() {
    let options = Options {
        profile: true,
        ..Options::default()
    };
    let report = run(options).report;
    let mut sum = Counters::default();
    for line in &report.profile {
        sum.add(&line.counters);
    }
    assert_eq!(sum, report.counters);
    let stores: Vec<_> = report
        .profile
        .iter()
        .filter(|line| line.counters.shared_store.requests > 0)
        .collect();
    assert_eq!(stores.len(), 1);
    let store = stores[0].counters.shared_store;
    // 32 lanes of the first warp and 8 of the second hit one bank, in each of 3 CTAs.
    assert_eq!((store.requests, store.wavefronts), (6, 3 * 40));
    assert_eq!(run(Options::default()).report.profile, []);
}
