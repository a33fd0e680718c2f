//! What a kernel computes, where its spec writes it: `compute`, `scalars`, `modes` to a shape.
//!
//! Comes in: the tree of a file. Goes out: the shape of its kernel, and the formula's problems at
//! their places in the file. Operands are those that the file lists; their roles follow from the
//! form of the formula, never from their names. Every formula that has a form is read; which of
//! them are generated is known to the planner.

use tilewright_formula::form::recognize;
use tilewright_formula::problem::Place;
use tilewright_formula::signature::RESERVED;
use tilewright_formula::syntax::{MAX_TEXT, Tree, parse_among};
use tilewright_formula::{self as formula, Signature};

use super::read::describe;
use super::signature;
use crate::error::Span;
use crate::spec::kernel::forms::{FormKind, Role};
use crate::spec::kernel::shape::{OperandShape, Shape, defaults};
use crate::spec::words::vocabulary::{MmaOperands, Worded};
use crate::spec::yaml::embedded::Embedded;
use crate::spec::yaml::nearest::nearest;
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::Problems;

/// The shape of a file's kernel. Problems of `compute`, `scalars` and `modes` are listed.
pub(in crate::spec) fn shape(tree: &Node, text: &str, problems: &mut Problems) -> Shape {
    let Some(compute) = tree.entry("compute") else {
        for entry in ["scalars", "modes"]
            .iter()
            .filter_map(|key| tree.entry(key))
        {
            let message = format!("`{}` is for formulas; the file has no `compute`", entry.key);
            let help = "delete it, or write `compute`";
            problems.add("no-compute", &entry.key_span, message, help);
        }
        return guess(tree).exchanged(is_exchanged(tree));
    };
    let read = signature::read(tree, problems);
    let Value::Scalar { text: written, .. } = &compute.value.value else {
        let message = format!(
            "`compute` is {}; expected a formula as text",
            describe(&compute.value)
        );
        let help = "write it behind `compute: |`, a statement a line";
        problems.add("wrong-type", &compute.value.span, message, help);
        return listed(tree, &read.signature, &Tree::default());
    };
    let mut front = Front {
        tree,
        written,
        embedded: Embedded::of(text, &compute.value),
        problems,
    };
    let operands = read.signature.operands.iter();
    let operands: Vec<&str> = operands.map(|one| one.name.as_str()).collect();
    let (parsed, misspelled) = parse_among(written, &operands);
    if !read.sound {
        let mut misspelled = misspelled;
        if operands.iter().any(|name| RESERVED.contains(name)) {
            // A word that names an operand is read as the word.
            misspelled.retain(|problem| problem.code != "syntax");
        }
        front.report(misspelled);
        return listed(tree, &read.signature, &parsed);
    }
    let checked = formula::check(written, &read.signature);
    let checked = checked.and_then(|formula| match recognize(&formula) {
        Ok(form) => Ok((formula, form)),
        Err(problems) => Err(problems),
    });
    match checked {
        Ok((formula, recognized)) => {
            front.warn(formula::doubtful(&formula));
            // What is kept of it is its one spelling, with blanks.
            let spelled = formula::print::print(&formula.tree).len();
            if spelled > MAX_TEXT {
                let message = format!("{spelled} bytes as it is printed; at most {MAX_TEXT}");
                front.report(vec![formula::Problem::new("too-long", &(0..0), message)]);
            }
            Shape::of(&kernel(tree), formula, recognized, is_exchanged(tree))
        }
        Err(found) => {
            front.report(found);
            listed(tree, &read.signature, &parsed)
        }
    }
}

/// The default shape that a file without a formula is checked against: that of its word, or the
/// likeliest, by the spelling of the word and then by the operands that are there.
fn guess(tree: &Node) -> Shape {
    let words = defaults().iter().map(|shape| shape.kernel.as_str());
    let named = nearest(&kernel(tree), words);
    let has = |operand: &OperandShape| tree.find(&format!("operands.{}", operand.name)).is_some();
    let fit = |shape: &&Shape| {
        let there = shape.operands.iter().filter(|one| has(one)).count();
        (Some(shape.kernel.as_str()) == named, there)
    };
    match defaults().iter().max_by_key(fit) {
        Some(shape) => shape.clone(),
        None => listed(tree, &Signature::default(), &Tree::default()),
    }
}

/// Whether the file exchanges the factors of its product.
fn is_exchanged(tree: &Node) -> bool {
    let said = tree.find("mma.operands").map(|node| &node.value);
    let word = MmaOperands::Exchanged.spelled();
    matches!(said, Some(Value::Scalar { text, .. }) if *text == word)
}

/// The word of the key `kernel`.
fn kernel(tree: &Node) -> String {
    match tree.find("kernel").map(|node| &node.value) {
        Some(Value::Scalar { text, .. }) => text.clone(),
        _ => "kernel".into(),
    }
}

/// The shape of a formula that is refused: its operands as they are listed, so that the rest of the
/// file is checked. What the formula assigns is written.
fn listed(tree: &Node, signature: &Signature, parsed: &Tree) -> Shape {
    let assigned = |name: &str| {
        let mut statements = parsed.statements.iter();
        statements.any(|statement| statement.target.text == name)
    };
    let operand = |operand: &formula::Operand| OperandShape {
        name: operand.name.clone(),
        role: match assigned(&operand.name) {
            true => Role::Output,
            false => Role::Extra,
        },
        modes: operand.axes.iter().map(ToString::to_string).collect(),
        tables: Vec::new(),
        transposed: false,
        apart: Vec::new(),
    };
    Shape {
        kernel: kernel(tree),
        form: FormKind::Contraction,
        operands: signature.operands.iter().map(operand).collect(),
        tile: Vec::new(),
        is_written: true,
        is_plain: false,
        accumulator: None,
        is_exchanged: false,
        formula: None,
    }
}

/// The formula of one file on its way to a shape.
struct Front<'a> {
    tree: &'a Node,
    written: &'a str,
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
            let mut help = problem.help.unwrap_or_else(|| match problem.place {
                Place::Text(..) => "write it as the page of the notation shows".into(),
                _ => "use another name or extent".into(),
            });
            let at = match problem.place {
                Place::Text(start, _) if problem.code == "syntax" => Some(start),
                _ => None,
            };
            if at.is_some_and(|at| self.embedded.is_joined(self.written, at)) {
                help = "write `compute: |` and a statement a line below it: without `|` lines are \
                        joined to one"
                    .to_owned();
            }
            // What is mended is refused as well.
            if problem.code.starts_with("ragged-") {
                help.push_str("; kernels over groups are not generated yet: launch one for each");
            }
            self.problems
                .add(problem.code, &span, problem.message, help);
        }
    }

    /// Lists what may not be meant.
    fn warn(&mut self, found: Vec<formula::Problem>) {
        for problem in found {
            if let Place::Text(start, end) = problem.place {
                let span = self.embedded.span(start..end);
                let help = problem.help.unwrap_or_default();
                self.problems
                    .warn(problem.code, &span, problem.message, help);
            }
        }
    }

    /// Where the entry of that number of a map is written.
    fn key(&self, map: &str, at: usize) -> Option<Span> {
        match &self.tree.find(map)?.value {
            Value::Map(entries) => entries.get(at).map(|entry: &Entry| entry.key_span.clone()),
            _ => None,
        }
    }
}
