//! Quantities as people write them on the command line and read them there: counts, sizes in bytes,
//! extents of problems.

use std::fmt;
use std::str::FromStr;

use tilewright_bundle::DType;
use tilewright_lab::bench::{Extent, Leading, Letters};

/// Largest leading dimension, in elements.
const MOST_LEADING: i64 = 1 << 40;

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

/// An extent or a stride: a number from 0.
fn size(text: &str) -> Result<i64, String> {
    match text.parse::<i64>() {
        Ok(size @ 0..) => Ok(size),
        Ok(size) => Err(format!("`{size}`: sizes are not below 0")),
        Err(error) => Err(format!("`{text}`: {error}")),
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
/// more behind a colon: `:TT` for one memory order alone, `lda=4104` for a leading dimension,
/// `pad=8` for leading dimensions that are multiples of so many elements.
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
    /// Leading dimensions; without gaps where none is said.
    pub leading: Leading,
}

impl Product {
    /// Where kernels are measured.
    pub fn extent(self) -> Extent {
        Extent {
            m: self.m.into(),
            n: self.n.into(),
            k: self.k.into(),
            letters: self.letters,
            leading: self.leading,
        }
    }
}

impl FromStr for Product {
    type Err = String;

    fn from_str(text: &str) -> Result<Product, String> {
        let (extents, more) = match text.split_once(':') {
            Some((extents, more)) => (extents, Some(more)),
            None => (text, None),
        };
        let (letters, leading) = more.map_or(Ok((None, Leading::default())), laid_out)?;
        let product = |[m, n, k]: [u32; 3]| Product {
            m,
            n,
            k,
            letters,
            leading,
        };
        if extents.contains('=') {
            return named(extents).map(product);
        }
        match extents.split('x').collect::<Vec<_>>()[..] {
            [m, n, k] => Ok(product([extent(m)?, extent(n)?, extent(k)?])),
            _ => Err("write m, n and k as 4096x4096x4096 or 4096x4096x4096:TN".to_owned()),
        }
    }
}

/// How the operands lie, out of `TN,lda=4104,pad=8`, in any order, each once.
fn laid_out(text: &str) -> Result<(Option<Letters>, Leading), String> {
    let (mut letters, mut leading) = (None, Leading::default());
    for one in text.split(',') {
        let Some((name, value)) = one.split_once('=') else {
            let order = one.parse().map_err(|error| {
                format!("{error}; strides are written lda=4104, ldb=, ldd= or pad=8")
            })?;
            if letters.replace(order).is_some() {
                return Err(format!("a second order, `{one}`"));
            }
            continue;
        };
        let place = match name {
            "lda" => &mut leading.a,
            "ldb" => &mut leading.b,
            "ldd" => &mut leading.d,
            "pad" => &mut leading.pad,
            _ => return Err(format!("`{name}` is none of lda, ldb, ldd, pad")),
        };
        let value: i64 = value
            .parse()
            .map_err(|error| format!("`{value}`: {error}"))?;
        if !(1..=MOST_LEADING).contains(&value) {
            return Err(format!("{name} {value}: 1 to {MOST_LEADING} elements"));
        }
        if place.replace(value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok((letters, leading))
}

/// m, n and k out of `m=4096,n=512,k=64`, in any order, each once.
fn named(text: &str) -> Result<[u32; 3], String> {
    let mut found = [None; 3];
    for one in text.split(',') {
        let Size { name, value } = one.parse()?;
        let at = ["m", "n", "k"].iter().position(|known| *known == name);
        match at.and_then(|at| found.get_mut(at)) {
            Some(place @ None) => *place = Some(extent(&value.to_string())?),
            Some(_) => return Err(format!("`{name}` is given twice")),
            None => return Err(format!("a product has m, n and k, but no `{name}`")),
        }
    }
    match found {
        [Some(m), Some(n), Some(k)] => Ok([m, n, k]),
        _ => Err("a product needs m, n and k".to_owned()),
    }
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
    fn products_have_three_extents() {
        let product = |letters| {
            Ok(Product {
                m: 8,
                n: 16,
                k: 32,
                letters,
                leading: Leading::default(),
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
            "8x16x32:TN,NT",
            "8x16x32:lda=",
            "8x16x32:lda=0",
            "8x16x32:lds=64",
            "8x16x32:lda=64,lda=64",
            "8x16x32:pad=8,",
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
    fn strides_of_products_are_read_and_printed() {
        for text in [
            "8x16x32",
            "8x16x32:TN",
            "8x16x32:pad=8",
            "8x16x32:NT,lda=64,ldd=32",
        ] {
            let product: Product = text.parse().unwrap();
            assert_eq!(product.extent().to_string(), text);
        }
        let named: Product = "m=8,n=16,k=32:pad=16,TT".parse().unwrap();
        assert_eq!(named.leading.pad, Some(16));
        assert_eq!(named.letters, Some(Letters::Tt));
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
