//! The one text form of all layouts: reading it.
//!
//! In: untrusted text such as `(m,k):(lda,1)`, `(4,8):(1@0,1@1)`, `Sw<3,3,3> o 0 o (8,64):(64,1)`.
//! Out: values, or an error with a byte position. Invariants: length, nesting and number of leaves
//! are limited, so time and memory are bounded; what is printed reads back as the same value.

use std::str::FromStr;

use crate::basis::{Basis, Path};
use crate::composed::ComposedLayout;
use crate::coord::Slot;
use crate::error::{Error, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::swizzle::Swizzle;
use crate::sym::{Facts, Sym};
use crate::tiler::Tiler;
use crate::tuple::{IntTuple, MAX_DEPTH, MAX_LEAVES, Profile};

/// Longest text that is read, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 16;

/// A cursor over text.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    leaves: usize,
    depth: usize,
}

/// What can stand at a leaf of a tuple.
pub trait Leaf: Clone + Default {
    /// Reads one leaf.
    ///
    /// # Errors
    /// [`Error::Parse`].
    fn read(reader: &mut Reader<'_>) -> Result<Self>;
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Self> {
        if text.len() > MAX_TEXT_BYTES {
            let message = format!("{} bytes of text; at most {MAX_TEXT_BYTES}", text.len());
            return Err(Error::parse(MAX_TEXT_BYTES, message));
        }
        Ok(Self {
            text,
            at: 0,
            leaves: 0,
            depth: 0,
        })
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{}`", byte as char)))
        }
    }

    fn unexpected(&mut self, wanted: &str) -> Error {
        let found = self.peek();
        let found = match found {
            None => "the text ends".to_owned(),
            Some(_) => {
                let c = self
                    .text
                    .get(self.at..)
                    .and_then(|t| t.chars().next())
                    .unwrap_or('?');
                format!("found `{}`", c.escape_default())
            }
        };
        Error::parse(self.at, format!("expected {wanted}, {found}"))
    }

    fn end(&mut self) -> Result<()> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err(self.unexpected("the end of the text"))
        }
    }

    fn number(&mut self) -> Result<i64> {
        let negative = self.eat(b'-');
        self.peek();
        let digits = self.run(|b| b.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.unexpected("a number"));
        }
        let start = self.at - digits.len();
        let text = if negative {
            format!("-{digits}")
        } else {
            digits.to_owned()
        };
        text.parse()
            .map_err(|_| Error::parse(start, "a number beyond 64 bits"))
    }

    fn run(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|&b| accept(b)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn tuple<T: Leaf>(&mut self) -> Result<IntTuple<T>> {
        let mut leaves = Inline::new();
        let profile = self.node(&mut leaves)?;
        Ok(IntTuple { profile, leaves })
    }

    fn node<T: Leaf>(&mut self, leaves: &mut Inline<T, 8>) -> Result<Profile> {
        if !self.eat(b'(') {
            self.leaves += 1;
            if self.leaves > 2 * MAX_LEAVES {
                return Err(Error::parse(
                    self.at,
                    format!("more than {MAX_LEAVES} leaves"),
                ));
            }
            leaves.push(T::read(self)?);
            return Ok(Profile::leaf());
        }
        self.deeper()?;
        let mut children = Vec::new();
        if !self.eat(b')') {
            loop {
                children.push(self.node(leaves)?);
                if children.len() > MAX_LEAVES {
                    return Err(Error::parse(
                        self.at,
                        format!("more than {MAX_LEAVES} entries"),
                    ));
                }
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b')')?;
        }
        self.depth -= 1;
        Ok(Profile::tuple(children))
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::parse(
                self.at,
                format!("nested deeper than {MAX_DEPTH}"),
            ));
        }
        Ok(())
    }

    fn layout<I: Int + Leaf, D: Stride<I> + Leaf>(&mut self) -> Result<Layout<I, D>> {
        let start = self.at;
        let shape = self.tuple::<I>()?;
        self.expect(b':')?;
        let stride = self.tuple::<D>()?;
        Layout::new(shape, stride).map_err(|e| Error::parse(start, e.to_string()))
    }

    fn swizzle(&mut self) -> Result<Swizzle> {
        self.peek();
        let start = self.at;
        for byte in *b"Sw<" {
            self.expect(byte)?;
        }
        let mut fields = [0i64; 3];
        for (i, field) in fields.iter_mut().enumerate() {
            if i > 0 {
                self.expect(b',')?;
            }
            *field = self.number()?;
        }
        self.expect(b'>')?;
        let [bits, base, shift] = fields;
        Swizzle::new(bits, base, shift).map_err(|e| Error::parse(start, e.to_string()))
    }

    fn tiler<I: Int + Leaf>(&mut self) -> Result<Tiler<I>> {
        if self.eat(b'_') {
            return Ok(Tiler::Keep);
        }
        if !self.eat(b'<') {
            let start = self.at;
            let shape = self.tuple::<I>()?;
            if !self.eat(b':') {
                return Tiler::by_shape(&shape).map_err(|e| Error::parse(start, e.to_string()));
            }
            let stride = self.tuple::<I>()?;
            let layout = Layout::new(shape, stride);
            return layout
                .map(Tiler::Layout)
                .map_err(|e| Error::parse(start, e.to_string()));
        }
        self.deeper()?;
        let mut modes = Vec::new();
        loop {
            modes.push(self.tiler()?);
            if modes.len() > MAX_LEAVES {
                return Err(Error::parse(
                    self.at,
                    format!("more than {MAX_LEAVES} entries"),
                ));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b'>')?;
        self.depth -= 1;
        Ok(Tiler::Modes(modes))
    }

    /// A sum of products, each with an optional basis path: `2*m@0+1@1`.
    fn sum(&mut self) -> Result<Basis<Sym>> {
        let mut sum = Basis::default();
        let mut sign = 1;
        if self.eat(b'-') {
            sign = -1;
        }
        loop {
            let start = self.at;
            let (value, path) = self.product(sign)?;
            sum = sum
                .plus(&Basis::scaled_unit(value, path))
                .map_err(|e| Error::parse(start, e.to_string()))?;
            if self.eat(b'+') {
                sign = 1;
            } else if self.eat(b'-') {
                sign = -1;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self, sign: i64) -> Result<(Sym, Path)> {
        self.peek();
        let start = self.at;
        let located = |e: Error| Error::parse(start, e.to_string());
        // The sign goes with the digits, so that the smallest integer can be read.
        let mut value = if self.peek().is_some_and(|b| b.is_ascii_digit()) {
            let digits = self.run(|b| b.is_ascii_digit());
            let text = if sign < 0 {
                format!("-{digits}")
            } else {
                digits.to_owned()
            };
            let number = text.parse::<i64>();
            Sym::constant(number.map_err(|_| Error::parse(start, "a number beyond 64 bits"))?)
        } else {
            self.factor()?
                .try_mul(&Sym::constant(sign))
                .map_err(located)?
        };
        while self.eat(b'*') {
            let factor = self.factor()?;
            value = value.try_mul(&factor).map_err(located)?;
        }
        if self.eat(b'/') {
            let by = self.number()?;
            value = value.exact_quotient(by).map_err(located)?;
        }
        let mut indices = Vec::new();
        while self.eat(b'@') {
            let i = self.number()?;
            indices.push(usize::try_from(i).map_err(|_| {
                Error::parse(start, format!("basis index {i}: indices are not negative"))
            })?);
            if indices.len() > MAX_DEPTH {
                return Err(Error::parse(self.at, "a basis path that is too long"));
            }
        }
        indices.reverse();
        Ok((value, Path::new(&indices).map_err(located)?))
    }

    fn factor(&mut self) -> Result<Sym> {
        let Some(head) = self.peek() else {
            return Err(self.unexpected("an integer or a name"));
        };
        if head.is_ascii_digit() {
            return self.number().map(Sym::constant);
        }
        if !(head.is_ascii_alphabetic() || head == b'_') {
            return Err(self.unexpected("an integer or a name"));
        }
        let start = self.at;
        let name = self.run(|b| b.is_ascii_alphanumeric() || b == b'_');
        if name != "ceil_div" {
            return Sym::named(name).map_err(|e| Error::parse(start, e.to_string()));
        }
        self.expect(b'(')?;
        self.deeper()?;
        let value = plain(self.sum()?, start)?;
        self.expect(b',')?;
        let by = self.number()?;
        self.expect(b')')?;
        self.depth -= 1;
        value
            .ceil_div(&Sym::constant(by))
            .map_err(|e| Error::parse(start, e.to_string()))
    }
}

/// The integer of a sum without basis paths.
fn plain(sum: Basis<Sym>, at: usize) -> Result<Sym> {
    match sum.terms() {
        [] => Ok(Sym::constant(0)),
        [(path, c)] if path.depth() == 0 => Ok(c.clone()),
        _ => Err(Error::parse(
            at,
            format!("`{sum}` is a basis element, an integer is expected here"),
        )),
    }
}

fn constant(value: &Sym, at: usize) -> Result<i64> {
    value
        .as_i64()
        .ok_or_else(|| Error::parse(at, format!("`{value}` has no value here: use a number")))
}

impl Leaf for i64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.peek();
        let at = reader.at;
        constant(&plain(reader.sum()?, at)?, at)
    }
}

impl Leaf for Sym {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.peek();
        let at = reader.at;
        plain(reader.sum()?, at)
    }
}

impl Leaf for Basis<Sym> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.sum()
    }
}

impl Leaf for Basis<i64> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.peek();
        let at = reader.at;
        let mut out = Self::default();
        for (path, c) in reader.sum()?.terms() {
            out = out.plus(&Self::scaled_unit(constant(c, at)?, *path))?;
        }
        Ok(out)
    }
}

impl<I: Leaf> Leaf for Slot<I> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.eat(b'_') {
            Ok(Self::Keep)
        } else {
            I::read(reader).map(Self::At)
        }
    }
}

fn whole<'a, T>(text: &'a str, read: impl FnOnce(&mut Reader<'a>) -> Result<T>) -> Result<T> {
    let mut reader = Reader::new(text)?;
    let value = read(&mut reader)?;
    reader.end()?;
    Ok(value)
}

impl<T: Leaf> FromStr for IntTuple<T> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let tuple: Self = whole(text, Reader::tuple)?;
        tuple.profile.check()?;
        Ok(tuple)
    }
}

impl<I: Int + Leaf, D: Stride<I> + Leaf> FromStr for Layout<I, D> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        whole(text, Reader::layout)
    }
}

impl FromStr for Sym {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        whole(text, Self::read)
    }
}

impl Facts {
    /// Reads a symbolic layout whose names carry these facts: `(m,k):(lda,1)`.
    ///
    /// # Errors
    /// [`Error::Parse`], [`Error::Overflow`].
    pub fn layout(&self, text: &str) -> Result<Layout<Sym>> {
        text.parse::<Layout<Sym>>()?.map(|x| self.apply(x))
    }
}

impl<I: Int> FromStr for Basis<I>
where
    Self: Leaf,
{
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        whole(text, Self::read)
    }
}

impl FromStr for Swizzle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        whole(text, Reader::swizzle)
    }
}

impl<I: Int + Leaf> FromStr for Tiler<I> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        whole(text, Reader::tiler)
    }
}

impl<I: Int + Leaf> FromStr for ComposedLayout<I> {
    type Err = Error;

    /// Reads `Sw<b,m,s> o offset o layout`; a bare layout has the swizzle that does nothing.
    fn from_str(text: &str) -> Result<Self> {
        whole(text, |r| {
            if r.peek() != Some(b'S') || !r.text[r.at..].starts_with("Sw<") {
                return r.layout().map(Self::from);
            }
            let swizzle = r.swizzle()?;
            r.expect(b'o')?;
            let offset = I::read(r)?;
            r.expect(b'o')?;
            Ok(Self {
                swizzle,
                offset,
                inner: r.layout()?,
            })
        })
    }
}
