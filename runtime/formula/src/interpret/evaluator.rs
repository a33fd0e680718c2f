//! A formula on given inputs: whether they are what it needs, and operands as they are read.

use super::inputs::{Inputs, Values};
use super::sums::Sums;
use crate::affine::ModeId;
use crate::dtype::DType;
use crate::formula::{Expr, ExprKind, Extent, Formula, Role, Source, ValueType};
use crate::functions::Fold;
use crate::number::{Kind, stored};
use crate::signature::{Axis, Operand};
use crate::syntax::Combine;

/// Most elements of an output or an intermediate that are computed at once.
pub const MAX_ELEMENTS: i64 = 1 << 28;

/// Why a formula cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An extent is not given.
    #[error("no extent of mode `{0}` is given")]
    NoSize(String),
    /// An extent is no extent.
    #[error("the extent of mode `{0}` is {1}; it is 0 or more")]
    Size(String, i64),
    /// A scalar is not given.
    #[error("no value of scalar `{0}` is given")]
    NoScalar(String),
    /// An operand is not given.
    #[error("no elements of operand `{0}` are given")]
    NoTensor(String),
    /// An operand has other axes.
    #[error("{1} strides of operand `{0}`, which has {2} modes")]
    Strides(String, usize, usize),
    /// An operand's strides lead out of its elements.
    #[error("strides of operand `{0}` reach element {1} of {2}")]
    Reach(String, i64, usize),
    /// Elements of a type that has no value.
    #[error("elements of type {1} of operand `{0}` have no value here; those of 64 bits have")]
    NoValue(String, DType),
    /// Not a name of an output.
    #[error("`{0}` is no output")]
    NoOutput(String),
    /// More than is computed at once.
    #[error("`{0}` has more than {MAX_ELEMENTS} elements; compute single ones")]
    TooLarge(String),
    /// Coordinates that are none.
    #[error("`{0}` has no element {1:?}")]
    NoElement(String, Vec<i64>),
}

/// An operand's elements, with its extents.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    /// `None` of an output that holds nothing yet.
    pub values: Option<Values<'a>>,
    pub extents: Vec<i64>,
    pub strides: Vec<i64>,
    pub ty: ValueType,
}

/// A formula on given inputs.
pub struct Evaluator<'a> {
    pub(super) formula: &'a Formula,
    pub(super) sums: &'a dyn Sums,
    /// By mode.
    pub(super) extents: Vec<i64>,
    pub(super) scalars: Vec<f64>,
    /// By operand.
    pub(super) operands: Vec<View<'a>>,
    /// The value of a statement, folded along the modes that its left side lacks.
    pub(super) values: Vec<Expr>,
    /// Whether a statement is read in more than one place.
    pub(super) shared: Vec<bool>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of a formula on inputs.
    ///
    /// # Errors
    /// When an extent, a scalar or an operand is missing or does not fit.
    pub fn new(
        formula: &'a Formula,
        inputs: &Inputs<'a>,
        sums: &'a dyn Sums,
    ) -> Result<Evaluator<'a>, Error> {
        let mut extents = Vec::new();
        for mode in &formula.modes {
            let extent = match mode.extent {
                Extent::Constant(extent) => extent,
                _ => *inputs
                    .sizes
                    .get(&mode.name)
                    .ok_or_else(|| Error::NoSize(mode.name.clone()))?,
            };
            if !(0..1 << 48).contains(&extent) {
                return Err(Error::Size(mode.name.clone(), extent));
            }
            extents.push(extent);
        }
        let mut scalars = Vec::new();
        for scalar in &formula.signature.scalars {
            let value = inputs.scalars.get(&scalar.name);
            let value = value.ok_or_else(|| Error::NoScalar(scalar.name.clone()))?;
            scalars.push(stored(scalar.dtype, *value));
        }
        let mut operands = Vec::new();
        for (at, operand) in formula.signature.operands.iter().enumerate() {
            let axis = |axis: &Axis| extent_of(formula, &extents, axis);
            let shape = operand.axes.iter().map(axis).collect();
            operands.push(view(operand, shape, formula.role(at), inputs)?);
        }
        Ok(Evaluator {
            formula,
            sums,
            extents,
            scalars,
            operands,
            values: folded_values(formula),
            shared: shared(formula),
        })
    }
}

