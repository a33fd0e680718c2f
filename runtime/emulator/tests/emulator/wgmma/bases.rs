//! Patterns that do not start at a multiple of their size: the base offset of a descriptor.

use super::kernel::{Case, Major, products};
use crate::emulator::kernel::{Shape, launch, module};
use tilewright_emulator::Options;

#[test]
fn a_base_offset_moves_the_swizzle_pattern() {
    for (swizzle, lines) in [(128, 1), (128, 5), (128, 7), (64, 1), (64, 3), (32, 1)] {
        for majors in [(Major::K, Major::K), (Major::MN, Major::MN)] {
            products(&Case {
                n: 72,
                majors,
                swizzles: (swizzle, swizzle),
                patterns: (lines, 0),
                steps: 2,
                ..Case::default()
            });
            products(&Case {
                n: 40,
                majors,
                swizzles: (128, swizzle),
                patterns: (0, lines),
                ..Case::default()
            });
        }
    }
}

/// A descriptor that starts before shared memory does is named, and the run comes to its end.
#[test]
fn operands_outside_shared_memory_are_named() {
    let registers: Vec<String> = (0..4).map(|i| format!("%r{i}")).collect();
    let body = format!(
        ".shared .align 1024 .b8 tile[2048];
        mov.u64 %rd1, 0x4000004000000000; mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0;
        mov.b32 %r3, 0; wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{{}}}, %rd1, %rd1, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        registers.join(", ")
    );
    let text = module(0, "", &body).replace(".target sm_90", ".target sm_90a");
    let shape = Shape {
        grid: 1,
        block: 128,
        shared: 0,
    };
    let ids = launch(&text, &shape, &[], &Options::default()).ids();
    assert!(ids.contains(&"oob_shared"), "{ids:?}");
}
