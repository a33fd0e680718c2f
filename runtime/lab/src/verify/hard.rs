//! Problems that put a kernel's tiles, stages and CTAs to the test.
//!
//! In: a kernel's traits, and what extents it takes. Out: extents, one for each mode that the
//! kernel leaves open, with at least two tiles along every tiled mode and a part of a tile behind
//! them; along what is gone along step by step more steps than are in flight at once, in each CTA
//! that takes a share of them. Or more tiles of the output than the CTAs of a persistent kernel; or
//! whole tiles and nothing behind them, for what guards nothing there. Where a kernel takes no more
//! than one tile, the tile is all but full, or full.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use tilewright_bundle::{Name, Traits};

/// Tiles of the bands that rasters have: the usual one more often.
const BANDS: [i64; 3] = [8, 8, 16];
/// Extents of modes with one coordinate a tile.
const SINGLE: i64 = 3;
/// Extents of modes that no tile is cut along, such as those that tables look into.
const FREE: std::ops::Range<i64> = 65..160;

/// What such a problem is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// Tails along every mode, and all stages of a ring more than twice.
    Steps,
    /// Tails along every mode, and more tiles than there are CTAs at once.
    Turns,
    /// Whole tiles along every mode, and all stages of a ring more than once.
    Whole,
    /// Whole tiles along every mode, and more of them than there are CTAs at once: what a CTA's
    /// second whole tile finds of its first.
    WholeTurns,
    /// Tails along every mode, and so many tiles along one that a band of them is left behind:
    /// tiles are taken in bands, eight or sixteen wide, whose last is narrower.
    Bands,
}

impl Aim {
    /// Whether it is for many steps, in place of many tiles.
    fn is_deep(self) -> bool {
        matches!(self, Aim::Steps | Aim::Whole)
    }
}

/// What extents are made of.
#[derive(Debug)]
pub(super) struct Hard<'k, F> {
    /// How the kernel cuts its problem.
    pub traits: &'k Traits,
    /// What they are made for.
    pub aim: Aim,
    /// Whether to make as few tiles as do: two along each mode.
    pub small: bool,
    /// Multiprocessors, of which each may hold a CTA of a persistent kernel.
    pub sms: i64,
    /// Whether the kernel takes an extent, rounded up to what its vectors want.
    pub takes: F,
}

impl<F: Fn(Name, i64) -> bool> Hard<'_, F> {
    /// Extents for the modes of those names.
    pub fn extents(&self, names: &[(Name, String)], rng: &mut StdRng) -> Vec<i64> {
        let mut extents: Vec<i64> = Vec::with_capacity(names.len());
        for (name, text) in names {
            extents.push(self.extent(*name, text, rng));
        }
        match self.aim {
            Aim::Turns | Aim::WholeTurns if self.traits.persistent => {
                self.lengthen(names, &mut extents);
            }
            Aim::Bands => self.widen(names, &mut extents, rng),
            _ => {}
        }
        extents
    }

    fn extent(&self, name: Name, text: &str, rng: &mut StdRng) -> i64 {
        let traits = self.traits;
        if traits.outer.iter().any(|mode| mode == text) {
            return SINGLE;
        }
        let Some(cut) = traits.cut(text) else {
            return rng.random_range(FREE);
        };
        let tail = evened(rng.random_range(1..=(cut - 1).max(1)), rng);
        let whole = match traits.step.contains_key(text) {
            true if self.aim.is_deep() => {
                // With tails every stage comes three times: what it is waited for by turns over
                // twice before it is as it was.
                let turns = if self.aim == Aim::Steps { 2 } else { 1 };
                let each = turns * i64::from(traits.stages.max(1)) + 1;
                each * i64::from(traits.split.unwrap_or(1).max(1))
            }
            _ if self.small => 1,
            _ => 2,
        };
        // All but full, or anything.
        let nearly = if rng.random_bool(0.5) {
            cut / 4
        } else {
            cut - 1
        };
        let less = evened(rng.random_range(1..=nearly.max(1)), rng);
        let wanted = match self.aim {
            Aim::Whole | Aim::WholeTurns => [whole * cut, 2 * cut, cut, cut],
            Aim::Steps | Aim::Turns | Aim::Bands => {
                [whole * cut + tail, cut + tail, (cut - less).max(1), cut]
            }
        };
        let mut taken = wanted
            .into_iter()
            .filter(|extent| (self.takes)(name, *extent));
        taken.next().unwrap_or(cut)
    }

    /// Makes one of several tiled modes a tile longer than a band, and a part of one.
    fn widen(&self, names: &[(Name, String)], extents: &mut [i64], rng: &mut StdRng) {
        let tile = |at: usize| self.traits.tile.get(&names.get(at)?.1).copied();
        let tiled = (0..extents.len()).filter_map(|at| Some((at, tile(at)?)));
        let tiled: Vec<(usize, i64)> = tiled.collect();
        let band = BANDS.choose(rng).copied().unwrap_or(1);
        if let Some((at, tile)) = tiled.choose(rng).filter(|_| tiled.len() > 1)
            && let Some(extent) = extents.get_mut(*at)
        {
            let longer = extent.saturating_add((band - 1).saturating_mul(*tile));
            if (self.takes)(names[*at].0, longer) {
                *extent = longer;
            }
        }
    }

    /// Makes one mode so long that there are more tiles than multiprocessors.
    fn lengthen(&self, names: &[(Name, String)], extents: &mut [i64]) {
        let tile = |at: usize| self.traits.tile.get(&names.get(at)?.1).copied();
        let tiles = |at: usize, extent: i64| {
            let tile = tile(at).unwrap_or(i64::MAX);
            (extent.saturating_add(tile - 1) / tile).max(1)
        };
        let counts: Vec<i64> = extents
            .iter()
            .enumerate()
            .map(|(at, extent)| match tile(at) {
                Some(_) => tiles(at, *extent),
                None if self.traits.outer.contains(&names[at].1) => *extent,
                None => 1,
            })
            .collect();
        let all = counts.iter().fold(1i64, |all, n| all.saturating_mul(*n));
        let Some((at, tile)) = (0..extents.len()).find_map(|at| Some((at, tile(at)?))) else {
            return;
        };
        let own = counts.get(at).copied().unwrap_or(1);
        let others = (all / own.max(1)).max(1);
        let missing = (self.sms / others + 1 - own).max(0);
        if let Some(extent) = extents.get_mut(at) {
            let longer = extent.saturating_add(missing.saturating_mul(tile));
            if (self.takes)(names[at].0, longer) {
                *extent = longer;
            }
        }
    }
}

/// Every other time the multiple of vectors below, if there is one: an end that vectors reach is
/// another way through a kernel than one that they do not.
pub(super) fn evened(extent: i64, rng: &mut StdRng) -> i64 {
    /// Elements of the longest vectors of 16 bits, and a multiple of those of more.
    const VECTOR: i64 = 8;
    match rng.random_bool(0.5) && extent >= VECTOR {
        true => extent / VECTOR * VECTOR,
        false => extent,
    }
}

#[cfg(test)]
mod tests;
