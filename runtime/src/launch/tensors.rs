//! Tensors of a caller's as a problem: extents and strides follow from their shapes.
//!
//! In: a kernel and what each tensor says of itself. Out: the [`Problem`] that they are together,
//! or everything in which they disagree with the kernel or with one another. No memory is looked
//! at; the problem goes through [`crate::fit`] and [`crate::prepare`] like any other.

use std::collections::HashMap;

use tilewright_bundle::{DType, Env, EvalError, Expr, Kernel, Name, Operand};

use crate::error::Refusal;
use crate::launch::fit::wrong_names;
use crate::launch::layout::{Extents, dense_strides};
use crate::launch::problem::{Problem, constants, is_extent};

/// Elements that the stride of an axis of one element is made a multiple of: no access uses it, and
/// kernels that assume aligned rows take it.
const UNUSED_STRIDE_ELEMS: i64 = 256;

/// What a tensor says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described<'a> {
    /// The operand it is given for.
    pub operand: &'a str,
    /// Its element type.
    pub dtype: DType,
    /// Extents, and strides in elements, first axis first.
    pub place: Extents,
}

impl Described<'_> {
    /// Bytes from the first to behind the last element, or `None` beyond 64 bits.
    pub fn span_bytes(&self) -> Option<u64> {
        self.place.span_bytes(self.dtype)
    }
}

