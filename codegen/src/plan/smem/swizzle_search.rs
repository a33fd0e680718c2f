//! Where an operand's tile lies in shared memory: at which pitch, by which swizzle.
//!
//! Comes in: the two steps that fill the tile and empty it. Goes out: the layout by which they take
//! the fewest wavefronts, or that of the user's swizzle, whatever it costs.

use tilewright_layout::{ComposedLayout, Layout, Swizzle};

use crate::dtype::DType;
use crate::error::{Result, message};
use crate::plan::data::arena::Holds;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{SmemTile, Step};
use crate::plan::instructions::choose::Chooser;
use crate::plan::smem::accesses::SmemAccesses;
use crate::plan::smem::bank_conflicts::{self, Wavefronts};
use crate::spec::keys::model::{Auto, Operand};
use crate::spec::keys::paths;

/// The operand's tile in shared memory, behind what the plan has there, that of each plane behind
/// another, with the first swizzle or pitch by which the two steps take the fewest wavefronts; and
/// how many these are. `None` with a violation.
pub(in crate::plan) fn place_smem(
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    operand: &Operand,
    tile: [i64; 2],
    lies: Lies,
    swizzle: &Auto<Swizzle>,
    steps: [&Step; 2],
) -> Result<Option<(Vec<SmemTile>, Wavefronts)>> {
    let mut best: Option<(Wavefronts, ComposedLayout)> = None;
    // Most candidates are one layout under several swizzles.
    let mut known: Option<(Layout<i64>, [SmemAccesses; 2])> = None;
    let slot = Holds::Slots(0);
    let room = chooser
        .arch
        .smem_max_bytes
        .saturating_sub(plan.slot_bytes(slot));
    for layout in candidates(operand.dtype, tile, lies, swizzle)? {
        // What does not fit is no choice where something is.
        if best.is_some() && placed_bytes(layout.inner.cosize()?, operand.dtype) > room {
            continue;
        }
        let (_, accesses) = match known.take().filter(|(of, _)| *of == layout.inner) {
            Some(same) => known.insert(same),
            None => {
                let of = |step| SmemAccesses::new(plan, step, &layout.inner, operand.dtype);
                let [one, other] = steps.map(of);
                known.insert((layout.inner.clone(), [one?, other?]))
            }
        };
        let least: u64 = accesses.iter().map(SmemAccesses::fewest).sum();
        let most = best
            .as_ref()
            .map_or(u64::MAX, |(best, _)| best.taken.saturating_sub(least));
        let of_both = accesses.iter().try_fold(Wavefronts::default(), |all, one| {
            let left = most.saturating_sub(all.above_least());
            Some(all.with(one.wavefronts_within(&layout.swizzle, left)?))
        });
        let whole = || accesses.iter().all(|access| access.whole(&layout.swizzle));
        if let Some(all) = of_both.filter(|_| whole()) {
            best = Some((all, layout));
            if !all.in_conflict() {
                break;
            }
        }
    }
    let Some((wavefronts, layout)) = best else {
        torn(chooser, operand, swizzle, steps);
        return Ok(None);
    };
    let size_bytes = placed_bytes(layout.inner.cosize()?, operand.dtype);
    let mut end = plan.slot_bytes(slot);
    let tile = |plane| {
        let offset_bytes = end;
        end = end.saturating_add(size_bytes);
        SmemTile {
            operand: operand.id,
            plane,
            dtype: operand.dtype,
            layout: layout.clone(),
            within: slot,
            offset_bytes,
            size_bytes,
        }
    };
    let tiles = plan.planes_of(operand).into_iter().map(tile).collect();
    Ok(Some((tiles, wavefronts)))
}

/// Refuses what is in conflict, or costs more than what was tried before it, where nobody asked for
/// its swizzle, so that other ways are tried.
pub(in crate::plan) fn refuse_conflicts(
    chooser: &mut Chooser<'_>,
    key: &str,
    swizzle: &Auto<Swizzle>,
    (wavefronts, cheapest): (&Wavefronts, bool),
) {
    let refused = wavefronts.in_conflict() || !cheapest;
    if matches!(swizzle, Auto::Auto) && refused {
        let message = message!(
            "{}: its accesses to shared memory take {} wavefronts, {} at the fewest: use another \
             {}, or other {}",
            paths::named(key),
            wavefronts.taken,
            wavefronts.least,
            paths::CTA_TILE,
            paths::THREADS
        );
        chooser.violate("bank-conflicts", message);
    }
}

