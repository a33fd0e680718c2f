//! The form of a kernel, told by how its data flows, not by names.
//!
//! In: a checked formula. Out: which of three skeletons computes it, with the parts that each
//! needs, or a refusal: the place that does not fit and the nearest form that would. *Rows* are
//! maps with folds; a *contraction* is one sum of products of two factors that each have modes of
//! their own, or a sum of such sums times scales; a *chain* is a contraction, a normalizer of its
//! rows, and a contraction of what comes out.

use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, Formula, Index, ModeSet, Source};
use crate::functions::Fold;
use crate::problem::{Problem, Span};

mod flow;
mod product;
mod contraction;
mod chain;

use flow::Flow;

/// What computes a formula.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Maps with folds.
    Rows(Rows),
    /// A sum of products.
    Contraction(Box<Contraction>),
    /// Two of them, one on the rows of the other.
    Chain(Box<Chain>),
}

/// A formula's form, and why it is no other.
#[derive(Debug, Clone, PartialEq)]
pub struct Recognized {
    /// Its form.
    pub form: Form,
    /// The others: name, and what of the formula does not fit, with its place.
    pub others: Vec<(&'static str, String, Span)>,
}

/// Names of the forms.
pub const FORMS: [&str; 3] = ["rows", "contraction", "chain"];

/// A fold in a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldSite {
    /// The statement it stands in.
    pub statement: usize,
    /// Which.
    pub fold: Fold,
    /// Along which modes.
    pub modes: Vec<ModeId>,
    /// Where.
    pub span: Span,
}

/// Maps with folds.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Its folds, in order.
    pub folds: Vec<FoldSite>,
    /// The operands, read and written, of a statement that copies and does nothing else but cast
    /// and permute.
    pub copy: Option<[usize; 2]>,
}

/// A sum of products.
#[derive(Debug, Clone, PartialEq)]
pub struct Contraction {
    /// The sum.
    pub sum: FoldSite,
    /// Type that it is kept in.
    pub accumulator: DType,
    /// The factor that has the rows, and the one that has the columns.
    pub factors: [Factor; 2],
    /// Modes of the first factor that the second has not, in the order of the output's.
    pub rows: Vec<ModeId>,
    /// Modes of the second factor that the first has not.
    pub columns: Vec<ModeId>,
    /// Modes of both that are not summed.
    pub batch: Vec<ModeId>,
    /// Modes that are summed.
    pub summed: Vec<ModeId>,
    /// The sum over parts of such sums, times scales.
    pub parts: Option<Parts>,
    /// Statements that make factors of inputs: maps.
    pub prologue: Vec<usize>,
    /// Statements that take the sums and inputs and make outputs.
    pub epilogue: Vec<usize>,
    /// Folds of the epilogue, along rows and columns.
    pub folds: Vec<FoldSite>,
    /// Operands that are written.
    pub outputs: Vec<usize>,
    /// The operands, two factors and output, where there is nothing beside the sum.
    pub alone: Option<[usize; 3]>,
    /// The same where there is one mode of rows and one of columns, and no mode of batches:
    /// `d = a·b`.
    pub plain: Option<[usize; 3]>,
}

impl Contraction {
    /// The same with its factors exchanged: what were columns are rows.
    #[must_use]
    pub fn exchanged(mut self) -> Contraction {
        self.factors.swap(0, 1);
        std::mem::swap(&mut self.rows, &mut self.columns);
        let exchanged = |[a, b, d]: [usize; 3]| [b, a, d];
        self.alone = self.alone.map(exchanged);
        self.plain = self.plain.map(exchanged);
        self
    }
}

/// A sum over parts of the summed modes.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// The outer sum.
    pub sum: FoldSite,
    /// Type that it is kept in.
    pub accumulator: DType,
    /// What each part is multiplied by.
    pub scales: Vec<Expr>,
}

/// One side of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// What is multiplied: one expression, or some that share their modes.
    pub values: Vec<Expr>,
    /// The operand, where it is that alone, at bare modes.
    pub operand: Option<usize>,
    /// Its modes.
    pub modes: ModeSet,
}

