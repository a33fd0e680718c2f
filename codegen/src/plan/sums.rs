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

use std::sync::Arc;

use crate::arch::WARP;
use crate::atoms::model::{Atom, Space};
use crate::error::Result;
use crate::plan::assumption::Assumption;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::flow::Flow;
use crate::plan::fold::Scratch;
use crate::plan::model::{Plan, Step};
use crate::plan::partition;
use crate::spec::model::Auto;

/// Bytes of a term, and of a counter.
pub const TERM_BYTES: i64 = 4;
/// Counters of each sum, in front of all terms; they are zero outside of launches.
pub const COUNTERS: i64 = 1 << 17;
/// Terms that one warp adds up at a time, of as many tiles or sums of tiles; what is left behind
/// the second time is added up whole.
pub const TOGETHER: i64 = 32;

/// How terms of one output come together.
#[derive(Clone, Debug)]
pub struct InOrder {
    /// The modes of the tile that the output has elements along.
    pub keeps: [bool; 2],
    /// Those along which values are added up.
    pub folds: [bool; 2],
    /// Which of the outer modes the output has elements along.
    pub outer: Vec<bool>,
    /// The mode of the tile whose chunks threads put together before they hand anything on.
    pub passed: Option<usize>,
    /// Digits of a warp's number in its CTA in which those differ that have parts of the same
    /// elements.
    pub digits: Vec<WarpDigit>,
    /// How CTAs stand that share a tile.
    pub ctas: Ctas,
    /// Where in shared memory they put them: part after part, with one for each element of a tile;
    /// a set for each tile that a CTA makes at a time.
    pub scratch: Scratch,
    /// Loads what the output holds.
    pub held: Arc<Atom>,
}

/// CTAs of a cluster that share a tile; each takes a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctas {
    /// How many there are.
    pub count: i64,
    /// What each has of the elements of the tile.
    pub have: Have,
}

/// What CTAs that share a tile have of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Have {
    /// Each has parts of all.
    All,
    /// Each has elements of its own, so many side by side.
    Apart(i64),
    /// They have the same, of which that of the first counts.
    Same,
}

impl Ctas {
    /// Terms that they have of each element of a tile.
    pub fn terms(self) -> i64 {
        match self.have {
            Have::All => self.count,
            Have::Apart(_) | Have::Same => 1,
        }
    }
}

/// A digit of a warp's number in mixed radix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpDigit {
    /// Product of the extents before it.
    pub prefix: i64,
    /// Its values.
    pub extent: i64,
}

impl InOrder {
    /// Parts that warps have of each element of a tile.
    pub fn parts(&self) -> i64 {
        self.digits.iter().map(|digit| digit.extent).product()
    }

    /// Which of the parts of an element is that of the warp of that number.
    pub fn part_of(&self, warp: i64) -> i64 {
        let mut part = 0;
        for digit in self.digits.iter().rev() {
            part = part * digit.extent + warp / digit.prefix % digit.extent;
        }
        part
    }

    /// Whether tiles that differ along that mode have terms of their own.
    pub fn goes(&self, mode: usize) -> bool {
        (self.keeps[mode] || self.folds[mode]) && self.passed != Some(mode)
    }

    /// Elements that a tile has terms of.
    pub fn elements(&self, tile: &[i64]) -> i64 {
        let kept = self.keeps.iter().zip(tile);
        kept.filter(|(keeps, _)| **keeps)
            .map(|(_, extent)| extent)
            .product()
    }

    /// Tiles along modes that the output has elements along, or along those that are added up, as a
    /// launch expression.
    fn tiles(&self, plan: &Plan, kept: bool) -> String {
        let own = match kept {
            true => self.keeps,
            false => self.folds,
        };
        let own = [0, 1].map(|mode| own[mode] && self.goes(mode));
        let along = plan.work.tile.iter().zip(own).filter(|(_, own)| *own);
        let along = along.map(|((name, extent), _)| match extent {
            1 => name.clone(),
            _ => format!("ceil_div({name}, {extent})"),
        });
        let outer = plan.work.outer.iter().zip(&self.outer);
        let outer = outer.filter(|(_, has)| **has == kept);
        let all: Vec<String> = along.chain(outer.map(|(name, _)| name.clone())).collect();
        match all.is_empty() {
            true => "1".to_owned(),
            false => all.join(" * "),
        }
    }

