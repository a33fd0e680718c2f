//! What the kernel of one file is made of: its operands with their roles and modes, and the modes
//! that its tiles cut. All of it follows from the formula and its form, also where the formula is
//! the default one of the kernel's word.

use std::sync::{Arc, OnceLock};

use tilewright_formula::form::{Contraction, Form, Recognized, recognize};
use tilewright_formula::syntax::{NodeKind, Tree, parse_what_can_be};
use tilewright_formula::{self as formula, Axis, DType, Formula, Signature, identity};

use super::forms::{FormKind, Role, TypeRule};
use super::operand::OperandId;
use crate::spec::kernel::product_modes::{self, ProductModes, tile_of};

/// What one kernel is made of.
#[derive(Clone, Debug)]
pub(in crate::spec) struct Shape {
    /// Value of the key `kernel`, folder of its specs and first part of their names.
    pub kernel: String,
    /// The form of its formula; of one that is refused, the form that has every key.
    pub form: FormKind,
    /// Operands in parameter order.
    pub operands: Vec<OperandShape>,
    /// Modes that a positional `cta_tile` cuts: those of the output, then those that are summed.
    pub tile: Vec<String>,
    /// Whether its formula is written; else it is the default one of its word.
    pub is_written: bool,
    /// Whether it is a product of two matrices, or a copy of one, and nothing else.
    pub is_plain: bool,
    /// The type that sums of products are held in.
    pub accumulator: Option<DType>,
    /// Whether the factors of its product are exchanged: A is the one of the columns that the
    /// formula has.
    pub is_exchanged: bool,
    /// The formula as it stands in the file, with its form, its factors exchanged where they are;
    /// none where it is refused.
    pub formula: Option<Arc<(Formula, Recognized)>>,
}

/// One operand of a kernel.
#[derive(Clone, Debug)]
pub(in crate::spec) struct OperandShape {
    /// Its name.
    pub name: String,
    /// What it is to the kernel.
    pub role: Role,
    /// Its modes in the order of its layout.
    pub modes: Vec<String>,
    /// The table that looks into each of its axes; none where there are no more.
    pub tables: Vec<Option<OperandId>>,
    /// Whether the kernel has its two modes the other way round.
    pub transposed: bool,
    /// Which of its modes elements of a product's tile do not lie along: that of planes, then
    /// those of which there is one coordinate at a time.
    pub apart: Vec<usize>,
}

/// The shapes of default formulas, in the order of messages.
pub(in crate::spec) fn defaults() -> &'static [Shape] {
    static DEFAULTS: OnceLock<Vec<Shape>> = OnceLock::new();
    DEFAULTS.get_or_init(|| identity::default_words().filter_map(default).collect())
}

/// The shape of a word's default formula.
fn default(word: &str) -> Option<Shape> {
    let text = identity::default_text(word, None)?;
    let signature = Signature {
        operands: operands_of(&parse_what_can_be(&text).0),
        ..Signature::default()
    };
    let formula = formula::check(&text, &signature).ok()?;
    let recognized = recognize(&formula).ok()?;
    Some(Shape {
        is_written: false,
        ..Shape::of(word, formula, recognized, false)
    })
}

/// The form with its factors exchanged, where it is a product and they are.
pub(super) fn oriented(recognized: Recognized, is_exchanged: bool) -> Recognized {
    match recognized.form {
        Form::Contraction(found) if is_exchanged => Recognized {
            form: Form::Contraction(Box::new(found.exchanged())),
            ..recognized
        },
        _ => recognized,
    }
}

/// The default formula of that form, on one line; that of products where the form has none.
pub(crate) fn default_formula(form: FormKind) -> String {
    let of = |form| defaults().iter().find(|shape| shape.form == form);
    let shape = of(form).or_else(|| of(FormKind::Contraction));
    let found = shape.and_then(|shape| shape.formula.clone());
    found.map_or(String::new(), |found| {
        found.0.text.trim_end().replace('\n', "; ")
    })
}

