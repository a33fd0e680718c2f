//! Quantities as people write them on the command line: sizes in bytes, extents of problems.

use std::fmt;
use std::str::FromStr;

use tilewright_runtime::bench::{Extent, Letters};

/// A number of bytes, written `64MiB`, `1GiB` or `4096`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let shift = match &text[digits.len()..] {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            unit => return Err(format!("unit `{unit}` is none of B, KiB, MiB, GiB")),
        };
        let count: u64 = digits
            .parse()
            .map_err(|error| format!("`{digits}`: {error}"))?;
        match count.checked_mul(1 << shift) {
            Some(0) => Err("at least one byte".to_owned()),
            Some(bytes) => Ok(Bytes(bytes)),
            None => Err("more than 64 bits hold".to_owned()),
        }
    }
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

/// A product, written `4096x4096x4096` for m, n and k, or `4096x4096x4096:TT` for one memory order
/// alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Rows of the output.
    pub m: u32,
    /// Columns of the output.
    pub n: u32,
    /// The summed extent.
    pub k: u32,
    /// The memory order of the factors; `None` leaves it to the kernel.
    pub letters: Option<Letters>,
}

impl Product {
    /// Where kernels are measured.
    pub fn extent(self) -> Extent {
        Extent {
            m: self.m.into(),
            n: self.n.into(),
            k: self.k.into(),
            letters: self.letters,
        }
    }
}

impl FromStr for Product {
    type Err = String;

    fn from_str(text: &str) -> Result<Product, String> {
        let extent = |part: &str| match part.parse::<u32>() {
            Ok(0) => Err("extents start at 1".to_owned()),
            Ok(extent) => Ok(extent),
            Err(error) => Err(format!("`{part}`: {error}")),
        };
        let (extents, letters) = match text.split_once(':') {
            Some((extents, letters)) => (extents, Some(letters.parse()?)),
            None => (text, None),
        };
        match extents.split('x').collect::<Vec<_>>()[..] {
            [m, n, k] => Ok(Product {
                letters,
                m: extent(m)?,
                n: extent(n)?,
                k: extent(k)?,
            }),
            _ => Err("write m, n and k as 4096x4096x4096 or 4096x4096x4096:TN".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn products_have_three_extents() {
        let product = |letters| {
            Ok(Product {
                m: 8,
                n: 16,
                k: 32,
                letters,
            })
        };
        assert_eq!("8x16x32".parse(), product(None));
        assert_eq!("8x16x32:NT".parse(), product(Some(Letters::Nt)));
        for wrong in [
            "",
            "8x16",
            "8x16x32x1",
            "8x0x32",
            "8xnx32",
            "8x16x99999999999",
            "8x16x32:",
            "8x16x32:TNT",
            "8x16:TN",
        ] {
            assert!(wrong.parse::<Product>().is_err(), "{wrong}");
        }
    }
}
