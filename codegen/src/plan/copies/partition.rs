//! Who holds what: the partitions of the plan's tiled copies and of its tiled MMA, as numbers.

use std::collections::HashMap;

use tilewright_layout::{Basis, IntTuple, Layout, Operand, Stride};

use crate::error::Result;
use crate::plan::copies::thread_digits::{Digit, Part};
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{Hop, SmemTile, Step};

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

/// Fragments of a tiled MMA: of the factors of one block along k, of the sums of the whole tile.
#[derive(Clone, Debug)]
pub struct MmaParts {
    /// (thread, value) to (m, k), and to (n, k).
    pub factors: [Part<2>; 2],
    /// (thread, value) to (m, n).
    pub sums: Part<2>,
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
    smem_part(step, &tile.layout.inner)
}

/// The same of a layout. Elements of an operand of one axis lie one after another.
pub(in crate::plan) fn smem_part(step: &Step, layout: &Layout<i64>) -> Result<Part<1>> {
    if step.keeps() != [true; 2] {
        let of_step = of_step(step)?;
        let elements = match step.hop {
            Hop::S2r => of_step.src,
            _ => of_step.dst,
        };
        let offset = |[row, column]: [i64; 2]| [row + column];
        let digits = elements.digits.iter().map(|digit| Digit {
            prefix: digit.prefix,
            extent: digit.extent,
            strides: offset(digit.strides),
        });
        return Ok(Part {
            digits: digits.collect(),
            values: elements.values.into_iter().map(offset).collect(),
        });
    }
    let partitioned = match step.hop {
        Hop::S2r => step.tiled.partition_s(layout)?,
        _ => step.tiled.partition_d(layout)?,
    };
    Ok(part(&partitioned, |stride: &i64| [*stride]))
}

/// The fragments of the plan's MMA.
pub fn of_mma(plan: &Plan, mma: &MmaPlan) -> Result<MmaParts> {
    let k = plan.k_block(mma)?;
    let [m, n] = plan.tile();
    let of = |operand: Operand, tile: [i64; 2]| -> Result<Part<2>> {
        let fragments = mma.tiled.partition(operand, &identity(tile)?)?;
        Ok(part(&fragments, coordinates))
    };
    Ok(MmaParts {
        factors: [of(Operand::A, [m, k])?, of(Operand::B, [n, k])?],
        sums: of(Operand::C, [m, n])?,
    })
}

/// Whether a load from shared memory puts every value where the MMA's fragment has it: the same
/// owner, and the values of one register next to one another.
pub fn fills_fragment(plan: &Plan, mma: &MmaPlan, step: &Step) -> Result<bool> {
    let parts = of_mma(plan, mma)?;
    let operand = plan.operand(step.operand);
    let Some(factor) = operand.factor() else {
        return Ok(false);
    };
    let fragment = &parts.factors[factor];
    let loaded = of_step(step)?;
    let block = plan.k_block(mma)?;
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
    let per_register = (32 / operand.dtype.bits()).max(1) as usize;
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
    let values = of_mma(plan, mma)?.sums.values;
    let neighbours = |pair: &[[i64; 2]]| pair.len() == 2 && pair[1] == [pair[0][0], pair[0][1] + 1];
    Ok(values.chunks(2).all(neighbours))
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
