//! Who holds what: the partitions of the plan's tiled copies and of its tiled MMA, as numbers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tilewright_layout::{Basis, IntTuple, Layout, Operand, Stride, Swizzle, TiledCopy};

use crate::dtype::DType;
use crate::error::Result;
use crate::plan::model::{Hop, MmaPlan, Plan, SmemTile, Step};
use crate::plan::part::{Digit, Part};
use crate::plan::smem::{self, Accesses, Wavefronts};
use crate::spec::model::Role;

/// A tiled copy's two sides.
#[derive(Clone, Debug)]
pub struct Partition {
    /// (thread, value) to tile coordinates at the source.
    pub src: Part<2>,
    /// (thread, value) to tile coordinates at the destination.
    pub dst: Part<2>,
    /// Values one run of the atom reads for a thread.
    pub src_values: usize,
    /// Values one run of the atom writes for a thread.
    pub dst_values: usize,
}

impl Partition {
    /// Runs of the atom a thread takes part in.
    pub fn instances(&self) -> usize {
        self.dst.values.len() / self.dst_values.max(1)
    }
}

/// Fragments of a tiled MMA: a and b of one block along k, c of the whole tile.
#[derive(Clone, Debug)]
pub struct MmaParts {
    /// (thread, value) to (m, k).
    pub a: Part<2>,
    /// (thread, value) to (n, k).
    pub b: Part<2>,
    /// (thread, value) to (m, n).
    pub c: Part<2>,
}

/// The partition of a step's tile: of what an operand has elements along.
pub fn of_step(step: &Step) -> Result<Partition> {
    let whole = whole_of_step(step)?;
    let keeps = step.keeps();
    if keeps == [true; 2] {
        return Ok(whole);
    }
    let [src, dst] = [&whole.src, &whole.dst].map(|part| part.kept(keeps));
    // Of a vector along a mode that the operand lacks one element is left.
    let values = |part: &Part<2>, each: usize| each.min(part.values.len());
    Ok(Partition {
        src_values: values(&src, whole.src_values),
        dst_values: values(&dst, whole.dst_values),
        src,
        dst,
    })
}

/// The partition of a step's tile as if the operand had elements along both of its coordinates.
pub fn whole_of_step(step: &Step) -> Result<Partition> {
    let identity = identity(step.tile)?;
    let src = step.tiled.partition_s(&identity)?;
    let dst = step.tiled.partition_d(&identity)?;
    let values = |layout: &Layout<i64, Basis<i64>>| -> Result<usize> {
        let values = layout.mode(1).and_then(|values| values.mode(0));
        let values = values.map_or(Ok(1), |atom| atom.size())?;
        Ok(usize::try_from(values).unwrap_or(1))
    };
    Ok(Partition {
        src_values: values(&src)?,
        dst_values: values(&dst)?,
        src: part(&src, coordinates),
        dst: part(&dst, coordinates),
    })
}

/// The shared-memory side of a step, in elements before the swizzle.
pub fn smem_offsets(step: &Step, tile: &SmemTile) -> Result<Part<1>> {
    smem_part(step.hop, &step.tiled, &tile.layout.inner)
}

fn smem_part(hop: Hop, tiled: &TiledCopy, layout: &Layout<i64>) -> Result<Part<1>> {
    let partitioned = match hop {
        Hop::S2r => tiled.partition_s(layout)?,
        _ => tiled.partition_d(layout)?,
    };
    Ok(part(&partitioned, |stride: &i64| [*stride]))
}

/// The fragments of the plan's MMA.
pub fn of_mma(plan: &Plan, mma: &MmaPlan) -> Result<MmaParts> {
    let [_, _, k] = mma.tiled.tile_mnk()?;
    let (m, n) = (plan.cta_tile[0], plan.cta_tile[1]);
    Ok(MmaParts {
        a: part(
            &mma.tiled.partition(Operand::A, &identity([m, k])?)?,
            coordinates,
        ),
        b: part(
            &mma.tiled.partition(Operand::B, &identity([n, k])?)?,
            coordinates,
        ),
        c: part(
            &mma.tiled.partition(Operand::C, &identity([m, n])?)?,
            coordinates,
        ),
    })
}

