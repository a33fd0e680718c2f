//! The functions of the notation: one table of primitives, one of what is derived from them.
//!
//! A primitive has a meaning in f64, and the error that a kernel may make beside the rounding of
//! its arguments; a derived function is a line of text in the notation. An activation is one row of
//! [`DERIVED`]; the generator may know a cheaper recipe for it. Checker, printer, interpreter and
//! reference page read these.

mod primitives;

pub use primitives::PRIMITIVES;

/// What a primitive does. Whoever lowers or evaluates formulas matches on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Named as in the table, which says what each is.
pub enum Op {
    Neg,
    Not,
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Min,
    Max,
    Abs,
    Exp,
    Log,
    Sqrt,
    Rsqrt,
    Tanh,
    Erf,
    Sin,
    Cos,
    Floor,
    Round,
    Where,
}

/// How a primitive is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Before its operand.
    Prefix,
    /// Between its operands; the number is how tightly it binds, the larger the tighter.
    Infix(u8),
    /// As a call.
    Call,
}

/// What a primitive takes, which tells what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Numbers: s32 where all are integers, f64 where one is, else f32.
    Numbers,
    /// Numbers, integers as f32: f64 where one is, else f32.
    Floats,
    /// Integers, the second a constant above zero: s32.
    Integers,
    /// Numbers: a condition.
    Comparison,
    /// Conditions: a condition.
    Conditions,
    /// A condition and two numbers: as [`Takes::Numbers`] of the two.
    Choice,
}

/// What a primitive computes, in f64.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    /// Of one number, never rising and falling both: an interval maps to that of its ends.
    Monotone(fn(f64) -> f64),
    /// Of one number, rising and falling by no more than its argument, within [-1, 1].
    Wave(fn(f64) -> f64),
    /// Of two numbers.
    Two(fn(f64, f64) -> f64),
    /// By the evaluator: choices, conditions, integers.
    Evaluator,
}

/// The error that a primitive may make beside that of its arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slack {
    /// In units of the result's roundoff (2^-24 of f32), relative to the result.
    pub roundoffs: f64,
    /// The same, times the argument's magnitude.
    pub by_argument: f64,
    /// Absolute errors, each with the largest magnitude of an argument it holds for, ascending; of
    /// larger arguments nothing is known. None where there are none.
    pub absolute: &'static [[f64; 2]],
    /// Whether a result below the normal range may be 0.
    pub flushes: bool,
}

/// A function that everything else is derived from.
#[derive(Debug, Clone, Copy)]
pub struct Primitive {
    /// What it does.
    pub op: Op,
    /// Its name or sign.
    pub name: &'static str,
    /// How it is written.
    pub notation: Notation,
    /// Number of arguments.
    pub arity: usize,
    /// What it takes.
    pub takes: Takes,
    /// What it computes.
    pub meaning: Meaning,
    /// The error that results of f32 may have.
    pub f32: Slack,
    /// The error that results of f64 may have.
    pub f64: Slack,
    /// What a reader wants to know.
    pub doc: &'static str,
}

/// A function that is written in the notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// Its name.
    pub name: &'static str,
    /// Names of its arguments in the definition.
    pub parameters: &'static [&'static str],
    /// What it is, in the notation.
    pub definition: &'static str,
    /// Whether a result of f32 below the normal range may be 0, where no primitive of its
    /// definition says so: for a recipe of kernels with an instruction that flushes (`.ftz`).
    pub flushes: bool,
    /// What a reader wants to know.
    pub doc: &'static str,
}

