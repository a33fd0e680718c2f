//! Planes: products of one left factor with several right ones, which an epilogue puts together
//! element by element, such as the gate and the up projection of SwiGLU.
//!
//! Comes in: a formula and its form. Goes out: the constant mode of the columns that tells the
//! products apart, where there is one.

use tilewright_formula::form::{Contraction, Form};
use tilewright_formula::{Extent, Formula};

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
        let constant = |mode: &usize| {
            let facts = formula.modes.get(*mode)?;
            match facts.extent {
                Extent::Constant(count) if count > 1 => Some(Planes {
                    mode: facts.name.clone(),
                    count,
                }),
                _ => None,
            }
        };
        let mut planes = found.columns.iter().filter_map(constant);
        let first = planes.next()?;
        (planes.next().is_none() && columns(formula, found).len() == 1).then_some(first)
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

/// The columns whose extent the problem says.
pub(super) fn columns(formula: &Formula, found: &Contraction) -> Vec<usize> {
    let named = |mode: &&usize| {
        let facts = formula.modes.get(**mode);
        facts.is_some_and(|facts| facts.extent == Extent::Named)
    };
    found.columns.iter().filter(named).copied().collect()
}
