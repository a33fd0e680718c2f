//! Checks what a kernel computes: its formula, read when the bundle is opened.
//!
//! In: an entry's semantics. Out: the checked formula with its form, or everything that is wrong
//! with it. Roles and the function that the manifest states must be what the formula says.

use std::sync::Arc;

use tilewright_formula::form::{Form, recognize};
use tilewright_formula::{
    Accumulation, DType, Formula, Mode, ModeExtent, Signature, check, identity, report,
};

use crate::abi::Scalar;
use crate::computed::{AccumulationWord, Computed, Known};
use crate::error::Problems;
use crate::expr::Expr;
use crate::hash::Sha256Hex;
use crate::manifest::{Kernel, Operand, Role, Semantics};
use crate::text::is_plain;

/// Longest accepted formula, in bytes.
pub const MAX_COMPUTE_BYTES: usize = 1 << 16;

impl Kernel {
    /// What it computes; `None` until the kernel is resolved.
    pub fn formula(&self) -> Option<&Formula> {
        self.computed.0.as_deref().map(|known| &known.formula)
    }

    /// How its data flows; `None` until the kernel is resolved.
    pub fn form(&self) -> Option<&Form> {
        self.computed.0.as_deref().map(|known| &known.form)
    }

    /// The word whose default formula it computes, with any types: `gemm`, `copy`.
    pub fn default_of(&self) -> Option<&'static str> {
        self.computed
            .0
            .as_deref()
            .and_then(|known| known.default_of)
    }

    /// The type in which a contraction keeps its sums.
    pub fn accumulator(&self) -> Option<DType> {
        match self.form()? {
            Form::Contraction(contraction) => Some(contraction.accumulator),
            Form::Rows(_) | Form::Chain(_) => None,
        }
    }
}

impl Kernel {
    /// The operands of a product of two matrices and nothing else: the factor with the output's
    /// rows, that with its columns, the output.
    pub fn product(&self) -> Option<[&Operand; 3]> {
        let Form::Contraction(contraction) = self.form()? else {
            return None;
        };
        let [a, b, d] = contraction.plain?.map(|at| self.semantics.operands.get(at));
        Some([a?, b?, d?])
    }

    /// Whether an operand is a factor that tensor cores alone multiply, so that there is a kernel
    /// for rows of whole 16 bytes, its own or those of a copy, and for no other strides: one of 8
    /// bits, or tf32.
    pub fn is_of_tensor_cores(&self, operand: &Operand) -> bool {
        let Some(Form::Contraction(found)) = self.form() else {
            return false;
        };
        let operands = &self.semantics.operands;
        let mut factors = found.factors.iter().filter_map(|factor| factor.operand);
        let is_factor = factors.any(|at| operands.get(at).is_some_and(|o| o.name == operand.name));
        is_factor
            && !matches!(
                operand.dtype,
                DType::F64 | DType::F32 | DType::F16 | DType::BF16
            )
    }

    /// The operands, read and written, of a kernel that copies and does nothing else but cast and
    /// permute.
    pub fn copied(&self) -> Option<[&Operand; 2]> {
        let Form::Rows(rows) = self.form()? else {
            return None;
        };
        let [s, d] = rows.copy?.map(|at| self.semantics.operands.get(at));
        Some([s?, d?])
    }

    /// The names of the modes that rows are folded along; none of a kernel of another form.
    pub fn folded(&self) -> Vec<&str> {
        let (Some(Form::Rows(rows)), Some(formula)) = (self.form(), self.formula()) else {
            return Vec::new();
        };
        let along = rows.folds.iter().flat_map(|site| &site.modes);
        let modes = along.filter_map(|mode| formula.modes.get(*mode));
        modes.map(|mode| mode.name.as_str()).collect()
    }
}

impl Semantics {
    /// What the formula's names stand for.
    pub fn signature(&self) -> Signature {
        let operands = self.operands.iter().map(|operand| {
            let axes: Vec<String> = operand.layout.shape.iter().map(axis).collect();
            let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
            tilewright_formula::Operand {
                over: operand.over.clone(),
                packed: operand.packed.as_ref().map(ToString::to_string),
                ..tilewright_formula::Operand::new(&operand.name, operand.dtype, &axes)
            }
        });
        let scalar = |one: &Scalar| tilewright_formula::Scalar {
            name: one.name.clone(),
            dtype: one.dtype,
        };
        let mode = |(name, extent): (&String, &i64)| Mode {
            name: name.clone(),
            extent: ModeExtent::Constant(*extent),
        };
        Signature {
            operands: operands.collect(),
            scalars: self.scalars.iter().map(scalar).collect(),
            modes: self.modes.iter().map(mode).collect(),
            accumulation: match self.accumulation {
                AccumulationWord::Full => Accumulation::Full,
                AccumulationWord::Fast => Accumulation::Fast,
            },
        }
    }
}

/// The extent of an axis in the formula's notation: there `k/128` rounds up.
fn axis(extent: &Expr) -> String {
    let text = extent.text();
    let inside = text
        .strip_prefix("ceil_div(")
        .and_then(|rest| rest.strip_suffix(')'));
    match inside.and_then(|inside| inside.split_once(',')) {
        Some((mode, by)) => format!("{}/{}", mode.trim(), by.trim()),
        None => text.to_owned(),
    }
}

/// Checks the kernel's formula and keeps it; sets the function where it is not stated.
pub(crate) fn kernel(kernel: &mut Kernel, problems: &mut Problems) {
    let id = kernel.id.clone();
    let text = &kernel.semantics.compute;
    let plain = text.lines().all(|line| is_plain(line, MAX_COMPUTE_BYTES));
    if text.len() > MAX_COMPUTE_BYTES || !plain {
        let message = format!("compute is no plain text of up to {MAX_COMPUTE_BYTES} bytes");
        return problems.add(&id, message);
    }
    let refused = |text: &str, found: &[tilewright_formula::Problem]| {
        let lines = report(text, found);
        format!("compute: {}", lines.trim_end())
    };
    let formula = match check(text, &kernel.semantics.signature()) {
        Ok(formula) => formula,
        Err(found) => return problems.add(&id, refused(text, &found)),
    };
    let form = match recognize(&formula) {
        Ok(recognized) => recognized.form,
        Err(found) => return problems.add(&id, refused(text, &found)),
    };
    for (at, operand) in kernel.semantics.operands.iter().enumerate() {
        let (stated, said) = (operand.role, role(&formula, at));
        problems.check(stated == said, &id, || {
            format!(
                "the role of `{}` is {}; compute says {}",
                operand.name,
                stated.text(),
                said.text()
            )
        });
    }
    let function = Sha256Hex::of(identity::function(&formula).as_bytes());
    let stated = &mut kernel.semantics.function;
    if *stated == Sha256Hex::default() {
        *stated = function;
    } else {
        problems.check(*stated == function, &id, || {
            format!("the function is {stated}; that of compute is {function}")
        });
    }
    kernel.computed = Computed(Some(Arc::new(Known {
        default_of: identity::default_of(&formula),
        formula,
        form,
    })));
}

/// Whether the formula reads an operand, writes it, or both.
fn role(formula: &Formula, operand: usize) -> Role {
    match formula.role(operand) {
        tilewright_formula::Role::Input => Role::In,
        tilewright_formula::Role::Output => Role::Out,
        tilewright_formula::Role::Combined => Role::InOut,
    }
}
