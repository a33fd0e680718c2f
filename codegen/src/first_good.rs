//! The first of a point's plans whose kernel the assembler has nothing against.
//!
//! Comes in: a point, and how kernels are made. Goes out: its kernel. Command, build step and tests
//! take kernels from here, so that a spec has the same kernel by every route. Without an assembler
//! nothing is judged, and the first plan is taken.

use crate::arch::Arch;
use crate::error::{Error, Result, Violation};
use crate::making::{Assembled, Making};
use crate::plan;
use crate::ptx::ptxas::{self, PtxasReport};
use crate::spec::Point;
use crate::{Compiled, compile_plan};

/// Most kernels that are made of a point: each takes a second.
pub const MOST_KERNELS: usize = 8;

/// A kernel, and what was said of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The kernel.
    pub made: Compiled,
    /// What the assembler said, of the machine code last; nothing without one.
    pub reports: Vec<PtxasReport>,
}

/// The kernel of a point; `finish` is done to each before it is judged.
///
/// # Errors
/// Those of [`crate::compile`]; [`Error::Plan`] with what stands against the first kernel where
/// something stands against all; those of [`ptxas::assemble_with`].
pub fn first_good(
    point: &Point,
    making: &Making,
    finish: impl FnMut(&mut Compiled),
) -> Result<Found> {
    let code = making.code_arch(&point.id, &point.spec.problem.arch)?;
    among(point, making, code.as_ref(), (MOST_KERNELS, finish))
}

/// The same among so many kernels, with machine code for that architecture.
pub(crate) fn among(
    point: &Point,
    making: &Making,
    code: Option<&Arch>,
    (most, mut finish): (usize, impl FnMut(&mut Compiled)),
) -> Result<Found> {
    let (mut plan, mut behind) = plan::plans(point)?;
    let mut refused: Option<Vec<Violation>> = None;
    for _ in 0..most {
        let mut made = compile_plan(plan)?;
        finish(&mut made);
        let report = match making.assembled(&made.ptx.text, &made.plan.arch, code)? {
            Assembled::Good(reports) => return Ok(Found { made, reports }),
            Assembled::Refused(report) => report,
        };
        let violations = ptxas::gate(&report);
        behind.refuse(report.registers, &violations);
        refused.get_or_insert(violations);
        match behind.behind()? {
            Some(next) => plan = next,
            None => break,
        }
    }
    Err(Error::plan(&point.id, refused.unwrap_or_default()))
}
