//! What an arithmetic atom does to the numbers of one element, as facts: its operation, the type of
//! its numbers, its error.
//!
//! Elements are compiled by looking atoms up by these facts; what no atom does is a recipe over
//! what some do.

use std::fmt;

use serde::Deserialize;
use tilewright_formula::functions::{Op, Slack};

/// Everything by which an arithmetic atom is found, and what it may err.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArithmeticFacts {
    /// What it does.
    pub does: Does,
    /// Type of its numbers: of what it takes, or of what it chooses from.
    #[serde(rename = "type")]
    pub ty: NumberType,
    /// Its error; exact where none is named.
    #[serde(default)]
    pub error: Error,
    /// Whether results below the normal range may be zero.
    #[serde(default)]
    pub flushes: bool,
}

/// Type of the numbers in a thread's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberType {
    /// Integers of 32 bits, which wrap around.
    S32,
    /// Floats of 32 bits.
    F32,
    /// Floats of 64 bits.
    F64,
    /// Conditions.
    Bool,
}

impl NumberType {
    /// Its name in records and messages.
    pub fn name(self) -> &'static str {
        match self {
            NumberType::S32 => "s32",
            NumberType::F32 => "f32",
            NumberType::F64 => "f64",
            NumberType::Bool => "a condition",
        }
    }
}

/// An error as primitives have it: in roundoffs of the result, and absolute ones each up to a
/// magnitude of the argument.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Error {
    /// In units of the result's roundoff, relative to the result.
    #[serde(default)]
    pub roundoffs: f64,
    /// Each with the largest magnitude of an argument it holds for, ascending.
    #[serde(default)]
    pub absolute: Vec<[f64; 2]>,
}

// Records hold numbers alone.
impl Eq for Error {}

impl Error {
    /// Whether a result depends on who computes it: it may be another than the exact one rounded.
    pub fn is_approximate(&self) -> bool {
        self.roundoffs > 1.0 || !self.absolute.is_empty()
    }

    /// Whether what may err so may stand for what may err by the slack.
    pub fn within(&self, slack: &Slack) -> bool {
        let magnitudes = slack.absolute.iter().map(|[most, _]| *most);
        let allowed = |at: f64| step(slack.absolute, at);
        let own = |at: f64| step(&self.absolute, at);
        self.roundoffs <= slack.roundoffs
            && (self.absolute.is_empty()
                || !slack.absolute.is_empty()
                    && magnitudes.into_iter().all(|at| own(at) <= allowed(at)))
    }
}

/// The absolute error at that magnitude of the argument.
fn step(steps: &[[f64; 2]], at: f64) -> f64 {
    let found = steps.iter().find(|[most, _]| at <= *most);
    match found {
        Some([_, error]) => *error,
        None if steps.is_empty() => 0.0,
        None => f64::INFINITY,
    }
}

macro_rules! operations {
    ($($variant:ident $name:literal $doc:literal),* $(,)?) => {
        /// What an arithmetic atom does: an operation of formulas, or what such are made of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Does { $(#[doc = $doc] $variant),* }

        impl Does {
            /// Every operation.
            pub const ALL: &'static [Does] = &[$(Does::$variant),*];

            /// Its name in records, recipes and messages.
            pub const fn name(self) -> &'static str {
                match self { $(Does::$variant => $name),* }
            }
        }
    };
}

operations! {
    Neg "neg" "The negative.",
    Not "not" "Whether a condition does not hold.",
    Mul "mul" "Product.",
    Div "div" "Quotient.",
    Rem "rem" "Remainder from 0 up, by a constant above zero.",
    Add "add" "Sum.",
    Sub "sub" "Difference.",
    Eq "eq" "Equal.",
    Ne "ne" "Not equal; NaN is not.",
    Lt "lt" "Less.",
    Le "le" "Less or equal.",
    Gt "gt" "Greater.",
    Ge "ge" "Greater or equal.",
    And "and" "Whether both hold.",
    Or "or" "Whether one holds.",
    Min "min" "The smaller; NaN where one is.",
    Max "max" "The larger; NaN where one is.",
    Abs "abs" "Magnitude.",
    Exp "exp" "e to a power.",
    Log "log" "Natural logarithm.",
    Sqrt "sqrt" "Square root.",
    Rsqrt "rsqrt" "1 over the square root.",
    Tanh "tanh" "Hyperbolic tangent.",
    Erf "erf" "Error function.",
    Sin "sin" "Sine.",
    Cos "cos" "Cosine.",
    Floor "floor" "The integer below.",
    Round "round" "The nearest integer, the even one of two.",
    Where "where" "The second where the first holds, else the third.",
    Fma "fma" "Product and sum, rounded once.",
    Rcp "rcp" "1 over a number.",
    RcpFlushed "rcp_flushed" "1 over a number; 0 where that is below the normal range.",
    Ex2 "ex2" "2 to a power.",
    Lg2 "lg2" "Logarithm to base 2.",
    Larger "larger" "The larger, or the one that is a number.",
    Smaller "smaller" "The smaller, or the one that is a number.",
    Unordered "unordered" "Whether one is NaN.",
    SinNear "sin_near" "Sine of what is within a turn.",
    CosNear "cos_near" "Cosine of what is within a turn.",
    WithSign "with_sign" "The magnitude of the first with the sign of the second.",
    Truncated "truncated" "Remainder with the sign of the first.",
    Odd "odd" "A number as f32, rounded to odd.",
}

impl Does {
    /// The operation of that name.
    pub fn named(name: &str) -> Option<Does> {
        Does::ALL.iter().copied().find(|does| does.name() == name)
    }

    /// The operation that formulas have by this name.
    pub fn of(op: Op) -> Does {
        match op {
            Op::Neg => Does::Neg,
            Op::Not => Does::Not,
            Op::Mul => Does::Mul,
            Op::Div => Does::Div,
            Op::Rem => Does::Rem,
            Op::Add => Does::Add,
            Op::Sub => Does::Sub,
            Op::Eq => Does::Eq,
            Op::Ne => Does::Ne,
            Op::Lt => Does::Lt,
            Op::Le => Does::Le,
            Op::Gt => Does::Gt,
            Op::Ge => Does::Ge,
            Op::And => Does::And,
            Op::Or => Does::Or,
            Op::Min => Does::Min,
            Op::Max => Does::Max,
            Op::Abs => Does::Abs,
            Op::Exp => Does::Exp,
            Op::Log => Does::Log,
            Op::Sqrt => Does::Sqrt,
            Op::Rsqrt => Does::Rsqrt,
            Op::Tanh => Does::Tanh,
            Op::Erf => Does::Erf,
            Op::Sin => Does::Sin,
            Op::Cos => Does::Cos,
            Op::Floor => Does::Floor,
            Op::Round => Does::Round,
            Op::Where => Does::Where,
        }
    }

    /// Type of its result, of numbers of that type.
    pub fn gives(self, ty: NumberType) -> NumberType {
        use Does::{And, Eq, Ge, Gt, Le, Lt, Ne, Not, Odd, Or, Unordered};
        match self {
            Not | Eq | Ne | Lt | Le | Gt | Ge | And | Or | Unordered => NumberType::Bool,
            Odd => NumberType::F32,
            _ => ty,
        }
    }
}

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
