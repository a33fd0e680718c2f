//! The problems that kernels are run on, and what their formula gives on these.
//!
//! Inputs are small integers, drawn by the hash of an element's place. Along the output's modes
//! coordinates fall into classes, and those of one class have the same elements: the formula is
//! interpreted once for each pair of classes, and gives every element of the output.

use std::collections::BTreeMap;
use std::fmt;

use tilewright_formula::Formula;
use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};

use super::grid::Grid;
use crate::dtype::DType;
use crate::ir::tile::{Engine, Full, Kernel, Pipe};
use crate::plan::model::Plan;
use crate::plan::work::SUMMED;

/// Classes of coordinates along each mode of the output.
const CLASSES: usize = 16;
/// Inputs are integers up to this, which every element type holds.
const LARGEST: i64 = 8;
/// How far a problem reaches into the last tile.
const RAGGED: i64 = 5;
/// Bytes at which stores of boxes are cut.
pub(super) const GRANULE: i64 = 16;
/// Tiles along k of an output tile that several CTAs share.
const SHARED_TRIPS: i64 = 4;

/// A problem with its inputs and what is to be stored.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Extents of the work tile's modes: the output's two, and the summed one.
    pub extents: Vec<i64>,
    /// Names of these modes.
    modes: Vec<String>,
    /// Elements of the inputs, by operand; empty of the output.
    inputs: Vec<Grid>,
    /// The output.
    pub output: Output,
}

/// What is stored, and what should be.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Its name.
    name: String,
    /// Its number among the operands.
    pub operand: usize,
    /// Its extents.
    pub extents: [i64; 2],
    /// Classes of its rows and of its columns.
    classes: [Vec<usize>; 2],
    /// By classes: the least and the largest value that may be stored, and the formula's.
    limits: Vec<[f64; 3]>,
    /// Which elements are stored.
    stored: Vec<bool>,
}

/// Extents of the problems that a kernel is run on: one of whole and cut tiles, and one smaller
/// than a tile, whose rows end where boxes may be cut.
pub(super) fn extents(plan: &Plan, kernel: &Kernel) -> [Vec<i64>; 2] {
    let work = &kernel.work;
    let cluster = work.cluster().0.map(i64::from);
    let cut = |extent: i64| RAGGED.min(extent - 1).max(1);
    let part = |extent: i64| (extent / 4) | 1;
    let tile = |mode: usize| work.tile.get(mode).map_or(1, |(_, extent)| *extent);
    let [m, n] = [tile(0), tile(1)];
    // Two tiles along each mode, so that a persistent CTA has several: of a cluster of both modes,
    // all its tiles and those of a next one.
    let whole = match cluster {
        [rows, columns] if rows > 1 && columns > 1 => rows,
        _ => 1,
    };
    let large = [m * whole + cut(m), n + cut(n)];
    let output = plan.output().map_or(1, |output| output.dtype.bytes());
    let granule = (GRANULE / i64::from(output)).max(1);
    let small = [m / 2 + 1, (n / 2 / granule).max(1) * granule];
    let in_flight =
        |pipe: &&Pipe| matches!(pipe.full, Full::Bytes(_) | Full::Group(Engine::Copies));
    let slots = kernel.pipes.iter().filter(in_flight).map(|pipe| pipe.slots);
    let slots = i64::from(slots.max().unwrap_or(0));
    let tiles: i64 = (0..2)
        .map(|mode| (large[mode] as u64).div_ceil((tile(mode) * cluster[mode]) as u64) as i64)
        .product();
    let each = if work.is_persistent() { tiles } else { 1 };
    let trips = match work.cuts_tiles() {
        true => SHARED_TRIPS,
        false => ((slots + each) / each).max(2),
    };
    [(large, trips), (small, 1)].map(|(output, trips)| {
        let summed = work.tile.iter().skip(SUMMED);
        let summed = summed.map(|(_, k)| (trips - 1) * k + part(*k));
        output.into_iter().chain(summed).collect()
    })
}

