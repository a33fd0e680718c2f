//! What a kernel computes, where its spec writes it: `compute`, `scalars`, `modes` to a shape.
//!
//! Comes in: the tree of a file. Goes out: the shape of its kernel, and the formula's problems at
//! their places in the file. Operands are those that the file lists; their roles follow from the
//! form of the formula, never from their names. A formula of another form than those that are
//! generated is refused at the part that does not fit.

use tilewright_formula::form::{Contraction, Form, Recognized, recognize};
use tilewright_formula::problem::Place;
use tilewright_formula::syntax::parse_what_can_be;
use tilewright_formula::{self as formula, Formula, Signature};

use super::embedded::Embedded;
use super::families::{FAMILIES, Family, Role};
use super::nearest::nearest;
use super::node::{Entry, Node, Value};
use super::problems::Problems;
use super::read::describe;
use super::shape::{Computed, OperandShape, Shape};
use super::signature;
use crate::error::Span;

/// The shape of a file's kernel. Problems of `compute`, `scalars` and `modes` are listed.
pub(super) fn shape(tree: &Node, text: &str, problems: &mut Problems) -> Shape {
    let Some(compute) = tree.entry("compute") else {
        for entry in ["scalars", "modes"]
            .iter()
            .filter_map(|key| tree.entry(key))
        {
            let message = format!("`{}` is for formulas; the file has no `compute`", entry.key);
            let help = "delete it, or write `compute`";
            problems.add("no-compute", &entry.key_span, message, help);
        }
        return guess(tree).shape();
    };
    let read = signature::read(tree, problems);
    let Value::Scalar { text: written, .. } = &compute.value.value else {
        let message = format!(
            "`compute` is {}; expected a formula as text",
            describe(&compute.value)
        );
        let help = "write it behind `compute: |`, a statement a line";
        problems.add("wrong-type", &compute.value.span, message, help);
        return listed(tree, &read.signature, Family::Gemm);
    };
    let mut front = Front {
        tree,
        embedded: Embedded::of(text, &compute.value),
        problems,
    };
    let likely = match written.contains("sum[") {
        true => Family::Gemm,
        false => Family::Copy,
    };
    if !read.sound {
        front.report(parse_what_can_be(written).1);
        return listed(tree, &read.signature, likely);
    }
    let checked = formula::check(written, &read.signature);
    let checked = checked.and_then(|formula| match recognize(&formula) {
        Ok(form) => Ok((formula, form)),
        Err(problems) => Err(problems),
    });
    match checked {
        Ok((formula, recognized)) => front.formed(&formula, &recognized),
        Err(found) => {
            front.report(found);
            listed(tree, &read.signature, likely)
        }
    }
}

/// The family whose keys a file without a formula is checked against: the one named, or the
/// likeliest.
fn guess(tree: &Node) -> &'static super::families::FamilyFacts {
    let named = match tree.find("kernel").map(|node| &node.value) {
        Some(Value::Scalar { text, .. }) => nearest(text, FAMILIES.iter().map(|facts| facts.name)),
        _ => None,
    };
    if let Some(facts) = FAMILIES.iter().find(|facts| Some(facts.name) == named) {
        return facts;
    }
    if tree.find("operands.s").is_some() {
        Family::Copy.facts()
    } else {
        Family::Gemm.facts()
    }
}

/// The word of the key `kernel`.
fn kernel(tree: &Node) -> String {
    match tree.find("kernel").map(|node| &node.value) {
        Some(Value::Scalar { text, .. }) => text.clone(),
        _ => "kernel".into(),
    }
}

/// The shape of a formula that is refused: its operands as they are listed, so that the rest of the
/// file is checked.
fn listed(tree: &Node, signature: &Signature, family: Family) -> Shape {
    let facts = family.facts();
    let last = signature.operands.len().saturating_sub(1);
    let inputs: Vec<Role> = (facts.operands.iter())
        .filter(|operand| operand.role != Role::Output)
        .map(|operand| operand.role)
        .collect();
    let role = |at: usize| match inputs.get(at).or(inputs.last()) {
        Some(role) if at != last => *role,
        _ => Role::Output,
    };
    let operands = signature.operands.iter().enumerate();
    let operands = operands.map(|(at, operand)| OperandShape {
        name: operand.name.clone(),
        role: role(at),
        modes: operand.axes.iter().map(ToString::to_string).collect(),
        turned: false,
    });
    let output = signature.operands.last();
    let output = output.into_iter().flat_map(|output| &output.axes);
    let mut tile: Vec<String> = output.map(ToString::to_string).collect();
    for mode in signature.mode_names() {
        if family == Family::Gemm && !tile.iter().any(|known| known == mode) {
            tile.push(mode.to_owned());
        }
    }
    Shape {
        kernel: kernel(tree),
        family,
        operands: operands.collect(),
        tile,
        computed: Some(Computed {
            generated: false,
            accumulator: None,
        }),
    }
}

/// The formula of one file on its way to a shape.
struct Front<'a> {
    tree: &'a Node,
    embedded: Embedded<'a>,
    problems: &'a mut Problems,
}

