//! Integer and bit operations with PTX's edge rules (ISA 9.7.1, 9.7.8), on zero-extended 64-bit
//! values.

/// Sign-extends the low `width` bits.
#[inline]
pub(crate) fn sign_extend(value: u64, width: u32) -> u64 {
    if width >= 64 {
        return value;
    }
    let shift = 64 - width;
    (((value << shift) as i64) >> shift) as u64
}

/// The low `width` bits.
#[inline]
pub(crate) fn truncate(value: u64, width: u32) -> u64 {
    if width >= 64 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

/// `bfe.{u,s}{32,64}`: position and length are 8 bits; the sign bit is the field's last bit or
/// the value's.
#[inline]
pub(crate) fn bit_field_extract(a: u64, pos: u64, len: u64, width: u32, signed: bool) -> u64 {
    let (pos, len) = (pos as u32 & 0xff, len as u32 & 0xff);
    if len == 0 {
        return 0;
    }
    let msb = width - 1;
    let sign = signed && (a >> msb.min(pos + len - 1)) & 1 == 1;
    let kept = len.min(width.saturating_sub(pos));
    let low = if kept == 0 {
        0
    } else {
        truncate(truncate(a, width) >> pos, kept)
    };
    let fill = if sign && kept < 64 {
        truncate(u64::MAX << kept, width)
    } else {
        0
    };
    low | fill
}

/// `bfi.b{32,64}`: inserts the low `len` bits of `a` into `b` at `pos`.
#[inline]
pub(crate) fn bit_field_insert(a: u64, b: u64, pos: u64, len: u64, width: u32) -> u64 {
    let (pos, len) = (pos as u32 & 0xff, len as u32 & 0xff);
    if pos >= width || len == 0 {
        return truncate(b, width);
    }
    let mask = if len >= 64 { u64::MAX } else { (1 << len) - 1 } << pos;
    truncate(b & !mask | (a << pos) & mask, width)
}

/// `bmsk` in `.clamp` mode or `.wrap` mode.
pub(crate) fn bit_mask(pos: u64, len: u64, wrap: bool) -> u64 {
    let (pos, len) = (pos as u32, len as u32);
    let (pos, len) = if wrap {
        (pos & 31, len & 31)
    } else {
        (pos, len)
    };
    if pos >= 32 || len == 0 {
        return 0;
    }
    let ones = if len >= 32 { u32::MAX } else { (1 << len) - 1 };
    u64::from(ones << pos)
}

/// `bfind`: the position of the most significant non-sign bit; with `shift` the amount that moves
/// it to the top.
pub(crate) fn bit_find(a: u64, width: u32, signed: bool, shift: bool) -> u64 {
    let value = if signed && (a >> (width - 1)) & 1 == 1 {
        truncate(!a, width)
    } else {
        truncate(a, width)
    };
    if value == 0 {
        return u64::from(u32::MAX);
    }
    let position = 63 - value.leading_zeros();
    u64::from(if shift {
        width - 1 - position
    } else {
        position
    })
}

/// `shf`: the funnel shift of `b:a`.
#[inline]
pub(crate) fn funnel(a: u64, b: u64, amount: u64, left: bool, wrap: bool) -> u64 {
    let amount = amount as u32;
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    let pair = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
    if left {
        (pair << amount) >> 32
    } else {
        (pair >> amount) & 0xffff_ffff
    }
}

/// Modes of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permute {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// `prmt`: picks four of the eight bytes of `b:a`.
#[inline]
pub(crate) fn permute(a: u64, b: u64, c: u64, mode: Permute) -> u64 {
    let pair = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
    let control = c as u32;
    let turn = control & 3;
    let selector = |byte: u32| match mode {
        Permute::Index => (control >> (4 * byte)) & 15,
        Permute::F4e => turn + byte,
        Permute::B4e => (turn + 8 - byte) & 7,
        Permute::Rc8 => turn,
        Permute::Ecl => byte.max(turn),
        Permute::Ecr => byte.min(turn),
        Permute::Rc16 => (turn & 1) * 2 + (byte & 1),
    };
    (0..4).fold(0, |result, byte| {
        let select = selector(byte);
        let value = (pair >> (8 * (select & 7))) & 0xff;
        let value = if select & 8 == 0 {
            value
        } else {
            (value >> 7) * 0xff
        };
        result | value << (8 * byte)
    })
}

/// `lop3` on 32 bits with an 8-bit truth table.
#[inline]
pub(crate) fn logic3(a: u64, b: u64, c: u64, table: u32) -> u64 {
    let mut result = 0;
    for row in 0..8u32 {
        if table >> row & 1 == 1 {
            let pick = |value: u64, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
            result |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    result & 0xffff_ffff
}

/// `dp4a`: the dot product of four bytes plus `c`.
#[inline]
pub(crate) fn dot4(a: u64, b: u64, c: u64, signed_a: bool, signed_b: bool) -> u64 {
    let byte = |value: u64, index: u32, signed: bool| {
        let byte = (value >> (8 * index)) as u8;
        if signed {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        }
    };
    let sum = (0..4).fold(c as u32, |sum, index| {
        let product = byte(a, index, signed_a) * byte(b, index, signed_b);
        sum.wrapping_add(product as u32)
    });
    u64::from(sum)
}

/// `dp2a`: the dot product of two halves of `a` and two bytes of `b`, plus `c`.
#[inline]
pub(crate) fn dot2(a: u64, b: u64, c: u64, signed_a: bool, signed_b: bool, high: bool) -> u64 {
    let sum = (0..2).fold(c as u32, |sum, index| {
        let half = (a >> (16 * index)) as u16;
        let half = if signed_a {
            i32::from(half as i16)
        } else {
            i32::from(half)
        };
        let byte = (b >> (8 * (index + 2 * u32::from(high)))) as u8;
        let byte = if signed_b {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        };
        sum.wrapping_add(half.wrapping_mul(byte) as u32)
    });
    u64::from(sum)
}

/// `mul24`: the low or the high (bits 47..16) 32 bits of a 24-bit product.
#[inline]
pub(crate) fn mul24(a: u64, b: u64, signed: bool, high: bool) -> u64 {
    let narrow = |value: u64| {
        if signed {
            sign_extend(value, 24) as i64
        } else {
            truncate(value, 24) as i64
        }
    };
    let product = narrow(a) * narrow(b);
    u64::from(if high {
        (product >> 16) as u32
    } else {
        product as u32
    })
}

/// The high half of a product of `width`-bit values.
#[inline]
pub(crate) fn mul_high(a: u64, b: u64, width: u32, signed: bool) -> u64 {
    let wide = |value: u64| {
        if signed {
            i128::from(sign_extend(value, width) as i64)
        } else {
            i128::from(truncate(value, width))
        }
    };
    let product = match signed {
        true => (wide(a) * wide(b)) as u128,
        false => wide(a) as u128 * wide(b) as u128,
    };
    truncate((product >> width) as u64, width)
}

/// Division or remainder; a zero divisor gives all ones, or the dividend for a remainder.
#[inline]
pub(crate) fn divide(a: u64, b: u64, width: u32, signed: bool, remainder: bool) -> u64 {
    if truncate(b, width) == 0 {
        return if remainder {
            truncate(a, width)
        } else {
            truncate(u64::MAX, width)
        };
    }
    let value = if signed {
        let (a, b) = (sign_extend(a, width) as i64, sign_extend(b, width) as i64);
        (if remainder {
            a.wrapping_rem(b)
        } else {
            a.wrapping_div(b)
        }) as u64
    } else {
        let (a, b) = (truncate(a, width), truncate(b, width));
        if remainder { a % b } else { a / b }
    };
    truncate(value, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pseudo code of the ISA's `bfe`, bit by bit.
    fn bfe_model(a: u64, pos: u64, len: u64, width: u32, signed: bool) -> u64 {
        let bit = |i: u32| (a >> i) & 1;
        let (msb, pos, len) = (width - 1, pos as u32 & 0xff, len as u32 & 0xff);
        let sign = if !signed || len == 0 {
            0
        } else {
            bit(msb.min(pos + len - 1))
        };
        (0..=msb).fold(0, |d, i| {
            d | (if i < len && pos + i <= msb {
                bit(pos + i)
            } else {
                sign
            }) << i
        })
    }

    proptest! {
        #[test]
        fn bfe_is_the_isa_pseudo_code(a: u64, pos in 0u64..300, len in 0u64..300, signed: bool) {
            for width in [32, 64] {
                let a = truncate(a, width);
                let got = bit_field_extract(a, pos, len, width, signed);
                prop_assert_eq!(got, bfe_model(a, pos, len, width, signed));
            }
        }

        #[test]
        fn bfi_is_the_isa_pseudo_code(a: u64, b: u64, pos in 0u64..300, len in 0u64..300) {
            for width in [32u32, 64] {
                let (p, l) = (pos as u32 & 0xff, len as u32 & 0xff);
                let mut want = truncate(b, width);
                for i in 0..l {
                    if p + i < width && i < width {
                        want = want & !(1 << (p + i)) | ((a >> i) & 1) << (p + i);
                    }
                }
                prop_assert_eq!(bit_field_insert(a, b, pos, len, width), want);
            }
        }

        #[test]
        fn funnels_agree_with_the_pair(a: u32, b: u32, n: u32) {
            let wide = u64::from;
            let pair = u64::from(b) << 32 | u64::from(a);
            let left = |n: u32| ((u128::from(pair) << n) >> 32) as u32;
            let right = |n: u32| (pair >> n) as u32;
            prop_assert_eq!(funnel(wide(a), wide(b), wide(n), true, true), wide(left(n & 31)));
            prop_assert_eq!(funnel(wide(a), wide(b), wide(n), true, false), wide(left(n.min(32))));
            prop_assert_eq!(funnel(wide(a), wide(b), wide(n), false, true), wide(right(n & 31)));
            let clamped = funnel(wide(a), wide(b), wide(n), false, false);
            prop_assert_eq!(clamped, wide(right(n.min(32))));
        }

        #[test]
        fn high_products_agree_with_native(a: u32, b: u32) {
            let unsigned = ((u64::from(a) * u64::from(b)) >> 32) as u32;
            prop_assert_eq!(mul_high(u64::from(a), u64::from(b), 32, false), u64::from(unsigned));
            let signed = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
            prop_assert_eq!(mul_high(u64::from(a), u64::from(b), 32, true), u64::from(signed));
        }

        #[test]
        fn logic3_is_its_truth_table(a: u32, b: u32, c: u32) {
            let run = |table| logic3(u64::from(a), u64::from(b), u64::from(c), table) as u32;
            prop_assert_eq!(run(0xf0 & 0xcc & 0xaa), a & b & c);
            prop_assert_eq!(run(0xf0 ^ 0xcc ^ 0xaa), a ^ b ^ c);
            prop_assert_eq!(run((0xf0 & 0xcc) | (!0xf0 & 0xaa) & 0xff), a & b | !a & c);
        }
    }

    #[test]
    fn permute_modes_follow_the_isa_tables() {
        let (a, b) = (0x0302_0100, 0x0706_0504);
        assert_eq!(permute(a, b, 0x4170, Permute::Index), 0x0401_0700);
        assert_eq!(
            permute(0x80, 0x8100_0000, 0x07f8, Permute::Index),
            0x8081_ffff
        );
        assert_eq!(permute(a, b, 1, Permute::F4e), 0x0403_0201);
        assert_eq!(permute(a, b, 1, Permute::B4e), 0x0607_0001);
        assert_eq!(permute(a, b, 2, Permute::Rc8), 0x0202_0202);
        assert_eq!(permute(a, b, 2, Permute::Ecl), 0x0302_0202);
        assert_eq!(permute(a, b, 2, Permute::Ecr), 0x0202_0100);
        assert_eq!(permute(a, b, 1, Permute::Rc16), 0x0302_0302);
    }

    #[test]
    fn find_and_divide_edges() {
        assert_eq!(bit_find(0, 32, false, false), 0xffff_ffff);
        assert_eq!(bit_find(0xffff_ffff, 32, true, false), 0xffff_ffff);
        assert_eq!(bit_find(1, 32, false, true), 31);
        assert_eq!(divide(7, 0, 32, false, false), 0xffff_ffff);
        assert_eq!(divide(7, 0, 32, false, true), 7);
        assert_eq!(
            divide(0x8000_0000, 0xffff_ffff, 32, true, false),
            0x8000_0000
        );
        assert_eq!(mul24(0xff_ffff, 0xff_ffff, false, true), 0xffff_fe00);
        assert_eq!(
            dot4(0x01ff_0203, 0x0101_0101, 7, true, true),
            7 + 1 - 1 + 2 + 3
        );
    }
}
