//! Folds: sums, extremes, means, and indices of the largest.

use super::apply::apply;
use super::block::{Block, Integers};
use super::collected::{Collected, Site};
use super::place::Lanes;
use super::sums::{SumSite, Terms};
use super::walk::Walk;
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, Extent, ValueType};
use crate::functions::{Fold, Op};
use crate::signature::RaggedBy;

/// Lanes of one block of a fold's body.
const BLOCK: i64 = 1 << 12;

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
        if let Some(rows) = self.rows_of_group(*mode) {
            for at in rows {
                self.at[*mode] = at;
                let lanes = Lanes {
                    mode: Some(*mode),
                    start: at,
                    len: 1,
                };
                match inner {
                    [] => self.terms(site, sum, lanes, arguments, collected),
                    inner => self.collect(site, sum, inner, arguments, collected),
                }
            }
            return;
        }
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

    /// The coordinates of a mode that is ragged by ids, in the group that is set.
    fn rows_of_group(&self, mode: ModeId) -> Option<Vec<i64>> {
        let evaluator = self.evaluator;
        let Extent::Ragged {
            group,
            by: RaggedBy::Ids,
            table,
        } = evaluator.formula.modes[mode].extent
        else {
            return None;
        };
        let own = |at: &i64| evaluator.entry(table, &[*at]) == Some(self.at[group]);
        Some((0..evaluator.extents[mode]).filter(own).collect())
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
        let ty = site.body.ty;
        let Some([a, b]) = product else {
            let block = match self.eval(site.body, lanes, arguments) {
                block @ Block::Float(_) if site.fold != Fold::Sum => {
                    Block::Float(block.into_registers(ty))
                }
                block => block,
            };
            collected.push(block, ty, lanes.len);
            return;
        };
        let [a, b] = [a, b].map(|part| self.eval(part, lanes, arguments).into_registers(ty));
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
