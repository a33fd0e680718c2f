//! The tightest problem of given extents that a kernel takes.

use tilewright_bundle::{Env, Kernel, Name};

use crate::error::{Error, refused};
use crate::info::DeviceInfo;
use crate::launch::fit;
use crate::layout::{OperandLayout, single_name};
use crate::problem::Problem;

/// A problem with the smallest strides that the kernel's layouts and assumptions allow: rows lie
/// behind each other, spaced by a multiple of 1, 2, 4 … 256 elements as needed. Where the layout
/// leaves both strides open, the second mode is contiguous.
///
/// # Errors
/// [`Error::Refused`] when the kernel takes no problem of these extents.
pub fn packed(
    kernel: &Kernel,
    m: i64,
    n: i64,
    k: i64,
    device: &DeviceInfo,
) -> Result<Problem, Error> {
    let mut last = Vec::new();
    for spacing in (0..=8).map(|p| 1i64 << p) {
        let problem = spaced(kernel, [m, n, k], spacing)?;
        match fit(kernel, &problem, device) {
            Ok(_) => return Ok(problem),
            Err(refusals) => last = refusals,
        }
    }
    Err(refused(kernel, last))
}

fn spaced(kernel: &Kernel, [m, n, k]: [i64; 3], spacing: i64) -> Result<Problem, Error> {
    let mut problem = Problem::new(m, n, k);
    let mut env = Env::new()
        .with(Name::M, m)
        .with(Name::N, n)
        .with(Name::K, k);
    env.set(Name::Batch, 1);
    for operand in &kernel.semantics.operands {
        let layout = OperandLayout::of(operand).map_err(|r| refused(kernel, vec![r]))?;
        let extent = |at: usize| layout.shape[at].eval(&env).unwrap_or(1);
        let round = |x: i64| x.saturating_add(spacing - 1) / spacing * spacing;
        let (rows, cols) = (extent(0), extent(1));
        let fixed = [
            layout.stride[0].eval(&env).ok(),
            layout.stride[1].eval(&env).ok(),
        ];
        let (row, col) = match fixed {
            [Some(row), Some(col)] => (row, col),
            [Some(row), None] => (row, round(rows.saturating_mul(row))),
            [None, Some(col)] => (round(cols.saturating_mul(col)), col),
            [None, None] => (round(cols), 1),
        };
        for (at, value) in [(0, row), (1, col)] {
            if let Some(name) = single_name(&layout.stride[at])
                && env.get(name).is_none()
            {
                env.set(name, value);
            }
        }
        problem = problem.with_strides(&operand.name, row, col);
    }
    Ok(problem)
}
