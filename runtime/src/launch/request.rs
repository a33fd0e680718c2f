//! What a caller names for a kernel: operands where they lie, scalars, extents, promises.
//!
//! In: names and descriptors, as they come over a language's boundary. Out: the [`Problem`] that
//! they are to a kernel, the memory that goes with it, or why a kernel is not what they are for.

use tilewright_bundle::{Env, Kernel, Operand};

use crate::error::{Refusal, axes, cast, flattened};
use crate::launch::fit::View;
use crate::launch::layout::{Extents, bind};
use crate::launch::problem::Problem;
use crate::launch::reorder;
use crate::launch::tensors::{Described, problem_of, takes};

/// A tensor and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<'a> {
    /// What it says of itself.
    pub tensor: Described<'a>,
    /// Address of its first element.
    pub address: u64,
    /// Bytes from there to the end of its memory; `None` where its owner says no more than that it
    /// is there.
    pub bytes: Option<u64>,
}

impl Placed<'_> {
    /// Bytes from the first to behind the last element.
    pub fn span_bytes(&self) -> u64 {
        self.tensor.span_bytes().unwrap_or(u64::MAX)
    }

    /// The tensor as memory of a launch.
    pub fn view(&self) -> View<'_> {
        View {
            operand: self.tensor.operand,
            address: self.address,
            bytes: self.bytes.unwrap_or_else(|| self.span_bytes()),
        }
    }
}

/// What a caller names for a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// Tensors by operand.
    pub operands: Vec<Placed<'a>>,
    /// Scalars, promises, a limit of the workspace, and extents that no tensor says.
    pub given: Problem,
}

impl<'a> Request<'a> {
    /// What a caller names whose operands lie as a problem says, at addresses that suit every
    /// kernel: for asking what is chosen.
    ///
    /// # Errors
    /// Every reason why the problem does not say where the operands of `kernel` lie; strides that
    /// `kernel` does not take say it as well.
    pub fn of_problem(kernel: &'a Kernel, problem: &Problem) -> Result<Request<'a>, Vec<Refusal>> {
        let mut refusals = Vec::new();
        let mut env = problem.env(kernel, &mut refusals);
        // Of an operand with an extent that is refused, strides say nothing.
        let refused: Vec<String> = refusals.iter().filter_map(extent_of).collect();
        let is_told = |operand: &Operand| {
            let mut extents = operand.layout.shape.iter();
            extents.any(|extent| extent.words().iter().any(|word| refused.contains(word)))
        };
        let mut operands = Vec::new();
        for operand in &kernel.semantics.operands {
            if is_told(operand) {
                continue;
            }
            let place = match reorder::strides(operand, problem, &env) {
                Some(given) => bind(operand, &given, &mut env).or_else(|refusal| {
                    let is_apart = matches!(refusal, Refusal::Layout { .. });
                    let placed = is_apart.then(|| placed(operand, &given, &env)).flatten();
                    placed.ok_or(refusal)
                }),
                None => Err(Refusal::NoStrides {
                    operand: operand.name.clone(),
                }),
            };
            match place {
                Ok(place) => operands.push(Placed {
                    tensor: Described {
                        operand: &operand.name,
                        dtype: operand.dtype,
                        place: match &operand.packed {
                            None => place,
                            Some(order) => {
                                Extents::new([(order.elems(place.shape()).unwrap_or(i64::MAX), 1)])
                            }
                        },
                    },
                    address: 0,
                    bytes: None,
                }),
                Err(refusal) => refusals.push(refusal),
            }
        }
        let given = problem.clone();
        match refusals.is_empty() {
            true => Ok(Request { operands, given }),
            false => Err(refusals),
        }
    }
}

/// Where an operand lies whose strides are not of the kernel's form, as other kernels may take it.
fn placed(operand: &Operand, given: &[i64], env: &Env) -> Option<Extents> {
    let shape = operand.layout.shape.iter().map(|extent| extent.eval(env));
    let shape: Vec<i64> = shape.collect::<Result<_, _>>().ok()?;
    let is_one_each = shape.len() == given.len();
    is_one_each.then(|| Extents::new(shape.into_iter().zip(given.iter().copied())))
}

/// The extent that a refusal is of.
fn extent_of(refusal: &Refusal) -> Option<String> {
    match refusal {
        Refusal::Extent { name, .. } | Refusal::NoExtent { name } => Some(name.clone()),
        _ => None,
    }
}

impl Request<'_> {
    /// The problem that it is to a kernel.
    ///
    /// # Errors
    /// Every disagreement, as [`problem_of`].
    pub fn problem(&self, kernel: &Kernel) -> Result<Problem, Vec<Refusal>> {
        let operands = self.operands.iter();
        let tensors: Vec<Described<'_>> = operands.map(|placed| placed.tensor.clone()).collect();
        problem_of(kernel, &tensors, &self.given)
    }

