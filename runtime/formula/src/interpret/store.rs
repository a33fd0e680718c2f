//! What a statement gave: values and errors of a whole output or intermediate.

use std::collections::BTreeMap;

use super::apply::apply;
use super::block::{Block, Floats, Integers};
use super::keeps::ROUNDOFF;
use super::place::{Along, Positions, gather, positions};
use crate::dtype::DType;
use crate::format::{Format, scaled};
use crate::formula::ValueType;
use crate::functions::Op;
use crate::syntax::Combine;

/// What a statement gave, before the cast to its type.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub extents: Vec<i64>,
    pub strides: Vec<i64>,
    pub ty: ValueType,
    pub floats: Vec<f64>,
    pub integers: Vec<i64>,
    /// None where all are exact.
    pub errors: Vec<f64>,
    /// None where all are written.
    pub written: Vec<bool>,
    /// Of sums: magnitudes, and how much was added.
    pub added: Vec<(f64, f64)>,
    pub choices: BTreeMap<usize, Vec<i64>>,
}

impl Store {
    pub fn is_whole(&self) -> bool {
        matches!(self.ty, ValueType::S32 | ValueType::Raw(_))
    }

    /// Elements, before the cast to the type they are stored in.
    pub fn read(&self, indices: &[Along], lanes: usize) -> Block {
        let positions = positions(indices, &self.extents, &self.strides, lanes);
        let errors = if self.errors.is_empty() {
            Vec::new()
        } else {
            gather(&self.errors, &positions, lanes)
        };
        if self.is_whole() {
            return Block::Integer(Integers {
                values: gather(&self.integers, &positions, lanes),
                errors,
                choices: Vec::new(),
            });
        }
        Block::Float(Floats {
            values: gather(&self.floats, &positions, lanes),
            errors,
        })
    }

    fn write(&mut self, at: usize, block: &Block, lane: usize, combine: Combine, count: f64) {
        let (mut value, mut error) = block.at(lane);
        let mut integer = block.integer_at(lane);
        if combine != Combine::Set {
            let before = self.block_at(at);
            if let Some(added) = self.added.get_mut(at) {
                *added = (added.0 + value.abs() + error, added.1 + count);
            }
            let block = match block {
                Block::Integer(_) => Block::Integer(Integers::of(vec![(integer, error)])),
                _ => Block::Float([(value, error)].into_iter().collect()),
            };
            let both = combined(combine, self.ty, before, block);
            (value, error) = both.at(0);
            integer = both.integer_at(0);
        }
        if self.is_whole() {
            if let Some(place) = self.integers.get_mut(at) {
                *place = integer;
            }
        } else if let Some(place) = self.floats.get_mut(at) {
            *place = value;
        }
        if error != 0.0 && self.errors.is_empty() {
            self.errors = vec![0.0; self.floats.len().max(self.integers.len())];
        }
        if let Some(place) = self.errors.get_mut(at) {
            *place = error;
        }
        if let Some(place) = self.written.get_mut(at) {
            *place = true;
        }
    }

    /// Takes all lanes of a row at once, where they are written in even steps and none is combined;
    /// tells whether it did.
    fn take_line(&mut self, positions: &Positions, block: &Block, lanes: usize) -> bool {
        let Positions::Line(first, step) = *positions else {
            return false;
        };
        let (Ok(first), Ok(step @ 1..)) = (usize::try_from(first), usize::try_from(step)) else {
            return false;
        };
        let errors = match block {
            Block::Float(floats) if !self.is_whole() && floats.values.len() == lanes => {
                spread(&mut self.floats, &floats.values, (first, step));
                &floats.errors
            }
            Block::Integer(integers) if self.is_whole() && integers.values.len() == lanes => {
                spread(&mut self.integers, &integers.values, (first, step));
                &integers.errors
            }
            _ => return false,
        };
        if !errors.is_empty() && self.errors.is_empty() {
            self.errors = vec![0.0; self.floats.len().max(self.integers.len())];
        }
        let written = self.written.iter_mut().skip(first).step_by(step);
        written.take(lanes).for_each(|place| *place = true);
        if errors.is_empty() {
            let exact = self.errors.iter_mut().skip(first).step_by(step);
            exact.take(lanes).for_each(|place| *place = 0.0);
        }
        spread(&mut self.errors, errors, (first, step));
        true
    }

