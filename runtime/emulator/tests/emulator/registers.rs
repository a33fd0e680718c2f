//! Vector registers, registers of 128 bits, parts of registers, and the instructions for them.

use super::kernel::{Lanes, WARP, lanes, launch, module};
use tilewright_emulator::Options;

fn counting(scale: u64) -> Lanes {
    std::array::from_fn(|lane| scale * lane as u64)
}

#[test]
fn vector_registers_move_as_a_whole() {
    let (a, b) = (counting(1), counting(100));
    let body = ".reg .v4 .b32 v; .reg .v2 .b32 w;
        mov.v4.b32 v, {%r1, %r2, 7, %r1}; mov.v4.b32 {%r5, %r6, %r7, %r8}, v;
        mov.v4.b32 {%r6, %r7, %r8, %r5}, {%r5, %r6, %r7, %r8};
        mov.v2.b32 w, {%r7, v.z}; mov.b32 v.x, w.y;
        mad.lo.u32 %r0, v.x, 1000, w.x; mad.lo.u32 %r0, %r5, 100000, %r0; cvt.u64.u32 %rd0, %r0;";
    for (lane, out) in lanes(body, &a, &b, &a).iter().enumerate() {
        let lane = lane as u64;
        // The registers turned by one place: r5 has the old r8, r7 the old r6.
        assert_eq!(*out, 100_000 * lane + 7000 + 100 * lane, "lane {lane}");
    }
}

#[test]
fn vector_registers_are_arguments_and_results() {
    let before = ".func (.reg .v2 .b32 turned) turn (.reg .v2 .b32 given, .reg .b32 more)
        { add.u32 turned.x, given.y, more; mov.b32 turned.y, given.x; ret; }";
    let body = ".reg .v2 .b32 v; mov.u32 %r1, %laneid; mov.v2.b32 v, {%r1, 50};
        call (v), turn, (v, 3); ld.param.u64 %rd1, [p0]; mul.wide.u32 %rd2, %r1, 8;
        add.u64 %rd1, %rd1, %rd2; st.global.v2.b32 [%rd1], v;";
    let run = launch(
        &module(1, before, body),
        &WARP,
        &[None],
        &Options::default(),
    );
    assert!(run.report.is_clean(), "{:?}", run.report.findings);
    for (lane, pair) in run.words(0).chunks(2).take(32).enumerate() {
        assert_eq!(pair, [53, lane as u32]);
    }
}

#[test]
fn eight_elements_go_at_once() {
    let body = "ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; mov.u32 %r1, %laneid;
        mul.wide.u32 %rd3, %r1, 32; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
        ld.global.v8.b32 {%r10, %r11, _, %r13, %r14, %r15, %r16, %r17}, [%rd1];
        st.global.v8.b32 [%rd2], {%r17, %r16, %r15, %r14, %r13, %r10, %r11, %r10};";
    let words: Vec<u8> = (0..256u32).flat_map(u32::to_le_bytes).collect();
    let text = module(2, "", body);
    let run = launch(&text, &WARP, &[Some(&words), None], &Options::default());
    assert!(run.report.is_clean(), "{:?}", run.report.findings);
    let expected = [7, 6, 5, 4, 3, 0, 1, 0];
    for (at, word) in run.words(1).iter().take(256).enumerate() {
        assert_eq!(*word as usize, at / 8 * 8 + expected[at % 8]);
    }
    let off = text.replace("mul.wide.u32 %rd3, %r1, 32", "mul.wide.u32 %rd3, %r1, 16");
    let run = launch(&off, &WARP, &[Some(&words), None], &Options::default());
    assert_eq!(run.ids(), ["misaligned"]);
}

