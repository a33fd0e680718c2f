//! What an operation answers when it cannot give a correct layout.
//!
//! In: the operation and its operands as text. Out: one typed value with the numbers in it.
//! Invariant: no operation of this crate panics, wraps or guesses; everything else is an [`Error`].

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not in the layout notation; `at` is a byte position in it.
    Parse {
        /// Byte position of the first character that does not fit.
        at: usize,
        /// What is wrong there.
        message: String,
    },
    /// A value does not fit 64 bits.
    Overflow {
        /// The operation that overflowed, with its operands.
        what: String,
    },
    /// Shapes, profiles or ranks of the operands do not fit together.
    Mismatch {
        /// The two things that differ and what would fit.
        what: String,
    },
    /// An operand is outside the domain of the operation, for example an extent below 1.
    Domain {
        /// The value, the allowed values and a way out.
        what: String,
    },
    /// A tile does not divide what it is asked to divide.
    Indivisible {
        /// Which mode.
        what: String,
        /// The extent that should be a multiple.
        size: String,
        /// The tile.
        by: String,
    },
    /// The function exists but is no layout; the counterexample is the smallest one.
    NotALayout(Box<Counterexample>),
    /// Overlapping or accidental strides: neither a proof nor a counterexample was found within the
    /// search bound.
    Undecided {
        /// The operation that is undecided, with its operands.
        what: String,
        /// How many steps were taken; 0 when there are too many values to begin.
        searched: u64,
    },
    /// A statement about symbols is needed that the known facts do not prove.
    Unproven {
        /// The statement, for example `m % 8 == 0`.
        fact: Fact,
    },
    /// The operation holds for other operands only; the reason is in the text.
    Unsupported {
        /// What is missing and what to use in its place.
        what: String,
    },
}

/// The first point where a wanted function stops being a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterexample {
    /// What was asked for, in layout notation.
    pub what: String,
    /// Linear coordinate of the first point that no layout can reach.
    pub at: i64,
    /// The value that the definition asks for at `at`.
    pub want: String,
    /// The value that the modes found up to `at` add up to.
    pub sum_of_modes: String,
    /// Why the modes cannot be continued.
    pub reason: Reason,
}

/// Why a function stops being a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// One mode alone changes its step at a place that does not divide its extent.
    Leaf {
        /// Index of the leaf of the right operand.
        leaf: usize,
        /// Extent of what is left of that leaf.
        extent: i64,
        /// Where its step changes.
        step_changes_at: i64,
    },
    /// The sum over modes carries from one digit of the left operand into the next.
    Carry,
    /// Two indices share one offset, so nothing can tell them apart again.
    Shared {
        /// The smaller index.
        first: i64,
        /// The larger index.
        second: i64,
    },
    /// Two translations of a layout hold one offset.
    Overlap {
        /// The smaller translation.
        first: i64,
        /// The larger translation: nothing else reaches the offset of the same value.
        second: i64,
    },
    /// Every choice of extents and strides that is right before this point is wrong here.
    NoStrides,
}

/// A statement about symbols that would let an operation proceed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// `value % by == 0`.
    Divides {
        /// The expression that should be a multiple.
        value: String,
        /// The divisor.
        by: i64,
    },
    /// `left < right`, or another order that is not known.
    Order {
        /// Left side.
        left: String,
        /// Right side.
        right: String,
    },
    /// The quotient or remainder of two symbolic expressions.
    Quotient {
        /// Numerator.
        value: String,
        /// Denominator.
        by: String,
    },
}

impl Error {
    pub(crate) fn overflow(what: impl Into<String>) -> Self {
        Self::Overflow { what: what.into() }
    }

    pub(crate) fn mismatch(what: impl Into<String>) -> Self {
        Self::Mismatch { what: what.into() }
    }

    pub(crate) fn domain(what: impl Into<String>) -> Self {
        Self::Domain { what: what.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    pub(crate) fn parse(at: usize, message: impl Into<String>) -> Self {
        Self::Parse {
            at,
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse { at, message } => write!(f, "at byte {at}: {message}"),
            Self::Overflow { what } => write!(f, "{what} does not fit a signed 64-bit integer"),
            Self::Mismatch { what } | Self::Domain { what } | Self::Unsupported { what } => {
                f.write_str(what)
            }
            Self::Indivisible { what, size, by } => {
                write!(
                    f,
                    "{what}: {size} is not a multiple of {by}: choose a divisor of {size}"
                )
            }
            Self::NotALayout(c) => c.fmt(f),
            Self::Undecided { what, searched: 0 } => write!(
                f,
                "{what} is undecided: its strides settle nothing, and it has too many values to \
                 search"
            ),
            Self::Undecided { what, searched } => write!(
                f,
                "{what} is undecided after {searched} steps of a search: its modes overlap or \
                 cancel by accident"
            ),
            Self::Unproven { fact } => write!(f, "needs the fact {fact}, which is not known"),
        }
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            at,
            want,
            sum_of_modes,
            reason,
        } = self;
        write!(
            f,
            "{what} is no layout: at {at} it must be {want}, its modes give {sum_of_modes}"
        )?;
        match reason {
            Reason::Leaf {
                leaf,
                extent,
                step_changes_at,
            } => write!(
                f,
                " (leaf {leaf} bends at {step_changes_at}, which does not divide {extent})"
            ),
            Reason::Carry => f.write_str(" (the sum carries into the next digit)"),
            Reason::Shared { first, second } => {
                write!(f, " (the indices {first} and {second} share this offset)")
            }
            Reason::Overlap { first, second } => write!(
                f,
                " (only a translation by {second} reaches {second}, and it overlaps the one by \
                 {first})"
            ),
            Reason::NoStrides => {
                f.write_str(" (no extents and strides agree with all values up to here)")
            }
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Divides { value, by } => write!(f, "{value} % {by} == 0"),
            Self::Order { left, right } => write!(f, "the order of {left} and {right}"),
            Self::Quotient { value, by } => write!(f, "the quotient of {value} by {by}"),
        }
    }
}

impl std::error::Error for Error {}
