//! What a plan takes for granted: the launch checks it, or its caller confirms it.

use std::fmt;

use tilewright_bundle::Expr;

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
        operand: String,
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
        table: String,
        /// What needs it.
        reason: String,
    },
}

impl Assumption {
    /// What a caller confirms, of what no launch can check.
    pub fn promise(&self) -> Option<String> {
        match self {
            Assumption::DistinctEntries { table, .. } => {
                Some(tilewright_bundle::Assumption::distinct_entries(table))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assumption::StrideMultiple {
                stride,
                multiple,
                reason,
            } => {
                write!(f, "{stride} % {multiple} == 0 ({reason})")
            }
            Assumption::PointerAlignment {
                operand,
                bytes,
                reason,
            } => {
                write!(f, "align({operand}) >= {bytes} bytes ({reason})")
            }
            Assumption::ExtentMost { mode, most, reason } => {
                write!(f, "{mode} <= {most} ({reason})")
            }
            Assumption::ExtentMultiple {
                mode,
                multiple,
                reason,
            } => {
                write!(f, "{mode} % {multiple} == 0 ({reason})")
            }
            Assumption::CountMost {
                count,
                most,
                reason,
            } => {
                write!(f, "{count} <= {most} ({reason})")
            }
            Assumption::DistinctEntries { reason, .. } => {
                write!(f, "{} ({reason})", self.promise().unwrap_or_default())
            }
        }
    }
}