#[test]
fn registers_of_128_bits() {
    let body = ".reg .b128 %q<3>; ld.param.u64 %rd1, [p0]; mov.u32 %r1, %laneid;
        mul.wide.u32 %rd3, %r1, 16; add.u64 %rd1, %rd1, %rd3;
        ld.global.b128 %q0, [%rd1]; mov.b128 {%rd4, %rd5}, %q0; add.u64 %rd4, %rd4, 1;
        mov.b128 %q1, {%rd5, %rd4}; mov.b128 %q2, %q1; st.global.b128 [%rd1], %q2;";
    let words: Vec<u8> = (0..64u64).flat_map(u64::to_le_bytes).collect();
    let run = launch(
        &module(1, "", body),
        &WARP,
        &[Some(&words)],
        &Options::default(),
    );
    assert!(run.report.is_clean(), "{:?}", run.report.findings);
    for (lane, pair) in run.longs(0).chunks(2).enumerate() {
        let lane = lane as u64;
        assert_eq!(pair, [2 * lane + 1, 2 * lane + 1]);
    }
}

#[test]
fn a_swap_of_128_bits_is_all_or_nothing() {
    let swap = |low: u64, high: u64| {
        let body = format!(
            ".reg .b128 %q<4>; ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
             mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 0; mov.u64 %rd3, {low};
             mov.u64 %rd4, {high}; mov.b128 %q0, {{%rd3, %rd4}}; mov.u64 %rd5, 70;
             mov.u64 %rd6, 80; mov.b128 %q1, {{%rd5, %rd6}};
             @%p1 atom.global.cas.b128 %q2, [%rd1], %q0, %q1; @%p1 st.global.b128 [%rd2], %q2;
             @%p1 atom.global.exch.b128 %q3, [%rd1+16], %q1; @%p1 st.global.b128 [%rd2+16], %q3;"
        );
        let words: Vec<u8> = [5u64, 6, 7, 8]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        let text = module(2, "", &body);
        let run = launch(&text, &WARP, &[Some(&words), None], &Options::default());
        assert!(run.report.is_clean(), "{:?}", run.report.findings);
        assert_eq!(run.longs(1)[..4], [5, 6, 7, 8]);
        assert_eq!(run.longs(0)[2..], [70, 80]);
        run.longs(0)[..2].to_vec()
    };
    assert_eq!(swap(5, 6), [70, 80]);
    assert_eq!(swap(5, 7), [5, 6]);
    assert_eq!(swap(4, 6), [5, 6]);
}

