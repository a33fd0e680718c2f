//! The problems that kernels are run on, and what their formula gives on these.
//!
//! Inputs are small integers, drawn by the hash of an element's place. Along the output's modes
//! coordinates fall into classes, and those of one class have the same elements: the formula is
//! interpreted once for each pair of classes, and gives every element of the output.

use std::collections::BTreeMap;
use std::fmt;

use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::{Expr, ExprKind, Formula, Scalar, ValueType};

use super::grid::{Grid, is_poison};
use crate::dtype::DType;
use crate::plan::model::Plan;
use crate::spec::model::Axis;

/// Classes of coordinates along each mode of the output.
const CLASSES: usize = 16;
/// Inputs are integers up to this, which every element type holds.
const LARGEST: i64 = 8;
/// Bytes at which stores of boxes are cut.
pub(super) const GRANULE: i64 = 16;

/// A problem with its inputs and what is to be stored.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Extents of the work tile's modes: the output's two, and the summed one.
    pub extents: Vec<i64>,
    /// Names of these modes.
    modes: Vec<String>,
    /// Elements of the inputs, by operand; empty of outputs.
    inputs: Vec<Grid>,
    /// Scalars, in the order of the signature.
    pub scalars: Vec<f64>,
    /// The outputs.
    pub outputs: Vec<Output>,
}

/// What is stored, and what should be.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Its name.
    name: String,
    /// Its number among the operands.
    operand: usize,
    /// Its extents, along the coordinates of its tile.
    pub extents: [i64; 2],
    /// Which of its axes runs along each of these; none along one of a single element.
    axes: [Option<usize>; 2],
    /// Classes of its rows and of its columns.
    classes: [Vec<usize>; 2],
    /// What may be stored.
    limits: Limits,
    /// Which elements are stored.
    stored: Vec<bool>,
}

/// What may be stored of the elements of each pair of classes.
#[derive(Clone, Debug, Default)]
struct Limits {
    /// Classes of columns.
    columns: usize,
    /// The least and the largest value that may be stored, and the formula's.
    pairs: Vec<[f64; 3]>,
}

impl Problem {
    /// A problem of those extents.
    pub fn new(plan: &Plan, formula: &Formula, extents: Vec<i64>) -> Result<Problem, String> {
        let modes = plan.modes.clone();
        let along = |place: Option<usize>| match place {
            Some(mode) => (extents.get(mode).copied()).ok_or("no tile cuts a mode"),
            None => Ok(1),
        };
        // Coordinates of one class have the same elements, unless they are values themselves.
        let has_places = has_places(formula);
        let of_outputs: Vec<usize> = (plan.operands.iter().filter(|one| one.is_written()))
            .flat_map(|output| plan.modes_of(output))
            .collect();
        let class = |place: Option<usize>, at: usize| match place {
            Some(mode) if of_outputs.contains(&mode) && !has_places => {
                match extents
                    .get(mode)
                    .is_some_and(|extent| *extent > CLASSES as i64)
                {
                    true => hashed([0, at, 0]) as usize % CLASSES,
                    false => at,
                }
            }
            _ => at,
        };
        let mut problem = Problem {
            scalars: scalars(formula),
            modes,
            inputs: Vec::new(),
            outputs: Vec::new(),
            extents: extents.clone(),
        };
        for (number, operand) in plan.operands.iter().enumerate() {
            let places = plan.places(operand);
            let shape = [along(places[0])?, along(places[1])?];
            let classes = [0, 1].map(|axis| {
                let all = 0..shape[axis] as usize;
                all.map(|at| class(places[axis], at)).collect::<Vec<_>>()
            });
            if operand.is_written() {
                let axes = operand.formula_axes();
                let axis = |mode: usize| {
                    let name = plan.modes.get(mode);
                    axes.iter().position(|axis| Some(&axis.mode) == name)
                };
                problem.inputs.push(Grid::default());
                problem.outputs.push(Output {
                    name: operand.name.clone(),
                    operand: number,
                    extents: shape,
                    axes: places.map(|place| place.and_then(axis)),
                    classes,
                    limits: Limits::default(),
                    stored: vec![false; (shape[0] * shape[1]) as usize],
                });
                continue;
            }
            let unsigned = operand.dtype == DType::U8;
            let mut data = Vec::with_capacity((shape[0] * shape[1]) as usize);
            for row in &classes[0] {
                let draw = |column: &usize| drawn([number, *row, *column], unsigned);
                data.extend(classes[1].iter().map(draw));
            }
            problem.inputs.push(Grid {
                extents: shape.map(|extent| extent as usize),
                data,
            });
        }
        problem.limits(plan, formula)?;
        Ok(problem)
    }

    /// Finds what may be stored, by the classes of its coordinates.
    fn limits(&mut self, plan: &Plan, formula: &Formula) -> Result<(), String> {
        let mut given = Inputs::default();
        for (mode, extent) in self.modes.iter().zip(&self.extents) {
            given = given.size(mode, *extent);
        }
        for (scalar, value) in formula.signature.scalars.iter().zip(&self.scalars) {
            given = given.scalar(&scalar.name, *value);
        }
        for (operand, grid) in plan.operands.iter().zip(&self.inputs) {
            if !operand.is_written() {
                // Grids lie along the coordinates of tiles, operands have their own order of axes.
                let places = plan.places(operand);
                let row = grid.extents[1] as i64;
                let stride = |mode: usize| match places[0] == Some(mode) {
                    true => row,
                    false => 1,
                };
                let mode = |axis: &&Axis| plan.modes.iter().position(|one| *one == axis.mode);
                let axes = operand.formula_axes();
                let strides = axes.iter().filter_map(mode).map(stride);
                let strides: Vec<i64> = strides.collect();
                given = given.tensor(&operand.name, Tensor::floats(&grid.data, &strides));
            }
        }
        let evaluator = Evaluator::new(formula, &given, &Fma).map_err(|error| error.to_string())?;
        for output in &mut self.outputs {
            let dtype = plan.operands[output.operand].dtype;
            output.limits = output.limits(&evaluator, dtype)?;
        }
        Ok(())
    }

