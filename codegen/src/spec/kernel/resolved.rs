//! What a kernel computes, as the rest of the compiler reads it: its formula with its form.
//!
//! Comes in: the shape of a file's kernel and its operands as they are planned. Goes out: the
//! formula, checked against those operands, so that text, modes and layouts of a manifest agree.

use tilewright_formula::form::{Form, recognize};
use tilewright_formula::problem::Span;
use tilewright_formula::{
    Accumulation, Axis, DType, Formula, Problem, Signature, check, identity, print,
};

use super::forms::FormKind;
use super::operand::Operand;
use super::shape::{Shape, oriented};
use crate::spec::kernel::product_modes::{self, Planes, tile_of};

/// Modes that a tile of rows cuts at most.
pub const TILE_MODES: usize = 2;

/// What a kernel computes.
#[derive(Clone, Debug)]
pub struct Computes {
    /// The word of the key `kernel`: `gemm`.
    pub word: String,
    /// The formula in its one spelling, without comments; where none is written, the default one of
    /// the word.
    pub text: String,
    /// The formula over the operands as they are planned. Its places are those of the text that the
    /// file has, unless it is plain.
    pub formula: Formula,
    /// Its form.
    pub form: Form,
    /// Why it is no other: the form, and the part of the formula that does not fit, with its place
    /// in the text that the file has.
    pub others: Vec<(&'static str, String, Span)>,
    /// The modes that its tiles cut: those of the output, then those that are summed.
    pub modes: Vec<String>,
    /// Whether the factors of its product are exchanged: the rows of its form are the columns of
    /// its output.
    pub is_exchanged: bool,
    /// Whether it is the default formula of its word.
    pub is_default: bool,
    /// Whether it is a product of two matrices, or a copy of one, and nothing else.
    pub is_plain: bool,
}

/// The same words and the same text over the same operands are the same.
impl PartialEq for Computes {
    fn eq(&self, other: &Computes) -> bool {
        self.word == other.word
            && self.text == other.text
            && self.modes == other.modes
            && self.formula.signature == other.formula.signature
    }
}

impl Eq for Computes {}

impl Computes {
    /// What a kernel of that shape computes, with tiles along these modes.
    ///
    /// # Errors
    /// What is wrong with it over these operands.
    pub(in crate::spec) fn new(
        shape: &Shape,
        word: &str,
        operands: &[Operand],
        modes: Vec<String>,
        (accumulator, accumulation): (DType, Accumulation),
    ) -> Result<Computes, Vec<Problem>> {
        let plain = shape.plain_text();
        let (text, is_default) = match (&shape.formula, plain) {
            (_, Some(text)) => (text, false),
            (Some(found), None) if !shape.is_plain => (print::print(&found.0.tree), false),
            _ => {
                let text = identity::default_text(word, Some(accumulator));
                (text.unwrap_or_default(), true)
            }
        };
        // A plain formula's places are told by the text that is written.
        let others = shape.formula.as_ref().map(|found| found.1.others.clone());
        let (formula, recognized) = match &shape.formula {
            Some(found) if !shape.is_plain => (found.0.clone(), found.1.clone()),
            _ => {
                let formula = check(&text, &signature(operands, accumulation))?;
                let recognized = oriented(recognize(&formula)?, shape.is_exchanged);
                (formula, recognized)
            }
        };
        Ok(Computes {
            word: word.to_owned(),
            text,
            formula,
            form: recognized.form,
            others: others.unwrap_or(recognized.others),
            modes,
            is_exchanged: shape.is_exchanged,
            is_default,
            is_plain: shape.is_plain,
        })
    }

    /// The products side by side that its epilogue puts together, where there are several.
    pub fn planes(&self) -> Option<Planes> {
        Planes::of(&self.formula, &self.form)
    }

    /// How many there are: one unless several are told apart.
    pub fn plane_count(&self) -> i64 {
        self.planes().map_or(1, |planes| planes.count)
    }

