//! What a tile has of each mode of a product.
//!
//! Comes in: a formula and its form. Goes out: rows and columns along one mode each, of the others
//! one coordinate: batches, and blocks of columns where these are of a constant number each. And
//! planes: the constant mode of the columns that tells apart products of one left factor with
//! several right ones, which an epilogue puts together element by element, such as the gate and the
//! up projection of SwiGLU.

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
    /// The planes of a formula, where it has several products side by side.
    pub fn of(formula: &Formula, form: &Form) -> Option<Planes> {
        let mode = mode_of(formula, form, |modes| modes.plane)?;
        let count = formula.constant_of(&mode)?;
        Some(Planes { mode, count })
    }

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

/// The modes of a product by what a tile has of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductModes {
    /// The mode that tiles have rows along; none where it is not known which.
    pub row: Option<usize>,
    /// The mode that tiles have columns along; none where it is not known which.
    pub column: Option<usize>,
    /// The mode of blocks of columns: a tile has the columns of one of them, all that there are.
    pub blocks: Option<usize>,
    /// Modes at each coordinate of which there is a product of its own, in the order of the
    /// results: those of both factors, and of several rows or columns all but the last.
    pub batch: Vec<usize>,
    /// The mode that tells planes apart: the only constant one of the left columns.
    pub plane: Option<usize>,
    /// All columns, but that of planes.
    pub columns: Vec<usize>,
    /// The mode of the parts that a sum is made of, each a product of its own, where there is one.
    pub part: Option<usize>,
}

/// Fewest columns of a block: what products side by side are told apart by is a shorter mode.
pub const LEAST_BLOCK: i64 = 8;

impl ProductModes {
    /// Those of a product.
    pub fn of(formula: &Formula, found: &Contraction) -> ProductModes {
        let columns: Vec<usize> = columns(formula, found);
        let is_constant = |mode: &&usize| formula.constant(**mode).is_some();
        let named = |mode: &usize| {
            let facts = formula.modes.get(*mode);
            facts.is_some_and(|facts| facts.extent == Extent::Named)
        };
        let (row, of_rows) = match found.rows.as_slice() {
            [one] => (Some(*one), &[][..]),
            [others @ .., last] if found.rows.iter().all(named) => (Some(*last), others),
            _ => (None, &[][..]),
        };
        let (short, long): (Vec<usize>, Vec<usize>) = columns.iter().partition(is_constant);
        let (column, blocks, of_columns) = match (short.as_slice(), long.as_slice()) {
            ([one], []) => (Some(*one), None, &[][..]),
            ([one], [others @ .., last]) => (Some(*one), Some(*last), others),
            ([], [others @ .., last]) => (Some(*last), None, others),
            _ => (None, None, &[][..]),
        };
        // Parts of a sum are no batches.
        let of_parts = found.parts.as_ref().map(|parts| parts.sum.modes.as_slice());
        let of_parts = of_parts.unwrap_or_default();
        let both = found.batch.iter().filter(|mode| !of_parts.contains(mode));
        let mut batch: Vec<usize> = both.chain(of_rows).chain(of_columns).copied().collect();
        let results = found.outputs.iter();
        let results = results.flat_map(|at| formula.axis_modes(Source::Operand(*at)));
        let results: Vec<usize> = results.flatten().collect();
        batch.sort_by_key(|mode| results.iter().position(|one| one == mode));
        let tells = |mode: &usize| {
            let is_short = formula.constant(*mode).is_some_and(|count| count > 1);
            is_short && !columns.contains(mode)
        };
        let mut planes = found.columns.iter().copied().filter(tells);
        let plane = planes.next().filter(|_| column.is_some());
        ProductModes {
            row,
            column,
            blocks,
            batch,
            plane: plane.filter(|_| planes.next().is_none()),
            columns,
            part: match of_parts {
                [part] => Some(*part),
                _ => None,
            },
        }
    }

    /// The names of the modes that a tile has one coordinate along: of batches, then of blocks.
    pub(in crate::spec) fn apart(&self, formula: &Formula) -> Vec<String> {
        let modes = self.batch.iter().chain(&self.blocks);
        let modes = modes.filter_map(|mode| formula.modes.get(*mode));
        modes.map(|mode| mode.name.clone()).collect()
    }
}

/// The names of the modes that a tile of a product has one coordinate along.
pub(in crate::spec) fn apart(formula: &Formula, form: &Form) -> Vec<String> {
    match form {
        Form::Contraction(found) => ProductModes::of(formula, found).apart(formula),
        Form::Rows(_) | Form::Chain(_) => Vec::new(),
    }
}

/// The name of a mode that a product may have.
pub(in crate::spec) fn mode_of(
    formula: &Formula,
    form: &Form,
    which: impl FnOnce(ProductModes) -> Option<usize>,
) -> Option<String> {
    let Form::Contraction(found) = form else {
        return None;
    };
    let mode = which(ProductModes::of(formula, found))?;
    Some(formula.modes.get(mode)?.name.clone())
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
            let ProductModes { row, column, .. } = ProductModes::of(formula, found);
            match (row, column, found.summed.as_slice()) {
                (Some(row), Some(column), [summed]) => vec![row, column, *summed],
                _ => formula.tile_modes(),
            }
        }
        Form::Rows(_) | Form::Chain(_) => formula.tile_modes(),
    };
    let modes = modes.into_iter();
    let modes = modes.filter_map(|mode| formula.modes.get(mode));
    modes.map(|mode| mode.name.clone()).collect()
}
