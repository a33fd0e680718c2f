//! Bytes of a launch file as numbers: scalars to pass, buffers to compare.

use half::{bf16, f16};
use serde::Serialize;

use super::BufferArg;

/// How a buffer compares with what it must hold.
#[derive(Clone, Debug, Serialize)]
pub struct BufferOutcome {
    /// Its name.
    pub name: String,
    /// Whether every element is within the tolerance; true when nothing is expected.
    pub passed: bool,
    /// Elements compared.
    pub elements: u64,
    /// Elements out of tolerance.
    pub wrong: u64,
    /// The first wrong element: index, value, expected value.
    pub first_wrong: Option<(u64, Number, Number)>,
    /// The largest absolute difference.
    pub max_error: f64,
}

impl std::fmt::Display for BufferOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BufferOutcome {
            name,
            wrong,
            elements,
            ..
        } = self;
        write!(f, "buffer {name}: {wrong} of {elements} elements are wrong")?;
        if let Some((index, got, want)) = self.first_wrong {
            write!(f, ", first [{index}] = {got}, expected {want}")?;
        }
        Ok(())
    }
}

/// Types whose elements are compared as numbers, with the bytes of each.
pub(super) const TYPES: [(&str, usize); 20] = [
    ("f64", 8),
    ("i64", 8),
    ("s64", 8),
    ("u64", 8),
    ("b64", 8),
    ("f32", 4),
    ("tf32", 4),
    ("i32", 4),
    ("s32", 4),
    ("u32", 4),
    ("b32", 4),
    ("f16", 2),
    ("bf16", 2),
    ("i16", 2),
    ("s16", 2),
    ("u16", 2),
    ("b16", 2),
    ("i8", 1),
    ("u8", 1),
    ("b8", 1),
];

/// The largest finite number of a floating-point type; none of others, whose elements are compared
/// to the bit.
pub(super) fn largest(dtype: &str) -> Option<f64> {
    Some(match dtype {
        "f64" => f64::MAX,
        "f32" | "tf32" => f64::from(f32::MAX),
        "f16" => f16::MAX.to_f64(),
        "bf16" => bf16::MAX.to_f64(),
        _ => return None,
    })
}

/// Bytes of one element; those of other types compare byte by byte.
pub(super) fn element_bytes(dtype: &str) -> usize {
    let known = TYPES.iter().find(|(known, _)| *known == dtype);
    known.map_or(1, |(_, bytes)| *bytes)
}

/// The number that an element stands for; integers keep all their bits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// Of any width and sign.
    Integer(i128),
    /// Of any floating-point type.
    Float(f64),
}

