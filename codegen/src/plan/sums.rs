//! Sums of many CTAs' values in a fixed order: every warp stores what it has of an element, its
//! term, in a place of its own in scratch memory, and takes a ticket; who comes last adds the terms
//! of some tiles in the order of their places, and so on with the sums of these, until one warp has
//! all and adds them to what the output holds.
//!
//! Comes in: how threads share out a tile. Goes out: who has terms of the same elements, and the
//! launch expressions of places and counters. Which warp adds follows from who comes last, what it
//! adds in which order does not, so that the bits of a sum are those of its problem and kernel.

use std::sync::Arc;

use crate::arch::WARP;
use crate::atoms::model::{Atom, Space};
use crate::error::Result;
use crate::plan::assumption::Assumption;
use crate::plan::choose::{Chooser, Wanted};
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
    /// Warps that make a tile.
    pub warps: i64,
    /// Digits of a warp's number in which those differ that have terms of the same elements.
    pub digits: Vec<WarpDigit>,
    /// Loads what the output holds.
    pub held: Arc<Atom>,
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
    /// Terms that a tile has of each of its elements.
    pub fn parts(&self) -> i64 {
        self.digits.iter().map(|digit| digit.extent).product()
    }

    /// Which of a tile's terms of an element is that of the warp of that number.
    pub fn part_of(&self, warp: i64) -> i64 {
        let mut part = 0;
        for digit in self.digits.iter().rev() {
            part = part * digit.extent + warp / digit.prefix % digit.extent;
        }
        part
    }

    /// Tiles whose terms are added up first.
    pub fn first_tiles(&self) -> i64 {
        (TOGETHER / self.parts()).max(1)
    }

    /// Sums of those that are added up next.
    pub fn next_sums(&self) -> i64 {
        TOGETHER
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
        let each = self.parts() * self.elements(&plan.cta_tile) * TERM_BYTES;
        let [kept, folded] = [true, false].map(|kept| self.tiles(plan, kept));
        format!("{kept} * {folded} * {each}")
    }

    /// Counters of a launch, as a launch expression: twice as many as there are first sums, which
    /// is enough for the later ones.
    fn counters(&self, plan: &Plan) -> String {
        let [kept, folded] = [true, false].map(|kept| self.tiles(plan, kept));
        let first = self.first_tiles();
        format!("{kept} * ceil_div({folded}, {first}) * 2")
    }
}

/// How terms of an output come together that a step moves, where values have elements along those
/// modes; nothing where warps share elements in no way that digits of their numbers tell.
pub(super) fn plan(
    chooser: &mut Chooser<'_>,
    step: &Step,
    has: [bool; 2],
    outer: Vec<bool>,
    threads: i64,
) -> Result<Option<InOrder>> {
    let warp = i64::from(WARP);
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
        match (goes(keeps), goes(folds)) {
            (true, true) => return Ok(None),
            (false, true) => digits.push(WarpDigit {
                prefix: start / warp,
                extent: end / start,
            }),
            (_, false) => {}
        }
    }
    let wanted = Wanted::vector(Space::Gmem, Space::Rmem, TERM_BYTES as u32);
    let held = chooser.copy("compute", &Auto::Auto, wanted);
    Ok(held.filter(|_| threads % warp == 0).map(|held| InOrder {
        keeps,
        folds,
        outer,
        warps: threads / warp,
        digits,
        held,
    }))
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
