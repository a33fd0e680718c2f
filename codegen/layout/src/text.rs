//! The one text form of all layouts: reading it.
//!
//! In: untrusted text such as `(m,k):(lda,1)`, `(4,8):(1@0,1@1)`, `Sw<3,3,3> o 0 o (8,64):(64,1)`.
//! Out: values, or an error with a byte position. Invariants: length, nesting and number of leaves
//! are limited, so time and memory are bounded; what is printed reads back as the same value.

mod leaf;

use std::str::FromStr;

use crate::basis::Basis;
use crate::composed::ComposedLayout;
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
        if self.eat(b'>') {
            self.depth -= 1;
            return Ok(Tiler::Modes(modes));
        }
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
