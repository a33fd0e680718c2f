//! A fold as it stands, its terms, and what it makes of them.

use super::arithmetic::product_error;
use super::block::{Block, Floats, Integers, distance};
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ValueType};
use crate::functions::Fold;
use crate::number::wrapped;
use crate::problem::Span;

/// A fold as it stands in an expression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'f> {
    pub fold: Fold,
    pub modes: &'f [ModeId],
    pub dtype: DType,
    pub body: &'f Expr,
    pub span: &'f Span,
    pub ty: ValueType,
}

/// What comes out of a fold's body, term after term.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub values: Vec<f64>,
    pub errors: Vec<f64>,
    pub integers: Vec<i64>,
    pub factors: [Vec<f64>; 2],
}

impl Collected {
    pub fn len(&self) -> usize {
        self.values.len().max(self.integers.len())
    }

    fn push_errors(&mut self, errors: &[f64], lanes: usize) {
        if errors.is_empty() && self.errors.is_empty() {
            return;
        }
        // Errors begin with the first term that has one.
        let before = self.len() - lanes;
        self.errors.resize(before, 0.0);
        match errors {
            [] => self.errors.resize(before + lanes, 0.0),
            [one] => self.errors.resize(before + lanes, *one),
            all => self.errors.extend_from_slice(all),
        }
    }

    pub fn push(&mut self, block: Block, ty: ValueType, lanes: usize) {
        if let (Block::Integer(integers), ValueType::S32) = (&block, ty) {
            match integers.values[..] {
                [one] => self.integers.resize(self.integers.len() + lanes, one),
                _ => self.integers.extend_from_slice(&integers.values),
            }
            return self.push_errors(&integers.errors, lanes);
        }
        let floats = block.into_floats(ty);
        extend(&mut self.values, &floats.values, lanes);
        self.push_errors(&floats.errors, lanes);
    }

    pub fn push_product(&mut self, a: Floats, b: Floats, lanes: usize, keep: bool) {
        if a.errors.is_empty() && b.errors.is_empty() {
            if a.values.len() == lanes && b.values.len() == lanes {
                let products = a.values.iter().zip(&b.values).map(|(x, y)| x * y);
                self.values.extend(products);
            } else {
                let products = (0..lanes).map(|lane| a.pair(lane).0 * b.pair(lane).0);
                self.values.extend(products);
            }
            self.push_errors(&[], lanes);
            if keep {
                extend(&mut self.factors[0], &a.values, lanes);
                extend(&mut self.factors[1], &b.values, lanes);
            }
            return;
        }
        let pairs = (0..lanes).map(|lane| (a.pair(lane), b.pair(lane)));
        let (values, errors): (Vec<f64>, Vec<f64>) =
            pairs.map(|(a, b)| (a.0 * b.0, product_error(a, b))).unzip();
        self.values.extend(values);
        let errors = if lanes == 1 { vec![errors[0]] } else { errors };
        self.push_errors(&errors, lanes);
    }

    fn error(&self, at: usize) -> f64 {
        self.errors.get(at).copied().unwrap_or(0.0)
    }

    pub fn whole_sum(&self) -> Block {
        let sum = self
            .integers
            .iter()
            .fold(0i64, |sum, one| sum.wrapping_add(*one));
        let error: f64 = self.errors.iter().sum();
        let sum = if error == 0.0 { wrapped(sum) } else { sum };
        Block::Integer(Integers::of(vec![(sum, error)]).wrap())
    }

    /// The largest or the smallest; NaN where one is.
    pub fn extreme(&self, site: &Site<'_>) -> Block {
        let larger = site.fold == Fold::Max;
        if site.ty == ValueType::S32 {
            let values = self.integers.iter().copied();
            let found = if larger { values.max() } else { values.min() };
            let nothing = if larger { i32::MIN } else { i32::MAX };
            let error = self.errors.iter().copied().fold(0.0, f64::max);
            let found = found.unwrap_or(i64::from(nothing));
            return Block::Integer(Integers::of(vec![(found, error)]));
        }
        let start = if larger {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
        let pick = |a: f64, b: f64| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else if a == 0.0 && b == 0.0 {
                // +0 is larger than -0.
                if larger { a + b } else { -(-a - b) }
            } else if larger {
                a.max(b)
            } else {
                a.min(b)
            }
        };
        let (mut value, mut ends) = (start, [start, start]);
        for (at, term) in self.values.iter().enumerate() {
            value = pick(value, *term);
            if !self.errors.is_empty() {
                let error = self.error(at);
                let known = error < f64::INFINITY;
                let end = |sign: f64| if known { term + sign * error } else { f64::NAN };
                ends = [pick(ends[0], end(-1.0)), pick(ends[1], end(1.0))];
            }
        }
        let error = if self.errors.is_empty() {
            0.0
        } else if ends[0].is_nan() && self.errors.contains(&f64::INFINITY) {
            f64::INFINITY
        } else {
            distance(ends[0], value).max(distance(ends[1], value))
        };
        Block::Float([(value, error)].into_iter().collect())
    }

    /// The smallest index of the largest, and every index that may be it. NaN counts as largest.
    pub fn argmax(&self) -> Block {
        let count = self.len();
        let value = |at: usize| match self.integers.get(at) {
            Some(integer) => *integer as f64,
            None => self.values[at],
        };
        // What may be anything may be NaN as well.
        let is_unknown = |at: &usize| self.error(*at) == f64::INFINITY;
        let mut best: Option<usize> = None;
        for at in (0..count).filter(|at| !is_unknown(at)) {
            let better = best.is_none_or(|best| {
                let (a, b) = (value(at), value(best));
                a > b || (a.is_nan() && !b.is_nan())
            });
            best = if better { Some(at) } else { best };
        }
        let Some(best) = best.or((count > 0).then_some(0)) else {
            return Block::integer(-1);
        };
        let index = best as i64;
        if self.errors.is_empty() {
            return Block::integer(index);
        }
        let is_nan = value(best).is_nan() && !is_unknown(&best);
        // An index may be it if nothing is surely larger, nor surely as large before it.
        let least = |at: usize| value(at) - self.error(at);
        let floor = (0..count).map(least).fold(f64::NEG_INFINITY, f64::max);
        let may = |at: &usize| {
            if is_nan {
                return *at == best || *at < best && is_unknown(at);
            }
            let most = value(*at) + self.error(*at);
            let known = most < f64::INFINITY || self.error(*at) == 0.0;
            !known || most > floor || (most == floor && (*at <= best || self.error(*at) > 0.0))
        };
        let choices: Vec<i64> = (0..count).filter(may).map(|at| at as i64).collect();
        let far = choices
            .iter()
            .map(|one| (one - index).abs())
            .max()
            .unwrap_or(0);
        let mut integers = Integers::of(vec![(index, far as f64)]);
        if choices.len() > 1 {
            integers.choices.push((0, choices));
        }
        Block::Integer(integers)
    }
}

fn extend(all: &mut Vec<f64>, part: &[f64], lanes: usize) {
    match part {
        [one] => all.resize(all.len() + lanes, *one),
        part => all.extend_from_slice(part),
    }
}