impl Number {
    fn of(dtype: &str, bytes: &[u8]) -> Number {
        let mut wide = [0u8; 8];
        wide.iter_mut()
            .zip(bytes)
            .for_each(|(wide, byte)| *wide = *byte);
        let bits = u64::from_le_bytes(wide);
        match dtype {
            "f64" => Number::Float(f64::from_bits(bits)),
            "f32" | "tf32" => Number::Float(f64::from(f32::from_bits(bits as u32))),
            "f16" => Number::Float(f16::from_bits(bits as u16).to_f64()),
            "bf16" => Number::Float(bf16::from_bits(bits as u16).to_f64()),
            "i64" | "s64" => Number::Integer(i128::from(bits as i64)),
            "i32" | "s32" => Number::Integer(i128::from(bits as u32 as i32)),
            "i16" | "s16" => Number::Integer(i128::from(bits as u16 as i16)),
            "i8" | "s8" => Number::Integer(i128::from(bits as u8 as i8)),
            _ => Number::Integer(i128::from(bits)),
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The distance to another one, exact for integers before it is a float.
    fn distance(self, other: Number) -> f64 {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => (a - b).unsigned_abs() as f64,
            (a, b) => (a.to_f64() - b.to_f64()).abs(),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Integer(value) => value.fmt(f),
            Number::Float(value) => value.fmt(f),
        }
    }
}

/// Why the absolute tolerance of a buffer tells nothing from what it must hold: it is beyond 1 and
/// beyond all of that.
pub(super) fn lets_all_pass(arg: &BufferArg, want: &[u8]) -> Option<String> {
    let atol = arg.atol.filter(|atol| *atol > 1.0)?;
    let elements = want.chunks(element_bytes(&arg.dtype));
    let magnitudes = elements.map(|element| Number::of(&arg.dtype, element).to_f64().abs());
    let most = magnitudes
        .filter(|magnitude| magnitude.is_finite())
        .fold(1.0, f64::max);
    (atol > most).then(|| {
        format!("atol is {atol}, by which all that is expected may be anything: at most {most}")
    })
}

/// Compares a buffer with what it must hold: `|got - want| <= atol + rtol * |want|`, and an
/// infinity by nothing but itself. Without tolerances bytes are compared.
pub(super) fn compare(arg: &BufferArg, got: &[u8], want: &Option<Vec<u8>>) -> BufferOutcome {
    let mut outcome = BufferOutcome {
        name: arg.name.clone(),
        passed: true,
        elements: 0,
        wrong: 0,
        first_wrong: None,
        max_error: 0.0,
    };
    let Some(want) = want else { return outcome };
    let size = element_bytes(&arg.dtype);
    let (rtol, atol) = (arg.rtol.unwrap_or(0.0), arg.atol.unwrap_or(0.0));
    let tolerant = atol > 0.0 || rtol > 0.0;
    for (index, (got, want)) in got.chunks(size).zip(want.chunks(size)).enumerate() {
        outcome.elements += 1;
        if got == want {
            continue;
        }
        let (value, wanted) = (Number::of(&arg.dtype, got), Number::of(&arg.dtype, want));
        let difference = value.distance(wanted);
        let both_nan = value.to_f64().is_nan() && wanted.to_f64().is_nan();
        let allowed = atol + rtol * wanted.to_f64().abs();
        let close = wanted.to_f64().is_finite() && difference <= allowed || both_nan;
        if !(tolerant && close) {
            outcome.wrong += 1;
            outcome
                .first_wrong
                .get_or_insert((index as u64, value, wanted));
        }
        if difference > outcome.max_error {
            outcome.max_error = difference;
        }
    }
    outcome.passed = outcome.wrong == 0;
    outcome
}

/// The bytes of a scalar argument; `None` when the value does not fit the type.
pub(super) fn scalar_bytes(dtype: &str, value: &serde_json::Number) -> Option<Vec<u8>> {
    let signed = || value.as_i64();
    let unsigned = || value.as_u64();
    // A number that its type has no finite one for is none of it.
    let float = || {
        let most = largest(dtype)?;
        value.as_f64().filter(|value| value.abs() <= most)
    };
    Some(match dtype {
        "i8" | "s8" => i8::try_from(signed()?).ok()?.to_le_bytes().to_vec(),
        "i16" | "s16" => i16::try_from(signed()?).ok()?.to_le_bytes().to_vec(),
        "i32" | "s32" => i32::try_from(signed()?).ok()?.to_le_bytes().to_vec(),
        "i64" | "s64" => signed()?.to_le_bytes().to_vec(),
        "u8" | "b8" => u8::try_from(unsigned()?).ok()?.to_le_bytes().to_vec(),
        "u16" | "b16" => u16::try_from(unsigned()?).ok()?.to_le_bytes().to_vec(),
        "u32" | "b32" => u32::try_from(unsigned()?).ok()?.to_le_bytes().to_vec(),
        "u64" | "b64" => unsigned()?.to_le_bytes().to_vec(),
        "f16" => f16::from_f64(float()?).to_le_bytes().to_vec(),
        "bf16" => bf16::from_f64(float()?).to_le_bytes().to_vec(),
        "f32" => (float()? as f32).to_le_bytes().to_vec(),
        "f64" => float()?.to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// The bytes of a string of hexadecimal digits.
pub(super) fn hex_bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| (*byte as char).to_digit(16);
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some((16 * digit(high)? + digit(low)?) as u8),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::launch_file::Role;

    fn buffer(dtype: &str, rtol: f64) -> BufferArg {
        BufferArg {
            name: "x".into(),
            role: Role::Out,
            dtype: dtype.into(),
            bytes: 8,
            init: None,
            expect: None,
            rtol: Some(rtol),
            atol: None,
        }
    }

    #[test]
    fn tolerance_is_relative_to_what_is_wanted() {
        let got: Vec<u8> = [1.0f32, 101.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let want: Vec<u8> = [1.0f32, 100.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        assert!(compare(&buffer("f32", 0.011), &got, &Some(want.clone())).passed);
        let outcome = compare(&buffer("f32", 0.0), &got, &Some(want));
        assert_eq!(
            (outcome.passed, outcome.wrong, outcome.max_error),
            (false, 1, 1.0)
        );
        let (value, wanted) = (Number::Float(101.0), Number::Float(100.0));
        assert_eq!(outcome.first_wrong, Some((1, value, wanted)));
    }

    #[test]
    fn zero_tolerance_tells_zeros_apart() {
        let (plus, minus) = (0.0f32.to_le_bytes(), (-0.0f32).to_le_bytes());
        assert!(!compare(&buffer("f32", 0.0), &plus, &Some(minus.to_vec())).passed);
    }

    #[test]
    fn an_infinity_is_close_to_itself_alone() {
        for dtype in ["f32", "f64", "f16", "bf16"] {
            let bytes = |value: f64| match dtype {
                "f32" => (value as f32).to_le_bytes().to_vec(),
                "f16" => f16::from_f64(value).to_le_bytes().to_vec(),
                "bf16" => bf16::from_f64(value).to_le_bytes().to_vec(),
                _ => value.to_le_bytes().to_vec(),
            };
            let passes = |got: f64, want: f64| {
                compare(&buffer(dtype, 0.5), &bytes(got), &Some(bytes(want))).passed
            };
            let (inf, nan) = (f64::INFINITY, f64::NAN);
            assert!(
                passes(inf, inf) && passes(-inf, -inf) && passes(nan, -nan),
                "{dtype}"
            );
            for (got, want) in [(3.0, inf), (-inf, inf), (inf, 3.0), (nan, inf), (nan, 3.0)] {
                assert!(!passes(got, want), "{dtype} {got} {want}");
            }
        }
    }

    #[test]
    fn a_tolerance_beyond_all_that_is_expected_is_none() {
        let of = |atol: f64, want: [f32; 2]| {
            let mut arg = buffer("f32", 0.0);
            arg.atol = Some(atol);
            lets_all_pass(&arg, &want.map(f32::to_le_bytes).concat())
        };
        for (atol, want) in [
            (1.0, [0.0; 2]),
            (0.5, [1e-9, 2e-9]),
            (8.0, [1.0, -8.0]),
            (2.0, [f32::INFINITY, 3.0]),
        ] {
            assert_eq!(of(atol, want), None, "{atol} {want:?}");
        }
        for (atol, want) in [
            (1.5, [0.0; 2]),
            (1e30, [96.0, -7.0]),
            (4.0, [f32::NAN, 3.0]),
        ] {
            let told = of(atol, want).unwrap();
            assert!(told.contains("at most"), "{told}");
        }
    }

    #[test]
    fn wide_integers_are_told_apart_where_floats_are_not() {
        for (dtype, got, want) in [
            ("u64", u64::MAX, u64::MAX - 1),
            ("i64", i64::MIN as u64, i64::MIN as u64 + 1),
            ("s64", (1 << 53) + 1, 1 << 53),
        ] {
            let (got, want) = (got.to_le_bytes(), Some(want.to_le_bytes().to_vec()));
            let outcome = compare(&buffer(dtype, 0.0), &got, &want);
            assert_eq!((outcome.wrong, outcome.max_error), (1, 1.0), "{dtype}");
        }
        let got = u64::MAX.to_le_bytes();
        let want = Some((u64::MAX - 1).to_le_bytes().to_vec());
        let text = compare(&buffer("u64", 0.0), &got, &want).to_string();
        let shown = "[0] = 18446744073709551615, expected 18446744073709551614";
        assert!(text.ends_with(shown), "{text}");
    }

    #[test]
    fn scalars_fit_or_are_refused() {
        let number = |text: &str| serde_json::from_str::<serde_json::Number>(text).unwrap();
        assert_eq!(
            scalar_bytes("i32", &number("-2")),
            Some((-2i32).to_le_bytes().to_vec())
        );
        assert_eq!(scalar_bytes("u8", &number("256")), None);
        assert_eq!(
            scalar_bytes("f32", &number("2.5")),
            Some(2.5f32.to_le_bytes().to_vec())
        );
        for (dtype, most, beyond) in [
            ("f32", "3.4028234e38", "3.5e38"),
            ("f32", "-3.4028234e38", "-1e300"),
            ("f16", "65504", "65505"),
            ("bf16", "3.38e38", "3.4e38"),
        ] {
            assert!(
                scalar_bytes(dtype, &number(most)).is_some(),
                "{dtype} {most}"
            );
            assert_eq!(
                scalar_bytes(dtype, &number(beyond)),
                None,
                "{dtype} {beyond}"
            );
        }
        assert_eq!(hex_bytes("00ff"), Some(vec![0, 255]));
        assert_eq!(hex_bytes("0"), None);
    }
}