/// Notes that no layout of the operand's tile keeps the vectors of both steps whole.
fn torn(chooser: &mut Chooser<'_>, operand: &Operand, swizzle: &Auto<Swizzle>, steps: [&Step; 2]) {
    let name = &operand.name;
    let [one, other] = steps.map(|step| {
        let bytes = step
            .atom
            .copy
            .as_ref()
            .map_or(0, |facts| facts.access_bytes);
        message!(
            "{} ({}, {bytes} bytes)",
            paths::copy(name, step.hop.name()),
            step.atom.id
        )
    });
    let (what, way_out) = match swizzle {
        Auto::Given(_) => ("its swizzle does not keep", "use swizzle auto"),
        Auto::Auto => (
            "no layout of its tile keeps",
            "use atoms of one element for one of them, or auto",
        ),
    };
    let message = message!(
        "{}: {what} vectors whole in shared memory, which {} and {} move: {way_out}",
        paths::operand(name),
        one,
        other
    );
    chooser.violate("swizzle", message);
}

/// Bytes that a tile of that many elements takes in shared memory: the next tile starts where every
/// swizzle starts over.
pub(in crate::plan) fn placed_bytes(elements: i64, dtype: DType) -> u32 {
    let bytes = elements.saturating_mul(i64::from(dtype.bytes()));
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    bytes.checked_next_multiple_of(1024).unwrap_or(u32::MAX)
}

/// How a tile lies in shared memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct Lies {
    /// The mode along which elements are neighbours.
    pub contiguous: usize,
    /// How it is filled.
    pub filled: Filled,
}

/// How a tile in shared memory is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) enum Filled {
    /// By vectors along its contiguous mode.
    Along,
    /// Across that mode, as what is transposed is.
    Across,
    /// By single elements.
    Singly,
}

impl Filled {
    /// A tile that is moved as it lies, by vectors along the second mode alone.
    pub(in crate::plan) fn along(contiguous: usize) -> Filled {
        match contiguous {
            1 => Filled::Along,
            _ => Filled::Singly,
        }
    }
}

/// Layouts to try: the user's swizzle, or without one, as the tile lies, a few pitches, or every
/// swizzle of 16-byte units and narrower ones, or both.
fn candidates(
    dtype: DType,
    tile: [i64; 2],
    Lies { contiguous, filled }: Lies,
    swizzle: &Auto<Swizzle>,
) -> Result<Vec<ComposedLayout>> {
    let extent = tile[contiguous];
    let identity = Swizzle::new(0, 0, 0)?;
    if let Auto::Given(swizzle) = swizzle {
        return Ok(vec![bank_conflicts::tile_layout(
            tile, contiguous, extent, *swizzle,
        )?]);
    }
    let mut layouts = Vec::new();
    let transposed = filled == Filled::Across;
    let pads: &[i64] = match filled {
        Filled::Across | Filled::Singly => &[0, 1, 2, 4, 8],
        Filled::Along => &[0],
    };
    // Rows of what is turned begin at whole words, so that all warps meet the same banks.
    let unit = match transposed {
        true => (4 / i64::from(dtype.bytes())).max(1),
        false => 1,
    };
    for pad in pads {
        layouts.push(bank_conflicts::tile_layout(
            tile,
            contiguous,
            extent + pad * unit,
            identity,
        )?);
    }
    if filled != Filled::Singly {
        let mut pitches = vec![extent];
        // Swizzles of rows that are no power of two long do not reach all banks.
        if transposed && !extent.cast_unsigned().is_power_of_two() {
            pitches.push(extent.cast_unsigned().next_power_of_two().cast_signed());
        }
        for pitch in pitches {
            for swizzle in swizzles(dtype, transposed)? {
                layouts.push(bank_conflicts::tile_layout(
                    tile, contiguous, pitch, swizzle,
                )?);
            }
        }
    }
    Ok(layouts)
}

/// Swizzles of a row of 128 bytes: of units of 16 bytes first, which keep all vectors whole, then
/// of wider ones, then of narrower ones, which keep narrow vectors whole.
fn swizzles(dtype: DType, transposed: bool) -> Result<Vec<Swizzle>> {
    let log2 = |bytes: u32| i64::from((bytes / dtype.bytes()).max(1).ilog2());
    let (row, unit) = (log2(128), log2(16));
    // What is turned has neighbours a vector of rows apart.
    let most = if transposed { 9 } else { 6 };
    let mut swizzles = Vec::new();
    for base in (unit..row).chain((log2(4)..unit).rev()) {
        for bits in 1..=row - base {
            for shift in bits..=most {
                swizzles.push(Swizzle::new(bits, base, shift)?);
            }
        }
    }
    Ok(swizzles)
}
