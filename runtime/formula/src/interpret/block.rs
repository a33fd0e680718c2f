//! Values of many coordinates at once, each with a bound of its error.
//!
//! A block has one value, which then holds everywhere, or one for each lane. An error is the most
//! by which a right kernel's value may be off; no errors at all means that every value is exact. An
//! infinite error says that nothing is known, not even that it is a number.

use super::keeps::Keeps;
use crate::dtype::DType;
use crate::formula::ValueType;
use crate::number::{Kind, stored, wrapped};

/// Values of one expression.
#[derive(Debug, Clone)]
pub(super) enum Block {
    Float(Floats),
    Integer(Integers),
    Condition(Vec<Truth>),
}

/// Numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Floats {
    pub values: Vec<f64>,
    /// None where all are exact.
    pub errors: Vec<f64>,
}

/// Integers.
#[derive(Debug, Clone, Default)]
pub(super) struct Integers {
    pub values: Vec<i64>,
    /// None where all are exact.
    pub errors: Vec<f64>,
    /// Of lanes whose value may be one of some: which.
    pub choices: Vec<(usize, Vec<i64>)>,
}

/// A condition: what it is by the values, and whether their errors leave it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Truth {
    pub holds: bool,
    pub sure: bool,
}

impl Block {
    pub fn float(value: f64) -> Block {
        Block::Float(Floats {
            values: vec![value],
            errors: Vec::new(),
        })
    }

    pub fn integer(value: i64) -> Block {
        Block::Integer(Integers {
            values: vec![value],
            ..Integers::default()
        })
    }

    /// Lanes: 1 where one value holds everywhere.
    pub fn len(&self) -> usize {
        match self {
            Block::Float(floats) => floats.values.len(),
            Block::Integer(integers) => integers.values.len(),
            Block::Condition(truths) => truths.len(),
        }
    }

    /// The value and the error of a lane; of a condition 1 or 0.
    pub fn at(&self, lane: usize) -> (f64, f64) {
        let lane = if self.len() == 1 { 0 } else { lane };
        let get = |all: &[f64]| all.get(lane).copied().unwrap_or(0.0);
        match self {
            Block::Float(floats) => (get(&floats.values), get(&floats.errors)),
            Block::Integer(integers) => {
                let value = integers.values.get(lane).copied().unwrap_or(0);
                (value as f64, get(&integers.errors))
            }
            Block::Condition(truths) => {
                let truth = truths.get(lane).copied().unwrap_or(Truth::sure(false));
                let error = if truth.sure { 0.0 } else { 1.0 };
                (f64::from(u8::from(truth.holds)), error)
            }
        }
    }

    /// The integer of a lane.
    pub fn integer_at(&self, lane: usize) -> i64 {
        let lane = if self.len() == 1 { 0 } else { lane };
        match self {
            Block::Integer(integers) => integers.values.get(lane).copied().unwrap_or(0),
            other => other.at(lane).0 as i64,
        }
    }

    /// As numbers of a type; integers are rounded to it.
    pub fn into_floats(self, ty: ValueType) -> Floats {
        match self {
            Block::Float(floats) => floats,
            Block::Integer(integers) => {
                let to = if ty == ValueType::F64 {
                    DType::F64
                } else {
                    DType::F32
                };
                let values = integers.values.iter().map(|value| *value as f64).collect();
                let errors = integers.errors;
                cast_floats(Floats { values, errors }, to)
            }
            Block::Condition(_) => {
                let values = (0..self.len()).map(|lane| self.at(lane).0).collect();
                let errors = (0..self.len()).map(|lane| self.at(lane).1).collect();
                Floats { values, errors }
            }
        }
    }

    /// As registers hold numbers of a type: no product beyond its range, which only a sum may take.
    pub fn into_registers(self, ty: ValueType) -> Floats {
        registers(self.into_floats(ty), ty)
    }

    /// As integers.
    pub fn into_integers(self) -> Integers {
        match self {
            Block::Integer(integers) => integers,
            other => {
                let floats = other.into_floats(ValueType::F64);
                Integers {
                    values: floats.values.iter().map(|value| *value as i64).collect(),
                    errors: floats.errors,
                    choices: Vec::new(),
                }
            }
        }
    }

    /// As an element type holds it, given the type of the value.
    pub fn cast(self, from: ValueType, to: DType) -> Block {
        if from.dtype() == Some(to) {
            return self;
        }
        match (self, Kind::of(to)) {
            (block, Kind::Raw) => block,
            (Block::Integer(integers), Kind::Integer([least, most])) => {
                Block::Integer(clamped(integers, least, most))
            }
            (block, Kind::Integer(_)) => {
                let floats = cast_floats(block.into_registers(from), to);
                Block::Integer(Block::Float(floats).into_integers())
            }
            (block, _) => {
                let floats = match block {
                    Block::Integer(integers) => Floats {
                        values: integers.values.iter().map(|value| *value as f64).collect(),
                        errors: integers.errors,
                    },
                    other => other.into_registers(from),
                };
                Block::Float(cast_floats(floats, to))
            }
        }
    }
}

