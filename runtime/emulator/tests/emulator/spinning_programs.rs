//! Random small programs whose warps wait for one another: counted where their loops are known,
//! they leave what they leave when every instruction is executed.

use std::fmt::Write;

use super::kernel::{Run, Shape, launch, module};
use proptest::prelude::*;
use tilewright_emulator::{AsyncOrder, Finding, Options, Report, Sanitize, WarpOrder};

/// What a loop may do beside its wait. %r1 and %r30 are what it reads, %r10 to %r19 its own; words
/// 0 to 7 are flags, 8 to 15 are written by loops.
const ITEMS: [&str; 28] = [
    "add.u32 %r10, %r10, 1;",
    "add.u32 %r11, %r11, 7;",
    "mul.lo.u32 %r12, %r12, 1664525; add.u32 %r12, %r12, 1013904223;",
    "mov.u32 %r13, %clock;",
    "mov.u64 %rd12, %globaltimer; cvt.u32.u64 %r13, %rd12;",
    "add.u32 %r14, %r14, %r13;",
    "mov.u32 %r16, %r15; mov.u32 %r15, %r10;",
    "setp.gt.u32 %p3, %r10, 2500; @%p3 add.u32 %r17, %r17, 3;",
    "and.b32 %r31, %r11, 1; setp.eq.u32 %p3, %r31, 0; @%p3 xor.b32 %r17, %r17, %r10;",
    "add.cc.u32 %r18, %r18, 0x60000001; addc.u32 %r19, %r19, 1;",
    "st.global.u32 [%rd1+32], 5;",
    "st.volatile.global.u32 [%rd1+36], 6;",
    "st.global.u16 [%rd1+40], %h1;",
    "@%p7 st.volatile.global.u32 [%rd1+44], %r7;",
    "st.volatile.shared.u32 [word], 3;",
    "st.shared.u32 [word+4], %r7;",
    "ld.volatile.shared.u32 %r32, [word]; add.u32 %r14, %r14, %r32;",
    "ld.global.u32 %r30, [%rd1+32]; xor.b32 %r14, %r14, %r30;",
    "ld.volatile.global.u32 %r33, [%rd1+4]; add.u32 %r12, %r12, %r33;",
    "atom.global.or.b32 %r34, [%rd1+48], 4;",
    "atom.global.max.u32 %r34, [%rd1+52], %r6;",
    "shfl.sync.idx.b32 %r35, %r1, 3, 31, -1; add.u32 %r14, %r14, %r35;",
    "shfl.sync.bfly.b32 %r36, %r10, 1, 31, -1; add.u32 %r17, %r17, %r36;",
    "membar.gl; nanosleep.u32 %r11;",
    "xor.b32 %r1, %r1, 5; xor.b32 %r1, %r1, %r6;",
    "selp.u32 %r37, %r10, %r11, %p7; min.u32 %r17, %r17, %r37;",
    "bar.warp.sync -1; activemask.b32 %r38;",
    "mov.u32 %r39, 0; J: add.u32 %r39, %r39, 1; add.u32 %r10, %r10, %r39;
     setp.lt.u32 %p5, %r39, 3; @%p5 bra J;",
];

/// What ends a loop before its flag does.
const BOUNDS: [&str; 6] = [
    "",
    "",
    "setp.lt.and.u32 %p1, %r10, 9000, %p1;",
    "setp.lt.and.u32 %p1, %r11, 40000, %p1;",
    "mov.u32 %r40, %clock; setp.lt.and.u32 %p1, %r40, 31000, %p1;",
    "setp.lt.and.u32 %p1, %r17, 500, %p1;",
];

/// How a loop reads its flag.
const FLAGS: [&str; 4] = [
    "ld.volatile.global.u32 %r1, [%rd1+FLAG];",
    "ld.acquire.gpu.global.u32 %r1, [%rd1+FLAG];",
    "ld.global.u32 %r1, [%rd1+FLAG];",
    "atom.global.cas.b32 %r1, [%rd1+FLAG], 9, 9;",
];

