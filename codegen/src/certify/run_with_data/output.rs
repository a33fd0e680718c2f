//! What is stored of an output, and what should be.
//!
//! Each element of an output is stored once, with the value of the formula; elements of one class
//! of rows and one of columns have the same. Those that no entry of a table names are not stored.

use tilewright_formula::interpret::{Bounded, Evaluator};

use super::grid::is_poison;
use crate::dtype::DType;
use crate::spec::keys::model::OperandId;

/// The least and the largest value of what the formula leaves open.
const UNKNOWN: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// What an operand has at one place of its outer modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    /// The operand.
    pub operand: OperandId,
    /// The place, counted along its axes of outer modes, the last fastest.
    pub place: usize,
}

impl Matrix {
    /// That plane, of one whose first plane this is.
    pub fn of_plane(self, plane: i64) -> Matrix {
        Matrix {
            place: self.place + plane as usize,
            ..self
        }
    }
}

/// What is stored, and what should be.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Its name.
    pub name: String,
    /// Which part of which operand it is.
    pub slice: Matrix,
    /// Coordinates of its first element along all axes of the operand.
    pub first: Vec<i64>,
    /// Its extents, along the coordinates of its tile.
    pub extents: [i64; 2],
    /// Which of its axes runs along each of these; none along one of a single element.
    pub axes: [Option<usize>; 2],
    /// Classes of its rows and of its columns.
    pub classes: [Vec<usize>; 2],
    /// What may be stored.
    pub limits: Limits,
    /// Which elements are stored.
    pub stored: Vec<bool>,
}

/// What may be stored of the elements of each pair of classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// Classes of columns.
    columns: usize,
    /// The least and the largest value that may be stored, and the formula's.
    pairs: Vec<[f64; 3]>,
    /// Whether one is stored at all.
    written: Vec<bool>,
}

impl Output {
    /// What may be stored, by the classes of its coordinates.
    pub fn limits(&self, evaluator: &Evaluator<'_>, dtype: DType) -> Result<Limits, String> {
        let count = |classes: &Vec<usize>| classes.iter().max().map_or(1, |most| most + 1);
        let [rows, columns] = self.classes.each_ref().map(count);
        let first = |axis: usize, count: usize| {
            let mut first = vec![None; count];
            for (at, class) in self.classes[axis].iter().enumerate().rev() {
                first[*class] = Some(at as i64);
            }
            first
        };
        let firsts = [first(0, rows), first(1, columns)];
        let mut pairs = vec![[f64::NAN; 3]; rows * columns];
        let mut written = vec![true; rows * columns];
        let (mut places, mut at) = (Vec::new(), Vec::new());
        for place in 0..rows * columns {
            let here = [firsts[0][place / columns], firsts[1][place % columns]];
            let mut element = self.first.clone();
            for (axis, here) in self.axes.iter().zip(here) {
                let (Some(axis), Some(here)) = (axis, here) else {
                    continue;
                };
                if let Some(slot) = element.get_mut(*axis) {
                    *slot = here;
                }
            }
            if here.iter().all(Option::is_some) {
                places.push(place);
                at.push(element);
            }
        }
        let at: Vec<&[i64]> = at.iter().map(|at| at.as_slice()).collect();
        let elements = evaluator.elements(&self.name, &at);
        let elements = elements.map_err(|error| error.to_string())?;
        for (place, element) in places.into_iter().zip(elements) {
            let bounded = Bounded {
                value: element.value,
                error: element.error,
            };
            let [least, most] = match element.error == f64::INFINITY {
                true => UNKNOWN,
                false => bounded.stored(dtype),
            };
            pairs[place] = [least, most, bounded.value];
            written[place] = element.written;
        }
        Ok(Limits {
            columns,
            pairs,
            written,
        })
    }

    /// Its name, with its place where it has several.
    fn label(&self) -> String {
        let outer = (0..self.first.len()).filter(|axis| !self.axes.contains(&Some(*axis)));
        let outer: Vec<String> = outer.map(|axis| self.first[axis].to_string()).collect();
        match outer.is_empty() {
            true => self.name.clone(),
            false => format!("{} at {}", self.name, outer.join(",")),
        }
    }

    /// The pair of classes of an element.
    fn pair(&self, [row, column]: [i64; 2]) -> usize {
        let [rows, columns] = &self.classes;
        rows[row as usize] * self.limits.columns + columns[column as usize]
    }

    /// Stores an element.
    pub fn store(&mut self, [row, column]: [i64; 2], value: f64) -> Result<(), String> {
        let [rows, columns] = self.extents;
        if row < 0 || row >= rows || column < 0 || column >= columns {
            let name = self.label();
            return Err(format!(
                "{name}({row},{column}) is outside of ({rows},{columns})"
            ));
        }
        let at = row as usize * columns as usize + column as usize;
        if std::mem::replace(&mut self.stored[at], true) {
            return Err(format!("{}({row},{column}) is stored twice", self.label()));
        }
        let pair = self.pair([row, column]);
        if !self.limits.written[pair] {
            return Err(format!(
                "{}({row},{column}) is stored, which the formula leaves as it was",
                self.label()
            ));
        }
        let [least, most, wanted] = self.limits.pairs[pair];
        if is_poison(value) {
            return Err(format!(
                "{}({row},{column}) gets what nothing was written to; the formula gives {wanted}",
                self.label()
            ));
        }
        // Of what rounding may have made anything of, NaN is one.
        let unknown = [least, most] == UNKNOWN;
        match (least..=most).contains(&value) || value.is_nan() && (wanted.is_nan() || unknown) {
            true => Ok(()),
            false => Err(format!(
                "{}({row},{column}) gets {value}; the formula gives {wanted}",
                self.label()
            )),
        }
    }

    /// What is never stored.
    pub fn at_end(&self) -> Result<(), String> {
        let place = |at: usize| [at as i64 / self.extents[1], at as i64 % self.extents[1]];
        let is_missing =
            |(at, stored): &(usize, &bool)| !**stored && self.limits.written[self.pair(place(*at))];
        let missing = self.stored.iter().enumerate().find(is_missing);
        match missing {
            None => Ok(()),
            Some((at, _)) => {
                let [row, column] = place(at);
                Err(format!("{}({row},{column}) is never stored", self.label()))
            }
        }
    }
}