impl Evaluator<'_> {
    /// The operand of that name, if it is written.
    pub(super) fn output(&self, name: &str) -> Result<Source, Error> {
        let operand = self.formula.signature.operand(name).map(Source::Operand);
        let written = operand.filter(|source| self.formula.writer(*source).is_some());
        written.ok_or_else(|| Error::NoOutput(name.to_owned()))
    }
}

/// The extent of an axis.
fn extent_of(formula: &Formula, extents: &[i64], axis: &Axis) -> i64 {
    let of = |name: &str| {
        let mode: Option<ModeId> = formula.mode(name);
        mode.and_then(|mode| extents.get(mode).copied())
            .unwrap_or(0)
    };
    match axis {
        Axis::Mode(name) => of(name),
        Axis::Quotient(name, by) => of(name).unsigned_abs().div_ceil(by.unsigned_abs()) as i64,
        Axis::After(name) => of(name) + 1,
        Axis::Constant(extent) => *extent,
    }
}

fn view<'a>(
    operand: &Operand,
    extents: Vec<i64>,
    role: Role,
    inputs: &Inputs<'a>,
) -> Result<View<'a>, Error> {
    let name = || operand.name.clone();
    let ty = ValueType::of(operand.dtype);
    if Kind::of(operand.dtype) == Kind::Raw && operand.dtype.bits() > 64 {
        return Err(Error::NoValue(name(), operand.dtype));
    }
    let Some(tensor) = inputs.tensors.get(&operand.name) else {
        let nothing = View {
            values: None,
            strides: vec![0; extents.len()],
            extents,
            ty,
        };
        return match role {
            Role::Output => Ok(nothing),
            _ => Err(Error::NoTensor(name())),
        };
    };
    let strides = &tensor.strides;
    if strides.len() != extents.len() {
        return Err(Error::Strides(name(), strides.len(), extents.len()));
    }
    let len = match tensor.values {
        Values::Floats(values) => values.len(),
        Values::Integers(values) => values.len(),
    };
    let ends = strides.iter().zip(&extents);
    let ends: Vec<i128> = ends
        .map(|(stride, extent)| i128::from(*stride) * i128::from(extent - 1))
        .collect();
    let least: i128 = ends.iter().filter(|end| **end < 0).sum();
    let most: i128 = ends.iter().filter(|end| **end > 0).sum();
    let empty = extents.contains(&0);
    if !empty && (least < 0 || most >= len as i128) {
        let reach = if least < 0 { least } else { most };
        let reach = i64::try_from(reach).unwrap_or(i64::MAX);
        return Err(Error::Reach(name(), reach, len));
    }
    Ok(View {
        values: Some(tensor.values),
        strides: strides.clone(),
        extents,
        ty,
    })
}

/// Whether statements are read in more than one place.
fn shared(formula: &Formula) -> Vec<bool> {
    let mut places = vec![0_usize; formula.statements.len()];
    for statement in &formula.statements {
        statement.value.visit(&mut |expr| {
            if let ExprKind::Read { source, .. } = &expr.kind
                && let Some(writer) = formula.writer(*source)
            {
                places[writer] += 1;
            }
        });
    }
    places.into_iter().map(|count| count > 1).collect()
}

/// The values of statements; of those that fold what their left side lacks, the fold.
fn folded_values(formula: &Formula) -> Vec<Expr> {
    let value = |statement: &crate::formula::Statement| {
        let fold = match statement.combine {
            Combine::Max => Fold::Max,
            Combine::Min => Fold::Min,
            Combine::Add => Fold::Sum,
            Combine::Set => return statement.value.clone(),
        };
        if statement.folded.is_empty() {
            return statement.value.clone();
        }
        let body = statement.value.clone();
        let set = statement.folded.iter().fold(0, |set, mode| set | 1 << mode);
        Expr {
            ty: body.ty,
            free: body.free & !set,
            span: statement.span.clone(),
            kind: ExprKind::Fold {
                fold,
                modes: statement.folded.clone(),
                dtype: body.ty.dtype().unwrap_or(DType::F32),
                body: Box::new(body),
            },
        }
    };
    formula.statements.iter().map(value).collect()
}
