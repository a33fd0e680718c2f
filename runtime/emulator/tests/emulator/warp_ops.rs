//! Shuffles, votes, matches, reductions and atomics.

use super::kernel::{Lanes, Shape, WARP, lanes, launch, module};
use tilewright_emulator::Options;

fn ramp() -> Lanes {
    std::array::from_fn(|lane| 100 + lane as u64)
}

/// The low word of a 32-bit result.
fn word(body: &str) -> Lanes {
    lanes(
        &format!("{body}; cvt.u64.u32 %rd0, %r0;"),
        &ramp(),
        &ramp(),
        &ramp(),
    )
}

#[test]
fn shuffles_follow_the_isa_pseudo_code() {
    let up = word("shfl.sync.up.b32 %r0|%p1, %r1, 3, 0, -1");
    let down = word("shfl.sync.down.b32 %r0, %r1, 3, 31, -1");
    let butterfly = word("shfl.sync.bfly.b32 %r0, %r1, 5, 31, -1");
    let index = word("shfl.sync.idx.b32 %r0, %r1, 2, 0x181f, -1");
    for lane in 0..32u64 {
        assert_eq!(
            up[lane as usize],
            if lane < 3 { 100 + lane } else { 97 + lane }
        );
        assert_eq!(
            down[lane as usize],
            if lane > 28 { 100 + lane } else { 103 + lane }
        );
        assert_eq!(butterfly[lane as usize], 100 + (lane ^ 5));
        // Segments of eight lanes.
        assert_eq!(index[lane as usize], 100 + (lane & 24) + 2);
    }
}

#[test]
fn votes_matches_and_reductions() {
    let ballot =
        word("and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1; vote.sync.ballot.b32 %r0, %p1, -1");
    assert_eq!(ballot, [0xaaaa_aaaa; 32]);
    let any = word("and.b32 %r5, %r1, 3; match.any.sync.b32 %r0, %r5, -1");
    for (lane, mask) in any.iter().enumerate() {
        assert_eq!(*mask, 0x1111_1111 << (lane % 4));
    }
    assert_eq!(
        word("redux.sync.add.u32 %r0, %r1, -1"),
        [(100..132).sum(); 32]
    );
    assert_eq!(
        word("neg.s32 %r5, %r1; redux.sync.min.s32 %r0, %r5, -1"),
        [u64::from(-131i32 as u32); 32]
    );
    let elected = word("elect.sync %r0|%p1, -1; selp.b32 %r0, 1, 0, %p1");
    assert_eq!(elected.iter().sum::<u64>(), 1);
    assert_eq!(word("activemask.b32 %r0"), [0xffff_ffff; 32]);
}

#[test]
fn tiles_of_a_warp_have_masks_of_their_own() {
    let body = "mov.u32 %r5, %laneid; shr.u32 %r6, %r5, 4; setp.eq.u32 %p1, %r6, 0;
        selp.b32 %r7, 0x0000ffff, 0xffff0000, %p1;
        redux.sync.add.u32 %r0, %r1, %r7";
    let sums = word(body);
    assert_eq!(sums[0], (100..116).sum::<u64>());
    assert_eq!(sums[31], (116..132).sum::<u64>());
}

#[test]
fn atomics_serve_every_lane() {
    let body = "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %laneid;
        atom.global.add.u32 %r2, [%rd1], 1;
        red.global.max.u32 [%rd1+4], %r1;
        atom.global.gpu.relaxed.cas.b32 %r3, [%rd1+8], 7, %r1;
        red.relaxed.gpu.global.add.f32 [%rd1+12], 0f3F800000;
        atom.global.inc.u32 %r4, [%rd1+16], 4;
        atom.global.exch.b32 %r5, [%rd1+20], %r1;
        red.global.add.u64 [%rd1+24], 4294967295;";
    let mut start = [0u8; 32];
    start[8] = 7;
    let shape = Shape { grid: 3, ..WARP };
    let run = launch(
        &module(1, "", body),
        &shape,
        &[Some(&start)],
        &Options::default(),
    );
    assert!(run.report.is_clean(), "{:?}", run.report.findings);
    let words = run.words(0);
    // 96 % 5 = 1: inc wraps after 4.
    assert_eq!(words[..6], [96, 31, 0, 96f32.to_bits(), 1, 31]);
    assert_eq!(run.longs(0)[3], 96 * 0xffff_ffff);
}
