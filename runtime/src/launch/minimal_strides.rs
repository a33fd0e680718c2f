//! The tightest problem of given extents that a kernel takes.

use tilewright_bundle::{Env, Expr, Kernel, Name, OperandLayout};

use crate::error::{Error, refused};
use crate::launch::fit::fit;
use crate::launch::info::DeviceInfo;
use crate::launch::problem::Problem;

/// The problem of these extents with the smallest strides that the kernel's layouts and assumptions
/// allow: rows lie behind each other, spaced by a multiple of 1, 2, 4 … 256 elements as needed.
/// Where the layout leaves all strides open, the last axis is contiguous.
///
/// # Errors
/// [`Error::Refused`] when the kernel takes no problem of these extents.
pub fn tightest(kernel: &Kernel, extents: &Problem, device: &DeviceInfo) -> Result<Problem, Error> {
    let mut last = Vec::new();
    for spacing in (0..=8).map(|p| 1i64 << p) {
        let problem = spaced(kernel, extents, spacing);
        match fit(kernel, &problem, device) {
            Ok(_) => return Ok(problem),
            Err(refusals) => last = refusals,
        }
    }
    Err(refused(kernel, last))
}

/// The problem of these extents whose open strides are the least multiples of `spacing` elements
/// that keep elements apart, whether the kernel takes it or not.
pub fn spaced(kernel: &Kernel, extents: &Problem, spacing: i64) -> Problem {
    let mut problem = extents.clone();
    // What is wrong with the extents is said by the fit.
    let mut env = problem.env(kernel, &mut Vec::new());
    let round = |x: i64| x.saturating_add(spacing - 1) / spacing * spacing;
    for operand in &kernel.semantics.operands {
        let open = Open::of(&operand.layout, &env);
        let order: Vec<usize> = (0..operand.layout.rank()).rev().collect();
        let mut strides = open.strides(&order, 1, round);
        bind_open(&operand.layout, &mut strides, &mut env, |_, _, value| value);
        problem = problem.with_strides(&operand.name, strides);
    }
    problem
}

/// The problem with strides for the operands that have none there: those of elements without gaps,
/// in the order of the kernel's layout, the last axis innermost where that leaves it open. A name
/// that another operand's strides give another value is refused by the fit.
pub fn without_gaps(kernel: &Kernel, given: &Problem) -> Problem {
    let mut problem = given.clone();
    // What is wrong with the extents is said by the fit.
    let mut env = problem.env(kernel, &mut Vec::new());
    let operands = kernel.semantics.operands.iter();
    for operand in operands.filter(|one| given.strides(&one.name).is_none()) {
        let open = Open::of(&operand.layout, &env);
        let order: Vec<usize> = (0..operand.layout.rank()).rev().collect();
        let mut strides = open.strides(&order, 1, |least| least);
        bind_open(&operand.layout, &mut strides, &mut env, |_, _, s| s);
        problem = problem.with_strides(&operand.name, strides);
    }
    problem
}

/// A layout of which some strides are open: their names have no value yet.
pub struct Open {
    shape: Vec<i64>,
    fixed: Vec<Option<i64>>,
}

impl Open {
    /// What `env` says of a layout.
    pub fn of(layout: &OperandLayout, env: &Env) -> Open {
        let extent = |expr: &Expr| expr.eval(env).unwrap_or(1).max(1);
        Open {
            shape: layout.shape.iter().map(extent).collect(),
            fixed: layout.stride.iter().map(|e| e.eval(env).ok()).collect(),
        }
    }

    /// Strides that keep elements apart, chosen for the open axes in this order, each outside of
    /// all before it: the first is `inner` where no stride is given, each other one what `round`
    /// makes of the least that does.
    pub fn strides(
        &self,
        order: &[usize],
        inner: i64,
        mut round: impl FnMut(i64) -> i64,
    ) -> Vec<i64> {
        let span = |extent: &i64, stride: i64| extent.saturating_mul(stride.max(1));
        let fixed = self.shape.iter().zip(&self.fixed);
        let mut outside = fixed
            .filter_map(|(extent, stride)| Some(span(extent, (*stride)?)))
            .max();
        let mut strides: Vec<i64> = self.fixed.iter().map(|s| s.unwrap_or(1)).collect();
        for at in order {
            let (Some(None), Some(extent)) = (self.fixed.get(*at), self.shape.get(*at)) else {
                continue;
            };
            let stride = outside.map_or(inner, &mut round);
            outside = outside.max(Some(span(extent, stride)));
            if let Some(place) = strides.get_mut(*at) {
                *place = stride;
            }
        }
        strides
    }
}

/// Binds the names of open strides to what `choose` makes of their values.
pub fn bind_open(
    layout: &OperandLayout,
    strides: &mut [i64],
    env: &mut Env,
    choose: impl Fn(&Env, Name, i64) -> i64,
) {
    for (expr, value) in layout.stride.iter().zip(strides) {
        if let Some(name) = expr.single_name()
            && env.get(name).is_none()
        {
            *value = choose(env, name, *value);
            env.set(name, *value);
        }
    }
}