/// What one warp does.
#[derive(Clone, Debug)]
enum Part {
    /// Works for so many turns of a loop, then sets a flag, and stores elsewhere in one of some
    /// ways; so for each of them.
    Work(Vec<(u32, u8, usize)>),
    /// Waits for a flag, in a loop with these items.
    Wait {
        items: Vec<usize>,
        flag: u8,
        reads: usize,
        bound: usize,
        alone: bool,
        then: usize,
    },
}

/// What a warp does behind its loop, of which others may take notice.
const THEN: [&str; 9] = [
    "",
    "",
    "st.global.u32 [%rd1+32], 5;",
    "st.global.u32 [%rd1+32], %r3;",
    "st.volatile.global.u32 [%rd1+4], %r3;",
    "st.global.u32 [%rd1+8], %r3;",
    "st.shared.u32 [word+4], %r3;",
    "membar.gl; ld.global.u32 %r41, [%rd1+32]; ld.volatile.global.u32 %r41, [%rd1];",
    "atom.global.add.u32 %r41, [%rd1+56], 1; ld.shared.u32 %r41, [word+4];",
];

fn part() -> impl Strategy<Value = Part> {
    let wait = (
        prop::collection::vec(0..ITEMS.len(), 0..5),
        0..3u8,
        0..FLAGS.len(),
        0..BOUNDS.len(),
        prop::bool::weighted(0.2),
        0..THEN.len(),
    );
    let wait = wait.prop_map(|(items, flag, reads, bound, alone, then)| Part::Wait {
        items,
        flag,
        reads,
        bound,
        alone,
        then,
    });
    let stage = (1..4000u32, 0..4u8, 0..THEN.len());
    prop_oneof![
        1 => prop::collection::vec(stage, 1..3).prop_map(Part::Work),
        3 => wait,
    ]
}

/// The program of all warps; the first one sets every flag in the end.
fn program(parts: &[Part]) -> String {
    let mut body = ".shared .align 4 .b32 word[2]; ld.param.u64 %rd1, [p0]; mov.u32 %r2, %tid.x;
        shr.u32 %r3, %r2, 5; mov.u32 %r6, %laneid; setp.lt.u32 %p7, %r6, 9; mov.u32 %r7, 8;
        mov.u16 %h1, 21; mov.u32 %r13, 0; mov.u64 %rd12, 0; mov.u32 %r1, 0; mov.u32 %r30, 0;
        setp.eq.u32 %p6, %r2, 0; @%p6 st.shared.u32 [word], 3; @%p6 st.shared.u32 [word+4], 8;
        bar.sync 0;\\n"
        .replace("\\n", "\n");
    for register in [10, 11, 12, 14, 15, 16, 17, 18, 19] {
        let _ = writeln!(body, "mov.u32 %r{register}, {register};");
    }
    for warp in 0..parts.len() {
        let _ = writeln!(body, "setp.eq.u32 %p4, %r3, {warp}; @%p4 bra W{warp};");
    }
    body += "bra E;\n";
    for (warp, part) in parts.iter().enumerate() {
        let _ = writeln!(body, "W{warp}:");
        match part {
            Part::Work(stages) => {
                let last = (0..3).map(|flag| (1, flag, 0)).filter(|_| warp == 0);
                for (index, (turns, flag, then)) in stages.iter().copied().chain(last).enumerate() {
                    let value = if flag == 3 { index as u32 } else { 77 };
                    let at = 4 * u32::from(flag % 3);
                    let _ = writeln!(
                        body,
                        "mov.u32 %r4, 0; L{warp}_{index}: add.u32 %r4, %r4, 1;
                         setp.lt.u32 %p3, %r4, {turns}; @%p3 bra L{warp}_{index};
                         setp.eq.u32 %p6, %r6, 0;
                         @%p6 atom.global.exch.b32 %r5, [%rd1+{at}], {value}; {}",
                        THEN[then]
                    );
                }
            }
            Part::Wait {
                items,
                flag,
                reads,
                bound,
                alone,
                then,
            } => {
                if *alone {
                    let _ = writeln!(body, "setp.ne.u32 %p6, %r6, 4; @%p6 bra X{warp};");
                }
                let _ = writeln!(body, "S{warp}:");
                for (index, item) in items.iter().enumerate() {
                    let item = ITEMS[*item].replace("J", &format!("J{warp}_{index}"));
                    // Lanes that are alone name themselves.
                    let mask = if *alone { "16" } else { "-1" };
                    let _ = writeln!(body, "{}", item.replace("-1", mask));
                }
                let read = FLAGS[*reads].replace("FLAG", &format!("{}", 4 * flag));
                let _ = writeln!(
                    body,
                    "{read} setp.ne.u32 %p1, %r1, 77; {} @%p1 bra S{warp}; {} X{warp}:",
                    BOUNDS[*bound], THEN[*then]
                );
            }
        }
        body += "bra E;\n";
    }
    body += "E: mul.wide.u32 %rd2, %r2, 64; add.u64 %rd2, %rd2, %rd1;\n";
    for (index, register) in (10..20).chain([1, 30]).enumerate() {
        let _ = writeln!(
            body,
            "st.global.u32 [%rd2+{}], %r{register};",
            256 + 4 * index
        );
    }
    module(1, "", &body)
}