    /// A problem as tensors of its extents and strides say it: the strides of axes of one element,
    /// which no element is reached by, are such that no assumption minds them. A problem that says
    /// too little stays as it is.
    pub fn as_of_tensors(kernel: &Kernel, problem: Problem) -> Problem {
        let is_one = problem.extents().any(|(_, extent)| extent == 1);
        if !is_one {
            return problem;
        }
        let request = Request::of_problem(kernel, &problem);
        let told = request.and_then(|request| request.problem(kernel));
        told.unwrap_or(problem)
    }

    /// Address of each operand's first element.
    pub fn addresses(&self) -> Vec<(&str, u64)> {
        let operands = self.operands.iter();
        operands.map(|p| (p.tensor.operand, p.address)).collect()
    }

    /// Whether each operand has the type that a kernel names, and none is only stored as one.
    pub(crate) fn is_exactly(&self, kernel: &Kernel) -> bool {
        self.operands.iter().all(|Placed { tensor, .. }| {
            let operand = kernel.semantics.operand(tensor.operand);
            operand.is_some_and(|operand| operand.dtype == tensor.dtype)
        })
    }

    /// Every reason why a kernel is not what the operands are for: other names, types or numbers of
    /// axes; none where it is.
    pub fn mismatch(&self, kernel: &Kernel) -> Option<String> {
        let operands = &kernel.semantics.operands;
        let mut reasons = Vec::new();
        for Placed { tensor, .. } in &self.operands {
            match kernel.semantics.operand(tensor.operand) {
                Some(operand) => differences(operand, tensor, &mut reasons),
                None => {
                    let names: Vec<&str> = operands.iter().map(|o| o.name.as_str()).collect();
                    let names = names.join(", ");
                    reasons.push(format!("it takes {names}, not {}", tensor.operand));
                }
            }
        }
        let given = |name: &str| self.operands.iter().any(|p| p.tensor.operand == name);
        let missing = operands.iter().filter(|operand| !given(&operand.name));
        let missing: Vec<&str> = missing.map(|operand| operand.name.as_str()).collect();
        if !missing.is_empty() {
            reasons.push(format!("it takes {} as well", missing.join(", ")));
        }
        (!reasons.is_empty()).then(|| reasons.join(", and "))
    }
}

/// In what a tensor is not the operand that it is given for.
fn differences(operand: &Operand, tensor: &Described<'_>, reasons: &mut Vec<String>) {
    let (name, needs, has) = (&operand.name, operand.dtype, tensor.dtype);
    if !takes(needs, has) {
        let cast = cast(needs, has.text());
        reasons.push(format!("its {name} is {needs}, not {has}{cast}"));
    }
    // A packed operand lies in one axis.
    let (needs, packed) = match &operand.packed {
        None => (operand.layout.rank(), ""),
        Some(_) => (1, ", packed"),
    };
    let has = tensor.place.shape().len();
    if needs != has {
        let flat = match packed {
            "" => flattened(name, needs, has),
            _ => String::new(),
        };
        let (layout, axes) = (&operand.layout, axes(has));
        reasons.push(format!(
            "its {name} is {layout}{packed}, and what is given has {axes}{flat}"
        ));
    }
}
