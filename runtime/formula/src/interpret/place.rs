//! Where elements lie: indices to positions, in every lane.

use super::block::{Block, Floats, Integers};
use super::evaluator::{Evaluator, View};
use super::inputs::Values;
use crate::affine::{ModeId, Poly, Symbol};
use crate::formula::{Extent, Index, ModeSet, ValueType};
use crate::signature::RaggedBy;

/// Coordinates that go along one mode; elsewhere they are those of the environment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes {
    /// `None` where there is one coordinate.
    pub mode: Option<ModeId>,
    pub start: i64,
    pub len: usize,
}

/// Coordinates of modes, by mode.
pub(super) type Coordinates = Vec<i64>;

/// An index in every lane.
#[derive(Debug, Clone)]
pub(super) enum Along {
    /// The first, and the step from lane to lane.
    Line(i64, i64),
    /// Each.
    Each(Vec<i64>),
}

impl Lanes {
    pub const ONE: Lanes = Lanes {
        mode: None,
        start: 0,
        len: 1,
    };

    /// Whether something that depends on those modes differs from lane to lane.
    pub fn within(&self, free: ModeSet) -> bool {
        self.mode.is_some_and(|mode| free >> mode & 1 == 1)
    }
}

impl Along {
    pub fn at(&self, lane: usize) -> i64 {
        match self {
            Along::Line(first, step) => first.wrapping_add(step.wrapping_mul(lane as i64)),
            Along::Each(all) => all[if all.len() == 1 { 0 } else { lane }],
        }
    }
}

impl Evaluator<'_> {
    /// The integer that a table holds; `None` beyond its extents.
    pub(super) fn entry(&self, operand: usize, at: &[i64]) -> Option<i64> {
        let view = self.operands.get(operand)?;
        let mut offset = 0;
        for ((index, extent), stride) in at.iter().zip(&view.extents).zip(&view.strides) {
            if !(0..*extent).contains(index) {
                return None;
            }
            offset += index * stride;
        }
        let offset = usize::try_from(offset).ok()?;
        match view.values? {
            Values::Floats(values) => values.get(offset).map(|value| *value as i64),
            Values::Integers(values) => values.get(offset).copied(),
        }
    }

    /// The extent of a mode at those coordinates.
    pub(super) fn size(&self, mode: ModeId, at: &[i64]) -> i64 {
        let whole = self.extents[mode];
        let Extent::Ragged { group, by, table } = self.formula.modes[mode].extent else {
            return whole;
        };
        let g = at[group];
        let entry = |at: i64| self.entry(table, &[at]).unwrap_or(0);
        match by {
            RaggedBy::Starts => entry(g + 1).saturating_sub(entry(g)).clamp(0, whole),
            RaggedBy::Counts => entry(g).clamp(0, whole),
            RaggedBy::Ids => (0..whole).filter(|m| entry(*m) == g).count() as i64,
        }
    }

    fn poly(&self, poly: &Poly, at: &[i64]) -> i64 {
        poly.eval(|symbol| match symbol {
            Symbol::Mode(mode) => at[mode],
            Symbol::Size(mode) => self.size(mode, at),
            Symbol::Scalar(scalar) => self.scalars[scalar] as i64,
            Symbol::Start(mode) => match self.formula.modes[mode].extent {
                Extent::Ragged { group, table, .. } => self.entry(table, &[at[group]]).unwrap_or(0),
                _ => 0,
            },
        })
    }

    /// An index at those coordinates.
    pub(super) fn index(&self, index: &Index, at: &[i64]) -> i64 {
        match index {
            Index::Affine(poly) => self.poly(poly, at),
            Index::Quotient(poly, by) => self.poly(poly, at).div_euclid(*by),
            Index::Remainder(poly, by) => self.poly(poly, at).rem_euclid(*by),
            Index::Table { operand, indices } => {
                let inner: Vec<i64> = indices.iter().map(|one| self.index(one, at)).collect();
                // What is beyond a table leads nowhere.
                self.entry(*operand, &inner).unwrap_or(-1)
            }
        }
    }

    /// An index in every lane.
    pub(super) fn along(&self, index: &Index, at: &mut Coordinates, lanes: Lanes) -> Along {
        let Some(mode) = lanes
            .mode
            .filter(|mode| index.free(&self.formula.modes) >> mode & 1 == 1)
        else {
            return Along::Line(self.index(index, at), 0);
        };
        let before = at[mode];
        let along = if let Index::Affine(poly) = index {
            at[mode] = lanes.start;
            let first = self.poly(poly, at);
            at[mode] = lanes.start + 1;
            Along::Line(first, self.poly(poly, at).wrapping_sub(first))
        } else {
            let each = (0..lanes.len as i64).map(|lane| {
                at[mode] = lanes.start + lane;
                self.index(index, at)
            });
            Along::Each(each.collect())
        };
        at[mode] = before;
        along
    }
}