fn run(text: &str, warps: usize, order: WarpOrder, sanitize: Sanitize, profile: bool) -> Run {
    let options = Options {
        warp_order: order,
        async_order: AsyncOrder::Late,
        sanitize,
        profile,
        instructions_per_warp: 60_000,
        ..Options::default()
    };
    let shape = Shape {
        grid: 1,
        block: 32 * warps as u32,
        shared: 0,
    };
    let mut memory = [0u8; 16384];
    for (word, value) in [(8, 5), (9, 6), (10, 21), (11, 8), (12, 4), (13, 40)] {
        memory[4 * word] = value;
    }
    launch(text, &shape, &[Some(&memory)], &options)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn loops_that_are_counted_leave_what_execution_leaves(
        first in prop::collection::vec((1..6000u32, 0..4u8, 0..THEN.len()), 1..4),
        others in prop::collection::vec(part(), 1..4),
        seed in 0..4u64,
        off in prop::bool::weighted(0.2),
    ) {
        let mut parts = vec![Part::Work(first)];
        parts.extend(others);
        let text = program(&parts);
        let order = match seed {
            0 => WarpOrder::RoundRobin,
            1 => WarpOrder::Reverse,
            seed => WarpOrder::Random(seed),
        };
        let sanitize = if off { Sanitize::Off } else { Sanitize::Default };
        let counted = run(&text, parts.len(), order, sanitize, false);
        let executed = run(&text, parts.len(), order, sanitize, true);
        let never = |run: &Run| {
            let mut found = run.report.findings.iter();
            found.any(|finding| finding.message.contains("that nobody makes"))
        };
        if never(&counted) {
            // What nobody ends executes until its budget is spent.
            prop_assert!(executed.ids().contains(&"no_progress"), "{}", text);
            return Ok(());
        }
        prop_assert_eq!(counted.words(0), executed.words(0), "{}", text);
        let (counted, executed) = (counted.report, executed.report);
        // Of several that read a word over and over, which was the last one is not told.
        let found = |report: &Report| {
            let one = |found: &Finding| (found.id, found.pc, found.warp, found.location.clone());
            report.findings.iter().map(one).collect::<Vec<_>>()
        };
        prop_assert_eq!(found(&counted), found(&executed), "{}", text);
        prop_assert_eq!(&counted.counters, &executed.counters, "{}", text);
        prop_assert_eq!(counted.warp_instructions, executed.warp_instructions, "{}", text);
    }
}
