//! What a plan takes for granted: the launch checks it, or its caller confirms it.

use tilewright_bundle::{Assumption as Assumed, Expr};

use crate::spec::keys::model::{Operand, OperandId};

/// A condition the launch guarantees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// `stride % multiple == 0`.
    StrideMultiple {
        /// Name of the stride, such as `lda`.
        stride: String,
        /// Elements.
        multiple: i64,
        /// Which access needs it.
        reason: String,
    },
    /// The operand's pointer is a multiple of that many bytes.
    PointerAlignment {
        /// Operand.
        operand: OperandId,
        /// Bytes.
        bytes: u32,
        /// Which access needs it.
        reason: String,
    },
    /// The extent of a mode is at most that.
    ExtentMost {
        /// The mode.
        mode: String,
        /// Elements.
        most: i64,
        /// What needs it.
        reason: String,
    },
    /// The extent of a mode is a multiple of that.
    ExtentMultiple {
        /// The mode.
        mode: String,
        /// Elements.
        multiple: i64,
        /// What needs it.
        reason: String,
    },
    /// A count of a launch is at most that.
    CountMost {
        /// The count.
        count: Expr,
        /// How many there may be.
        most: i64,
        /// What is counted.
        reason: String,
    },
    /// Entries of a table that lie inside what it looks into are distinct, which the caller
    /// confirms.
    DistinctEntries {
        /// The table.
        table: OperandId,
        /// What needs it.
        reason: String,
    },
}

impl Assumption {
    /// Its text, of a plan with those operands.
    pub(in crate::plan) fn text(&self, operands: &[Operand]) -> String {
        match self {
            Assumption::StrideMultiple {
                stride,
                multiple,
                reason,
            } => {
                format!("{stride} % {multiple} == 0 ({reason})")
            }
            Assumption::PointerAlignment {
                operand,
                bytes,
                reason,
            } => {
                let name = &operand.of(operands).name;
                format!("align({name}) >= {bytes} bytes ({reason})")
            }
            Assumption::ExtentMost { mode, most, reason } => {
                format!("{mode} <= {most} ({reason})")
            }
            Assumption::ExtentMultiple {
                mode,
                multiple,
                reason,
            } => {
                format!("{mode} % {multiple} == 0 ({reason})")
            }
            Assumption::CountMost {
                count,
                most,
                reason,
            } => {
                format!("{count} <= {most} ({reason})")
            }
            Assumption::DistinctEntries { table, reason } => {
                format!(
                    "{} ({reason})",
                    Assumed::distinct_entries(&table.of(operands).name)
                )
            }
        }
    }
}
