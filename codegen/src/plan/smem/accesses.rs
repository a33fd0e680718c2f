//! What the threads of a step access of a tile in shared memory: whether a swizzle keeps their
//! vectors whole, and the wavefronts that they take.

use std::collections::{BTreeMap, BTreeSet};

use tilewright_layout::{Layout, Swizzle};

use crate::dtype::DType;
use crate::error::Result;
use crate::plan::copies::partition::{of_step, smem_part};
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::smem::bank_conflicts::{self, Accesses, Wavefronts};

/// A step's accesses to shared memory of one layout, before a swizzle.
pub struct SmemAccesses {
    /// Elements of each thread and value.
    offsets: Part<1>,
    /// Values of one access.
    values: usize,
    /// Bytes of an element, and of one access.
    bytes: [i64; 2],
    /// Threads that share out the tile.
    threads: i64,
    /// Where the warps of those threads meet the banks.
    warps: Accesses,
    /// All accesses of all threads.
    vectors: Vec<Vectors>,
}

/// Accesses whose elements lie alike.
struct Vectors {
    /// Where each element lies, counted from the first.
    steps: Vec<i64>,
    /// Where the first elements lie.
    first: Vec<i64>,
}

impl Vectors {
    /// Those of so many threads, of so many values each.
    fn all(offsets: &Part<1>, values: usize, threads: i64) -> Vec<Vectors> {
        let mut alike: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
        for group in offsets.values.chunks(values) {
            let [start] = group[0];
            let steps = group.iter().map(|[value]| value - start).collect();
            alike.entry(steps).or_default().push(start);
        }
        let bases = (0..threads).map(|thread| offsets.base(thread)[0]);
        let bases: BTreeSet<i64> = bases.collect();
        let of = |(steps, starts): (Vec<i64>, Vec<i64>)| {
            let of_base = |base| starts.iter().map(move |start| base + start);
            let first = bases.iter().flat_map(of_base).collect();
            Vectors { steps, first }
        };
        alike.into_iter().map(of).collect()
    }
}

impl SmemAccesses {
    /// The accesses of that step to elements of that type.
    pub fn new(
        plan: &Plan,
        step: &Step,
        layout: &Layout<i64>,
        dtype: DType,
    ) -> Result<SmemAccesses> {
        let partition = of_step(step)?;
        let facts = step.atom.copy.as_ref();
        let offsets = smem_part(step, layout)?;
        let values = match step.hop {
            Hop::S2r => partition.src_values,
            _ => partition.dst_values,
        };
        let access = facts.map_or(1, |facts| i64::from(facts.access_bytes));
        let bytes = [i64::from(dtype.bytes()), access];
        let threads = i64::from(plan.threads);
        let of_warp = facts.and_then(|facts| facts.thr_id.size().ok());
        let together = of_warp.is_some_and(|threads| threads > 1);
        Ok(SmemAccesses {
            warps: Accesses::of(&offsets, values, bytes, threads, together),
            vectors: Vectors::all(&offsets, values, threads),
            offsets,
            values,
            bytes,
            threads,
        })
    }

    /// Whether they keep inside a tile of so many bytes, and every vector whole and aligned.
    ///
    /// # Errors
    /// What the first that does not is.
    pub fn check(&self, swizzle: &Swizzle, size_bytes: i64) -> std::result::Result<(), String> {
        let [element, access] = self.bytes;
        for thread in 0..self.threads {
            let [base] = self.offsets.base(thread);
            for group in self.offsets.values.chunks(self.values) {
                let first = swizzle.apply(base + group[0][0]) * element;
                if first < 0 || first + access > size_bytes {
                    return Err(format!(
                        "thread {thread} reaches byte {first} of {size_bytes}"
                    ));
                }
                let steps = group.iter().map(|[value]| value - group[0][0]);
                if !self.is_whole(base + group[0][0], steps, swizzle) {
                    return Err(format!(
                        "thread {thread}: the vector at byte {first} is torn or unaligned"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether the swizzle keeps a vector in a row, at a multiple of its size.
    fn is_whole(&self, start: i64, steps: impl Iterator<Item = i64>, swizzle: &Swizzle) -> bool {
        let [element, access] = self.bytes;
        let first = swizzle.apply(start);
        let mut steps = (0..).zip(steps);
        first * element % access == 0
            && steps.all(|(place, step)| swizzle.apply(start + step) == first + place)
    }

    /// Whether the swizzle keeps every vector whole and aligned. Of those that begin a number of
    /// its periods apart one is looked at, but for periods so long that few do.
    pub fn whole(&self, swizzle: &Swizzle) -> bool {
        const LONGEST: i64 = 1 << 16;
        let [element, access] = self.bytes;
        let period = bank_conflicts::period(swizzle, element).max(access / element);
        let places = match period {
            0..=LONGEST => period as usize,
            _ => 0,
        };
        self.vectors.iter().all(|Vectors { steps, first }| {
            let mut seen = vec![false; places];
            first.iter().all(|at| {
                let start = at.rem_euclid(period);
                let place = seen.get_mut(start as usize);
                place.is_some_and(|seen| std::mem::replace(seen, true))
                    || self.is_whole(start, steps.iter().copied(), swizzle)
            })
        })
    }

    /// What all warps take over one tile.
    pub fn wavefronts(&self, swizzle: &Swizzle) -> Wavefronts {
        self.warps.wavefronts(swizzle)
    }

    /// The same, or `None` where they are so many above the fewest and more.
    pub fn wavefronts_within(&self, swizzle: &Swizzle, above_least: u64) -> Option<Wavefronts> {
        self.warps.wavefronts_within(swizzle, above_least)
    }

    /// The fewest that all warps take however the tile lies.
    pub fn fewest(&self) -> u64 {
        self.warps.fewest()
    }
}