    /// Bytes of its terms, as a launch expression.
    pub fn bytes(&self, plan: &Plan) -> String {
        let each = self.ctas.terms() * self.elements(&plan.cta_tile) * TERM_BYTES;
        let [kept, folded] = [true, false].map(|kept| self.tiles(plan, kept));
        format!("{kept} * {folded} * {each}")
    }

    /// Counters of a launch, as a launch expression: twice as many as there are first sums, which
    /// is enough for the later ones.
    fn counters(&self, plan: &Plan) -> String {
        let [kept, folded] = [true, false].map(|kept| self.tiles(plan, kept));
        format!("{kept} * ceil_div({folded}, {TOGETHER}) * 2")
    }
}

/// How terms of an output come together that a step moves, where values have elements along those
/// modes; nothing where warps share elements in no way that digits of their numbers tell.
pub(super) fn plan(
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
    let scratch = |write, read| Scratch {
        offset_bytes: 0,
        size_bytes: 0,
        write,
        read,
    };
    let found = atoms.filter(|_| own % warp == 0);
    Ok(found.map(|((held, write), read)| InOrder {
        keeps,
        folds,
        outer,
        passed: None,
        digits,
        ctas,
        scratch: scratch(write, read),
        held,
    }))
}

/// Notes what threads put together over all chunks of the mode that passes go along.
pub(super) fn pass_by(flow: &mut Flow) {
    let Some(over) = flow.passes.as_ref().map(|passes| passes.over) else {
        return;
    };
    let sums = flow.combinings.iter_mut();
    for sums in sums.filter_map(|one| one.in_order.as_mut()) {
        sums.passed = sums.folds[over].then_some(over);
    }
}

/// Gives what warps have of a tile's elements places in shared memory, from that byte on, for so
/// many tiles at a time. Where they end.
pub(super) fn place(flow: Option<&mut Flow>, tile: &[i64], (sets, at): (u32, u32)) -> u32 {
    let combinings = flow.into_iter().flat_map(|flow| &mut flow.combinings);
    let mut end = at;
    // All that comes before them ends at a multiple of their bytes.
    for sums in combinings.filter_map(|one| one.in_order.as_mut()) {
        let bytes = sums.parts() * sums.elements(tile) * TERM_BYTES;
        sums.scratch.offset_bytes = end;
        sums.scratch.size_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        end = end.saturating_add(sums.scratch.size_bytes.saturating_mul(sets));
    }
    end
}

/// What sums in a fixed order ask of a launch.
pub(super) fn assume(plan: &mut Plan) {
    let sums = plan.in_order();
    let counters = sums.map(|(name, sums)| Assumption::CountMost {
        count: sums.counters(plan),
        most: COUNTERS,
        reason: format!("counters of what `+=` adds to {name}: use a larger cta_tile"),
    });
    let counters: Vec<Assumption> = counters.collect();
    plan.assumptions.extend(counters);
}

impl Plan {
    /// The sums that are added up in a fixed order, with the outputs that they are added to.
    pub fn in_order(&self) -> impl Iterator<Item = (&str, &InOrder)> {
        let sums = |one: &'_ crate::plan::combine::Combining| one.in_order.is_some();
        let all = self.combinings().filter(move |one| sums(one));
        all.filter_map(|one| Some((one.operand.as_str(), one.in_order.as_ref()?)))
    }

    /// Bytes of scratch memory of a launch, as a launch expression: what is zero outside of
    /// launches, then what CTAs hand on.
    pub fn workspace(&self) -> Option<String> {
        let sums: Vec<String> = self.in_order().map(|(_, sums)| sums.bytes(self)).collect();
        if sums.is_empty() {
            return self.work.workspace();
        }
        let partials = self.work.all_partial_bytes();
        let all: Vec<String> = partials.into_iter().chain(sums).collect();
        Some(format!("{} + {}", self.zero_bytes(), all.join(" + ")))
    }

    /// Bytes at the start of scratch memory that are zero outside of launches.
    pub fn zero_bytes(&self) -> u32 {
        let counters = self.in_order().count() as u32 * (COUNTERS * TERM_BYTES) as u32;
        self.work.flag_bytes() + counters
    }
}
