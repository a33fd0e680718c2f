//! The problems that kernels are run on, and what their formula gives on these.
//!
//! Inputs are small integers, drawn by the hash of an element's place. Along the output's modes
//! coordinates fall into classes, and those of one class have the same elements: the formula is
//! interpreted once for each pair of classes, and gives every element of the output.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::{Expr, ExprKind, Formula, Scalar, ValueType};

use super::draw::{drawn, hashed};
use super::grid::Grid;
use super::output::{Limits, Matrix, Output};
use super::sizes::{Extents, point};
use super::tables::{self, Table};
use super::terms::Terms;
use crate::plan::data::model::Plan;
use crate::spec::keys::model::{Axis, Operand, OperandId};

/// Classes of coordinates along each mode of the output.
const CLASSES: usize = 16;

/// A problem with its inputs and what is to be stored.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// Its extents.
    pub extents: Extents,
    /// Names of its modes: the tile's, then the outer ones.
    modes: Vec<String>,
    /// Numbers of the outer modes that run along axes of an operand, by operand.
    outer: Vec<Vec<usize>>,
    /// Extents of the axes that tables look into, by operand; 1 of those without.
    looked_into: Vec<i64>,
    /// The tables.
    tables: Vec<Table>,
    /// Elements of the inputs, by operand and place; none of outputs.
    pub(super) inputs: Vec<Vec<Grid>>,
    /// Scalars, in the order of the signature.
    pub scalars: Vec<f64>,
    /// The outputs.
    pub outputs: Vec<Output>,
}

/// The axes of an operand that a tile is at one coordinate of: along outer modes, then the one
/// that tells planes apart.
fn along_places<'o>(plan: &Plan, operand: &'o Operand) -> impl Iterator<Item = (usize, &'o Axis)> {
    let number = plan.work.at_one().len();
    let plane = plan.plane_axis(operand).into_iter();
    (plan.outer_of(operand)).chain(plane.map(move |axis| (number, axis)))
}

impl Problem {
    /// A problem of those extents.
    pub fn new(plan: &Plan, terms: &Terms, sizes: Extents) -> Result<Problem, String> {
        let formula = &terms.formula;
        let extents = &sizes.tile;
        let looked_into = plan.computes.looked_into().into_iter().map(str::to_owned);
        let planes = plan.work.unrolled().into_iter();
        let modes = plan.modes().map(str::to_owned).chain(plan.work.at_one());
        let modes = modes
            .chain(planes.map(|one| one.mode.clone()))
            .chain(looked_into);
        let modes: Vec<String> = modes.collect();
        let extent = |name: &str| {
            let at = modes.iter().position(|mode| mode == name)?;
            sizes.all().nth(at)
        };
        let tables = tables::of(plan, extent);
        let along = |place: Option<usize>| match place {
            Some(mode) => (extents.get(mode).copied()).ok_or("no tile cuts a mode"),
            None => Ok(1),
        };
        let classed = classed(plan, terms, &tables);
        let large = |mode: &usize| {
            extents
                .get(*mode)
                .is_some_and(|extent| *extent > CLASSES as i64)
        };
        let class = |place: Option<usize>, at: usize| match place {
            Some(mode) if classed.contains(&mode) && large(&mode) => {
                hashed([0, at, 0]) as usize % CLASSES
            }
            _ => at,
        };
        let outer = terms.operands.iter().map(|operand| {
            let outer = along_places(plan, operand);
            outer.map(|(mode, _)| mode).collect::<Vec<_>>()
        });
        let looked_into = terms.operands.iter().map(|operand| {
            let axis = operand.looked_into().map(|axis| operand.axis(axis));
            let extent = axis.map_or(Some(1), |axis| extent(&axis.mode));
            extent.ok_or("an axis of no extent")
        });
        let looked_into = looked_into.collect::<Result<_, _>>()?;
        let mut problem = Problem {
            scalars: scalars(formula),
            outer: outer.collect(),
            looked_into,
            tables,
            modes,
            inputs: Vec::new(),
            outputs: Vec::new(),
            extents: sizes.clone(),
        };
        for operand in &terms.operands {
            let places = terms.own_places(plan, operand);
            let shape = [along(places[0])?, along(places[1])?];
            let classes = [0, 1].map(|axis| {
                let all = 0..shape[axis] as usize;
                all.map(|at| class(places[axis], at)).collect::<Vec<_>>()
            });
            if operand.is_written() {
                let outputs = problem.unwritten(plan, terms, operand, (shape, &classes));
                problem.outputs.extend(outputs);
                problem.inputs.push(Vec::new());
            } else {
                let grids = problem.drawn(plan, operand, &classes);
                problem.inputs.push(grids);
            }
        }
        problem.limits(plan, terms)?;
        Ok(problem)
    }

