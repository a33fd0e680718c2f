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

/// Compares a buffer with what it must hold: `|got - want| <= atol + rtol * |want|`. Without
/// tolerances bytes are compared.
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
        let close = difference <= atol + rtol * wanted.to_f64().abs() || both_nan;
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
    let float = || value.as_f64();
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
    fn wide_integers_are_told_apart_where_floats_are_not() {
        for (dtype, got, want) in [
            ("u64", u64::MAX, u64::MAX - 1),
            ("i64", i64::MIN as u64, i64::MIN as u64 + 1),
            ("s64", (1 << 53) + 1, 1 << 53),
        ] {
            let (got, want) = (got.to_le_bytes(), Some(want.to_le_bytes().to_vec()));
            let outcome = compare(&buffer(dtype, 0.0), &got, &want);
            assert_eq!((outcome.wrong, outcome.max_error), (1, 1.0), "{dtype}");
            assert!(compare(&buffer(dtype, 1e-9), &got, &want).passed, "{dtype}");
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
        assert_eq!(hex_bytes("00ff"), Some(vec![0, 255]));
        assert_eq!(hex_bytes("0"), None);
    }
}