/// What a formula reads and does not write, in order, then what it writes and does not read; with
/// the modes that they are read and written at.
fn operands_of(tree: &Tree) -> Vec<formula::Operand> {
    let name = |node: &formula::syntax::Node| match &node.kind {
        NodeKind::Name(name) => name.clone(),
        _ => String::new(),
    };
    let mut read: Vec<(String, Vec<String>)> = Vec::new();
    let mut written: Vec<(String, Vec<String>)> = Vec::new();
    for statement in &tree.statements {
        let mut rest = vec![&statement.value];
        while let Some(node) = rest.pop() {
            match &node.kind {
                NodeKind::Element { name: of, indices } => {
                    read.push((of.text.clone(), indices.iter().map(name).collect()));
                }
                NodeKind::Call { arguments, .. } => rest.extend(arguments.iter().rev()),
                NodeKind::Operation { operands, .. } => rest.extend(operands.iter().rev()),
                NodeKind::Fold { body, .. } => rest.push(body),
                NodeKind::Integer(_) | NodeKind::Real(_) | NodeKind::Name(_) => {}
            }
        }
        let modes = statement.indices.iter().map(name).collect();
        written.push((statement.target.text.clone(), modes));
    }
    let is_in =
        |list: &[(String, Vec<String>)], name: &String| list.iter().any(|(known, _)| known == name);
    let inputs = read.iter().filter(|(name, _)| !is_in(&written, name));
    let outputs = written.iter().filter(|(name, _)| !is_in(&read, name));
    let mut operands: Vec<formula::Operand> = Vec::new();
    for (name, modes) in inputs.chain(outputs) {
        if operands.iter().all(|known| known.name != *name) {
            let modes: Vec<&str> = modes.iter().map(String::as_str).collect();
            // A copy, and a sum of products, is of one form in every type.
            operands.push(formula::Operand::new(name, DType::F32, &modes));
        }
    }
    operands
}

/// One operand of a matrix product or copy: its number, its role and its modes in their order.
type Matrix<'f> = (usize, Role, [&'f str; 2]);

/// The matrices of a product of two or a copy of one, with the modes of its tiles, where a formula
/// is no more than that.
fn matrices<'f>(formula: &'f Formula, form: &Form) -> Option<(Vec<Matrix<'f>>, Vec<&'f str>)> {
    match form {
        Form::Contraction(found) => product(formula, found),
        Form::Rows(rows) => {
            let [source, output] = rows.copy?;
            let dtype = |at: usize| formula.dtype(formula::Source::Operand(at));
            // A cast computes.
            if dtype(source) != dtype(output) {
                return None;
            }
            let modes = matrix(formula, output)?;
            // A transpose keeps the source's order of modes, by which callers bind it.
            if matrix(formula, source)? != modes {
                return None;
            }
            let all = vec![(source, Role::Source, modes), (output, Role::Output, modes)];
            Some((all, modes.to_vec()))
        }
        Form::Chain(_) => None,
    }
}

/// The matrices of a product.
fn product<'f>(
    formula: &'f Formula,
    found: &Contraction,
) -> Option<(Vec<Matrix<'f>>, Vec<&'f str>)> {
    let [a, b, d] = found.plain?;
    if found.parts.is_some() || !found.prologue.is_empty() {
        return None;
    }
    let name = |modes: &[usize]| match modes {
        [mode] => formula.modes.get(*mode).map(|mode| mode.name.as_str()),
        _ => None,
    };
    let (m, n, k) = (
        name(&found.rows)?,
        name(&found.columns)?,
        name(&found.summed)?,
    );
    let all = vec![
        (a, Role::A, [m, k]),
        (b, Role::B, [n, k]),
        (d, Role::Output, [m, n]),
    ];
    Some((all, vec![m, n, k]))
}

/// The modes of an operand that has two, both extents of the problem.
fn matrix(formula: &Formula, operand: usize) -> Option<[&str; 2]> {
    let axes = &formula.signature.operands.get(operand)?.axes;
    let named = |axis: &Axis| match axis {
        Axis::Mode(mode) => formula.signature.modes.iter().all(|one| one.name != *mode),
        _ => false,
    };
    match axes.as_slice() {
        [first, second] if first != second && named(first) && named(second) => {
            Some([first.mode()?, second.mode()?])
        }
        _ => None,
    }
}