impl Front<'_> {
    /// Lists problems of the formula at their places in the file.
    fn report(&mut self, found: Vec<formula::Problem>) {
        for problem in found {
            let span = match problem.place {
                Place::Text(start, end) => Some(self.embedded.span(start..end)),
                Place::Operand(at) => self.key("operands", at),
                Place::Scalar(at) => self.key("scalars", at),
                Place::Mode(at) => self.key("modes", at),
            };
            let span = span.unwrap_or_else(|| self.embedded.span(0..usize::MAX));
            let help = problem.help.unwrap_or_else(|| match problem.place {
                Place::Text(..) => "write it as the page of the notation shows".into(),
                _ => "use another name or extent".into(),
            });
            self.problems
                .add(problem.code, &span, problem.message, help);
        }
    }

    /// Where the entry of that number of a map is written.
    fn key(&self, map: &str, at: usize) -> Option<Span> {
        match &self.tree.find(map)?.value {
            Value::Map(entries) => entries.get(at).map(|entry: &Entry| entry.key_span.clone()),
            _ => None,
        }
    }

    /// The shape of a formula whose form is known.
    fn formed(&mut self, formula: &Formula, recognized: &Recognized) -> Shape {
        let (shape, family) = match &recognized.form {
            Form::Contraction(found) => (product(self.tree, formula, found), Family::Gemm),
            Form::Rows(rows) => {
                let copied = rows.copy.and_then(|pair| copy(self.tree, formula, pair));
                (copied, Family::Copy)
            }
            Form::Chain(_) => (None, Family::Gemm),
        };
        shape.unwrap_or_else(|| {
            let (span, why) = misfit(formula, &recognized.form);
            let message = format!(
                "`compute` is of the form {}, and {why}; generated are products of two matrices \
                 and copies of one",
                recognized.form.name()
            );
            let help = format!(
                "the nearest that is generated is `{}`",
                family.facts().generated
            );
            let span = self.embedded.span(span);
            self.problems
                .add("unsupported-formula", &span, message, help);
            listed(self.tree, &formula.signature, family)
        })
    }
}

/// What of a formula is not generated, and why.
fn misfit(formula: &Formula, form: &Form) -> (formula::problem::Span, String) {
    let statement = |at: usize| {
        let statement = formula.statements.get(at);
        statement.map_or(0..formula.text.len(), |statement| statement.span.clone())
    };
    match form {
        Form::Contraction(found) => {
            let beyond = found.prologue.first().or(match found.plain {
                Some(_) => None,
                None => found.epilogue.first(),
            });
            match beyond {
                Some(at) => (
                    statement(*at),
                    "this statement computes more than the sum".into(),
                ),
                None => (
                    found.sum.span.clone(),
                    "this sum is not of two matrices along one mode".into(),
                ),
            }
        }
        Form::Rows(rows) => match rows.folds.first() {
            Some(fold) => (fold.span.clone(), "this folds rows".into()),
            None => (statement(0), "this is no copy of a matrix".into()),
        },
        Form::Chain(chain) => (
            chain.second.sum.span.clone(),
            "this is its second sum of products".into(),
        ),
    }
}

/// The modes of an operand that has two, both extents of the problem.
fn matrix(formula: &Formula, operand: usize) -> Option<[&str; 2]> {
    let axes = &formula.signature.operands.get(operand)?.axes;
    let named = |axis: &formula::Axis| match axis {
        formula::Axis::Mode(mode) => formula.signature.modes.iter().all(|one| one.name != *mode),
        _ => false,
    };
    match axes.as_slice() {
        [first, second] if first != second && named(first) && named(second) => {
            Some([first.mode()?, second.mode()?])
        }
        _ => None,
    }
}

/// The shape of a sum of products of two matrices.
fn product(tree: &Node, formula: &Formula, found: &Contraction) -> Option<Shape> {
    let [a, b, d] = found.plain?;
    let name = |modes: &[usize]| match modes {
        [mode] => formula.modes.get(*mode).map(|mode| mode.name.as_str()),
        _ => None,
    };
    let (m, n, k) = (
        name(&found.rows)?,
        name(&found.columns)?,
        name(&found.summed)?,
    );
    let wanted = [
        (a, Role::A, [m, k]),
        (b, Role::B, [n, k]),
        (d, Role::Output, [m, n]),
    ];
    let whole = found.parts.is_none() && found.prologue.is_empty();
    let accumulator = found.accumulator.text();
    let shape = shape_of(
        tree,
        formula,
        &wanted,
        &[m, n, k],
        Family::Gemm,
        Some(accumulator),
    );
    shape.filter(|_| whole)
}

/// The shape of a copy of a matrix.
fn copy(tree: &Node, formula: &Formula, [s, d]: [usize; 2]) -> Option<Shape> {
    let modes = matrix(formula, d)?;
    let wanted = [(s, Role::Source, modes), (d, Role::Output, modes)];
    shape_of(tree, formula, &wanted, &modes, Family::Copy, None)
}

/// The shape of matrices with these roles and modes; none where one has others.
fn shape_of(
    tree: &Node,
    formula: &Formula,
    wanted: &[(usize, Role, [&str; 2])],
    tile: &[&str],
    family: Family,
    accumulator: Option<&'static str>,
) -> Option<Shape> {
    let operand = |(at, operand): (usize, &formula::Operand)| {
        let (_, role, [first, second]) = wanted.iter().find(|(wanted, ..)| *wanted == at)?;
        let modes = matrix(formula, at)?;
        let turned = modes == [*second, *first];
        let fits = turned || modes == [*first, *second];
        fits.then(|| OperandShape {
            name: operand.name.clone(),
            role: *role,
            modes: modes.map(str::to_owned).to_vec(),
            turned,
        })
    };
    let operands = formula.signature.operands.iter().enumerate().map(operand);
    let operands: Vec<OperandShape> = operands.collect::<Option<_>>()?;
    (operands.len() == wanted.len()).then(|| Shape {
        kernel: kernel(tree),
        family,
        operands,
        tile: tile.iter().map(|mode| (*mode).to_owned()).collect(),
        computed: Some(Computed {
            generated: true,
            accumulator,
        }),
    })
}
