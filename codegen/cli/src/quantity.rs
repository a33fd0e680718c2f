//! Quantities as people write them on the command line: sizes in bytes, extents of problems.

use std::fmt;
use std::str::FromStr;

use tilewright_bundle::DType;
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

/// An extent or a stride by its name, written `m=4096`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// The kernel's name for it.
    pub name: String,
    /// How large it is.
    pub value: u32,
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
            value: extent(value)?,
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
                .map_err(|error| format!("`{value}`: {error}"))?,
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
        let digits = digits.strip_suffix('a').unwrap_or(digits);
        let sm = digits.parse();
        sm.map(|sm| Arch { sm })
            .map_err(|_| "an architecture such as sm_90 is needed".to_owned())
    }
}

/// A number from 1.
fn extent(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("sizes start at 1".to_owned()),
        Ok(extent) => Ok(extent),
        Err(error) => Err(format!("`{text}`: {error}")),
    }
}

/// A product, written `4096x4096x4096` for m, n and k, or `m=4096,n=4096,k=4096`, or either with
/// `:TT` for one memory order alone.
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
        let (extents, letters) = match text.split_once(':') {
            Some((extents, letters)) => (extents, Some(letters.parse()?)),
            None => (text, None),
        };
        let product = |[m, n, k]: [u32; 3]| Product { m, n, k, letters };
        if extents.contains('=') {
            return named(extents).map(product);
        }
        match extents.split('x').collect::<Vec<_>>()[..] {
            [m, n, k] => Ok(product([extent(m)?, extent(n)?, extent(k)?])),
            _ => Err("write m, n and k as 4096x4096x4096 or 4096x4096x4096:TN".to_owned()),
        }
    }
}

/// m, n and k out of `m=4096,n=512,k=64`, in any order, each once.
fn named(text: &str) -> Result<[u32; 3], String> {
    let mut found = [None; 3];
    for one in text.split(',') {
        let Size { name, value } = one.parse()?;
        let at = ["m", "n", "k"].iter().position(|known| *known == name);
        match at.and_then(|at| found.get_mut(at)) {
            Some(place @ None) => *place = Some(value),
            Some(_) => return Err(format!("`{name}` is given twice")),
            None => return Err(format!("a product has m, n and k, but no `{name}`")),
        }
    }
    match found {
        [Some(m), Some(n), Some(k)] => Ok([m, n, k]),
        _ => Err("a product needs m, n and k".to_owned()),
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
        assert_eq!("m=8,n=16,k=32".parse(), product(None));
        assert_eq!("k=32,m=8,n=16:TT".parse(), product(Some(Letters::Tt)));
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
            "m=8,n=16",
            "m=8,n=16,k=32,k=32",
            "m=8,n=16,h=32",
            "m=8,n=16,k=0",
            "m=8,n=16,k",
        ] {
            assert!(wrong.parse::<Product>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_names() {
        let size = Size {
            name: "ld_d2".to_owned(),
            value: 520,
        };
        assert_eq!("ld_d2=520".parse(), Ok(size));
        for wrong in ["", "m", "=5", "m=", "m=0", "m=-1", "m n=5", "m=5=5"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
