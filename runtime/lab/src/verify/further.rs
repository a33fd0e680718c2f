//! Further problems of a kernel, aimed at what the drawn ones left open.
//!
//! In: after each problem, its extents, and of every comparison whose sides none has made equal how
//! far apart they were. Out: extents that move the sides towards one another, as most comparisons
//! are of an index with an extent, or with what a tile leaves of it; of others the number of tiles.
//! Where nothing is known to lead on, any eighth of a tile as an edge.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tilewright_bundle::Kernel;
use tilewright_runtime::Problem;

use super::outcome::Outcome;
use super::unreached::Noted;

/// Problems for one comparison.
const TRIES: usize = 8;
/// Problems at eighths of tiles that may meet nothing new, one after another.
const IDLE: usize = 4;
/// Draws of a problem at eighths of tiles.
const DRAWS: usize = 64;
/// Eighths of a mode that no tile is cut along.
const UNCUT: i64 = 64;

/// A comparison that no problem has made equal.
#[derive(Debug)]
struct Open {
    /// By how much its left side was more than its right one, where they were closest.
    apart: i64,
    /// The extents of that problem.
    extents: Vec<i64>,
    /// Problems that were aimed at it.
    tries: usize,
}

/// What is open, and what may still be done about it.
#[derive(Debug)]
pub(super) struct Further<'k> {
    kernel: &'k Kernel,
    /// The comparisons by their line.
    open: BTreeMap<u32, Open>,
    /// Extents of all problems, and of those that were refused.
    seen: BTreeSet<Vec<i64>>,
    /// The last that were asked for.
    asked: Option<Vec<i64>>,
    rng: StdRng,
    /// Largest product of the extents.
    most: i64,
    /// Problems that may be added.
    left: usize,
    /// Thread instructions of all drawn problems, of which the further ones may have as many.
    work: u64,
    /// Lines and equal comparisons that were met when a problem last met new ones, and problems at
    /// eighths of tiles since then.
    met: usize,
    idle: usize,
}