/// Functions derived from primitives. They are of numbers: `-x` of the least integer were itself.
/// Where an exponential divides, kernels may multiply by what `rcp.approx.ftz` gives.
pub const DERIVED: &[Derived] = &[
    Derived {
        name: "relu",
        parameters: &["x"],
        definition: "max(x, 0)",
        flushes: false,
        doc: "rectified linear unit; NaN stays",
    },
    Derived {
        name: "sigmoid",
        parameters: &["x"],
        definition: "1 / (1 + exp(-1.0 * x))",
        flushes: true,
        doc: "logistic function",
    },
    Derived {
        name: "silu",
        parameters: &["x"],
        definition: "x / (1 + exp(-1.0 * x))",
        flushes: true,
        doc: "sigmoid linear unit, swish",
    },
    Derived {
        name: "gelu",
        parameters: &["x"],
        definition: "0.5 * x * (1 + erf(0.7071067811865476 * x))",
        flushes: false,
        doc: "Gaussian error linear unit; within 1e-8 of 0 at -inf, where the definition has none",
    },
    Derived {
        name: "gelu_tanh",
        parameters: &["x"],
        definition: "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
        flushes: false,
        doc: "Gaussian error linear unit, approximated by tanh, with the error of `tanh`; the same \
              function as `x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))` is closer \
              in f32",
    },
    Derived {
        name: "clamp",
        parameters: &["x", "least", "most"],
        definition: "min(max(x, least), most)",
        flushes: false,
        doc: "x within two ends; NaN stays",
    },
    Derived {
        name: "softcap",
        parameters: &["x", "cap"],
        definition: "cap * tanh(x / cap)",
        flushes: false,
        doc: "x within -cap to cap, smoothly",
    },
];

/// What combines the values of a body along modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fold {
    /// Adds, from 0.
    Sum,
    /// The largest, from -inf.
    Max,
    /// The smallest, from inf.
    Min,
    /// The sum over the number of values.
    Mean,
    /// The smallest index of the largest, from -1.
    Argmax,
}

/// A fold's name and description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldRow {
    /// What it does.
    pub fold: Fold,
    /// Its name.
    pub name: &'static str,
    /// What a reader wants to know.
    pub doc: &'static str,
}

/// What is told to whoever wants a fold of all that is before each element.
pub(crate) const NO_SCANS: &str = "kernels have no scans: write what each element folds";

/// What is told of whoever wants a power.
pub(crate) const NO_POWER: &str = "there are no powers: write `x * x`, or `exp(y * log(x))`";

/// What is told to whoever wants one of two values by a condition.
pub(crate) const CHOOSES: &str = "a condition chooses by `where(…, …, …)`: condition, value, \
                                  otherwise";

/// What is told of names that elsewhere are functions, and here are none.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &[
            "cumsum",
            "cumprod",
            "cummax",
            "cummin",
            "scan",
            "prefix_sum",
        ],
        "kernels have no scans: write what each element folds, such as \
         `sum[j] where(j <= …, …, 0)` of an input with the mode `j`",
    ),
    (
        &[
            "sort", "argsort", "topk", "top_k", "kthvalue", "median", "unique",
        ],
        "kernels neither sort nor rank: leave it to a library; folds find the largest, `max` and \
         `argmax`",
    ),
    (
        &["rand", "randn", "random", "dropout", "bernoulli"],
        "kernels draw no numbers: take a mask, or the numbers, as an operand",
    ),
    (
        &["matmul", "mm", "bmm", "dot", "einsum", "linear"],
        "a product is a fold: write `sum[k] a[m,k] * b[n,k]`",
    ),
    (
        &[
            "softmax",
            "logsumexp",
            "layernorm",
            "layer_norm",
            "rmsnorm",
            "rms_norm",
        ],
        "it is some statements: `tilewright init` writes those of softmax, layernorm and rmsnorm; \
         a logsumexp is `t[m] = max[n] x[m,n]` and `t[m] + log(sum[n] exp(x[m,n] - t[m]))`",
    ),
    (&["if", "select", "cond", "ifelse", "iif"], CHOOSES),
    (&["clip"], "write `clamp(…, …, …)`: value, least, most"),
    (&["ln"], "write `log(…)`"),
    (&["log2"], "write `log(…) * 1.4426950408889634`"),
    (&["log10"], "write `log(…) * 0.4342944819032518`"),
    (&["log1p"], "write `log(1 + …)`"),
    (&["exp2"], "write `exp(… * 0.6931471805599453)`"),
    (&["exp10"], "write `exp(… * 2.302585092994046)`"),
    (&["expm1"], "write `exp(…) - 1`"),
    (
        &["transpose", "permute"],
        "write the modes in another order on the left",
    ),
];