impl Truth {
    pub const fn sure(holds: bool) -> Truth {
        Truth { holds, sure: true }
    }
}

impl Floats {
    /// The error of a lane.
    #[inline]
    pub fn error(&self, lane: usize) -> f64 {
        self.errors.get(lane).copied().unwrap_or(0.0)
    }

    /// The value and error of a lane, of one value in every lane.
    #[inline]
    pub fn pair(&self, lane: usize) -> (f64, f64) {
        let lane = if self.values.len() == 1 { 0 } else { lane };
        (self.values[lane], self.error(lane))
    }
}

impl Integers {
    /// The value and error of a lane, of one value in every lane.
    #[inline]
    pub fn pair(&self, lane: usize) -> (i64, f64) {
        let lane = if self.values.len() == 1 { 0 } else { lane };
        let error = self.errors.get(lane).copied().unwrap_or(0.0);
        (self.values[lane], error)
    }

    /// Values and errors; no errors where none is.
    pub fn of(pairs: Vec<(i64, f64)>) -> Integers {
        let exact = pairs.iter().all(|(_, error)| *error == 0.0);
        let errors = if exact {
            Vec::new()
        } else {
            pairs.iter().map(|(_, error)| *error).collect()
        };
        Integers {
            values: pairs.iter().map(|(value, _)| *value).collect(),
            errors,
            choices: Vec::new(),
        }
    }

    /// As registers hold them: they wrap around, and what may wrap is unknown.
    pub fn wrap(mut self) -> Integers {
        let beyond = |value: i64, error: f64| value as f64 + error > 2_147_483_647.0;
        for (at, value) in self.values.iter_mut().enumerate() {
            if let Some(error) = self.errors.get_mut(at)
                && *error > 0.0
                && (beyond(*value, *error) || beyond(!*value, *error))
            {
                *error = f64::INFINITY;
            }
            *value = wrapped(*value);
        }
        self
    }
}

impl FromIterator<(f64, f64)> for Floats {
    /// Values and errors; no errors where none is.
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Floats {
        let pairs = pairs.into_iter();
        let lanes = pairs.size_hint().0;
        let (mut values, mut errors) = (Vec::with_capacity(lanes), Vec::with_capacity(lanes));
        let mut exact = true;
        for (value, error) in pairs {
            values.push(value);
            errors.push(error);
            exact &= error == 0.0;
        }
        Floats {
            values,
            errors: if exact { Vec::new() } else { errors },
        }
    }
}

/// The distance of two values, no less than it is and than f64 needs to come from one to the other;
/// none of equal infinities.
pub(super) fn distance(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let distance = (a - b).abs() + f64::EPSILON * (a.abs() + b.abs());
    if distance.is_nan() {
        f64::INFINITY
    } else {
        distance
    }
}

/// What a type holds of a value with that error: rounding never turns an order around, so the ends
/// of the interval go to the ends of the result.
pub(super) fn cast_pair((value, error): (f64, f64), to: DType) -> (f64, f64) {
    let rounded = stored(to, value);
    if error == 0.0 {
        return (rounded, 0.0);
    }
    if error == f64::INFINITY || value.is_nan() {
        return (rounded, f64::INFINITY);
    }
    let ends = [value - error, value + error].map(|end| distance(stored(to, end), rounded));
    (rounded, ends[0].max(ends[1]))
}

/// Numbers as registers hold them: infinity in place of products beyond the range of their type.
fn registers(mut floats: Floats, ty: ValueType) -> Floats {
    let keeps = Keeps::of(ty);
    let largest = keeps.largest();
    let overflown = |value: &f64| value.abs() > largest && value.abs() < f64::INFINITY;
    if floats.values.iter().any(overflown) {
        for lane in 0..floats.values.len() {
            let (value, error) = keeps.register(floats.pair(lane));
            floats.values[lane] = value;
            if let Some(place) = floats.errors.get_mut(lane) {
                *place = error;
            }
        }
    }
    floats
}

/// Numbers of which those of f32 below the normal range may be 0.
pub(super) fn flushed(floats: Floats, ty: ValueType) -> Floats {
    if ty == ValueType::F64 {
        return floats;
    }
    let keeps = Keeps::of(ty);
    let one = |lane: usize| {
        let (value, error) = floats.pair(lane);
        (value, error + keeps.lost(value, error))
    };
    (0..floats.values.len()).map(one).collect()
}

fn cast_floats(floats: Floats, to: DType) -> Floats {
    if floats.errors.is_empty() {
        let mut values = floats.values;
        for value in &mut values {
            *value = stored(to, *value);
        }
        let errors = Vec::new();
        return Floats { values, errors };
    }
    let lanes = 0..floats.values.len();
    lanes.map(|lane| cast_pair(floats.pair(lane), to)).collect()
}

fn clamped(mut integers: Integers, least: i64, most: i64) -> Integers {
    for value in &mut integers.values {
        *value = (*value).clamp(least, most);
    }
    integers
}
