//! 8-bit floats: E4M3 without infinities and E5M2, as the tensor cores have them.

use tilewright_bundle::DType;

/// Bits of the mantissa, bias of the exponent, and the code of the largest number.
fn facts(dtype: DType) -> (u32, i32, u8) {
    match dtype {
        DType::E4M3 => (3, 7, 0x7e),
        _ => (2, 15, 0x7b),
    }
}

/// The value of a code.
pub(super) fn decode(dtype: DType, code: u8) -> f64 {
    let (mantissa_bits, bias, largest) = facts(dtype);
    let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
    let magnitude = code & 0x7f;
    if magnitude > largest {
        let infinite = dtype == DType::E5M2 && magnitude == largest + 1;
        return if infinite {
            sign * f64::INFINITY
        } else {
            f64::NAN
        };
    }
    let exponent = i32::from(magnitude >> mantissa_bits);
    let steps = i32::from(magnitude) & ((1 << mantissa_bits) - 1);
    // Below the first exponent there is no leading one.
    let steps = if exponent > 0 {
        steps + (1 << mantissa_bits)
    } else {
        steps
    };
    let quantum = exponent.max(1) - bias - mantissa_bits.cast_signed();
    sign * f64::from(steps) * 2f64.powi(quantum)
}

/// The code of the nearest number, ties to even; the largest for what is beyond it.
pub(super) fn encode(dtype: DType, value: f64) -> u8 {
    let (mantissa_bits, bias, largest) = facts(dtype);
    if value.is_nan() {
        return 0x7f;
    }
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    let magnitude = value.abs().min(decode(dtype, largest));
    let binade = (magnitude.to_bits() >> 52) as i32 - 1023;
    // Codes count steps: in the first two binades from zero, in each other from its start.
    let binade = binade.max(1 - bias);
    let quantum = 2f64.powi(binade - mantissa_bits.cast_signed());
    let steps = (magnitude / quantum).round_ties_even() as i32;
    let code = ((binade + bias - 1) << mantissa_bits) + steps;
    sign | (code as u8).min(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_its_own_nearest() {
        for dtype in [DType::E4M3, DType::E5M2] {
            let (.., largest) = facts(dtype);
            let numbers: Vec<f64> = (0..=largest).map(|code| decode(dtype, code)).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b));
            for (code, number) in (0..=largest).zip(&numbers) {
                assert_eq!(encode(dtype, *number), code);
                assert_eq!(encode(dtype, -number), code | 0x80);
            }
            for (code, pair) in (0..largest).zip(numbers.windows(2)) {
                let middle = (pair[0] + pair[1]) / 2.0;
                assert_eq!(encode(dtype, middle), (code + 1) & !1);
                assert_eq!(encode(dtype, middle.next_down()), code);
                assert_eq!(encode(dtype, middle.next_up()), code + 1);
            }
        }
        assert_eq!(
            (decode(DType::E4M3, 0x7e), encode(DType::E4M3, 1e9)),
            (448.0, 0x7e)
        );
        assert_eq!(
            (decode(DType::E5M2, 0x7b), encode(DType::E5M2, 1e9)),
            (57344.0, 0x7b)
        );
        assert_eq!(decode(DType::E5M2, 0xfc), f64::NEG_INFINITY);
        assert!(decode(DType::E4M3, 0x7f).is_nan() && decode(DType::E5M2, 0x7d).is_nan());
    }
}
