//! What operations give of constants.

use tilewright_formula::functions::{Meaning, PRIMITIVES};
use tilewright_formula::number::{stored, wrapped};

use crate::atoms::arithmetic::{Does, NumberType};
use crate::dtype::DType;

/// The result of an operation on constants of a type; conditions are 0 and 1.
pub(super) fn of(does: Does, ty: NumberType, arguments: &[f64]) -> f64 {
    let value = match ty {
        NumberType::S32 => whole(does, arguments),
        _ => real(does, arguments),
    };
    rounded(value, does.gives(ty))
}

/// A constant as its type holds it.
pub(super) fn rounded(value: f64, ty: NumberType) -> f64 {
    match ty {
        NumberType::F32 => stored(DType::F32, value),
        NumberType::S32 => stored(DType::S32, value),
        NumberType::F64 | NumberType::Bool => value,
    }
}

/// Of integers: what of them is computed at all wraps around.
fn whole(does: Does, arguments: &[f64]) -> f64 {
    let integers: Vec<i64> = arguments.iter().map(|one| *one as i64).collect();
    let value = match (does, integers.as_slice()) {
        (Does::Neg, [a]) => -a,
        (Does::Abs, [a]) => a.abs(),
        (Does::Add, [a, b]) => a + b,
        (Does::Sub, [a, b]) => a - b,
        (Does::Mul, [a, b]) => a.wrapping_mul(*b),
        (Does::Rem, [a, b]) => a.checked_rem_euclid(*b).unwrap_or(0),
        (Does::Truncated, [a, b]) => a.checked_rem(*b).unwrap_or(0),
        _ => return real(does, arguments),
    };
    wrapped(value) as f64
}

fn real(does: Does, arguments: &[f64]) -> f64 {
    let truth = |holds: bool| f64::from(u8::from(holds));
    match (does, arguments) {
        (Does::Neg, [a]) => -a,
        (Does::Abs, [a]) => a.abs(),
        (Does::Not, [a]) => truth(*a == 0.0),
        (Does::Eq, [a, b]) => truth(a == b),
        (Does::Ne, [a, b]) => truth(a != b),
        (Does::Lt, [a, b]) => truth(a < b),
        (Does::Le, [a, b]) => truth(a <= b),
        (Does::Gt, [a, b]) => truth(a > b),
        (Does::Ge, [a, b]) => truth(a >= b),
        (Does::And, [a, b]) => truth(*a != 0.0 && *b != 0.0),
        (Does::Or, [a, b]) => truth(*a != 0.0 || *b != 0.0),
        (Does::Where, [by, a, b]) => {
            if *by == 0.0 {
                *b
            } else {
                *a
            }
        }
        (Does::Fma, [a, b, c]) => a.mul_add(*b, *c),
        (Does::Rcp | Does::RcpFlushed, [a]) => 1.0 / a,
        (Does::Ex2, [a]) => a.exp2(),
        (Does::Lg2, [a]) => a.log2(),
        (Does::SinNear, [a]) => a.sin(),
        (Does::CosNear, [a]) => a.cos(),
        (Does::Larger, [a, b]) => a.max(*b),
        (Does::Smaller, [a, b]) => a.min(*b),
        (Does::Unordered, [a, b]) => truth(a.is_nan() || b.is_nan()),
        (Does::WithSign, [a, b]) => a.copysign(*b),
        (Does::Odd, [a]) => odd(*a),
        (_, arguments) => primitive(does, arguments),
    }
}

/// As f32, an inexact one cut to the number next to it with a last bit of one.
fn odd(value: f64) -> f64 {
    let near = value as f32;
    let inexact = f64::from(near) != value && !value.is_nan() && value.is_finite();
    let cut = match f64::from(near).abs() > value.abs() {
        true => f32::from_bits(near.to_bits() - 1),
        false => near,
    };
    match inexact {
        true => f64::from(f32::from_bits(cut.to_bits() | 1)),
        false => f64::from(near),
    }
}

/// As the primitive of formulas.
fn primitive(does: Does, arguments: &[f64]) -> f64 {
    let row = PRIMITIVES.iter().find(|row| Does::of(row.op) == does);
    match (row.map(|row| row.meaning), arguments) {
        (Some(Meaning::Monotone(f) | Meaning::Wave(f)), [a]) => f(*a),
        (Some(Meaning::Two(f)), [a, b]) => f(*a, *b),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_means_something_on_constants() {
        for &does in Does::ALL {
            let types: &[NumberType] = match does {
                Does::Rem | Does::Truncated => &[NumberType::S32],
                _ => &[NumberType::S32, NumberType::F32, NumberType::F64],
            };
            for &ty in types {
                for arguments in [&[1.0][..], &[1.0, 3.0], &[1.0, 3.0, 2.0]] {
                    if arguments.len() == arity(does) {
                        let value = of(does, ty, arguments);
                        assert!(!value.is_nan(), "{does} of {arguments:?}");
                    }
                }
            }
        }
    }

    fn arity(does: Does) -> usize {
        if let Some(row) = PRIMITIVES.iter().find(|row| Does::of(row.op) == does) {
            return row.arity;
        }
        match does {
            Does::Fma => 3,
            Does::Larger | Does::Smaller | Does::Unordered | Does::WithSign | Does::Truncated => 2,
            _ => 1,
        }
    }

    #[test]
    fn rounding_to_odd_keeps_what_a_narrower_type_rounds_by() {
        let step = f64::from(f32::EPSILON);
        for (value, wanted) in [
            (100.0, 100.0),
            (-0.0, -0.0),
            (1.0 + step / 4.0, 1.0 + step),
            (1.0 + step * 3.0 / 4.0, 1.0 + step),
            (1.0 + step * 5.0 / 4.0, 1.0 + step),
            (-1.0 - step / 4.0, -1.0 - step),
            (1e300, f64::from(f32::MAX)),
            (1e-300, f64::from(f32::from_bits(1))),
            (f64::NEG_INFINITY, f64::NEG_INFINITY),
        ] {
            let got = of(Does::Odd, NumberType::F64, &[value]);
            assert_eq!(got.to_bits(), f64::to_bits(wanted), "{value}: {got}");
        }
    }
}