/// What is told of a name that is a function elsewhere.
pub(crate) fn elsewhere(name: &str) -> Option<&'static str> {
    let mut rows = ELSEWHERE.iter();
    let (_, help) = rows.find(|(names, _)| names.contains(&name))?;
    Some(help)
}

/// Every fold.
pub const FOLDS: &[FoldRow] = &[
    FoldRow {
        fold: Fold::Sum,
        name: "sum",
        doc: "the sum, in its body's type or that of the intermediate; over nothing 0",
    },
    FoldRow {
        fold: Fold::Max,
        name: "max",
        doc: "the largest, NaN where one is; over nothing -inf",
    },
    FoldRow {
        fold: Fold::Min,
        name: "min",
        doc: "the smallest, NaN where one is; over nothing inf",
    },
    FoldRow {
        fold: Fold::Mean,
        name: "mean",
        doc: "the sum over the number of values; over nothing NaN",
    },
    FoldRow {
        fold: Fold::Argmax,
        name: "argmax",
        doc: "the smallest index of the largest along one mode; over nothing -1",
    },
];

/// How a fold of that name is written; none where it is no fold.
pub(crate) fn written_fold(name: &str) -> Option<String> {
    FOLDS.iter().find(|row| row.name == name)?;
    Some(format!(
        "`{name}` is a fold: write `{name}[mode] value`, with the mode it goes along"
    ))
}

impl Fold {
    /// Its name.
    pub fn name(self) -> &'static str {
        let row = FOLDS.iter().find(|row| row.fold == self);
        row.map_or("", |row| row.name)
    }

    /// The fold of that name.
    pub fn named(name: &str) -> Option<Fold> {
        FOLDS.iter().find(|row| row.name == name).map(|r| r.fold)
    }
}

impl Op {
    /// Its row; every operation has one.
    pub fn row(self) -> &'static Primitive {
        let row = PRIMITIVES.iter().find(|row| row.op == self);
        row.unwrap_or(&PRIMITIVES[0])
    }
}

/// The primitive that is called by that name.
pub fn primitive(name: &str) -> Option<&'static Primitive> {
    let called = |row: &&Primitive| row.notation == Notation::Call && row.name == name;
    PRIMITIVES.iter().find(called)
}

/// The derived function of that name.
pub fn derived(name: &str) -> Option<&'static Derived> {
    DERIVED.iter().find(|row| row.name == name)
}

/// The names of all that can be called, casts aside.
pub fn names() -> impl Iterator<Item = &'static str> {
    let called = |row: &&Primitive| row.notation == Notation::Call;
    let primitives = PRIMITIVES.iter().filter(called).map(|row| row.name);
    primitives.chain(DERIVED.iter().map(|row| row.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn names_mean_one_thing() {
        let mut all: Vec<&str> = names().collect();
        all.extend(DType::ALL.iter().map(|dtype| dtype.text()));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for row in FOLDS {
            assert_eq!(Fold::named(row.name), Some(row.fold));
        }
    }

    #[test]
    fn every_operation_has_the_row_that_names_it() {
        for row in PRIMITIVES {
            assert_eq!(row.op.row().op, row.op);
            let fits = match row.meaning {
                Meaning::Monotone(_) | Meaning::Wave(_) => row.arity == 1,
                Meaning::Two(_) => row.arity == 2,
                Meaning::Evaluator => true,
            };
            assert!(fits, "{}", row.name);
            let steps = row.f32.absolute;
            assert!(steps.is_sorted_by(|a, b| a[0] < b[0]), "{}", row.name);
        }
    }
}
