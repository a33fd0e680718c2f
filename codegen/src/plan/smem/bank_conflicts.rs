//! Shared-memory tiles: their layouts, swizzles, and what warps' accesses cost in bank conflicts.
//!
//! Banks: 32 of 4 bytes. A warp's access is served in phases of 32, 16 or 8 lanes for 4, 8 or 16
//! bytes a lane (8 lanes for ldmatrix); a phase takes as many wavefronts as the most distinct words
//! asked of one bank (`runtime/emulator/src/counters.rs` counts the same of what runs).

use serde::Serialize;
use tilewright_layout::{ComposedLayout, Layout, Swizzle};

use crate::error::Result;
use crate::plan::copies::thread_digits::Part;

/// Banks of shared memory.
const BANKS: usize = 32;
/// Bytes of a word, of which a bank gives one at a time.
const WORD_BYTES: i64 = 4;
/// Bytes of a phase.
const PHASE_BYTES: i64 = 128;
/// Lanes of a warp.
const LANES: i64 = 32;

/// Wavefronts of the accesses to a tile in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wavefronts {
    /// What all accesses of all warps take.
    pub taken: u64,
    /// What they take at least: one for each phase.
    pub least: u64,
    /// How many accesses of warps they are of.
    pub requests: u64,
    /// What the worst access of a warp takes.
    pub worst: u32,
    /// What that one takes at least.
    pub worst_least: u32,
}

impl Wavefronts {
    /// Whether words of one bank meet in some access.
    pub fn in_conflict(&self) -> bool {
        self.taken > self.least
    }

    /// How many of them are due to words that meet in a bank.
    pub fn above_least(&self) -> u64 {
        self.taken - self.least
    }

    /// What they cost: each access is issued, then takes its wavefronts.
    pub fn cost(&self) -> u64 {
        self.taken + self.requests
    }

    /// Those of both.
    pub fn with(self, other: Wavefronts) -> Wavefronts {
        let worst = match other.degree() > self.degree() {
            true => [other.worst, other.worst_least],
            false => [self.worst, self.worst_least],
        };
        Wavefronts {
            taken: self.taken + other.taken,
            least: self.least + other.least,
            requests: self.requests + other.requests,
            worst: worst[0],
            worst_least: worst[1],
        }
    }

    /// Of the worst access, how many times the fewest it takes: 1 where nothing is in conflict.
    pub fn degree(&self) -> f64 {
        f64::from(self.worst) / f64::from(self.worst_least.max(1))
    }

    /// Counts an access that so many warps make, or make so often.
    fn count(&mut self, [taken, least]: [u32; 2], times: u64) {
        self.taken += u64::from(taken) * times;
        self.least += u64::from(least) * times;
        self.requests += times;
        let worse = u64::from(taken) * u64::from(self.worst_least.max(1))
            > u64::from(self.worst) * u64::from(least);
        if worse {
            (self.worst, self.worst_least) = (taken, least);
        }
    }
}

/// Lanes that are served at once.
fn lanes_of_a_phase(access_bytes: i64) -> usize {
    (PHASE_BYTES / access_bytes).clamp(1, LANES) as usize
}

/// The words that a phase asks for, by the bank that has them.
#[derive(Debug)]
struct Phase {
    words: [i64; Phase::MOST],
    /// Of each word the one before it in its bank, from 1; 0 for none.
    before: [u8; Phase::MOST],
    /// Of each bank its last word, from 1, and how many it has.
    last: [u8; BANKS],
    asked: [u32; BANKS],
    count: u8,
}

impl Phase {
    /// Words at most: 32 lanes of two bytes, each across two words.
    const MOST: usize = 64;

    const EMPTY: Phase = Phase {
        words: [0; Phase::MOST],
        before: [0; Phase::MOST],
        last: [0; BANKS],
        asked: [0; BANKS],
        count: 0,
    };

    /// Asks for a word, once however many lanes do.
    fn ask(&mut self, word: i64) {
        let bank = word.rem_euclid(BANKS as i64) as usize;
        let mut at = self.last[bank];
        while at > 0 {
            let place = usize::from(at - 1);
            if self.words[place] == word {
                return;
            }
            at = self.before[place];
        }
        let place = usize::from(self.count);
        self.words[place] = word;
        self.before[place] = self.last[bank];
        self.count += 1;
        self.last[bank] = self.count;
        self.asked[bank] += 1;
    }
}