/// Whether a load from shared memory puts every value where the MMA's fragment has it: the same
/// owner, and the values of one register next to one another.
pub fn fills_fragment(plan: &Plan, mma: &MmaPlan, step: &Step) -> Result<bool> {
    let parts = of_mma(plan, mma)?;
    let fragment = if step.operand == plan.named(Role::A) {
        parts.a
    } else {
        parts.b
    };
    let loaded = of_step(step)?;
    let [_, _, block] = mma.tiled.tile_mnk()?;
    for thread in 0..i64::from(plan.threads) {
        if loaded.dst.base(thread) != fragment.base(thread) {
            return Ok(false);
        }
    }
    let index: HashMap<[i64; 2], usize> = fragment
        .values
        .iter()
        .enumerate()
        .map(|(index, value)| (*value, index))
        .collect();
    let bits = plan
        .operand(&step.operand)
        .map_or(32, |operand| operand.dtype.bits());
    let per_register = (32 / bits).max(1) as usize;
    let per_register = if mma.widen.is_some() { 1 } else { per_register };
    if loaded.dst_values % per_register != 0 {
        return Ok(false);
    }
    for group in loaded.dst.values.chunks(per_register) {
        let place = |value: &[i64; 2]| index.get(&[value[0], value[1] % block]).copied();
        let Some(first) = place(&group[0]) else {
            return Ok(false);
        };
        let in_order = group
            .iter()
            .enumerate()
            .all(|(step, value)| place(value) == Some(first + step));
        if first % per_register != 0 || !in_order {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a thread's accumulators come in pairs that are neighbours along n.
pub fn neighbours_along_n(plan: &Plan, mma: &MmaPlan) -> Result<bool> {
    let values = of_mma(plan, mma)?.c.values;
    let neighbours = |pair: &[[i64; 2]]| pair.len() == 2 && pair[1] == [pair[0][0], pair[0][1] + 1];
    Ok(values.chunks(2).all(neighbours))
}

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
        let offsets = smem_part(step.hop, &step.tiled, layout)?;
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
        let period = smem::period(swizzle, element).max(access / element);
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

fn identity(tile: [i64; 2]) -> Result<Layout<i64, Basis<i64>>> {
    Ok(Layout::identity(IntTuple::flat(tile))?)
}

fn coordinates(stride: &Basis<i64>) -> [i64; 2] {
    let mut components = [0; 2];
    for (path, coefficient) in stride.terms() {
        if let Some(slot) = path
            .indices()
            .next()
            .and_then(|index| components.get_mut(index))
        {
            *slot += coefficient;
        }
    }
    components
}

/// A (thread, values…) layout as digits of the thread and a constant for each value.
fn part<const N: usize, D: Stride<i64>>(
    layout: &Layout<i64, D>,
    components: impl Fn(&D) -> [i64; N],
) -> Part<N> {
    let mut digits = Vec::new();
    let mut values = vec![[0; N]];
    for (index, mode) in layout.modes().enumerate() {
        let mut prefix = 1;
        for (extent, stride) in mode.leaves() {
            let strides = components(stride);
            if index == 0 {
                if *extent > 1 && strides != [0; N] {
                    digits.push(Digit {
                        prefix,
                        extent: *extent,
                        strides,
                    });
                }
                prefix *= extent;
            } else {
                let steps = (0..*extent).flat_map(|step| {
                    let shift = |value: &[i64; N]| {
                        std::array::from_fn(|component| {
                            value[component] + step * strides[component]
                        })
                    };
                    values.iter().map(shift).collect::<Vec<_>>()
                });
                values = steps.collect();
            }
        }
    }
    Part { digits, values }
}