    fn block_at(&self, at: usize) -> Block {
        let error = self.errors.get(at).copied().unwrap_or(0.0);
        if self.is_whole() {
            let value = self.integers.get(at).copied().unwrap_or(0);
            return Block::Integer(Integers::of(vec![(value, error)]));
        }
        let value = self.floats.get(at).copied().unwrap_or(0.0);
        Block::Float([(value, error)].into_iter().collect())
    }

    /// Adds what additions to the output may have rounded, in any order.
    pub fn round_sums(&mut self, dtype: DType) {
        for (at, (magnitude, count)) in self.added.iter().enumerate() {
            let error = sum_error(dtype, *magnitude, *count);
            if error > 0.0 && self.errors.is_empty() {
                self.errors = vec![0.0; self.floats.len()];
            }
            if let Some(place) = self.errors.get_mut(at) {
                *place += error;
            }
        }
    }
}

/// Puts values at their places, `step` apart.
fn spread<T: Copy>(places: &mut [T], values: &[T], (first, step): (usize, usize)) {
    let Some(places) = places.get_mut(first..) else {
        return;
    };
    match places.get_mut(..values.len()) {
        Some(places) if step == 1 => places.copy_from_slice(values),
        _ => {
            let places = places.iter_mut().step_by(step);
            places
                .zip(values)
                .for_each(|(place, value)| *place = *value);
        }
    }
}

/// What `count` additions in a type may round, of terms of that magnitude in all; those of f32 in
/// memory flush what is subnormal (PTX ISA, `red`, 9.7.13).
pub(super) fn sum_error(dtype: DType, magnitude: f64, count: f64) -> f64 {
    let Some(format) = Format::of(dtype) else {
        return 0.0;
    };
    let roundoff = scaled(0.5, -format.fraction_bits.cast_signed());
    let flushed = match dtype {
        DType::F32 => f64::from(f32::MIN_POSITIVE).min(magnitude),
        _ => 0.0,
    };
    count * ((roundoff + ROUNDOFF) * magnitude + 2.0 * flushed)
}

/// A value combined with what was there; of sums the rounding is counted apart.
pub(super) fn combined(combine: Combine, ty: ValueType, before: Block, value: Block) -> Block {
    let op = match combine {
        Combine::Max => Op::Max,
        Combine::Min => Op::Min,
        Combine::Add if ty != ValueType::S32 => {
            let ((a, ea), (b, eb)) = (before.at(0), value.at(0));
            return Block::Float([(a + b, ea + eb)].into_iter().collect());
        }
        Combine::Add => Op::Add,
        Combine::Set => return value,
    };
    apply(op, ty, &[ty, ty], vec![before, value])
}

/// Writes the lanes of one row where they lie.
pub(super) fn write_row(
    store: &mut Store,
    positions: &Positions,
    block: &Block,
    lanes: usize,
    combine: Combine,
    count: f64,
) {
    let choices: &[(usize, Vec<i64>)] = match block {
        Block::Integer(integers) => &integers.choices,
        _ => &[],
    };
    let place = |lane: usize| match positions {
        Positions::Line(first, step) => usize::try_from(first + step * lane as i64).ok(),
        Positions::Each(each) => each.get(lane).copied().flatten(),
    };
    for (lane, choices) in choices {
        if let Some(at) = place(*lane) {
            store.choices.insert(at, choices.clone());
        }
    }
    if combine == Combine::Set && store.take_line(positions, block, lanes) {
        return;
    }
    for lane in 0..lanes {
        if let Some(at) = place(lane) {
            store.write(at, block, lane, combine, count);
        }
    }
}
