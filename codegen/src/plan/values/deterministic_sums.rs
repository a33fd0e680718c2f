//! Sums of many CTAs' values in a fixed order: the warps of a tile put what they have of an element
//! together in shared memory, in their order; that is the tile's term, which has a place of its own
//! in scratch memory. Then one warp takes a ticket for the tile; who comes last adds the terms of
//! some tiles in the order of their places, and so on with the sums of these, until one warp has
//! all and adds them to what the output holds.
//!
//! Comes in: how threads share out a tile. Goes out: which warps have parts of the same elements,
//! and the launch expressions of places and counters. Which warp adds follows from who comes last,
//! what it adds in which order does not, so that the bits of a sum are those of its problem and
//! kernel.

use tilewright_bundle::Expr;

use crate::arch::WARP;
use crate::atoms::model::Space;
use crate::error::Result;
use crate::plan::copies::partition;
use crate::plan::data::assumptions::Assumption;
use crate::plan::data::combining::{COUNTERS, Ctas, Have, InOrder, TERM_BYTES, WarpDigit};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Step;
use crate::plan::data::values::Flow;
use crate::plan::instructions::choose::{Chooser, Wanted};
use crate::spec::keys::model::{Auto, OperandId};

/// How terms of an output come together that a step moves, where values have elements along those
/// modes; nothing where warps share elements in no way that digits of their numbers tell.
pub(in crate::plan) fn plan(
    chooser: &mut Chooser<'_>,
    step: &Step,
    has: [bool; 2],
    outer: Vec<bool>,
    [threads, ctas]: [i64; 2],
) -> Result<Option<InOrder>> {
    let warp = i64::from(WARP);
    let own = threads / ctas;
    let mut ctas = Ctas {
        count: ctas,
        have: Have::All,
    };
    let keeps = step.keeps();
    let folds = [0, 1].map(|mode| !keeps[mode] && has[mode]);
    let mut digits = Vec::new();
    for digit in partition::whole_of_step(step)?.dst.digits {
        let end = digit.prefix * digit.extent;
        let start = digit.prefix.max(warp);
        if end <= warp {
            continue;
        }
        if end % start != 0 || start % digit.prefix != 0 || start % warp != 0 {
            return Ok(None);
        }
        let goes = |modes: [bool; 2]| (0..2).any(|at| modes[at] && digit.strides[at] != 0);
        let kept = (0..2).find(|at| keeps[*at] && digit.strides[*at] != 0);
        match (kept, goes(folds)) {
            (Some(_), true) => return Ok(None),
            (None, true) if start < own => digits.push(WarpDigit {
                prefix: start / warp,
                extent: end.min(own) / start,
            }),
            (Some(mode), false) if end > own => {
                ctas.have = Have::Apart(own / digit.prefix * digit.strides[mode]);
            }
            (None, false) if end > own => ctas.have = Have::Same,
            _ => {}
        }
    }
    let mut by = |from, to| {
        let wanted = Wanted::vector(from, to, TERM_BYTES as u32);
        chooser.copy("compute", &Auto::Auto, wanted)
    };
    let held = by(Space::Gmem, Space::Rmem);
    let atoms = held
        .zip(by(Space::Rmem, Space::Smem))
        .zip(by(Space::Smem, Space::Rmem));
    let found = atoms.filter(|_| own % warp == 0);
    Ok(found.map(|((held, put), take)| InOrder {
        keeps,
        folds,
        outer,
        passed: None,
        digits,
        ctas,
        put,
        take,
        held,
    }))
}

/// Notes what threads put together over all chunks of the mode that passes go along.
pub(in crate::plan) fn pass_by(flow: &mut Flow) {
    let Some(over) = flow.passes.as_ref().map(|passes| passes.over) else {
        return;
    };
    let sums = flow.combinings.iter_mut();
    for sums in sums.filter_map(|one| one.in_order.as_mut()) {
        sums.passed = sums.folds[over].then_some(over);
    }
}

/// What sums in a fixed order ask of a launch.
pub(in crate::plan) fn assume(plan: &mut Plan) {
    let sums = plan.in_order();
    let counters = sums.map(|(output, sums)| Assumption::CountMost {
        count: sums.counters(&plan.work),
        most: COUNTERS,
        reason: format!(
            "counters of what `+=` adds to {}: use a larger cta_tile",
            plan.operand(output).name
        ),
    });
    let counters: Vec<Assumption> = counters.collect();
    plan.assumptions.extend(counters);
}

impl Plan {
    /// The sums that are added up in a fixed order, with the outputs that they are added to.
    pub fn in_order(&self) -> impl Iterator<Item = (OperandId, &InOrder)> {
        let all = self.combinings();
        all.filter_map(|one| Some((one.operand, one.in_order.as_ref()?)))
    }

    /// Bytes of scratch memory of a launch: what is zero outside of launches, then what CTAs hand
    /// on.
    pub fn workspace(&self) -> Option<Expr> {
        let mut sums = self.in_order().peekable();
        if sums.peek().is_none() {
            return self.work.workspace();
        }
        let sums = sums.map(|(_, sums)| sums.bytes(&self.work));
        let partials = self.work.all_partial_bytes();
        let zero = Expr::from(self.zero_bytes());
        Some(
            partials
                .into_iter()
                .chain(sums)
                .fold(zero, |all, one| all + one),
        )
    }

    /// Bytes at the start of scratch memory that are zero outside of launches.
    pub fn zero_bytes(&self) -> u32 {
        let counters = self.in_order().count() as u32 * (COUNTERS * TERM_BYTES) as u32;
        self.work.flag_bytes() + counters
    }
}