/// What one access of a warp takes, and the least: of byte offsets by lane.
fn of_access(offsets_bytes: &[i64], access_bytes: i64) -> [u32; 2] {
    let phases = offsets_bytes.chunks(lanes_of_a_phase(access_bytes));
    let least = phases.len() as u32;
    let mut taken = 0;
    for offsets in phases {
        let mut phase = Phase::EMPTY;
        for offset in offsets {
            let mut word = offset.div_euclid(WORD_BYTES);
            let last = (offset + access_bytes - 1).div_euclid(WORD_BYTES);
            while word <= last {
                phase.ask(word);
                word += 1;
            }
        }
        taken += phase.asked.into_iter().max().unwrap_or(0);
    }
    [taken, least]
}

/// How the warps that share out a tile access it: those whose lanes lie alike are one.
#[derive(Clone, Debug)]
struct Alike {
    /// Elements of each lane from where the first one's are.
    lanes: Vec<i64>,
    /// Elements of the first lane of each access of each warp.
    first: Vec<i64>,
}

/// The accesses of all warps to a tile, before a swizzle.
#[derive(Clone, Debug)]
pub struct Accesses {
    alike: Vec<Alike>,
    element_bytes: i64,
    access_bytes: i64,
}

impl Accesses {
    /// Accesses of `values` elements each by so many threads; lanes that repeat others' addresses,
    /// as those do that have none of their own, are left out where a warp works together.
    pub fn of(
        part: &Part<1>,
        values: usize,
        [element_bytes, access_bytes]: [i64; 2],
        threads: i64,
        together: bool,
    ) -> Accesses {
        let mut alike: Vec<Alike> = Vec::new();
        for warp in 0..threads.div_euclid(LANES) + i64::from(threads % LANES > 0) {
            let lanes = warp * LANES..threads.min((warp + 1) * LANES);
            let [start] = part.base(lanes.start);
            let mut lanes: Vec<i64> = lanes.map(|lane| part.base(lane)[0] - start).collect();
            if together {
                let mut known = Vec::new();
                lanes.retain(|lane| !known.contains(lane) && (known.push(*lane), true).1);
            }
            let first = part.values.iter().step_by(values.max(1));
            let first = first.map(|[value]| start + value);
            match alike.iter_mut().find(|one| one.lanes == lanes) {
                Some(one) => one.first.extend(first),
                None => alike.push(Alike {
                    first: first.collect(),
                    lanes,
                }),
            }
        }
        Accesses {
            alike,
            element_bytes,
            access_bytes,
        }
    }

    /// What they take of a tile that lies by that swizzle.
    ///
    /// Accesses that begin a number of the swizzle's periods apart meet the banks alike, so that
    /// each is enumerated once.
    pub fn wavefronts(&self, swizzle: &Swizzle) -> Wavefronts {
        let all = self.wavefronts_within(swizzle, u64::MAX);
        all.unwrap_or_default()
    }

    /// The same, or `None` as soon as they are known to be so many above the fewest and more: most
    /// swizzles of many are given up after a few accesses.
    pub fn wavefronts_within(&self, swizzle: &Swizzle, above_least: u64) -> Option<Wavefronts> {
        let period = period(swizzle, self.element_bytes);
        let mut all = Wavefronts::default();
        let mut places = Vec::new();
        for Alike { lanes, first } in &self.alike {
            let mut starts: Vec<i64> = first.iter().map(|at| at.rem_euclid(period)).collect();
            starts.sort_unstable();
            for alike in starts.chunk_by(|one, other| one == other) {
                let (start, times) = (alike[0], alike.len() as u64);
                let place = |lane: &i64| swizzle.apply(start + lane) * self.element_bytes;
                places.clear();
                places.extend(lanes.iter().map(place));
                all.count(of_access(&places, self.access_bytes), times);
                if all.above_least() >= above_least {
                    return None;
                }
            }
        }
        Some(all)
    }

    /// The fewest that they take however the tile lies.
    pub fn fewest(&self) -> u64 {
        let lanes = lanes_of_a_phase(self.access_bytes);
        let of = |one: &Alike| (one.lanes.len().div_ceil(lanes) * one.first.len()) as u64;
        self.alike.iter().map(of).sum()
    }
}

/// Elements after which a swizzle starts over, whole words of them at least: what begins a number
/// of them apart is moved alike, and meets the banks alike.
pub(in crate::plan) fn period(swizzle: &Swizzle, element_bytes: i64) -> i64 {
    let [bits, base, shift] = [
        swizzle.bits(),
        swizzle.base(),
        swizzle.shift().unsigned_abs(),
    ];
    let swizzled = if bits == 0 { 0 } else { bits + base + shift };
    let words = (WORD_BYTES / element_bytes).max(1);
    words.max(1i64.checked_shl(swizzled).unwrap_or(i64::MAX))
}

