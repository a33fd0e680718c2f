//! The text of a polynomial: `2*m*k+1`, `m/8`, `ceil_div(m,128)`.

use std::fmt;

use super::{Factor, Repr, Sym};

impl fmt::Display for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = match &self.0 {
            Repr::Const(c) => return c.fmt(f),
            Repr::Poly(terms) => terms,
        };
        for (i, term) in terms.iter().enumerate() {
            let magnitude = term.coeff.num.unsigned_abs();
            match (i, term.coeff.num < 0) {
                (_, true) => f.write_str("-")?,
                (0, false) => {}
                (_, false) => f.write_str("+")?,
            }
            let mut first = magnitude == 1 && !term.factors.is_empty();
            if !first {
                magnitude.fmt(f)?;
            }
            for factor in &term.factors {
                if !std::mem::take(&mut first) {
                    f.write_str("*")?;
                }
                match factor {
                    Factor::Var(v) => f.write_str(&v.name)?,
                    Factor::Ceil(c) => write!(f, "ceil_div({},{})", c.0, c.1)?,
                }
            }
            if term.coeff.den != 1 {
                write!(f, "/{}", term.coeff.den)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
