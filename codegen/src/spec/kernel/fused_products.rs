//! Planes: products of one left factor with several right ones, which an epilogue puts together
//! element by element, such as the gate and the up projection of SwiGLU.
//!
//! Comes in: a formula and its form. Goes out: the constant mode of the columns that tells the
//! products apart, where there is one; and of the columns beside it the mode that tiles have, and
//! that of blocks, where columns are blocks of a constant number each.

use tilewright_formula::form::{Contraction, Form};
use tilewright_formula::{Extent, Formula, Source};

/// A mode of constant extent among the columns of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// Its name.
    pub mode: String,
    /// Its extent.
    pub count: i64,
}

impl Planes {
    /// The planes of a formula: none where its columns are no mode of the problem beside a constant
    /// one.
    pub fn of(formula: &Formula, form: &Form) -> Option<Planes> {
        let Form::Contraction(found) = form else {
            return None;
        };
        let columns = Columns::of(formula, found);
        let plane = |mode: &usize| {
            let facts = formula.modes.get(*mode)?;
            let count = constant(formula, *mode)?;
            (count > 1 && !columns.all.contains(mode)).then(|| Planes {
                mode: facts.name.clone(),
                count,
            })
        };
        let mut planes = found.columns.iter().filter_map(plane);
        let first = planes.next()?;
        (planes.next().is_none() && columns.tile.is_some()).then_some(first)
    }
}

impl Planes {
    /// What is called so in the plane of that number: by a name that nothing of the formula has.
    pub fn name(formula: &Formula, name: &str, plane: i64) -> String {
        let operands = formula.signature.operands.iter().map(|one| &one.name);
        let locals = formula.locals.iter().map(|one| &one.name);
        let known: Vec<&String> = operands.chain(locals).collect();
        let mut between = "_".to_owned();
        loop {
            let own = format!("{name}{between}{plane}");
            if !known.contains(&&own) {
                return own;
            }
            between.push('_');
        }
    }
}

/// The columns of a product, but those that tell planes apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The mode that tiles have columns along; none where it is not one of two at most.
    pub tile: Option<usize>,
    /// The mode of blocks of columns: a tile has the columns of one of them, all that there are.
    pub blocks: Option<usize>,
    /// All of them.
    pub all: Vec<usize>,
}

/// Fewest columns of a block: what products side by side are told apart by is a shorter mode.
pub const LEAST_BLOCK: i64 = 8;

impl Columns {
    /// The columns of a product.
    pub fn of(formula: &Formula, found: &Contraction) -> Columns {
        let all: Vec<usize> = columns(formula, found);
        let constant = |mode: &&usize| constant(formula, **mode).is_some();
        let (short, long): (Vec<usize>, Vec<usize>) = all.iter().partition(constant);
        let (tile, blocks) = match (all.as_slice(), short.as_slice(), long.as_slice()) {
            ([one], ..) => (Some(*one), None),
            (_, [one], [blocks]) => (Some(*one), Some(*blocks)),
            _ => (None, None),
        };
        Columns { tile, blocks, all }
    }
}

/// The name of the mode of a product's blocks of columns.
pub(in crate::spec) fn blocks(formula: &Formula, form: &Form) -> Option<String> {
    let Form::Contraction(found) = form else {
        return None;
    };
    let mode = Columns::of(formula, found).blocks?;
    Some(formula.modes.get(mode)?.name.clone())
}

/// The extent of a mode that has the same one in every problem.
fn constant(formula: &Formula, mode: usize) -> Option<i64> {
    match formula.modes.get(mode)?.extent {
        Extent::Constant(extent) => Some(extent),
        _ => None,
    }
}

/// The columns that tell no planes apart: those whose extent the problem says, and constant ones
/// that results have.
fn columns(formula: &Formula, found: &Contraction) -> Vec<usize> {
    let is_of_results = |mode: usize| {
        let mut statements = formula.statements.iter();
        statements.any(|one| matches!(one.target, Source::Operand(_)) && one.loops.contains(&mode))
    };
    let is_column = |mode: &usize| match formula.modes.get(*mode).map(|facts| &facts.extent) {
        Some(Extent::Named) => true,
        Some(Extent::Constant(extent)) => *extent >= LEAST_BLOCK && is_of_results(*mode),
        _ => false,
    };
    found.columns.iter().copied().filter(is_column).collect()
}

/// Names of the modes that a positional `cta_tile` cuts: of a product, whichever output is the
/// first, rows, columns and what is summed.
pub(in crate::spec) fn tile_of(formula: &Formula, form: &Form) -> Vec<String> {
    let modes = match form {
        Form::Contraction(found) => {
            let column = Columns::of(formula, found).tile;
            match (found.rows.as_slice(), column, found.summed.as_slice()) {
                ([row], Some(column), [summed]) => vec![*row, column, *summed],
                _ => formula.tile_modes(),
            }
        }
        Form::Rows(_) | Form::Chain(_) => formula.tile_modes(),
    };
    let modes = modes.into_iter();
    let modes = modes.filter_map(|mode| formula.modes.get(mode));
    modes.map(|mode| mode.name.clone()).collect()
}