/// A tile of that shape whose `contiguous` mode has stride 1, swizzled.
pub(in crate::plan) fn tile_layout(
    shape: [i64; 2],
    contiguous: usize,
    pitch: i64,
    swizzle: Swizzle,
) -> Result<ComposedLayout> {
    let stride = if contiguous == 1 {
        [pitch, 1]
    } else {
        [1, pitch]
    };
    let layout = Layout::flat(&shape, &stride)?;
    Ok(ComposedLayout::new(swizzle, layout))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::plan::copies::thread_digits::Digit;

    /// Rows of 8 lanes of so many elements each, `pitch` elements apart, two values across.
    fn part(vector: i64, pitch: i64) -> Part<1> {
        let digit = |prefix, extent, stride| Digit {
            prefix,
            extent,
            strides: [stride],
        };
        let values = |row: i64| (0..vector).map(move |at| [row * 16 * pitch + at]);
        Part {
            digits: vec![digit(1, 8, vector), digit(8, 16, pitch)],
            values: (0..2).flat_map(values).collect(),
        }
    }

    /// What every access of every warp takes, each enumerated.
    fn enumerated(part: &Part<1>, swizzle: &Swizzle, vector: i64, bytes: i64) -> [u64; 2] {
        let mut all = [0, 0];
        for warp in 0..4 {
            for value in part.values.iter().step_by(vector as usize) {
                let place =
                    |lane: i64| swizzle.apply(part.base(warp * LANES + lane)[0] + value[0]) * bytes;
                let places: Vec<i64> = (0..LANES).map(place).collect();
                let [taken, least] = of_access(&places, vector * bytes);
                all = [all[0] + u64::from(taken), all[1] + u64::from(least)];
            }
        }
        all
    }

    #[test]
    fn accesses_that_are_alike_are_counted_as_often_as_they_are_made() {
        let mut degrees = Vec::new();
        for (bytes, vector) in [
            (1, 4),
            (1, 16),
            (2, 1),
            (2, 8),
            (4, 1),
            (4, 2),
            (4, 4),
            (8, 1),
        ] {
            for pitch in [16, 32, 40, 64, 68, 96, 128, 136] {
                for [bits, base, shift] in [[0, 0, 0], [1, 2, 3], [2, 3, 2], [3, 3, 3], [3, 4, 5]] {
                    let swizzle = Swizzle::new(bits, base, shift).unwrap();
                    let part = part(vector, pitch);
                    let all =
                        Accesses::of(&part, vector as usize, [bytes, vector * bytes], 128, false);
                    let found = all.wavefronts(&swizzle);
                    let wanted = enumerated(&part, &swizzle, vector, bytes);
                    assert_eq!(
                        [found.taken, found.least],
                        wanted,
                        "{bytes} {vector} {pitch} {swizzle}"
                    );
                    // Given up exactly where they are as many above the fewest.
                    assert_eq!(all.fewest(), wanted[1]);
                    let above = found.above_least();
                    assert_eq!(all.wavefronts_within(&swizzle, above + 1), Some(found));
                    let given_up = all.wavefronts_within(&swizzle, above).is_none();
                    assert!(given_up, "{bytes} {vector} {pitch} {swizzle}");
                    degrees.push(found.degree());
                }
            }
        }
        assert!(
            degrees.contains(&1.0) && degrees.contains(&5.0),
            "{degrees:?}"
        );
    }

    #[test]
    fn words_of_one_bank_wait_for_one_another() {
        let lanes = |step: i64| (0..LANES).map(|lane| lane * step).collect::<Vec<_>>();
        assert_eq!(of_access(&lanes(4), 4), [1, 1]);
        assert_eq!(of_access(&lanes(128), 4), [32, 1]);
        assert_eq!(of_access(&lanes(0), 4), [1, 1]);
        assert_eq!(of_access(&lanes(2), 2), [1, 1]);
        assert_eq!(of_access(&lanes(8), 8), [2, 2]);
        assert_eq!(of_access(&lanes(16), 8), [4, 2]);
        assert_eq!(of_access(&lanes(16), 16), [4, 4]);
        assert_eq!(of_access(&lanes(144), 16), [4, 4]);
    }
}