#[test]
fn video_instructions_take_parts_and_merge() {
    let a = std::array::from_fn(|lane| 0x8e2d_a590u64.wrapping_mul(lane as u64 + 1) & 0xffff_ffff);
    let b = std::array::from_fn(|lane| (0x00f1_3350 + 0x0101_0101 * lane as u64) & 0xffff_ffff);
    let c = counting(0x0bad_cafe);
    let word = |value: u64| value as u32;
    let signed = |value: u64| i64::from(value as u32 as i32);
    type Model<'m> = &'m dyn Fn(u64, u64, u64) -> u32;
    let cases: [(&str, Model<'_>); 9] = [
        ("vadd.s32.s32.s32 %r0, %r1.b3, %r2.h0", &|a, b, _| {
            (i64::from((a >> 24) as u8 as i8) + i64::from(b as u16 as i16)) as u32
        }),
        ("vadd.u32.u32.u32.sat %r0, %r1, %r2", &|a, b, _| {
            word(a).saturating_add(word(b))
        }),
        ("vsub.s32.u32.u32.sat %r0, %r1, %r2", &|a, b, _| {
            let wide = i64::from(word(a)) - i64::from(word(b));
            wide.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
        }),
        ("vabsdiff.u32.s32.s32.add %r0, %r1, %r2, %r3", &|a, b, c| {
            ((signed(a) - signed(b)).unsigned_abs() + u64::from(word(c))) as u32
        }),
        ("vmin.s32.s32.s32.max %r0, %r1.h1, %r2, %r3", &|a, b, c| {
            let least = i64::from((a >> 16) as u16 as i16).min(signed(b));
            least.max(signed(c)) as u32
        }),
        (
            "vmax.u32.u32.u32.min %r0, %r1.b1, %r2.b0, %r3",
            &|a, b, c| u32::from(((a >> 8) as u8).max(b as u8)).min(word(c)),
        ),
        ("vshl.u32.u32.u32.clamp %r0, %r1, %r2.b0", &|a, b, _| {
            u32::try_from(u64::from(word(a)) << (b as u8).min(32) & 0xffff_ffff).unwrap()
        }),
        ("vshr.s32.s32.u32.wrap %r0, %r1, %r2", &|a, b, _| {
            (signed(a) >> (b & 31)) as u32
        }),
        (
            "vadd.s32.s32.s32.sat %r0.h1, %r1.b0, %r2.h1, %r3",
            &|a, b, c| {
                let sum = i64::from(a as u8 as i8) + i64::from((b >> 16) as u16 as i16);
                let half = sum.clamp(-32768, 32767) as u16;
                u32::from(half) << 16 | word(c) & 0xffff
            },
        ),
    ];
    for (text, model) in cases {
        let body = format!("{text}; cvt.u64.u32 %rd0, %r0;");
        for (lane, out) in lanes(&body, &a, &b, &c).iter().enumerate() {
            let expected = model(a[lane], b[lane], c[lane]);
            assert_eq!(*out as u32, expected, "{text}, lane {lane}");
        }
    }
}

#[test]
fn narrow_integers_are_packed_with_saturation() {
    let a = std::array::from_fn(|lane| (lane as i64 * 37 - 500) as u32 as u64);
    let b = std::array::from_fn(|lane| (lane as i64 * -5000 + 70_000) as u32 as u64);
    let c = counting(0x1234_5677);
    let types: [(&str, i64, i64, u32); 8] = [
        ("s16", -32768, 32767, 16),
        ("u16", 0, 65535, 16),
        ("s8", -128, 127, 8),
        ("u8", 0, 255, 8),
        ("s4", -8, 7, 4),
        ("u4", 0, 15, 4),
        ("s2", -2, 1, 2),
        ("u2", 0, 3, 2),
    ];
    for (name, least, most, bits) in types {
        let rest = if bits == 16 {
            ("", "")
        } else {
            (".b32", ", %r3")
        };
        let body = format!(
            "cvt.pack.sat.{name}.s32{} %r0, %r1, %r2{}; cvt.u64.u32 %rd0, %r0;",
            rest.0, rest.1
        );
        for (lane, out) in lanes(&body, &a, &b, &c).iter().enumerate() {
            let narrow = |value: u64| {
                let value = i64::from(value as u32 as i32).clamp(least, most) as u64;
                value & ((1 << bits) - 1)
            };
            let filled = if bits == 16 { 0 } else { c[lane] << (2 * bits) };
            let expected = (filled | narrow(a[lane]) << bits | narrow(b[lane])) as u32;
            assert_eq!(*out as u32, expected, "{name}, lane {lane}");
        }
    }
}

#[test]
fn votes_and_shuffles_of_old_targets_ask_the_lanes_that_run() {
    let a = counting(1);
    let body = "setp.lt.u32 %p1, %r1, 20; setp.gt.u32 %p2, %r1, 3; mov.u32 %r0, 0;
        @%p1 vote.ballot.b32 %r0, %p2; @%p1 shfl.idx.b32 %r4, %r1, 5, 31;
        @%p1 mad.lo.u32 %r0, %r4, 0x1000000, %r0; cvt.u64.u32 %rd0, %r0;";
    let all = "setp.ge.u32 %p2, %r1, 0; vote.all.pred %p1, %p2; selp.u64 %rd0, 1, 0, %p1;";
    assert_eq!(lanes(all, &a, &a, &a), [1; 32]);
    for (lane, out) in lanes(body, &a, &a, &a).iter().enumerate() {
        let ballot = 0x000f_fff0;
        let expected = if lane < 20 { 5 << 24 | ballot } else { 0 };
        assert_eq!(*out as usize, expected, "lane {lane}");
    }
}
