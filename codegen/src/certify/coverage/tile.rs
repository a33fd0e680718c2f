//! One full tile, enumerated: coverage, bounds, whole vectors, wavefronts, sectors.

use std::collections::BTreeSet;

use crate::certify::StepCertificate;
use crate::error::{Error, Result};
use crate::plan::copies::partition;
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::smem::accesses::SmemAccesses;
use crate::plan::smem::bank_conflicts::Wavefronts;

/// Checks every tiled copy of the plan.
pub(in crate::certify) fn check(
    plan: &Plan,
    refuse: &impl Fn(String, String) -> Error,
) -> Result<Vec<StepCertificate>> {
    plan.steps
        .iter()
        .map(|step| check_step(plan, step, refuse))
        .collect()
}

fn check_step(
    plan: &Plan,
    step: &Step,
    refuse: &impl Fn(String, String) -> Error,
) -> Result<StepCertificate> {
    let name = format!("{}.{}", plan.operand(step.operand).name, step.hop.name());
    let partition = partition::of_step(step)?;
    let coverage = |part: &Part<2>, side: &str| {
        owners(plan, step, part).map_err(|message| {
            refuse(
                format!("{name} {side}: {message}"),
                format!("{partition:?}"),
            )
        })
    };
    // ldmatrix and stmatrix go through the addresses of other lanes: who holds an element shows at
    // the registers.
    let written = coverage(&partition.dst, "destination")?;
    let owners = match step.hop {
        Hop::R2s => coverage(&partition.src, "source")?,
        _ => written,
    };
    // Of threads that hold the same elements of a result, one stores them.
    let repeats = step.keeps() != [true; 2];
    let shared = step.hop == Hop::S2r && plan.mma.is_some() || repeats;
    if owners != 1 && !shared {
        return Err(refuse(
            format!("{name}: {owners} threads move each element"),
            String::new(),
        ));
    }
    let shared_memory = wavefronts(plan, step)
        .map_err(|message| refuse(format!("{name}: {message}"), plan.to_string()))?;
    let sectors = match step.hop {
        Hop::G2s | Hop::G2r | Hop::G2rLast => Some(&partition.src),
        Hop::R2g => Some(&partition.dst),
        Hop::S2r | Hop::R2s | Hop::S2g => None,
    }
    .and_then(|part| sectors(plan, step, part));
    Ok(StepCertificate {
        step: name,
        atom: step.atom.id.clone(),
        elements: (step.tile[0] * step.tile[1]) as u64,
        owners,
        shared_memory,
        sectors_per_request: sectors.map(|(most, _)| most),
        sectors_ideal: sectors.map(|(_, ideal)| ideal),
    })
}

/// How many threads hold each element of the tile: the same number for all of them.
fn owners(plan: &Plan, step: &Step, part: &Part<2>) -> std::result::Result<u64, String> {
    let keeps = step.keeps();
    let [rows, columns] = [0, 1].map(|at| if keeps[at] { step.tile[at] } else { 1 });
    let mut counts = vec![0u64; (rows * columns) as usize];
    for thread in 0..i64::from(plan.threads) {
        let base = part.base(thread);
        for value in &part.values {
            let (row, column) = (base[0] + value[0], base[1] + value[1]);
            if row < 0 || row >= rows || column < 0 || column >= columns {
                return Err(format!(
                    "thread {thread} reaches ({row},{column}) outside ({rows},{columns})"
                ));
            }
            counts[(row + rows * column) as usize] += 1;
        }
    }
    let first = counts[0];
    match counts
        .iter()
        .position(|count| *count != first || *count == 0)
    {
        None => Ok(first),
        Some(at) => {
            let (row, column) = (at as i64 % rows, at as i64 / rows);
            Err(format!(
                "({row},{column}) is moved {} times, (0,0) {first} times",
                counts[at]
            ))
        }
    }
}

/// What the step's accesses to shared memory cost over one run of it, by all warps. Checks bounds
/// and whole vectors.
fn wavefronts(plan: &Plan, step: &Step) -> std::result::Result<Option<Wavefronts>, String> {
    if !matches!(step.hop, Hop::G2s | Hop::S2r | Hop::R2s) {
        return Ok(None);
    }
    let tile = plan
        .smem_tile(step.operand)
        .ok_or("the operand has no tile in shared memory")?;
    let accesses = SmemAccesses::new(plan, step, &tile.layout.inner, tile.dtype);
    let accesses = accesses.map_err(|error| error.to_string())?;
    let swizzle = &tile.layout.swizzle;
    accesses.check(swizzle, i64::from(tile.size_bytes))?;
    Ok(Some(accesses.wavefronts(swizzle)))
}

/// Most 32-byte sectors one request of warp 0 touches, and the fewest its bytes need. Rows are
/// taken to start on a sector; `None` when no stride is known to be 1.
fn sectors(plan: &Plan, step: &Step, part: &Part<2>) -> Option<(u32, u32)> {
    let operand = plan.operand(step.operand);
    // Where a table says, elements side by side lie apart.
    let axis = operand.contiguous_axis()?;
    let along = step
        .coordinate(axis)
        .filter(|_| operand.looked_into() != Some(axis))?;
    let bits = i64::from(operand.dtype.bits());
    let access = step
        .atom
        .copy
        .as_ref()
        .map(|facts| i64::from(facts.access_bytes))?;
    let per_access = (access * 8 / bits).max(1) as usize;
    let lanes = i64::from(plan.threads).min(32);
    let (mut most, mut fewest) = (0, 1);
    for value in part.values.iter().step_by(per_access) {
        let (mut touched, mut read) = (BTreeSet::new(), BTreeSet::new());
        for lane in 0..lanes {
            let base = part.base(lane);
            let row = base[1 - along] + value[1 - along];
            let first = (base[along] + value[along]) * bits / 8;
            touched.insert((row, first / 32));
            touched.insert((row, (first + access - 1) / 32));
            read.insert((row, first));
        }
        most = most.max(touched.len());
        // Lanes that want the same bytes get them once.
        fewest = fewest.max((read.len() as i64 * access).div_euclid(32));
    }
    Some((u32::try_from(most).ok()?, u32::try_from(fewest).ok()?))
}
