//! Expressions and conditions made of others: values in, a value out, with the text that it is
//! written by. Parentheses stand where they must.

use std::ops;

use super::{Compare, Condition, Expr, Op, Word};

/// How tightly an expression's last step binds, as its text is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Sum,
    Product,
    Tightest,
}

impl Expr {
    /// What a launch calls so: an extent, a stride.
    pub fn named(word: impl Into<String>) -> Expr {
        let text = word.into();
        Expr {
            ops: vec![Op::Word(Word { at: 0, name: None })],
            words: vec![text.clone()],
            text,
        }
    }

    /// The quotient, rounded up.
    #[must_use]
    pub fn ceil_div(self, by: impl Into<Expr>) -> Expr {
        self.called("ceil_div", Op::CeilDiv, by.into())
    }

    /// The lesser of both.
    #[must_use]
    pub fn min(self, other: impl Into<Expr>) -> Expr {
        self.called("min", Op::Min, other.into())
    }

    /// The product of them all; 1 where there is none.
    pub fn product(factors: impl IntoIterator<Item = Expr>) -> Expr {
        let product = factors.into_iter().reduce(|all, one| all * one);
        product.unwrap_or_else(|| Expr::constant(1))
    }

    /// That it is at most the other.
    pub fn at_most(self, most: impl Into<Expr>) -> Condition {
        self.compared("<=", Compare::Le, most.into())
    }

    /// That it is the other.
    pub fn equals(self, other: impl Into<Expr>) -> Condition {
        self.compared("==", Compare::Eq, other.into())
    }

    fn binds(&self) -> Binds {
        match self.ops.last() {
            Some(Op::Add | Op::Sub) => Binds::Sum,
            Some(Op::Mul | Op::Div | Op::Rem) => Binds::Product,
            _ => Binds::Tightest,
        }
    }

    /// Its text where what binds less tightly is put in parentheses.
    fn within(&self, least: Binds) -> String {
        match self.binds() < least {
            true => format!("({})", self.text),
            false => self.text.clone(),
        }
    }

    fn called(self, name: &str, op: Op, other: Expr) -> Expr {
        let text = format!("{name}({}, {})", self.text, other.text);
        self.joined(op, other, text)
    }

    fn infix(self, (sign, op): (&str, Op), binds: Binds, other: Expr) -> Expr {
        // Operators of one kind are read from the left.
        let above = match binds {
            Binds::Sum => Binds::Product,
            Binds::Product | Binds::Tightest => Binds::Tightest,
        };
        let text = format!("{} {sign} {}", self.within(binds), other.within(above));
        self.joined(op, other, text)
    }

    fn joined(mut self, op: Op, other: Expr, text: String) -> Expr {
        let ops = moved(&mut self.words, other);
        self.ops.extend(ops);
        self.ops.push(op);
        Expr { text, ..self }
    }

    fn compared(mut self, sign: &str, compare: Compare, other: Expr) -> Condition {
        let text = format!("{} {sign} {}", self.text, other.text);
        let rhs = moved(&mut self.words, other);
        Condition {
            text,
            lhs: self.ops,
            compare,
            rhs,
            words: self.words,
        }
    }
}

/// The steps of an expression with its names among those words.
fn moved(words: &mut Vec<String>, from: Expr) -> Vec<Op> {
    let mut ops = from.ops;
    for op in &mut ops {
        if let Op::Word(word) = op {
            let spelled = from.words.get(usize::from(word.at));
            let spelled = spelled.map_or("", String::as_str);
            let known = words.iter().position(|known| known == spelled);
            let at = known.unwrap_or_else(|| {
                words.push(spelled.to_owned());
                words.len() - 1
            });
            // What is longer than an expression may be is refused where it is written.
            word.at = u16::try_from(at).unwrap_or(u16::MAX);
        }
    }
    ops
}

impl<T: Into<Expr>> ops::Add<T> for Expr {
    type Output = Expr;
    fn add(self, other: T) -> Expr {
        self.infix(("+", Op::Add), Binds::Sum, other.into())
    }
}

impl<T: Into<Expr>> ops::Mul<T> for Expr {
    type Output = Expr;
    fn mul(self, other: T) -> Expr {
        self.infix(("*", Op::Mul), Binds::Product, other.into())
    }
}

impl<T: Into<Expr>> ops::Rem<T> for Expr {
    type Output = Expr;
    fn rem(self, other: T) -> Expr {
        self.infix(("%", Op::Rem), Binds::Product, other.into())
    }
}