    /// Elements of an input at each of its places, by classes of rows and columns.
    fn drawn(&self, plan: &Plan, operand: &Operand, classes: &[Vec<usize>; 2]) -> Vec<Grid> {
        let (id, dtype) = (operand.id, operand.dtype);
        let [rows, columns] = classes;
        let table = self.tables.iter().find(|table| table.operand == id);
        if let Some(table) = table.filter(|table| table.is_distinct) {
            let extents = [rows.len(), columns.len()];
            let all = table.distinct(self.count(id) * extents[0] * extents[1]);
            let grid = |data: &[f64]| Grid {
                extents,
                data: data.to_vec(),
            };
            return all
                .chunks((extents[0] * extents[1]).max(1))
                .map(grid)
                .collect();
        }
        let at = |place: usize| {
            let number = id.0 + place * plan.operands.len();
            let draw = |row: &usize, column: &usize| {
                let at = [number, *row, *column];
                table.map_or_else(|| drawn(at, dtype), |table| table.entry(hashed(at)))
            };
            let line = |row| columns.iter().map(move |column| draw(row, column));
            Grid {
                extents: [rows.len(), columns.len()],
                data: rows.iter().flat_map(line).collect(),
            }
        };
        (0..self.count(id)).map(at).collect()
    }

    /// An output at each of its places, of which nothing is stored.
    fn unwritten(
        &self,
        plan: &Plan,
        terms: &Terms,
        operand: &Operand,
        (extents, classes): ([i64; 2], &[Vec<usize>; 2]),
    ) -> Vec<Output> {
        let id = operand.id;
        let axes = operand.formula_axes();
        let named = |name: Option<&str>| {
            let is = |axis: &&Axis| axis.table.is_none() && Some(axis.mode.as_str()) == name;
            axes.iter().position(is)
        };
        let looked_into = axes.iter().position(|axis| axis.table.is_some());
        let at = |place: usize| {
            let mut first = vec![0; axes.len()];
            if let Some(slot) = looked_into.and_then(|axis| first.get_mut(axis)) {
                *slot = place as i64 % self.looked_into[id.0];
            }
            for ((_, axis), at) in plan.outer_of(operand).zip(self.point(id, place)) {
                if let Some(slot) = named(Some(axis.mode.as_str())) {
                    first[slot] = at;
                }
            }
            let along = |mode: Option<usize>| named(plan.mode(mode?));
            Output {
                name: operand.name.clone(),
                slice: Matrix { operand: id, place },
                first,
                extents,
                axes: terms.own_places(plan, operand).map(along),
                classes: classes.clone(),
                limits: Limits::default(),
                stored: vec![false; (extents[0] * extents[1]) as usize],
            }
        };
        (0..self.count(id)).map(at).collect()
    }

    /// Finds what may be stored, by the classes of its coordinates.
    fn limits(&mut self, plan: &Plan, terms: &Terms) -> Result<(), String> {
        let formula = &terms.formula;
        let mut given = Inputs::default();
        for (mode, extent) in self.sizes() {
            given = given.size(mode, extent);
        }
        for (scalar, value) in formula.signature.scalars.iter().zip(&self.scalars) {
            given = given.scalar(&scalar.name, *value);
        }
        // What a tensor is of lies in a piece.
        let whole: Vec<Vec<f64>> = (self.inputs.iter())
            .map(|grids| grids.iter().flat_map(|grid| &grid.data).copied().collect())
            .collect();
        for (number, operand) in plan.operands.iter().enumerate() {
            let grids = self.inputs.get(number).map_or(&[][..], Vec::as_slice);
            if let [grid, ..] = grids {
                // Grids lie along the coordinates of tiles, operands have their own order of axes.
                let places = plan.own_places(operand);
                let row = grid.extents[1] as i64;
                let mut steps = HashMap::new();
                let entry = grid.data.len() as i64;
                let mut step = entry * self.looked_into[number];
                let outer: Vec<(usize, &Axis)> = along_places(plan, operand).collect();
                for (mode, axis) in outer.iter().rev() {
                    steps.insert(&axis.mode, step);
                    step *= self.places_along(*mode);
                }
                let stride = |axis: &&Axis| {
                    if axis.table.is_some() {
                        return Some(entry);
                    }
                    let mode = plan.dim(&axis.mode);
                    match (mode, steps.get(&axis.mode)) {
                        (Some(_), _) if mode == places[0] => Some(row),
                        (Some(_), _) => Some(1),
                        (None, step) => step.copied(),
                    }
                };
                let axes = operand.formula_axes();
                let strides: Vec<i64> = axes.iter().filter_map(stride).collect();
                given = given.tensor(&operand.name, Tensor::floats(&whole[number], &strides));
            }
        }
        let evaluator = Evaluator::new(formula, &given, &Fma).map_err(|error| error.to_string())?;
        for output in &mut self.outputs {
            let dtype = plan.operand(output.slice.operand).dtype;
            output.limits = output.limits(&evaluator, dtype)?;
        }
        Ok(())
    }

