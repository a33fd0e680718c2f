//! Quantities as people write them on the command line and read them there: counts, sizes in bytes,
//! extents by name.

use std::fmt;
use std::str::FromStr;

use tilewright_bundle::{Capability, DType};

/// So many of something, in words: `1 kernel`, `0 kernels`.
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// A number of bytes, written `64MiB`, `1GiB` or `4096`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        match bytes(text)? {
            0 => Err("at least one byte".to_owned()),
            bytes => Ok(Bytes(bytes)),
        }
    }
}

/// A number of bytes that may be 0, written as [`Bytes`] are.
///
/// # Errors
/// When it is no number of bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        unit => return Err(format!("unit `{unit}` is none of B, KiB, MiB, GiB")),
    };
    let number = digits.parse();
    let count: u64 = number.map_err(|_| format!("`{digits}` is no whole number of 64 bits"))?;
    let bytes = count.checked_mul(1 << shift);
    bytes.ok_or_else(|| "more than 64 bits hold".to_owned())
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let exact = units
            .into_iter()
            .find(|(shift, _)| self.0.is_multiple_of(1 << shift));
        match exact {
            Some((shift, unit)) if self.0 > 0 => write!(f, "{}{unit}", self.0 >> shift),
            _ => write!(f, "{}B", self.0),
        }
    }
}

/// An extent or a stride by its name, written `m=4096`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// The kernel's name for it.
    pub name: String,
    /// How large it is.
    pub value: i64,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("write a name and a size as m=4096")?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(word) {
            return Err(format!("`{name}` is no name of an extent or a stride"));
        }
        Ok(Size {
            name: name.to_owned(),
            value: size(value)?,
        })
    }
}

/// A scalar of a formula by its name, written `alpha=0.5`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The formula's name for it.
    pub name: String,
    /// Its value.
    pub value: f64,
}

impl FromStr for Scalar {
    type Err = String;

    fn from_str(text: &str) -> Result<Scalar, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("write a name and a value as alpha=0.5")?;
        Ok(Scalar {
            name: name.to_owned(),
            value: value
                .parse()
                .map_err(|_| format!("`{value}` is no number, such as 0.5 or 1e-3"))?,
        })
    }
}

/// The element type of an operand by its name, written `a=bf16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperandType {
    /// The operand.
    pub operand: String,
    /// The type.
    pub dtype: DType,
}

impl FromStr for OperandType {
    type Err = String;

    fn from_str(text: &str) -> Result<OperandType, String> {
        let (operand, dtype) = text
            .split_once('=')
            .ok_or("write an operand and a type as a=bf16")?;
        let dtype = DType::from_text(dtype)
            .ok_or_else(|| format!("`{dtype}` is no element type, such as bf16 or f32"))?;
        let operand = operand.to_owned();
        Ok(OperandType { operand, dtype })
    }
}

/// An architecture of GPUs, written `sm_90`, `sm_90a` or `90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arch {
    /// Ten times the major compute capability and the minor one.
    pub sm: u32,
}

impl FromStr for Arch {
    type Err = String;

    fn from_str(text: &str) -> Result<Arch, String> {
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let known = Capability::of_arch(&format!("sm_{digits}"));
        let missing = || "an architecture such as sm_90 is needed".to_owned();
        known
            .map(|known| Arch { sm: known.min_sm })
            .ok_or_else(missing)
    }
}

/// An extent or a stride: a number from 0.
fn size(text: &str) -> Result<i64, String> {
    let size = text.parse().ok().filter(|size| *size >= 0);
    size.ok_or_else(|| format!("`{text}` is no whole number from 0 to {}", i64::MAX))
}

/// From here on a number is written with an exponent: nothing that is measured comes near it.
const MANY: f64 = 1e12;

/// A number with so many decimal places, in a column's width whatever a file says.
pub fn decimal(value: f64, places: usize) -> String {
    match value.abs() < MANY {
        true => format!("{value:.places$}"),
        false => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_are_read_and_printed() {
        let cases = [
            ("64MiB", 64 << 20),
            ("1GiB", 1 << 30),
            ("3KiB", 3 << 10),
            ("1000B", 1000),
        ];
        for (text, bytes) in cases {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        assert_eq!("4096".parse(), Ok(Bytes(4096)));
        for wrong in [
            "",
            "MiB",
            "0",
            "0GiB",
            "1GB",
            "-1",
            "1.5GiB",
            "99999999999GiB",
            "é",
        ] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_names() {
        let size = Size {
            name: "ld_d2".to_owned(),
            value: 520,
        };
        assert_eq!("ld_d2=520".parse(), Ok(size));
        // A problem may be empty, and a stride have more than 32 bits.
        for (text, value) in [("m=0", 0), ("lda=4294967296", 1 << 32)] {
            assert_eq!(text.parse::<Size>().map(|size| size.value), Ok(value));
        }
        for wrong in ["", "m", "=5", "m=", "m=-1", "m n=5", "m=5=5"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_of_any_size_fit_into_a_column() {
        assert_eq!(decimal(12.345, 2), "12.35");
        assert_eq!(decimal(4_096.0, 0), "4096");
        for value in [1e308, -1e308, f64::MAX, 1e12, f64::INFINITY, f64::NAN] {
            assert!(decimal(value, 2).len() < 16, "{value}");
        }
    }
}