impl Problem {
    /// A problem of those extents.
    pub fn new(plan: &Plan, formula: &Formula, extents: Vec<i64>) -> Result<Problem, String> {
        let modes = &plan.modes;
        let number = plan
            .operands
            .iter()
            .position(|operand| operand.is_written());
        let number = number.ok_or("no operand is written")?;
        let output = &plan.operands[number];
        let extent = |mode: &str| {
            let at = modes.iter().position(|known| known == mode);
            let extent = at.and_then(|at| extents.get(at).copied());
            extent.ok_or_else(|| format!("no tile cuts the mode {mode}"))
        };
        let class = |mode: &str, at: usize| {
            let of_output = output.axes.iter().any(|axis| axis.mode == mode);
            match of_output && extent(mode).is_ok_and(|extent| extent > CLASSES as i64) {
                true => hashed([0, at, 0]) as usize % CLASSES,
                false => at,
            }
        };
        let mut inputs = Vec::new();
        for (number, operand) in plan.operands.iter().enumerate() {
            let [rows, columns] = axes(operand)?;
            let shape = [extent(rows)? as usize, extent(columns)? as usize];
            let unsigned = operand.dtype == DType::U8;
            let mut data = Vec::with_capacity(shape[0] * shape[1]);
            let columns: Vec<_> = (0..shape[1]).map(|at| class(columns, at)).collect();
            for row in 0..shape[0] {
                let row = class(rows, row);
                let draw = |column: &usize| drawn([number, row, *column], unsigned);
                data.extend(columns.iter().map(draw));
            }
            inputs.push(Grid {
                extents: shape,
                data,
            });
        }
        let [rows, columns] = axes(output)?;
        let shape = [extent(rows)?, extent(columns)?];
        let classes: [Vec<usize>; 2] = [(rows, shape[0]), (columns, shape[1])]
            .map(|(mode, extent)| (0..extent as usize).map(|at| class(mode, at)).collect());
        inputs[number] = Grid::default();
        let mut problem = Problem {
            output: Output {
                name: output.name.clone(),
                operand: number,
                extents: shape,
                classes,
                limits: Vec::new(),
                stored: vec![false; (shape[0] * shape[1]) as usize],
            },
            modes: modes.clone(),
            inputs,
            extents,
        };
        problem.output.limits = problem.limits(plan, formula)?;
        Ok(problem)
    }

    /// What may be stored, by the classes of its coordinates.
    fn limits(&self, plan: &Plan, formula: &Formula) -> Result<Vec<[f64; 3]>, String> {
        let mut given = Inputs::default();
        for (mode, extent) in self.modes.iter().zip(&self.extents) {
            given = given.size(mode, *extent);
        }
        for (operand, grid) in plan.operands.iter().zip(&self.inputs) {
            if !operand.is_written() {
                let strides = [grid.extents[1] as i64, 1];
                given = given.tensor(&operand.name, Tensor::floats(&grid.data, &strides));
            }
        }
        let evaluator = Evaluator::new(formula, &given, &Fma).map_err(|error| error.to_string())?;
        let first = |axis: usize, class: usize| {
            let at = self.output.classes[axis]
                .iter()
                .position(|one| *one == class);
            at.map(|at| at as i64)
        };
        let mut limits = vec![[f64::NAN; 3]; CLASSES * CLASSES];
        let (mut places, mut at) = (Vec::new(), Vec::new());
        for class in 0..CLASSES * CLASSES {
            let of = [first(0, class / CLASSES), first(1, class % CLASSES)];
            if let [Some(row), Some(column)] = of {
                places.push(class);
                at.push([row, column]);
            }
        }
        let at: Vec<&[i64]> = at.iter().map(|at| at.as_slice()).collect();
        let name = &self.output.name;
        let elements = evaluator
            .elements(name, &at)
            .map_err(|error| error.to_string())?;
        let dtype = plan.operands[self.output.operand].dtype;
        for (place, element) in places.into_iter().zip(elements) {
            let bounded = tilewright_formula::interpret::Bounded {
                value: element.value,
                error: element.error,
            };
            let [least, most] = bounded.stored(dtype);
            limits[place] = [least, most, bounded.value];
        }
        Ok(limits)
    }

    /// Elements of the input of that number.
    pub fn input(&self, operand: usize) -> Result<&Grid, String> {
        let input = self
            .inputs
            .get(operand)
            .filter(|_| operand != self.output.operand);
        input.ok_or_else(|| "loads what is no input".into())
    }

    /// Extents by mode.
    pub fn by_mode(&self) -> BTreeMap<String, i64> {
        let modes = self.modes.iter().cloned();
        modes.zip(self.extents.iter().copied()).collect()
    }

    /// Elements of the output.
    pub fn elements(&self) -> u64 {
        self.output.stored.len() as u64
    }
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
        let class = self.classes[0][row as usize] * CLASSES + self.classes[1][column as usize];
        let [least, most, wanted] = self.limits[class];
        if value.is_nan() {
            return Err(format!(
                "{name}({row},{column}) gets what nothing was written to; \
                 the formula gives {wanted}"
            ));
        }
        match (least..=most).contains(&value) {
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

/// The two modes of an operand.
fn axes(operand: &crate::spec::model::Operand) -> Result<[&str; 2], String> {
    match operand.axes.as_slice() {
        [rows, columns] => Ok([&rows.mode, &columns.mode]),
        axes => Err(format!(
            "{} has {} axes; matrices have two",
            operand.name,
            axes.len()
        )),
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
