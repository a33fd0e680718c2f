//! Folds: sums, extremes, means, and indices of the largest.

use super::arithmetic::product_error;
use super::block::{Block, Floats, Integers, distance};
use super::place::Lanes;
use super::sums::{SumSite, Terms};
use super::walk::{Walk, apply};
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, ValueType};
use crate::functions::{Fold, Op};
use crate::number::wrapped;
use crate::problem::Span;

/// Lanes of one block of a fold's body.
const BLOCK: i64 = 1 << 12;

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
struct Collected {
    values: Vec<f64>,
    errors: Vec<f64>,
    integers: Vec<i64>,
    factors: [Vec<f64>; 2],
}

impl Walk<'_, '_> {
    /// A fold in every lane.
    pub fn fold(&mut self, site: &Site<'_>, lanes: Lanes, arguments: &[Block]) -> Block {
        let static_site = SumSite {
            statement: self.statement,
            span: site.span.clone(),
            modes: site.modes.to_vec(),
            dtype: site.dtype,
            factors: self.factor_types(site.body),
        };
        let Some(mode) = lanes.mode else {
            return self.fold_once(site, &static_site, arguments);
        };
        let before = self.at[mode];
        let each: Vec<Block> = (0..lanes.len as i64)
            .map(|lane| {
                self.at[mode] = lanes.start + lane;
                let own: Vec<Block> = arguments.iter().map(|one| lane_of(one, lane)).collect();
                self.fold_once(site, &static_site, &own)
            })
            .collect();
        self.at[mode] = before;
        if site.ty == ValueType::S32 {
            let pairs = each.iter().map(|one| (one.integer_at(0), one.at(0).1));
            let mut integers = Integers::of(pairs.collect());
            for (lane, block) in each.into_iter().enumerate() {
                if let Block::Integer(one) = block {
                    let choices = one.choices.into_iter().map(|(_, choices)| (lane, choices));
                    integers.choices.extend(choices);
                }
            }
            return Block::Integer(integers);
        }
        Block::Float(each.iter().map(|one| one.at(0)).collect())
    }

    /// The element types of a product's factors, where both are elements of inputs.
    fn factor_types(&self, body: &Expr) -> Option<[DType; 2]> {
        let ExprKind::Apply {
            op: Op::Mul,
            arguments,
        } = &body.kind
        else {
            return None;
        };
        let dtype = |expr: &Expr| match &expr.kind {
            ExprKind::Read { source, .. } => Some(self.evaluator.formula.dtype(*source)),
            ExprKind::Cast { to, .. } => Some(*to),
            _ => None,
        };
        match &arguments[..] {
            [a, b] => Some([dtype(a)?, dtype(b)?]),
            _ => None,
        }
    }

    fn fold_once(&mut self, site: &Site<'_>, sum: &SumSite, arguments: &[Block]) -> Block {
        let before: Vec<i64> = site.modes.iter().map(|mode| self.at[*mode]).collect();
        let mut collected = Collected::default();
        self.collect(site, sum, site.modes, arguments, &mut collected);
        for (mode, at) in site.modes.iter().zip(before) {
            self.at[*mode] = at;
        }
        match site.fold {
            Fold::Sum if site.ty == ValueType::S32 => collected.whole_sum(),
            Fold::Sum => self.summed(sum, &collected),
            Fold::Mean => {
                let total = match site.body.ty {
                    ValueType::S32 => collected.whole_sum(),
                    _ => self.summed(sum, &collected),
                };
                let count = Block::integer(collected.len() as i64);
                let types = [site.ty, ValueType::S32];
                apply(Op::Div, site.ty, &types, vec![total, count])
            }
            Fold::Max | Fold::Min => collected.extreme(site),
            Fold::Argmax => collected.argmax(),
        }
    }

    fn summed(&self, site: &SumSite, collected: &Collected) -> Block {
        let [a, b] = &collected.factors;
        let whole = !a.is_empty() && a.len() == collected.values.len() && a.len() == b.len();
        let terms = Terms {
            values: &collected.values,
            errors: &collected.errors,
            factors: whole.then_some([a, b]),
        };
        let found = self.evaluator.sums.sum(site, &terms);
        Block::Float([(found.value, found.error)].into_iter().collect())
    }

