//! Whole outputs: statement after statement, row after row, on every core.

use std::collections::BTreeMap;

#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::block::Block;
use super::evaluator::{Error, Evaluator, MAX_ELEMENTS};
use super::output::Output;
use super::place::{Along, Coordinates, Lanes, Positions, positions};
use super::store::{Store, write_row};
use super::walk::Walk;
use crate::affine::ModeId;
use crate::formula::{Expr, ExprKind, Extent, Index, Source, Statement, ValueType};
use crate::signature::RaggedBy;
use crate::syntax::Combine;

/// Rows that are computed before they are written down.
const BATCH: usize = 1 << 10;
/// Lanes that are computed together where no fold lies along them: their blocks stay in the
/// second-level cache, and long rows keep every core at work.
const SEGMENT: i64 = 1 << 12;

impl Evaluator<'_> {
    /// Every output, whole.
    ///
    /// # Errors
    /// When an output or an intermediate has more than [`MAX_ELEMENTS`] elements.
    pub fn outputs(&self) -> Result<Vec<Output>, Error> {
        let mut stores: Vec<Option<Store>> = Vec::new();
        for at in 0..self.formula.statements.len() {
            let store = self.store(at, &stores)?;
            stores.push(Some(store));
        }
        let statements = self.formula.statements.iter().zip(stores);
        let outputs = statements.filter_map(|(statement, store)| {
            let Source::Operand(_) = statement.target else {
                return None;
            };
            let store = store?;
            let count = store.floats.len().max(store.integers.len());
            let whole = store.is_whole();
            let values = if whole {
                store.integers.iter().map(|value| *value as f64).collect()
            } else {
                store.floats
            };
            let errors = if store.errors.is_empty() {
                vec![0.0; count]
            } else {
                store.errors
            };
            Some(Output {
                name: self.formula.name(statement.target).to_owned(),
                dtype: statement.dtype,
                extents: store.extents,
                values,
                errors,
                written: store.written,
                choices: store.choices,
                integers: store.integers,
            })
        });
        Ok(outputs.collect())
    }

    /// An empty store for what a statement writes; of outputs with what was there.
    fn empty(&self, at: usize) -> Result<Store, Error> {
        let statement = &self.formula.statements[at];
        let modes = |modes: &[ModeId]| modes.iter().map(|mode| self.extents[*mode]).collect();
        let extents: Vec<i64> = match statement.target {
            Source::Operand(operand) => self.operands[operand].extents.clone(),
            Source::Local(local) => modes(&self.formula.locals[local].modes),
        };
        let count = extents
            .iter()
            .try_fold(1i64, |count, extent| count.checked_mul(*extent));
        let name = || self.formula.name(statement.target).to_owned();
        let count = count.filter(|count| *count <= MAX_ELEMENTS);
        let count = count.ok_or_else(|| Error::TooLarge(name()))? as usize;
        let mut strides = vec![1; extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = strides[axis] * extents[axis].max(1);
        }
        let ty = self.held(at);
        let whole = matches!(ty, ValueType::S32 | ValueType::Raw(_));
        let parts = statement.left.iter().any(|index| match index.bare() {
            Some(mode) => matches!(self.formula.modes[mode].extent, Extent::Ragged { .. }),
            None => true,
        });
        let sums = statement.combine == Combine::Add && !whole;
        let mut store = Store {
            strides,
            ty,
            floats: vec![0.0; if whole { 0 } else { count }],
            integers: vec![0; if whole { count } else { 0 }],
            errors: Vec::new(),
            written: vec![false; if parts { count } else { 0 }],
            added: vec![(0.0, 0.0); if sums { count } else { 0 }],
            choices: BTreeMap::new(),
            extents,
        };
        if let Source::Operand(operand) = statement.target
            && (parts || statement.combine != Combine::Set)
        {
            self.take_before(operand, &mut store);
        }
        Ok(store)
    }

    /// Fills a store with what was in an output.
    fn take_before(&self, operand: usize, store: &mut Store) {
        let view = &self.operands[operand];
        if view.values.is_none() {
            return;
        }
        for at in 0..store.floats.len().max(store.integers.len()) {
            let axes = store.extents.iter().zip(&store.strides);
            let at_axis = |(extent, stride): (&i64, &i64)| (at as i64 / stride) % extent.max(&1);
            let index: Vec<Along> = axes.map(|axis| Along::Line(at_axis(axis), 0)).collect();
            let block = view.read(&index, 1);
            if let Some(place) = store.integers.get_mut(at) {
                *place = block.integer_at(0);
            }
            if let Some(place) = store.floats.get_mut(at) {
                *place = block.at(0).0;
            }
            if let Some(place) = store.added.get_mut(at) {
                *place = (block.at(0).0.abs(), 1.0);
            }
        }
    }

    /// The type of a statement's values before the cast to its type: what is combined has the
    /// output's already.
    pub(super) fn held(&self, at: usize) -> ValueType {
        let statement = &self.formula.statements[at];
        match statement.combine {
            Combine::Set => self.values[at].ty,
            _ => ValueType::of(statement.dtype),
        }
    }

    /// How many terms one value of a combined statement stands for.
    pub(super) fn terms_of(&self, statement: &Statement) -> f64 {
        let extents = statement
            .folded
            .iter()
            .map(|mode| self.extents[*mode] as f64);
        extents.product()
    }

    /// What a statement gives.
    fn store(&self, at: usize, stores: &[Option<Store>]) -> Result<Store, Error> {
        let statement = &self.formula.statements[at];
        let mut store = self.empty(at)?;
        let lane = self.lane_mode(statement);
        let outer: Vec<ModeId> = statement.loops.clone();
        let outer: Vec<ModeId> = outer
            .into_iter()
            .filter(|mode| Some(*mode) != lane)
            .collect();
        let width = self.formula.modes.len().max(1);
        let none = vec![None; width];
        let mut rows: Vec<i64> = Vec::new();
        let mut base = vec![0; width];
        self.rows(&outer, &none, &mut base, &mut |at| {
            rows.extend_from_slice(at)
        });
        let count = self.terms_of(statement);
        let whole = lane.is_none() || has_fold(&self.values[at]);
        for batch in rows.chunks(width * BATCH) {
            let parts: Vec<(&[i64], Lanes)> = batch
                .chunks(width)
                .flat_map(|row| segments(self.lanes(row, lane), whole).map(move |part| (row, part)))
                .collect();
            for parts in parts.chunks(BATCH) {
                let walk = || Walk::new(self, stores);
                let one = |walk: &mut Walk<'_, '_>, (row, lanes): &(&[i64], Lanes)| {
                    self.row(walk, at, (row, *lanes), &store)
                };
                #[cfg(feature = "parallel")]
                let found: Vec<_> = parts.par_iter().map_init(walk, one).collect();
                #[cfg(not(feature = "parallel"))]
                let found: Vec<_> = {
                    let mut walk = walk();
                    parts.iter().map(|part| one(&mut walk, part)).collect()
                };
                for (positions, block, lanes) in found {
                    write_row(
                        &mut store,
                        &positions,
                        &block,
                        lanes,
                        statement.combine,
                        count,
                    );
                }
            }
        }
        store.round_sums(statement.dtype);
        Ok(store)
    }

    /// All lanes of a row.
    fn lanes(&self, row: &[i64], lane: Option<ModeId>) -> Lanes {
        match lane {
            Some(mode) => Lanes {
                mode: Some(mode),
                start: 0,
                len: usize::try_from(self.size(mode, row)).unwrap_or(0),
            },
            None => Lanes::ONE,
        }
    }

    /// Some lanes of one row of a statement: where they lie, and their values.
    fn row(
        &self,
        walk: &mut Walk<'_, '_>,
        at: usize,
        (row, lanes): (&[i64], Lanes),
        store: &Store,
    ) -> (Positions, Block, usize) {
        walk.at.clear();
        walk.at.extend_from_slice(row);
        walk.statement = at;
        let left = &self.formula.statements[at].left;
        let along = left.iter().map(|one| self.along(one, &mut walk.at, lanes));
        let along: Vec<Along> = along.collect();
        let positions = positions(&along, &store.extents, &store.strides, lanes.len);
        let block = walk.value(at, lanes);
        (positions, block, lanes.len)
    }

    /// The mode that rows of a statement go along: the last whose extent its groups tell.
    fn lane_mode(&self, statement: &Statement) -> Option<ModeId> {
        let is_free = |mode: &ModeId| {
            let by_ids = |other: &ModeId| match self.formula.modes[*other].extent {
                Extent::Ragged {
                    group,
                    by: RaggedBy::Ids,
                    ..
                } => other == mode || group == *mode,
                _ => false,
            };
            let groups = |other: &ModeId| match self.formula.modes[*other].extent {
                Extent::Ragged { group, .. } => group == *mode,
                _ => false,
            };
            let loops = &statement.loops;
            !loops.iter().any(by_ids) && !loops.iter().any(groups)
        };
        statement
            .loops
            .iter()
            .copied()
            .rev()
            .find(|mode| is_free(mode))
    }

    /// Every coordinate of some modes, groups before what is ragged in them; those of `fixed`
    /// modes are given.
    pub(super) fn rows(
        &self,
        modes: &[ModeId],
        fixed: &[Option<i64>],
        at: &mut Coordinates,
        emit: &mut dyn FnMut(&[i64]),
    ) {
        let Some((mode, rest)) = modes.split_first() else {
            return emit(at);
        };
        let extent = self.formula.modes[*mode].extent;
        let (ids, extents) = match extent {
            Extent::Ragged {
                group,
                by: RaggedBy::Ids,
                table,
            } => (Some((group, table)), self.extents[*mode]),
            _ => (None, self.size(*mode, at)),
        };
        let range = match fixed.get(*mode).copied().flatten() {
            Some(one) if (0..extents).contains(&one) => one..one + 1,
            Some(_) => 0..0,
            None => 0..extents,
        };
        for coordinate in range {
            at[*mode] = coordinate;
            let Some((group, table)) = ids else {
                self.rows(rest, fixed, at, emit);
                continue;
            };
            let found = self.entry(table, &[coordinate]).unwrap_or(-1);
            if !(0..self.extents[group]).contains(&found) {
                continue;
            }
            at[group] = found;
            let rest: Vec<ModeId> = rest.iter().copied().filter(|mode| *mode != group).collect();
            self.rows(&rest, fixed, at, emit);
        }
    }

    /// Whether coordinates are of an element of what a statement writes.
    pub(super) fn has(&self, statement: usize, at: &[i64]) -> bool {
        let target = self.formula.statements[statement].target;
        let extents: Vec<i64> = match target {
            Source::Operand(operand) => self.operands[operand].extents.clone(),
            Source::Local(local) => {
                let modes = self.formula.locals[local].modes.iter();
                modes.map(|mode| self.extents[*mode]).collect()
            }
        };
        let mut both = at.iter().zip(&extents);
        both.all(|(at, extent)| (0..*extent).contains(at))
    }

    /// The coordinates at which a statement writes an element.
    pub(super) fn bindings(&self, statement: &Statement, element: &[i64]) -> Vec<Coordinates> {
        let mut fixed = vec![None; self.formula.modes.len()];
        for (index, at) in statement.left.iter().zip(element) {
            // What counts from the start of its group is looked for.
            if let (Index::Affine(poly), Some(mode)) = (index, index.bare())
                && poly.terms().count() == 1
            {
                fixed[mode] = Some(*at);
            }
        }
        let mut found = Vec::new();
        let mut base = vec![0; self.formula.modes.len()];
        self.rows(&statement.loops, &fixed, &mut base, &mut |at| {
            let places = statement.left.iter().map(|index| self.index(index, at));
            if places.eq(element.iter().copied()) {
                found.push(at.to_vec());
            }
        });
        found
    }
}

/// Parts of a row's lanes, none of nothing: all of them, or one segment after the other.
fn segments(all: Lanes, whole: bool) -> impl Iterator<Item = Lanes> {
    let end = all.start + all.len as i64;
    let step = if whole { end.max(1) } else { SEGMENT };
    let starts = (all.start..end).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    starts.map(move |start| Lanes {
        start,
        len: usize::try_from((end - start).min(step)).unwrap_or(0),
        ..all
    })
}

/// Whether there is a fold in an expression: what no lane changes of it is computed for each part
/// of a row.
fn has_fold(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Fold { .. } => true,
        ExprKind::Apply { arguments, .. } => arguments.iter().any(has_fold),
        ExprKind::Call {
            arguments, inside, ..
        } => has_fold(inside) || arguments.iter().any(has_fold),
        ExprKind::Cast { value, .. } => has_fold(value),
        _ => false,
    }
}
