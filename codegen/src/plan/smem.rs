//! Shared-memory tiles: their layouts, swizzles, and what warps' accesses cost in bank conflicts.
//!
//! Banks: 32 of 4 bytes. A warp's access is served in phases of 32, 16 or 8 lanes for 4, 8 or 16
//! bytes a lane (8 lanes for ldmatrix); a phase takes as many wavefronts as the most distinct words
//! asked of one bank (`runtime/emulator/src/counters.rs` counts the same of what runs).

use std::collections::BTreeMap;

use serde::Serialize;
use tilewright_layout::{ComposedLayout, Layout, Swizzle};

use crate::error::Result;
use crate::plan::part::Part;

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
    /// What the worst access of a warp takes.
    pub worst: u32,
    /// What that one takes at least.
    pub worst_least: u32,
}

impl Wavefronts {
    /// Of the worst access, how many times the fewest it takes: 1 where nothing is in conflict.
    pub fn degree(&self) -> f64 {
        f64::from(self.worst) / f64::from(self.worst_least.max(1))
    }

    /// Counts an access that so many warps make, or make so often.
    fn count(&mut self, [taken, least]: [u32; 2], times: u64) {
        self.taken += u64::from(taken) * times;
        self.least += u64::from(least) * times;
        let worse = u64::from(taken) * u64::from(self.worst_least.max(1))
            > u64::from(self.worst) * u64::from(least);
        if worse {
            (self.worst, self.worst_least) = (taken, least);
        }
    }
}

/// What one access of a warp takes, and the least: of byte offsets by lane.
fn of_access(offsets_bytes: &[i64], access_bytes: i64) -> [u32; 2] {
    let lanes = (PHASE_BYTES / access_bytes).clamp(1, LANES) as usize;
    let phases = offsets_bytes.chunks(lanes);
    let least = phases.len() as u32;
    let mut words = Vec::with_capacity(BANKS);
    let mut taken = 0;
    for phase in phases {
        words.clear();
        words.extend(phase.iter().flat_map(|offset| {
            let last = (offset + access_bytes - 1).div_euclid(WORD_BYTES);
            offset.div_euclid(WORD_BYTES)..=last
        }));
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u32; BANKS];
        for word in &words {
            banks[word.rem_euclid(BANKS as i64) as usize] += 1;
        }
        taken += banks.into_iter().max().unwrap_or(0);
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
        let [bits, base, shift] = [
            swizzle.bits(),
            swizzle.base(),
            swizzle.shift().unsigned_abs(),
        ];
        let swizzled = if bits == 0 { 0 } else { bits + base + shift };
        let words = (WORD_BYTES / self.element_bytes).max(1);
        let period = words.max(1i64.checked_shl(swizzled).unwrap_or(i64::MAX));
        let mut all = Wavefronts::default();
        for Alike { lanes, first } in &self.alike {
            let mut times: BTreeMap<i64, u64> = BTreeMap::new();
            for start in first {
                *times.entry(start.rem_euclid(period)).or_default() += 1;
            }
            for (start, times) in times {
                let place = |lane: &i64| swizzle.apply(start + lane) * self.element_bytes;
                let places: Vec<i64> = lanes.iter().map(place).collect();
                all.count(of_access(&places, self.access_bytes), times);
            }
        }
        all
    }
}

/// A tile of that shape whose `contiguous` mode has stride 1, swizzled.
pub(super) fn tile_layout(
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
