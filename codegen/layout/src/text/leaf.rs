//! The leaves of the text form: integers, names, quotients, basis elements.
//!
//! In: the cursor at a leaf. Out: a sum of products, each with an optional basis path. Invariant:
//! every kind of leaf is read by the same grammar and refused afterwards when it is of another
//! kind, so that the message can say what was found.

use super::{Leaf, Reader};
use crate::basis::{Basis, Path};
use crate::coord::Slot;
use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::sym::Sym;
use crate::tuple::MAX_DEPTH;

impl Reader<'_> {
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
        if !head.is_ascii_alphabetic() {
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