    /// Takes the terms along all modes, the last fastest.
    fn collect(
        &mut self,
        site: &Site<'_>,
        sum: &SumSite,
        modes: &[ModeId],
        arguments: &[Block],
        collected: &mut Collected,
    ) {
        let [mode, inner @ ..] = modes else {
            return;
        };
        let extent = self.evaluator.size(*mode, &self.at);
        if !inner.is_empty() {
            for at in 0..extent {
                self.at[*mode] = at;
                self.collect(site, sum, inner, arguments, collected);
            }
            return;
        }
        let mut start = 0;
        while start < extent {
            let len = (extent - start).min(BLOCK) as usize;
            let lanes = Lanes {
                mode: Some(*mode),
                start,
                len,
            };
            self.at[*mode] = start;
            self.terms(site, sum, lanes, arguments, collected);
            start += len as i64;
        }
    }

    /// Takes the terms of one block. A product that is summed is not rounded by itself.
    fn terms(
        &mut self,
        site: &Site<'_>,
        sum: &SumSite,
        lanes: Lanes,
        arguments: &[Block],
        collected: &mut Collected,
    ) {
        let product = match &site.body.kind {
            ExprKind::Apply {
                op: Op::Mul,
                arguments: parts,
            } if site.fold == Fold::Sum && site.body.ty != ValueType::S32 => match &parts[..] {
                [a, b] => Some([a, b]),
                _ => None,
            },
            _ => None,
        };
        let Some([a, b]) = product else {
            let block = self.eval(site.body, lanes, arguments);
            collected.push(block, site.body.ty, lanes.len);
            return;
        };
        let ty = site.body.ty;
        let [a, b] = [a, b].map(|part| self.eval(part, lanes, arguments).into_floats(ty));
        collected.push_product(a, b, lanes.len, sum.factors.is_some());
    }
}

/// One lane of an argument.
fn lane_of(block: &Block, lane: i64) -> Block {
    let lane = usize::try_from(lane).unwrap_or(0);
    match block {
        Block::Integer(_) => {
            let pair = (block.integer_at(lane), block.at(lane).1);
            Block::Integer(Integers::of(vec![pair]))
        }
        Block::Float(_) => Block::Float([block.at(lane)].into_iter().collect()),
        Block::Condition(truths) => {
            let at = if truths.len() == 1 { 0 } else { lane };
            Block::Condition(vec![truths[at]])
        }
    }
}

impl Collected {
    fn len(&self) -> usize {
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

    fn push(&mut self, block: Block, ty: ValueType, lanes: usize) {
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

    fn push_product(&mut self, a: Floats, b: Floats, lanes: usize, keep: bool) {
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

    fn whole_sum(&self) -> Block {
        let sum = self
            .integers
            .iter()
            .fold(0i64, |sum, one| sum.wrapping_add(*one));
        let error: f64 = self.errors.iter().sum();
        let sum = if error == 0.0 { wrapped(sum) } else { sum };
        Block::Integer(Integers::of(vec![(sum, error)]).wrap())
    }

    /// The largest or the smallest; NaN where one is.
    fn extreme(&self, site: &Site<'_>) -> Block {
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
    fn argmax(&self) -> Block {
        let count = self.len();
        let value = |at: usize| match self.integers.get(at) {
            Some(integer) => *integer as f64,
            None => self.values[at],
        };
        let mut best: Option<usize> = None;
        for at in 0..count {
            let better = best.is_none_or(|best| {
                let (a, b) = (value(at), value(best));
                a > b || (a.is_nan() && !b.is_nan())
            });
            best = if better { Some(at) } else { best };
        }
        let Some(best) = best else {
            return Block::integer(-1);
        };
        let index = best as i64;
        if self.errors.is_empty() || value(best).is_nan() {
            return Block::integer(index);
        }
        // An index may be it if nothing is surely larger, nor surely as large before it.
        let least = |at: usize| value(at) - self.error(at);
        let floor = (0..count).map(least).fold(f64::NEG_INFINITY, f64::max);
        let may = |at: &usize| {
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