/// What an operand is in a formula that may be more than a product or a copy.
fn role(formula: &Formula, form: &Form, operand: usize) -> Role {
    if formula.role(operand) != formula::Role::Input {
        return Role::Output;
    }
    let factors = match form {
        Form::Rows(_) => return Role::Source,
        Form::Contraction(found) => &found.factors,
        Form::Chain(found) => &found.first.factors,
    };
    match factors.iter().position(|one| one.operand == Some(operand)) {
        Some(0) => Role::A,
        Some(_) => Role::B,
        None => Role::Extra,
    }
}

/// Whether a factor or a result of a product has its two modes the other way round than the kernel:
/// rows or columns before what is summed, rows before columns.
fn is_turned(formula: &Formula, form: &Form, operand: usize, modes: &[&String]) -> bool {
    let Form::Contraction(found) = form else {
        return false;
    };
    let name = |mode: usize| formula.modes.get(mode).map(|mode| mode.name.as_str());
    let ProductModes { row, column, .. } = ProductModes::of(formula, found);
    let summed = match found.summed.as_slice() {
        [mode] => name(*mode),
        _ => None,
    };
    let (m, n, k) = (row.and_then(name), column.and_then(name), summed);
    let wanted = match role(formula, form, operand) {
        Role::A => [m, k],
        Role::B => [n, k],
        Role::Output => [m, n],
        Role::Source | Role::Extra => return false,
    };
    match modes {
        [first, second] => wanted == [Some(second.as_str()), Some(first.as_str())],
        _ => false,
    }
}

/// The operands and the modes of the tile of a product of two matrices or a copy of one, where a
/// formula is no more than that.
fn plain(formula: &Formula, form: &Form) -> Option<(Vec<OperandShape>, Vec<String>)> {
    let (wanted, tile) = matrices(formula, form)?;
    let operands = formula.signature.operands.iter().enumerate();
    let operands = operands.map(|(at, operand)| {
        let (_, role, [first, second]) = wanted.iter().find(|(one, ..)| *one == at)?;
        let modes = matrix(formula, at)?;
        let transposed = modes == [*second, *first];
        let fits = transposed || modes == [*first, *second];
        fits.then(|| OperandShape {
            name: operand.name.clone(),
            role: *role,
            modes: modes.map(str::to_owned).to_vec(),
            tables: Vec::new(),
            transposed,
            apart: Vec::new(),
        })
    });
    let operands: Vec<OperandShape> = operands.collect::<Option<_>>()?;
    let tile = tile.into_iter().map(str::to_owned).collect();
    (operands.len() == wanted.len()).then_some((operands, tile))
}

impl Shape {
    /// The shape of a formula that is written.
    pub fn of(kernel: &str, formula: Formula, recognized: Recognized, is_exchanged: bool) -> Shape {
        let recognized = oriented(recognized, is_exchanged);
        let form = &recognized.form;
        let plain = plain(&formula, form);
        let is_plain = plain.is_some();
        let (operands, tile) = plain.unwrap_or_else(|| {
            let plane = product_modes::mode_of(&formula, form, |modes| modes.plane);
            let mut apart = product_modes::apart(&formula, form);
            apart.extend(product_modes::mode_of(&formula, form, |modes| modes.part));
            let operands = formula.signature.operands.iter().enumerate();
            let operands = operands.map(|(at, operand)| {
                let modes = operand.axes.iter().map(ToString::to_string);
                let modes: Vec<String> = modes.collect();
                let role = role(&formula, form, at);
                let tells = |mode: &String| plane.as_ref() == Some(mode);
                // Planes are those of the right factor: what else has the mode is refused.
                let of_planes = (0..modes.len()).filter(|at| role == Role::B && tells(&modes[*at]));
                let others = (0..modes.len()).filter(|at| apart.contains(&modes[*at]));
                let is_own = |mode: &&String| !tells(mode) && !apart.contains(mode);
                let own: Vec<&String> = modes.iter().filter(is_own).collect();
                let tables = formula.tables(at).into_iter();
                OperandShape {
                    name: operand.name.clone(),
                    role,
                    transposed: is_turned(&formula, form, at, &own),
                    apart: of_planes.chain(others).collect(),
                    modes,
                    tables: tables.map(|table| table.map(OperandId)).collect(),
                }
            });
            (operands.collect(), tile_of(&formula, form))
        });
        Shape {
            kernel: kernel.to_owned(),
            form: FormKind::of(form),
            operands,
            tile,
            is_written: true,
            is_plain,
            accumulator: match form {
                Form::Rows(_) => None,
                Form::Contraction(found) => Some(found.accumulator),
                Form::Chain(found) => Some(found.second.accumulator),
            },
            is_exchanged,
            formula: Some(Arc::new((formula, recognized))),
        }
    }

