//! Conversions over all 16-bit patterns, and functions with a tolerance.

use super::kernel::{Lanes, lanes};
use half::{bf16, f16};

type Function = fn(f64) -> f64;

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The bits of an f32 result; NaN is canonical.
fn single(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() })
}

#[test]
fn every_f16_and_bf16_pattern_converts() {
    for start in (0..=u16::MAX as u32).step_by(32) {
        let input: Lanes = std::array::from_fn(|lane| u64::from(start) + lane as u64);
        let halves = lanes(
            "cvt.f32.f16 %r0, %h1; cvt.u64.u32 %rd0, %r0;",
            &input,
            &input,
            &input,
        );
        let brains = lanes(
            "cvt.f32.bf16 %r0, %h1; cvt.u64.u32 %rd0, %r0;",
            &input,
            &input,
            &input,
        );
        for lane in 0..32 {
            let bits = input[lane] as u16;
            assert_eq!(
                halves[lane],
                single(f16::from_bits(bits).to_f32()),
                "{bits:#x}"
            );
            assert_eq!(
                brains[lane],
                single(bf16::from_bits(bits).to_f32()),
                "{bits:#x}"
            );
        }
    }
}

#[test]
fn approximations_are_close() {
    let input: Lanes =
        std::array::from_fn(|lane| u64::from((0.11f32 * lane as f32 + 0.01).to_bits()));
    // The bounds of the PTX document: some units in the last place, absolute for waves.
    let functions: [(&str, Function, f64); 8] = [
        ("ex2.approx.f32", f64::exp2, 3e-7),
        ("lg2.approx.f32", f64::log2, 3e-7),
        ("rcp.approx.ftz.f32", |x| 1.0 / x, 2e-7),
        ("rsqrt.approx.f32", |x| 1.0 / x.sqrt(), 2e-7),
        ("sqrt.approx.f32", f64::sqrt, 2e-7),
        ("sin.approx.f32", f64::sin, 2e-6),
        ("cos.approx.f32", f64::cos, 2e-6),
        ("tanh.approx.f32", f64::tanh, 2e-5),
    ];
    for (name, model, most) in functions {
        let out = lanes(
            &format!("{name} %r0, %r1; cvt.u64.u32 %rd0, %r0;"),
            &input,
            &input,
            &input,
        );
        for lane in 0..32 {
            let want = model(f64::from(f(input[lane])));
            assert!(
                (f64::from(f(out[lane])) - want).abs() <= most * want.abs().max(1.0),
                "{name}"
            );
        }
    }
}

#[test]
fn a_constant_operand_is_noted_where_ptxas_folds_it() {
    use super::kernel::{WARP, launch, module};
    let ids = |body: &str| {
        let run = launch(&module(0, "", body), &WARP, &[], &Default::default());
        assert!(run.report.errors().next().is_none());
        run.ids()
    };
    assert_eq!(
        ids("rsqrt.approx.f32 %r1, 0f40000000;"),
        ["approx_constant"]
    );
    assert_eq!(ids("tanh.approx.f32 %r1, 0f40000000;"), [""; 0]);
    assert_eq!(
        ids("mov.b32 %r2, 0f40000000; rsqrt.approx.f32 %r1, %r2;"),
        [""; 0]
    );
}
