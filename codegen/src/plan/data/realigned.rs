//! Operands whose place copies in the workspace take, so that any stride and any address of theirs
//! do where the kernel's own copies want whole rows of 16 bytes: launches before the kernel's make
//! those of inputs, launches behind it bring outputs from there to where they belong.

use tilewright_bundle::Expr;

use crate::plan::data::assumptions::Assumption;
use crate::plan::data::model::{Plan, Realigned};
use crate::spec::keys::model::{Axis, Operand, OperandId, Stride};

/// What rows of a copy and its start are multiples of, in bytes: lines of the second-level cache,
/// so that a box fetches none of a row's neighbours (notes of tensor maps: 16 is the least).
pub const ROW_BYTES: i64 = 128;

/// What a copy is called behind the operand's name, and what its strides are behind that.
pub const COPY: &str = "_copy";

impl Plan {
    /// The copy of an operand that the kernel has in place of it.
    pub fn realigned(&self, operand: OperandId) -> Option<&Realigned> {
        let mut all = self.copies.iter();
        all.find(|one| one.operand.id == operand)
    }

    /// An operand as the launch has it.
    pub fn given<'p>(&'p self, operand: &'p Operand) -> &'p Operand {
        let copied = self.realigned(operand.id);
        copied.map_or(operand, |copied| &copied.operand)
    }

    /// Bytes of scratch memory, those of copies among them.
    pub fn all_workspace(&self) -> Expr {
        match self.copies.last() {
            Some(last) => last.end(),
            None => self.workspace().unwrap_or_else(|| 0.into()),
        }
    }

    /// What a launch must guarantee: what is assumed, but for what copies are by the way they lie.
    pub fn asks(&self) -> impl Iterator<Item = &Assumption> {
        let is_open = |one: &&Assumption| !self.holds_of_copies(one);
        self.assumptions.iter().filter(is_open)
    }

    /// The same as texts.
    pub fn asked(&self) -> impl Iterator<Item = String> {
        self.asks().map(|one| one.text(&self.operands))
    }

    fn holds_of_copies(&self, assumption: &Assumption) -> bool {
        let mut copies = self.operands.iter().filter(|one| is_copy(one));
        match assumption {
            Assumption::StrideMultiple {
                stride, multiple, ..
            } => copies.any(|operand| {
                let is_it = |axis: &Axis| axis.stride.name() == Some(stride);
                operand.all_axes().any(is_it) && row_elems(operand) % multiple == 0
            }),
            Assumption::PointerAlignment { operand, bytes, .. } => {
                copies.any(|one| one.id == *operand) && ROW_BYTES % i64::from(*bytes) == 0
            }
            _ => false,
        }
    }
}

/// Elements that rows of an operand's copy are a multiple of.
pub(in crate::plan) fn row_elems(operand: &Operand) -> i64 {
    (ROW_BYTES / i64::from(operand.dtype.bytes()).max(1)).max(1)
}

/// Whether an operand is a copy, or lies as one does.
fn is_copy(operand: &Operand) -> bool {
    operand.all_axes().any(|axis| match &axis.stride {
        Stride::Product { name, .. } => name.ends_with(&format!("{COPY}_{}", axis.mode)),
        Stride::Const(_) | Stride::Named(_) => false,
    })
}