/// Positions in something of those extents and strides, lane by lane; `None` outside.
pub(super) enum Positions {
    /// The first, and the step from lane to lane: all are inside.
    Line(i64, i64),
    /// Each.
    Each(Vec<Option<usize>>),
}

/// The positions of indices, axis by axis.
pub(super) fn positions(
    indices: &[Along],
    extents: &[i64],
    strides: &[i64],
    lanes: usize,
) -> Positions {
    let axes = || indices.iter().zip(extents).zip(strides);
    let mut line = Some((0, 0));
    for ((index, extent), stride) in axes() {
        let inside = |at: i64| (0..*extent).contains(&at);
        line = match (index, line) {
            (Along::Line(first, step), Some((base, by)))
                if inside(*first) && inside(index.at(lanes.saturating_sub(1))) =>
            {
                Some((base + first * stride, by + step * stride))
            }
            _ => None,
        };
    }
    if let Some((base, step)) = line {
        return Positions::Line(base, step);
    }
    let each = (0..lanes).map(|lane| {
        let mut position = 0;
        for ((index, extent), stride) in axes() {
            let at = index.at(lane);
            if !(0..*extent).contains(&at) {
                return None;
            }
            position += at * stride;
        }
        usize::try_from(position).ok()
    });
    Positions::Each(each.collect())
}

/// Elements of a slice; outside there is 0.
pub(super) fn gather<T: Copy + Default>(
    values: &[T],
    positions: &Positions,
    lanes: usize,
) -> Vec<T> {
    match positions {
        Positions::Line(first, 0) => {
            let one = usize::try_from(*first).ok().and_then(|at| values.get(at));
            vec![one.copied().unwrap_or_default()]
        }
        Positions::Line(first, 1) => {
            let first = usize::try_from(*first).unwrap_or(usize::MAX);
            let part = values.get(first..first.saturating_add(lanes));
            part.map(<[T]>::to_vec).unwrap_or_default()
        }
        Positions::Line(first, step) => {
            let at = |lane: usize| usize::try_from(first + step * lane as i64).ok();
            let one = |lane| at(lane).and_then(|at| values.get(at).copied());
            (0..lanes)
                .map(|lane| one(lane).unwrap_or_default())
                .collect()
        }
        Positions::Each(each) => {
            let one = |at: &Option<usize>| at.and_then(|at| values.get(at).copied());
            each.iter().map(|at| one(at).unwrap_or_default()).collect()
        }
    }
}

impl View<'_> {
    /// Elements of an operand, exact.
    pub fn read(&self, indices: &[Along], lanes: usize) -> Block {
        let positions = positions(indices, &self.extents, &self.strides, lanes);
        let whole = matches!(self.ty, ValueType::S32 | ValueType::Raw(_));
        match (self.values, whole) {
            (Some(Values::Floats(values)), false) => Block::Float(Floats {
                values: gather(values, &positions, lanes),
                errors: Vec::new(),
            }),
            (Some(Values::Floats(values)), true) => {
                let floats = gather(values, &positions, lanes);
                Block::Integer(Integers {
                    values: floats.into_iter().map(|value| value as i64).collect(),
                    ..Integers::default()
                })
            }
            (Some(Values::Integers(values)), true) => Block::Integer(Integers {
                values: gather(values, &positions, lanes),
                ..Integers::default()
            }),
            (Some(Values::Integers(values)), false) => {
                let integers = gather(values, &positions, lanes);
                Block::Float(Floats {
                    values: integers.into_iter().map(|value| value as f64).collect(),
                    errors: Vec::new(),
                })
            }
            // Nobody wrote it: it may be anything.
            (None, _) => Block::Float(Floats {
                values: vec![0.0],
                errors: vec![f64::INFINITY],
            }),
        }
    }
}
