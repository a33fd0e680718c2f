//! How extents are written: `4096x4096x4096`, `8192x4096`, or by name, `l=16,m=64,n=64,k=64`;
//! behind a colon an order, `TT`, and leading dimensions, `lda=4104` or `pad=8`.

use std::str::FromStr;

use super::{Extent, Leading, Letters, MATRIX};

/// Largest leading dimension, in elements.
const MOST_LEADING: i64 = 1 << 40;

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Extent, String> {
        let (extents, more) = match text.split_once(':') {
            Some((extents, more)) => (extents, Some(more)),
            None => (text, None),
        };
        let (letters, leading) = more.map_or(Ok((None, Leading::default())), laid_out)?;
        let sizes = match extents.contains('=') {
            true => by_name(extents)?,
            false => by_place(extents)?,
        };
        Ok(Extent {
            letters,
            leading,
            ..Extent::named(sizes)
        })
    }
}

/// `4096x512x64`, or `4096x512` of what has rows and columns alone.
fn by_place(text: &str) -> Result<Vec<(&str, i64)>, String> {
    let sizes: Vec<&str> = text.split('x').collect();
    if !(2..=MATRIX.len()).contains(&sizes.len()) {
        return Err(
            "write 4096x4096x4096 or 4096x4096x4096:TN of a product, 8192x4096 of rows, or names, \
             l=16,m=64,n=64,k=64"
                .to_owned(),
        );
    }
    let sizes = MATRIX.into_iter().zip(sizes);
    sizes
        .map(|(name, size)| Ok((name, extent(size)?)))
        .collect()
}

/// `l=16,m=64,n=64,k=64`, in any order, each name once.
fn by_name(text: &str) -> Result<Vec<(&str, i64)>, String> {
    let mut sizes: Vec<(&str, i64)> = Vec::new();
    for one in text.split(',') {
        let (name, size) = one
            .split_once('=')
            .ok_or_else(|| format!("`{one}`: write a name and a size as m=4096"))?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(word) {
            return Err(format!("`{name}` is no name of an extent"));
        }
        if sizes.iter().any(|(known, _)| *known == name) {
            return Err(format!("`{name}` is given twice"));
        }
        let size = extent(size).map_err(|error| format!("{name}: {error}"))?;
        sizes.push((name, size));
    }
    Ok(sizes)
}

/// A number from 1.
fn extent(text: &str) -> Result<i64, String> {
    whole(text, u32::MAX.into())
}

/// A whole number from 1 to some most.
fn whole(text: &str, most: i64) -> Result<i64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("`{text}` is no whole number from 1 to {most}"))
}

/// How the operands lie, out of `TN,lda=4104,pad=8`, in any order, each once; a colon does as well
/// as a comma.
fn laid_out(text: &str) -> Result<(Option<Letters>, Leading), String> {
    let (mut letters, mut leading) = (None, Leading::default());
    for one in text.split([',', ':']) {
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
        let value = whole(value, MOST_LEADING).map_err(|error| format!("{name}: {error}"))?;
        if place.replace(value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok((letters, leading))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn extents_are_read_and_printed() {
        for text in [
            "8x16x32",
            "8x16",
            "8x16x32:TN",
            "8x16x32:pad=8",
            "8x16x32:NT,lda=64,ldd=32",
            "m=8",
            "l=4,m=8,n=16,k=32",
            "k=32,m=8,n=16:TT",
            "rows=8,d_model=16:pad=4",
        ] {
            let extent: Extent = text.parse().unwrap();
            assert_eq!(extent.to_string(), text);
        }
        let by_name: Extent = "m=8,n=16,k=32:pad=16,TT".parse().unwrap();
        assert_eq!(by_name.sizes, Extent::product(8, 16, 32).sizes);
        assert_eq!(by_name.to_string(), "8x16x32:TT,pad=16");
        assert_eq!(by_name.leading.pad, Some(16));
        assert_eq!(by_name.letters, Some(Letters::Tt));
        let by_colons: Extent = "8x16x32:NT:pad=8".parse().unwrap();
        assert_eq!(by_colons.to_string(), "8x16x32:NT,pad=8");
    }

    #[test]
    fn what_is_no_number_is_told_with_those_that_are() {
        let told = |text: &str| text.parse::<Extent>().unwrap_err();
        assert_eq!(
            told("8x16xk"),
            "`k` is no whole number from 1 to 4294967295"
        );
        assert_eq!(
            told("m=0"),
            "m: `0` is no whole number from 1 to 4294967295"
        );
        assert_eq!(
            told("8x16x32:lda=99999999999999999999"),
            "lda: `99999999999999999999` is no whole number from 1 to 1099511627776"
        );
    }

    #[test]
    fn what_is_no_extent_is_refused() {
        for wrong in [
            "",
            "8",
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
            "8x16x32:NT:",
            "8x16x32::NT",
            "m=8,n=16,k=32,k=32",
            "m=8,n=16,k=0",
            "m=8,n=16,k",
            "m=8,n=16,=4",
            "m=8,n n=16",
        ] {
            assert!(wrong.parse::<Extent>().is_err(), "{wrong}");
        }
    }
}
