//! Single elements of outputs, without the rest.

use super::block::Block;
use super::evaluator::{Error, Evaluator};
use super::output::Element;
use super::place::{Along, Lanes};
use super::store::{combined, sum_error};
use super::walk::Walk;
use crate::formula::{Source, ValueType};
use crate::number::Kind;
use crate::syntax::Combine;

impl Evaluator<'_> {
    /// One element of an output. What it takes of intermediates is evaluated once.
    ///
    /// # Errors
    /// When the name is of no output, or the output has no such element.
    pub fn element(&self, name: &str, at: &[i64]) -> Result<Element, Error> {
        let mut found = self.elements(name, std::slice::from_ref(&at))?;
        let none = || Error::NoElement(name.to_owned(), at.to_vec());
        found.pop().ok_or_else(none)
    }

    /// Some elements of an output. What they take of intermediates is evaluated once for all.
    ///
    /// # Errors
    /// When the name is of no output, or the output has no such element.
    pub fn elements(&self, name: &str, all: &[&[i64]]) -> Result<Vec<Element>, Error> {
        let output = self.output(name)?;
        let Source::Operand(operand) = output else {
            return Err(Error::NoOutput(name.to_owned()));
        };
        let extents = &self.operands[operand].extents;
        let writer = self.formula.writer(output);
        let writer = writer.ok_or_else(|| Error::NoOutput(name.to_owned()))?;
        let mut walk = Walk::new(self, &[]);
        let element = |at: &&[i64]| {
            let inside = at
                .iter()
                .zip(extents)
                .all(|(at, extent)| (0..*extent).contains(at));
            if at.len() != extents.len() || !inside {
                return Err(Error::NoElement(name.to_owned(), at.to_vec()));
            }
            let (block, written) = walk.element_block(writer, at);
            let (value, error) = block.at(0);
            let choices = match block {
                Block::Integer(integers) => integers.choices,
                _ => Vec::new(),
            };
            Ok(Element {
                value,
                error,
                written,
                choices: choices
                    .into_iter()
                    .next()
                    .map_or(Vec::new(), |(_, all)| all),
            })
        };
        all.iter().map(element).collect()
    }
}

impl Walk<'_, '_> {
    /// What a statement gives for one element, before the cast to its type, and whether it writes
    /// it at all.
    pub fn element_block(&mut self, writer: usize, element: &[i64]) -> (Block, bool) {
        let evaluator = self.evaluator;
        let statement = &evaluator.formula.statements[writer];
        let bindings = evaluator.bindings(statement, element);
        let outer = std::mem::replace(&mut self.statement, writer);
        let outer_at = self.at.clone();
        let written = !bindings.is_empty();
        let before = match statement.target {
            Source::Operand(operand) => {
                let at: Vec<Along> = element.iter().map(|at| Along::Line(*at, 0)).collect();
                evaluator.operands[operand].read(&at, 1)
            }
            Source::Local(_) => Block::float(0.0),
        };
        let mut found = before;
        let own = ValueType::of(statement.dtype);
        let (mut magnitude, mut count) = (found.at(0).0.abs(), 1.0);
        for binding in bindings {
            self.at = binding;
            let value = self.value(writer, Lanes::ONE);
            let (size, error) = value.at(0);
            magnitude += size.abs() + error;
            count += evaluator.terms_of(statement);
            found = combined(statement.combine, own, found, value);
        }
        if statement.combine == Combine::Add
            && !matches!(Kind::of(statement.dtype), Kind::Integer(_))
        {
            let (value, error) = found.at(0);
            let error = error + sum_error(statement.dtype, magnitude, count);
            found = Block::Float([(value, error)].into_iter().collect());
        }
        self.statement = outer;
        self.at = outer_at;
        (found, written)
    }
}