    /// Whether an operand has elements for each of several products.
    pub fn has_planes(&self, operand: &Operand) -> bool {
        let planes = self.planes();
        let mut axes = operand.axes_apart();
        planes.is_some_and(|planes| axes.any(|axis| axis.mode == planes.mode))
    }

    /// Which form it has.
    pub fn kind(&self) -> FormKind {
        FormKind::of(&self.form)
    }

    /// Whether its tiles cut every mode that a tile without names of modes cuts.
    pub fn cuts_every_mode(&self) -> bool {
        self.modes == tile_of(&self.formula, &self.form)
    }

    /// The modes that are gone along, in the order of the formula: of the others there are extents
    /// alone, of axes that tables look into.
    pub fn visited(&self) -> Vec<&str> {
        self.formula.names(self.formula.visited())
    }

    /// The modes that are extents alone.
    pub fn looked_into(&self) -> Vec<&str> {
        self.formula.names(!self.formula.visited())
    }

    /// The mode of a product's blocks of columns, of which a tile has one.
    pub fn blocks(&self) -> Option<String> {
        product_modes::mode_of(&self.formula, &self.form, |modes| modes.blocks)
    }

    /// The mode of the parts that a product's sum is made of: a step of the main loop has one.
    pub fn part(&self) -> Option<String> {
        product_modes::mode_of(&self.formula, &self.form, |modes| modes.part)
    }

    /// The modes that no tile cuts, each of which a tile has one coordinate along: of rows, where
    /// there are more than a tile has, the output's in its order, then others; of a product those
    /// of its batches, then that of its blocks of columns.
    pub fn outer_modes(&self) -> Vec<String> {
        let visited = self.visited();
        if self.kind() != FormKind::Rows {
            return product_modes::apart(&self.formula, &self.form);
        }
        if visited.len() <= TILE_MODES {
            return Vec::new();
        }
        let mut outer = tile_of(&self.formula, &self.form);
        for mode in visited {
            if !outer.iter().any(|known| known == mode) {
                outer.push(mode.to_owned());
            }
        }
        outer.retain(|mode| !self.modes.contains(mode));
        outer
    }

    /// The modes that rows are folded along, of which a tile has all.
    pub fn folded(&self) -> Vec<&str> {
        let Form::Rows(rows) = &self.form else {
            return Vec::new();
        };
        let modes = rows.folds.iter().flat_map(|site| &site.modes);
        let modes = modes.filter_map(|mode| self.formula.modes.get(*mode));
        modes.map(|mode| mode.name.as_str()).collect()
    }

    /// Whether it copies one operand to another of its type, in any order of their modes.
    pub fn is_copy(&self) -> bool {
        let all = &self.formula.signature.operands;
        let alike = |[from, to]: [usize; 2]| {
            all.get(from).zip(all.get(to)).is_some_and(|(from, to)| {
                let rank = from.axes.len();
                from.dtype == to.dtype && rank == to.axes.len() && rank >= TILE_MODES
            })
        };
        match &self.form {
            Form::Rows(rows) => self.is_plain || all.len() == 2 && rows.copy.is_some_and(alike),
            Form::Contraction(_) | Form::Chain(_) => false,
        }
    }

    /// The modes that a tile without names of modes cuts.
    pub fn tile_modes(&self) -> Vec<String> {
        tile_of(&self.formula, &self.form)
    }
}

/// What the names of a plain formula stand for.
fn signature(operands: &[Operand], accumulation: Accumulation) -> Signature {
    let operand = |operand: &Operand| {
        let axes = operand.formula_axes().into_iter();
        let axes = axes.map(|axis| Axis::Mode(axis.mode.clone()));
        tilewright_formula::Operand {
            axes: axes.collect(),
            ..tilewright_formula::Operand::new(&operand.name, operand.dtype, &[])
        }
    };
    Signature {
        operands: operands.iter().map(operand).collect(),
        accumulation,
        ..Signature::default()
    }
}
