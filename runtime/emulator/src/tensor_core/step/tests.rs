//! Sums worked out by hand, and those an H200 wrote where rules are easily got wrong.
#![allow(clippy::unwrap_used)]

use super::*;

fn step(way: Way, element: Element, sum: Sum, k: usize) -> Step {
    Step::new(Rules::of("sm_90a"), way, (element, element), sum, k).unwrap()
}

fn single(value: f32) -> u64 {
    u64::from(value.to_bits())
}

const NEGATIVE_ZERO: u64 = 0x8000_0000;

#[test]
fn a_zero_is_positive_whatever_it_comes_from() {
    let f16 = step(Way::Mma, Element::F16, Sum::F32, 8);
    assert_eq!(f16.dot(&[0x8000; 8], &[0x3c00; 8], NEGATIVE_ZERO), 0);
    // 1 - 1, and what the result's format is too coarse for.
    assert_eq!(f16.dot(&[0x3c00, 0xbc00], &[0x3c00; 2], 0), 0);
    let bf16 = step(Way::Mma, Element::Bf16, Sum::F32, 8);
    assert_eq!(bf16.dot(&[0x8080], &[0x0080], 0), 0);
    // fp8 of mma.sync ends in an IEEE addition, whose other operand is never -0.
    let fp8 = step(Way::Mma, Element::E4m3, Sum::F32, 16);
    assert_eq!(fp8.dot(&[0x80; 16], &[0x38; 16], NEGATIVE_ZERO), 0);
}

#[test]
fn infinities_and_nan_are_those_of_the_whole_sum() {
    let f16 = step(Way::Wgmma, Element::F16, Sum::F32, 16);
    let (infinity, nan) = (0x7c00, 0x7fff_ffff);
    assert_eq!(f16.dot(&[infinity], &[0xbc00], 0), 0xff80_0000);
    assert_eq!(f16.dot(&[infinity], &[0x8000], 0), nan);
    assert_eq!(f16.dot(&[infinity, 0xfc00], &[0x3c00; 2], 0), nan);
    assert_eq!(f16.dot(&[infinity], &[0xbc00], 0x7f80_0000), nan);
    assert_eq!(f16.dot(&[0xfe01], &[0x3c00], 0), nan);
    // Products beyond the largest f32 cancel; what stays beyond it is infinite.
    let bf16 = step(Way::Mma, Element::Bf16, Sum::F32, 8);
    let large = 0x7f00;
    assert_eq!(bf16.dot(&[large, 0xff00], &[large; 2], single(1.0)), 0);
    assert_eq!(bf16.dot(&[large], &[large], 0), 0x7f80_0000);
    // A NaN of f32 whose payload is in the bits that are cut off is infinite.
    let tf32 = step(Way::Mma, Element::Tf32, Sum::F32, 8);
    assert_eq!(tf32.dot(&[0x7f80_1fff], &[single(2.0)], 0), 0x7f80_0000);
}

#[test]
fn wmma_takes_tf32_in_two_pieces() {
    // Together 2 and 2 reach the last place of 2^25; one after the other both are cut off.
    let ones = [single(1.0); 8];
    let c = single(33_554_432.0);
    let mma = step(Way::Mma, Element::Tf32, Sum::F32, 8);
    let a = [single(2.0), 0, 0, 0, single(2.0), 0, 0, 0];
    assert_eq!(mma.dot(&a, &ones, c), single(33_554_436.0));
    let wmma = step(Way::Wmma, Element::Tf32, Sum::F32, 8);
    assert_eq!(wmma.dot(&a, &ones, c), single(33_554_432.0));
}

#[test]
fn doubles_hand_on_a_nan_of_b_then_c_then_a() {
    let f64s = step(Way::Mma, Element::F64, Sum::F64, 4);
    let one = 1f64.to_bits();
    let nan = |payload: u64| 0xfff0 << 48 | payload;
    let quiet = 1 << 51;
    assert_eq!(f64s.dot(&[nan(1)], &[nan(2)], nan(3)), nan(2) | quiet);
    assert_eq!(f64s.dot(&[nan(1)], &[one], nan(3)), nan(3) | quiet);
    assert_eq!(f64s.dot(&[nan(1)], &[one], one), nan(1) | quiet);
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(f64s.dot(&[infinity], &[0], 0), 0xfff8 << 48);
    let negative_zero = 1 << 63;
    assert_eq!(
        f64s.dot(&[negative_zero; 4], &[one; 4], negative_zero),
        negative_zero
    );
}

#[test]
fn integers_wrap_or_clamp() {
    let s8 = |saturate| step(Way::Mma, Element::S8, Sum::S32 { saturate }, 16);
    let c = u64::from(i32::MAX as u32);
    assert_eq!(s8(false).dot(&[0xff; 16], &[0xff; 16], c), 0x8000_000f);
    assert_eq!(s8(true).dot(&[0xff; 16], &[0xff; 16], c), c);
    assert_eq!(s8(true).bound(&[0xff; 16], &[0x01; 16], c), 0.0);
}

#[test]
fn the_constants_are_those_of_the_rules() {
    let constants = |way, element, k| {
        let precision = step(way, element, Sum::F32, k).precision();
        (
            precision.kept_bits,
            precision.result_bits,
            precision.sums,
            precision.products,
        )
    };
    assert_eq!(
        constants(Way::Wgmma, Element::E5m2, 32),
        (Some(13), Some(13), 1, 32)
    );
    assert_eq!(
        constants(Way::Mma, Element::E5m2, 32),
        (Some(25), Some(23), 3, 16)
    );
    assert_eq!(
        constants(Way::Wmma, Element::Tf32, 8),
        (Some(25), Some(23), 2, 4)
    );
    assert_eq!(constants(Way::Fma, Element::F16, 7), (None, Some(23), 7, 1));
    let ampere = Step::new(
        Rules::of("sm_80"),
        Way::Mma,
        (Element::F16, Element::F16),
        Sum::F32,
        16,
    );
    assert_eq!(ampere.unwrap().precision().sums, 2);
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let wanted = (Element::E4m3, Element::E4m3);
    let refused = Step::new(Rules::of("sm_90"), Way::Wgmma, wanted, Sum::F32, 16);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "no wgmma of sm_90 multiplies e4m3 by e4m3 into f32 with a k of 16; it is 32"
    );
    let wanted = (Element::F16, Element::Bf16);
    let refused = Step::new(Rules::of("sm_90"), Way::Mma, wanted, Sum::F32, 16);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "no mma.sync of sm_90 multiplies f16 by bf16 into f32 with a k of 16"
    );
}