    /// The extent of an outer mode, or behind the last of the one that tells planes apart.
    fn places_along(&self, mode: usize) -> i64 {
        self.extents.of_places().nth(mode).unwrap_or(1)
    }

    /// Places of an operand along its outer modes, its planes, and what a table looks into.
    fn count(&self, operand: OperandId) -> usize {
        let along = self.outer[operand.0].iter();
        let places = along.map(|mode| self.places_along(*mode)).product::<i64>();
        (places * self.looked_into[operand.0]) as usize
    }

    /// Coordinates of a place of an operand along its outer modes.
    fn point(&self, operand: OperandId, place: usize) -> Vec<i64> {
        let along = self.outer[operand.0].iter();
        let extents: Vec<i64> = along.map(|mode| self.places_along(*mode)).collect();
        point(&extents, place as i64 / self.looked_into[operand.0])
    }

    /// What an operand has where an entry of a table says; none where it lies outside.
    pub fn looked_up(&self, slice: Matrix, entry: f64) -> Option<Matrix> {
        let entry = entry as i64;
        let inside = (0..*self.looked_into.get(slice.operand.0)?).contains(&entry);
        inside.then(|| Matrix {
            place: slice.place + entry as usize,
            ..slice
        })
    }

    /// What an operand has at those coordinates of the outer modes, at the first
    /// entry of a table where one looks into it.
    pub fn slice(&self, operand: OperandId, outer: &[i64]) -> Matrix {
        let own = self.outer.get(operand.0).into_iter().flatten();
        let place = own.fold(0, |place, mode| {
            // The first plane, where it is not said.
            place * self.places_along(*mode) + outer.get(*mode).copied().unwrap_or(0)
        });
        let entries = self.looked_into.get(operand.0).copied().unwrap_or(1);
        Matrix {
            operand,
            place: (place * entries) as usize,
        }
    }

    /// Elements of an input.
    pub fn input(&self, slice: Matrix) -> Result<&Grid, String> {
        let places = self.inputs.get(slice.operand.0);
        let input = places.and_then(|places| places.get(slice.place));
        input.ok_or_else(|| "loads what is no input".into())
    }

    /// An output.
    pub fn output(&mut self, slice: Matrix) -> Result<&mut Output, String> {
        let mut outputs = self.outputs.iter_mut();
        let output = outputs.find(|one| one.slice == slice);
        output.ok_or_else(|| "stores into an input".into())
    }

    /// The modes with their extents.
    fn sizes(&self) -> impl Iterator<Item = (&String, i64)> {
        self.modes.iter().zip(self.extents.all())
    }

    /// The extent of the mode of that name.
    pub fn extent(&self, mode: &str) -> Option<i64> {
        let mut sizes = self.sizes();
        Some(sizes.find(|(known, _)| *known == mode)?.1)
    }

    /// Extents by mode.
    pub fn by_mode(&self) -> BTreeMap<String, i64> {
        let sizes = self.sizes();
        sizes.map(|(mode, extent)| (mode.clone(), extent)).collect()
    }

    /// Elements of the outputs.
    pub fn elements(&self) -> u64 {
        let all = self.outputs.iter();
        all.map(|output| output.stored.len() as u64).sum()
    }
}

/// Modes of which coordinates of one class have the same elements: those of outputs, unless
/// coordinates are values, and but for those of distinct entries or of folds of a product.
fn classed(plan: &Plan, terms: &Terms, tables: &[Table]) -> Vec<usize> {
    if has_places(&terms.formula) {
        return Vec::new();
    }
    let distinct = tables.iter().filter(|table| table.is_distinct);
    let distinct = distinct.flat_map(|table| plan.modes_of(plan.operand(table.operand)));
    let folded = plan.folds().filter(|_| plan.mma.is_some());
    let distinct: Vec<usize> = distinct.chain(folded.map(|fold| fold.over)).collect();
    let outputs = terms.operands.iter().filter(|one| one.is_written());
    let modes = outputs.flat_map(|output| plan.modes_of(output));
    modes.filter(|mode| !distinct.contains(mode)).collect()
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
        let modes: Vec<String> = (self.sizes())
            .map(|(mode, extent)| format!("{mode}={extent}"))
            .collect();
        f.write_str(&modes.join(" "))
    }
}