/// A contraction of the normalized rows of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// The contraction that comes first; its epilogue makes a factor of the second.
    pub first: Contraction,
    /// Folds between the two, along the columns of the first.
    pub normalizer: Vec<FoldSite>,
    /// The contraction that comes second.
    pub second: Contraction,
}

impl Form {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Form::Rows(_) => FORMS[0],
            Form::Contraction(_) => FORMS[1],
            Form::Chain(_) => FORMS[2],
        }
    }
}

/// The form of a formula.
///
/// # Errors
/// What does not fit, each with its place and the nearest form that would.
///
/// ```
/// use tilewright_formula::form::{Form, recognize};
/// use tilewright_formula::{DType, Operand, Signature, check};
/// let signature = Signature {
///     operands: vec![
///         Operand::new("x", DType::F16, &["i", "k"]),
///         Operand::new("w", DType::F16, &["j", "k"]),
///         Operand::new("y", DType::F16, &["j", "i"]),
///     ],
///     ..Signature::default()
/// };
/// let formula = check("y[j,i] = sum[k] x[i,k] * w[j,k]", &signature).map_err(|_| "refused")?;
/// let recognized = recognize(&formula).map_err(|_| "no form")?;
/// let Form::Contraction(contraction) = recognized.form else { return Err("no contraction") };
/// // The output's first mode is the rows'.
/// assert_eq!(contraction.plain, Some([1, 0, 2]));
/// # Ok::<(), &str>(())
/// ```
pub fn recognize(formula: &Formula) -> Result<Recognized, Vec<Problem>> {
    let flow = Flow::of(formula);
    let mut sums = Vec::new();
    let mut problems = Vec::new();
    for site in flow.folds.iter().filter(|site| site.fold == Fold::Sum) {
        match product::of(formula, site) {
            Ok(Some(product)) => sums.push(product),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let whole = 0..formula.text.trim_end().len();
    let none = "no sum is of products of two factors that each have modes of their own";
    match &sums[..] {
        [] => Ok(Recognized {
            others: vec![
                (FORMS[1], none.to_owned(), whole.clone()),
                (FORMS[2], none.to_owned(), whole),
            ],
            form: Form::Rows(Rows {
                copy: copy(formula),
                folds: flow.folds,
            }),
        }),
        [one] => {
            let found = contraction::of(formula, &flow, one, None)?;
            let span = one.site.span.clone();
            let products = "this sum is of products of two factors with modes of their own";
            Ok(Recognized {
                form: Form::Contraction(Box::new(found)),
                others: vec![
                    (FORMS[0], products.to_owned(), span.clone()),
                    (
                        FORMS[2],
                        "this is the only sum of products".to_owned(),
                        span,
                    ),
                ],
            })
        }
        [first, second] => {
            let chain = chain::chain(formula, &flow, first, second)?;
            let span = second.site.span.clone();
            let two = "this is the second sum of products";
            Ok(Recognized {
                form: Form::Chain(Box::new(chain)),
                others: vec![
                    (FORMS[0], two.to_owned(), span.clone()),
                    (FORMS[1], two.to_owned(), span),
                ],
            })
        }
        [_, _, third, ..] => {
            let message = format!("{} sums of products; a chain has two", sums.len());
            let problem = Problem::new("form-sums", &third.site.span, message);
            let help = "the nearest form is a chain: leave this sum to another kernel";
            Err(vec![problem.help(help)])
        }
    }
}

/// The operands of a formula that copies.
fn copy(formula: &Formula) -> Option<[usize; 2]> {
    let [statement] = &formula.statements[..] else {
        return None;
    };
    let Source::Operand(to) = statement.target else {
        return None;
    };
    let from = plain_read(&statement.value)?;
    let whole = statement.left.iter().all(is_plain);
    let set = statement.combine == crate::syntax::Combine::Set;
    (whole && set).then_some([from, to])
}

/// The operand that an expression is an element of, at bare modes.
fn plain_read(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Read {
            source: Source::Operand(operand),
            indices,
        } => indices.iter().all(is_plain).then_some(*operand),
        _ => None,
    }
}

/// Whether an index is a mode and nothing else.
fn is_plain(index: &Index) -> bool {
    match index {
        Index::Affine(poly) => poly.bare().is_some() && poly.terms().count() == 1,
        _ => false,
    }
}