impl<'k> Further<'k> {
    /// At most so many further problems of a kernel.
    pub fn new(kernel: &'k Kernel, seed: u64, count: usize) -> Further<'k> {
        Further {
            kernel,
            open: BTreeMap::new(),
            seen: BTreeSet::new(),
            asked: None,
            rng: StdRng::seed_from_u64(seed),
            most: 1,
            left: count,
            work: 0,
            met: 0,
            idle: 0,
        }
    }

    /// Notes a problem that was drawn, which bounds how large further ones are.
    pub fn drawn(&mut self, noted: &Noted, outcome: &Outcome) {
        self.most = self.most.max(volume(&self.extents_of(outcome)));
        self.work = self.work.saturating_add(outcome.thread_instructions);
        self.note(noted, outcome);
    }

    /// Notes a further problem.
    pub fn added(&mut self, noted: &Noted, outcome: &Outcome) {
        self.left = self.left.saturating_sub(1);
        self.work = self.work.saturating_sub(outcome.thread_instructions);
        self.note(noted, outcome);
    }

    fn note(&mut self, noted: &Noted, outcome: &Outcome) {
        let extents = self.extents_of(outcome);
        for line in noted.lines() {
            let Some(apart) = noted.take_apart(line) else {
                if noted.is_equal(line) {
                    self.open.remove(&line);
                }
                continue;
            };
            let open = self.open.entry(line).or_insert_with(|| Open {
                apart,
                extents: extents.clone(),
                tries: 0,
            });
            if apart.unsigned_abs() < open.apart.unsigned_abs() {
                (open.apart, open.extents) = (apart, extents.clone());
            }
        }
        self.seen.insert(extents);
        let met = noted.met();
        if met > self.met {
            (self.met, self.idle) = (met, 0);
        }
    }

    /// Whether no problem before had these extents.
    pub fn is_new(&mut self, problem: &Problem) -> bool {
        let names = self.kernel.free_extents().map(|(_, name)| name);
        let extents = names
            .map(|name| problem.extent(name).unwrap_or(1))
            .collect();
        // Those that were asked for are known already, as the kernel took them or not.
        self.asked.as_ref() == Some(&extents) || self.seen.insert(extents)
    }

    /// The extents of the next problem; none where nothing is open, or enough was done.
    pub fn next(&mut self, noted: &Noted) -> Option<Vec<i64>> {
        if self.left == 0 || self.work == 0 || !noted.is_open() {
            return None;
        }
        let extents = self.aimed().or_else(|| self.at_eighths())?;
        self.seen.insert(extents.clone());
        self.asked = Some(extents.clone());
        Some(extents)
    }

    /// Extents that may make a comparison equal: of that which was tried least.
    fn aimed(&mut self) -> Option<Vec<i64>> {
        let mut lines: Vec<u32> = self.open.keys().copied().collect();
        lines.sort_by_key(|line| self.open.get(line).map(|open| open.tries));
        for line in lines {
            let Some(open) = self.open.get(&line).filter(|open| open.tries < TRIES) else {
                continue;
            };
            let all = self.candidates(open);
            let new =
                |extents: &Vec<i64>| volume(extents) <= self.most && !self.seen.contains(extents);
            let found = all.into_iter().find(new);
            if let Some(open) = self.open.get_mut(&line) {
                open.tries = found.as_ref().map_or(TRIES, |_| open.tries + 1);
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The extents moved by as much as the sides are apart, up or down, in elements or in tiles:
    /// all at once, as it is not known whose the comparison is, then one by itself. A tile is put
    /// before what is less than one: nothing else changes in the last tile, and a limit of rows
    /// shows where every thread has columns.
    fn candidates(&self, open: &Open) -> Vec<Vec<i64>> {
        let cuts = self.cuts();
        let mut all = Vec::new();
        for in_tiles in [false, true] {
            for by in [open.apart.saturating_neg(), open.apart] {
                let each = open.extents.iter().zip(&cuts);
                let moved = each.map(|(extent, cut)| {
                    let unit = if in_tiles { *cut } else { 1 };
                    moved(*extent, by, unit)
                });
                let moved: Vec<i64> = moved.collect();
                let each = moved.iter().zip(&cuts);
                let behind = each.map(|(extent, cut)| match extent < cut {
                    true => extent + cut,
                    false => *extent,
                });
                all.push(behind.collect());
                all.push(moved);
            }
        }
        for mode in 0..cuts.len() {
            for by in [open.apart.saturating_neg(), open.apart] {
                let mut extents = open.extents.clone();
                extents[mode] = moved(extents[mode], by, 1);
                all.push(extents);
            }
        }
        all
    }

    /// Extents each of which ends at an eighth of a tile, or an element or two beside it.
    fn at_eighths(&mut self) -> Option<Vec<i64>> {
        if self.idle == IDLE {
            return None;
        }
        self.idle += 1;
        let cuts = self.cuts();
        (0..DRAWS).find_map(|_| {
            let rng = &mut self.rng;
            let extents = cuts.iter().map(|cut| {
                let whole = [0, 1, 1, 2].choose(rng).copied().unwrap_or(1);
                let eighths = rng.random_range(0..8i64);
                let beside = rng.random_range(-1..=2i64);
                (whole * cut + eighths * cut / 8 + beside).max(1)
            });
            let extents: Vec<i64> = extents.collect();
            let is_new = volume(&extents) <= self.most && !self.seen.contains(&extents);
            is_new.then_some(extents)
        })
    }

    /// The tile, or the step, along each mode.
    fn cuts(&self) -> Vec<i64> {
        let cut = |name: &str| self.kernel.traits.as_ref()?.cut(name);
        let names = self.kernel.free_extents().map(|(_, name)| name);
        names.map(|name| cut(name).unwrap_or(UNCUT)).collect()
    }

    fn extents_of(&self, outcome: &Outcome) -> Vec<i64> {
        let names = self.kernel.free_extents().map(|(_, name)| name);
        let extents = names.map(|name| outcome.extents.get(name).copied().unwrap_or(1));
        extents.collect()
    }
}

/// An extent moved by so many units; as it is where nothing would be left.
fn moved(extent: i64, by: i64, unit: i64) -> i64 {
    let moved = extent.saturating_add(by.saturating_mul(unit));
    if moved >= 1 { moved } else { extent }
}

/// The product of extents.
fn volume(extents: &[i64]) -> i64 {
    extents.iter().fold(1i64, |a, b| a.saturating_mul(*b))
}