    /// The element types that are generated together; none where one type is copied.
    pub fn types(&self) -> &'static [TypeRule] {
        self.form.facts().types
    }

    /// The same with its factors exchanged, or back again.
    pub fn exchanged(&self, is_exchanged: bool) -> Shape {
        match &self.formula {
            Some(found) if self.is_exchanged != is_exchanged => {
                let (formula, recognized) = (found.0.clone(), oriented(found.1.clone(), true));
                Shape {
                    is_written: self.is_written,
                    is_exchanged,
                    ..Shape::of(&self.kernel, formula, recognized, false)
                }
            }
            _ => self.clone(),
        }
    }

    /// The operand of that role.
    fn role(&self, role: Role) -> Option<&OperandShape> {
        self.operands.iter().find(|operand| operand.role == role)
    }

    /// Whether names, modes and order are those of the default formula of this kernel.
    fn is_default(&self) -> bool {
        let operands = |shape: &Shape| -> Vec<(String, Role)> {
            let operands = shape.operands.iter();
            operands.map(|one| (one.name.clone(), one.role)).collect()
        };
        let transposed = self.operands.iter().any(|one| one.transposed);
        let same = |default: &Shape| {
            !transposed
                && default.kernel == self.kernel
                && default.tile == self.tile
                && operands(default) == operands(self)
        };
        self.is_plain && defaults().iter().any(same)
    }

    /// A plain formula in the one spelling that specs are printed with; none of a default formula,
    /// and none that is not plain.
    pub fn plain_text(&self) -> Option<String> {
        if self.is_exchanged {
            return self.exchanged(false).plain_text();
        }
        if !self.is_plain || !self.is_written || self.is_default() {
            return None;
        }
        let element = |role| {
            let operand = self.role(role)?;
            Some(format!("{}[{}]", operand.name, operand.modes.join(",")))
        };
        let output = element(Role::Output)?;
        Some(match self.tile.as_slice() {
            [_, _] => format!("{output} = {}", element(Role::Source)?),
            [_, _, k] => format!(
                "{output} = sum[{k}] {} * {}",
                element(Role::A)?,
                element(Role::B)?
            ),
            _ => return None,
        })
    }
}

impl OperandShape {
    /// Whether the kernel writes it.
    pub fn is_written(&self) -> bool {
        self.role == Role::Output
    }

    /// A layout as one may be written: `(m,k):(lda,1)`, with names of strides made by `free` of
    /// those that are usual.
    pub fn example(&self, free: impl Fn(String) -> String) -> String {
        let strides: Vec<String> = match self.modes.len() {
            0 => vec![],
            1 => vec!["1".into()],
            2 => vec![free(format!("ld{}", self.name)), "1".into()],
            rank => (1..rank)
                .map(|mode| free(format!("s{mode}{}", self.name)))
                .chain(["1".to_owned()])
                .collect(),
        };
        format!("({}):({})", self.modes.join(","), strides.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_formula_is_a_kernel() {
        let words: Vec<&str> = defaults().iter().map(|one| one.kernel.as_str()).collect();
        assert_eq!(words, Vec::from_iter(identity::default_words()));
        for shape in defaults() {
            assert!(shape.is_plain && shape.is_default(), "{shape:?}");
            let names: Vec<&str> = shape.operands.iter().map(|one| one.name.as_str()).collect();
            let tile = shape.tile.join(",");
            match shape.form {
                FormKind::Rows => assert_eq!((names, tile), (vec!["s", "d"], "m,n".to_owned())),
                _ => assert_eq!((names, tile), (vec!["a", "b", "d"], "m,n,k".to_owned())),
            }
        }
    }
}