/// The problem that tensors are together. `given` has what they do not say: scalars, promises, and
/// extents that stand alone in no layout.
///
/// ```
/// use tilewright_runtime::{Described, Extents, Problem, bundle::*, problem_of};
/// let mut kernel = Kernel::new("copy@x", "copy");
/// let (s, d) = ("(m,n):(lds,1)".parse()?, "(m,n):(ldd,1)".parse()?);
/// kernel.semantics.operands = vec![
///     Operand::new("s", Role::In, DType::F32, s),
///     Operand::new("d", Role::Out, DType::F32, d),
/// ];
/// kernel.semantics.compute = "d[m,n] = s[m,n]".to_owned();
/// kernel.resolve()?;
/// let tensor = |operand, lead| Described {
///     operand,
///     dtype: DType::F32,
///     place: Extents::new([(4, lead), (8, 1)]),
/// };
/// let tensors = [tensor("s", 8), tensor("d", 12)];
/// let problem = problem_of(&kernel, &tensors, &Problem::default());
/// assert_eq!(problem.unwrap().to_string(), "m=4 n=8 s:(8,1) d:(12,1)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Every disagreement: a missing or unknown tensor, another type or number of axes, an extent that
/// is not the one that another tensor gives.
pub fn problem_of(
    kernel: &Kernel,
    tensors: &[Described<'_>],
    given: &Problem,
) -> Result<Problem, Vec<Refusal>> {
    let mut refusals = wrong_names(kernel, tensors.iter().map(|tensor| tensor.operand));
    let mut known = Known::of(kernel, given);
    let (mut placed, mut packed) = (Vec::new(), Vec::new());
    for operand in &kernel.semantics.operands {
        let Some(tensor) = tensors.iter().find(|t| t.operand == operand.name) else {
            let operand = operand.name.clone();
            refusals.push(Refusal::NoBuffer { operand });
            continue;
        };
        if !takes(operand.dtype, tensor.dtype) {
            refusals.push(Refusal::DType {
                operand: operand.name.clone(),
                needs: operand.dtype,
                has: tensor.dtype.to_string(),
            });
        }
        if operand.packed.is_some() {
            packed.push((operand, tensor));
            continue;
        }
        if tensor.place.shape().len() != operand.layout.rank() {
            refusals.push(Refusal::Rank {
                operand: operand.name.clone(),
                layout: operand.layout.text().to_owned(),
                needs: operand.layout.rank(),
                shape: tensor.place.shape().to_vec(),
            });
            continue;
        }
        known.learn(operand, tensor.place.shape());
        placed.push((operand, tensor));
    }
    for (operand, tensor) in &placed {
        known.compare(operand, tensor.place.shape(), &mut refusals);
    }
    for (operand, tensor) in &packed {
        known.compare_packed(operand, tensor, &mut refusals);
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut problem = given.clone();
    for (name, value) in known.extents(kernel) {
        problem = problem.with_extent(name.to_owned(), value);
    }
    // Strides of axes of several elements are those that names have.
    let mut minded = known.env;
    for (operand, tensor) in &placed {
        let axes = operand.layout.stride.iter().zip(tensor.place.axes());
        for (expr, (extent, stride)) in axes {
            if let Some(name) = expr.single_name().filter(|_| extent > 1) {
                minded.set(name, stride);
            }
        }
    }
    for (operand, tensor) in placed {
        problem = problem.with_strides(&operand.name, strides(operand, &tensor.place, &minded));
    }
    for (operand, _) in packed {
        let extents = known.extents_of(operand).unwrap_or_default();
        problem = problem.with_strides(&operand.name, dense_strides(&extents));
    }
    Ok(problem)
}

/// Whether an operand takes elements of a type: its own, or for one of bits alone any as wide; tf32
/// is stored as f32.
pub fn takes(operand: DType, tensor: DType) -> bool {
    let is_bits = matches!(
        operand,
        DType::B8 | DType::B16 | DType::B32 | DType::B64 | DType::B128
    );
    let as_f32 = (operand, tensor) == (DType::TF32, DType::F32);
    operand == tensor || as_f32 || (is_bits && operand.bits() == tensor.bits())
}

/// Values of extents, and where each comes from.
struct Known {
    env: Env,
    from: HashMap<Name, String>,
}

impl Known {
    /// What is known without tensors.
    fn of(kernel: &Kernel, given: &Problem) -> Known {
        let mut known = Known {
            env: constants(kernel),
            from: HashMap::new(),
        };
        for (text, value) in given.extents() {
            if let (true, Some(name)) = (is_extent(kernel, text), kernel.names.find(text)) {
                known.env.set(name, value);
                known.from.insert(name, "as given".to_owned());
            }
        }
        known
    }

    /// Takes extents that stand alone in a layout from a tensor, where no other gave them.
    fn learn(&mut self, operand: &Operand, shape: &[i64]) {
        for (axis, (expr, extent)) in operand.layout.shape.iter().zip(shape).enumerate() {
            let Some(name) = expr.single_name().filter(|n| self.env.get(*n).is_none()) else {
                continue;
            };
            self.env.set(name, *extent);
            let from = format!("by axis {axis} of `{}`", operand.name);
            self.from.insert(name, from);
        }
    }

    /// Adds the axes of a tensor whose extent is another one.
    fn compare(&self, operand: &Operand, shape: &[i64], refusals: &mut Vec<Refusal>) {
        for (axis, (expr, has)) in operand.layout.shape.iter().zip(shape).enumerate() {
            match expr.eval(&self.env) {
                Ok(needs) if needs != *has => refusals.push(Refusal::Shape {
                    operand: operand.name.clone(),
                    axis,
                    extent: expr.text().to_owned(),
                    needs,
                    has: *has,
                    reason: self.reason(expr),
                }),
                Ok(_) => {}
                Err(error) => refusals.push(Refusal::Expression {
                    what: format!("axis {axis} of `{}`", operand.name),
                    error,
                }),
            }
        }
    }

    /// The extents of an operand, where all of them are known.
    fn extents_of(&self, operand: &Operand) -> Result<Vec<i64>, EvalError> {
        let extents = operand.layout.shape.iter();
        extents.map(|extent| extent.eval(&self.env)).collect()
    }

    /// Adds what keeps a tensor from being a packed operand: its elements, those behind the
    /// operand's ends included, lie one after another.
    fn compare_packed(
        &self,
        operand: &Operand,
        tensor: &Described<'_>,
        refusals: &mut Vec<Refusal>,
    ) {
        let (name, order) = (&operand.name, operand.packed.as_ref());
        let extents = match self.extents_of(operand) {
            Ok(extents) => extents,
            Err(error) => {
                return refusals.push(Refusal::Expression {
                    what: format!("extents of `{name}`, which other operands do not tell"),
                    error,
                });
            }
        };
        let needs = order.and_then(|order| order.elems(&extents));
        if (tensor.place.shape(), tensor.place.stride()) != (&[needs.unwrap_or(-1)], &[1]) {
            refusals.push(Refusal::Packed {
                operand: name.clone(),
                extents,
                needs: needs.unwrap_or(i64::MAX),
                shape: tensor.place.shape().to_vec(),
                stride: tensor.place.stride().to_vec(),
            });
        }
    }

    /// Where the value of an extent comes from.
    fn reason(&self, expr: &Expr) -> String {
        let named = expr.names().find_map(|name| self.from.get(&name));
        let fixed = || "in this kernel".to_owned();
        named.cloned().unwrap_or_else(fixed)
    }

    /// The extents that a problem names.
    fn extents<'k>(&self, kernel: &'k Kernel) -> Vec<(&'k str, i64)> {
        let free = kernel.free_extents();
        free.filter_map(|(name, text)| Some((text, self.env.get(name)?)))
            .collect()
    }
}

/// The strides of a tensor, and for an axis of one element one that no assumption minds.
fn strides(operand: &Operand, place: &Extents, env: &Env) -> Vec<i64> {
    let span = |(extent, stride): (i64, i64)| extent.saturating_mul(stride);
    let widest = place.axes().filter(|(extent, _)| *extent > 1).map(span);
    let widest = widest.max().unwrap_or(1).max(1);
    let unused = widest.saturating_add(UNUSED_STRIDE_ELEMS - 1) / UNUSED_STRIDE_ELEMS;
    let unused = unused.saturating_mul(UNUSED_STRIDE_ELEMS);
    let axes = operand.layout.stride.iter().zip(place.axes());
    axes.map(|(expr, (extent, stride))| match expr.single_name() {
        Some(name) if extent == 1 && env.get(name).is_none() => unused,
        _ => stride,
    })
    .collect()
}

#[cfg(test)]
mod tests;