    /// Elements of the input of that number.
    pub fn input(&self, operand: usize) -> Result<&Grid, String> {
        let is_written = self.outputs.iter().any(|one| one.operand == operand);
        let input = self.inputs.get(operand).filter(|_| !is_written);
        input.ok_or_else(|| "loads what is no input".into())
    }

    /// The output of that number among the operands.
    pub fn output(&mut self, operand: usize) -> Result<&mut Output, String> {
        let mut outputs = self.outputs.iter_mut();
        let output = outputs.find(|one| one.operand == operand);
        output.ok_or_else(|| "stores into an input".into())
    }

    /// The extent of the mode of that name.
    pub fn extent(&self, mode: &str) -> Option<i64> {
        let at = self.modes.iter().position(|known| known == mode)?;
        self.extents.get(at).copied()
    }

    /// Extents by mode.
    pub fn by_mode(&self) -> BTreeMap<String, i64> {
        let modes = self.modes.iter().cloned();
        modes.zip(self.extents.iter().copied()).collect()
    }

    /// Elements of the outputs.
    pub fn elements(&self) -> u64 {
        let all = self.outputs.iter();
        all.map(|output| output.stored.len() as u64).sum()
    }
}

/// Whether coordinates are values.
fn has_places(formula: &Formula) -> bool {
    let mut found = false;
    for statement in &formula.statements {
        let see = &mut |one: &Expr| found |= matches!(one.kind, ExprKind::Coordinate(_));
        statement.value.visit(see);
    }
    found
}

/// Values of scalars: quarters from one half up, whole numbers of integers.
fn scalars(formula: &Formula) -> Vec<f64> {
    let scalars = formula.signature.scalars.iter().enumerate();
    let value = |(at, scalar): (usize, &Scalar)| {
        let steps = (hashed([at, 0, 0]) % 7 + 2) as f64;
        match ValueType::of(scalar.dtype) {
            ValueType::S32 => steps,
            _ => steps / 4.0,
        }
    };
    scalars.map(value).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes = self.modes.iter().zip(&self.extents);
        let modes: Vec<String> = modes
            .map(|(mode, extent)| format!("{mode}={extent}"))
            .collect();
        f.write_str(&modes.join(" "))
    }
}

impl Output {
    /// What may be stored, by the classes of its coordinates.
    fn limits(&self, evaluator: &Evaluator<'_>, dtype: DType) -> Result<Limits, String> {
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
        let (mut places, mut at) = (Vec::new(), Vec::new());
        for place in 0..rows * columns {
            let here = [firsts[0][place / columns], firsts[1][place % columns]];
            let mut element = vec![0; self.axes.iter().flatten().count()];
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
            let bounded = tilewright_formula::interpret::Bounded {
                value: element.value,
                error: element.error,
            };
            let [least, most] = match element.error == f64::INFINITY {
                true => [f64::NEG_INFINITY, f64::INFINITY],
                false => bounded.stored(dtype),
            };
            pairs[place] = [least, most, bounded.value];
        }
        Ok(Limits { columns, pairs })
    }

    /// Stores an element.
    pub fn store(&mut self, [row, column]: [i64; 2], value: f64) -> Result<(), String> {
        let [rows, columns] = self.extents;
        let name = &self.name;
        if row < 0 || row >= rows || column < 0 || column >= columns {
            return Err(format!(
                "{name}({row},{column}) is outside of ({rows},{columns})"
            ));
        }
        let at = row as usize * columns as usize + column as usize;
        if std::mem::replace(&mut self.stored[at], true) {
            return Err(format!("{name}({row},{column}) is stored twice"));
        }
        let [row_class, column_class] = [
            self.classes[0][row as usize],
            self.classes[1][column as usize],
        ];
        let [least, most, wanted] =
            self.limits.pairs[row_class * self.limits.columns + column_class];
        if is_poison(value) {
            return Err(format!(
                "{name}({row},{column}) gets what nothing was written to; \
                 the formula gives {wanted}"
            ));
        }
        match (least..=most).contains(&value) || value.is_nan() && wanted.is_nan() {
            true => Ok(()),
            false => Err(format!(
                "{name}({row},{column}) gets {value}; the formula gives {wanted}"
            )),
        }
    }

    /// What is never stored.
    pub fn at_end(&self) -> Result<(), String> {
        let missing = self.stored.iter().position(|stored| !stored);
        match missing {
            None => Ok(()),
            Some(at) => {
                let at = at as i64;
                let [row, column] = [at / self.extents[1], at % self.extents[1]];
                Err(format!("{}({row},{column}) is never stored", self.name))
            }
        }
    }
}

fn drawn(place: [usize; 3], unsigned: bool) -> f64 {
    let spread = 2 * LARGEST as u64 + 1;
    let value = (hashed(place) % spread) as i64 - LARGEST;
    (if unsigned { value.abs() } else { value }) as f64
}

/// A number that tells little of the place (the finalizer of splitmix64).
fn hashed(place: [usize; 3]) -> u64 {
    let [a, b, c] = place.map(|part| part as u64 + 1);
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ b.wrapping_mul(0xbf58_476d_1ce4_e5b9)
        ^ c.wrapping_mul(0x94d0_49bb_1331_11eb);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
