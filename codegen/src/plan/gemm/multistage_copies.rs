//! Copies of a gemm's operands, and the store of its result.

use std::sync::Arc;

use tilewright_layout::{make_tiled_copy_a, make_tiled_copy_b, make_tiled_copy_c};

use crate::atoms::model::{Atom, Space};
use crate::error::{Result, message};
use crate::plan::copies::partition;
use crate::plan::copies::tiled_copy::{
    Sharing, assume, assumed, check_strides, copy_of, values, vector_copy,
};
use crate::plan::data::model::{MmaPlan, Plan};
use crate::plan::data::moves::{Hop, Passage, SmemTile, Step};
use crate::plan::instructions::choose::{Chooser, Wanted};
use crate::plan::smem::swizzle_search::{Filled, Lies, place_smem, refuse_conflicts};
use crate::spec::keys::model::{Auto, Operand, Spec, Stride};
use crate::spec::keys::paths;

/// Bytes of one asynchronous copy of the multistage way.
const VECTOR_BYTES: u32 = 16;

/// Bits of the elements that loads from shared memory transpose: of matrices, or each by itself
/// into its register.
const TRANSPOSED_BITS: [u32; 2] = [16, 32];

/// Bytes of an asynchronous copy, the widest first.
const WIDTHS: [u32; 3] = [16, 8, NARROWEST_BYTES];
/// Bytes of the narrowest asynchronous copy.
pub(super) const NARROWEST_BYTES: u32 = 4;

/// The mode of an operand's tile along which asynchronous copies move vectors: along k, or across
/// it where loads from shared memory transpose elements of that size.
pub(super) fn vectors_along(operand: &Operand) -> Option<usize> {
    let contiguous = |mode: &usize| *operand.stride(*mode) == Stride::Const(1);
    let across = TRANSPOSED_BITS.contains(&operand.dtype.bits());
    Some(1)
        .filter(contiguous)
        .or_else(|| Some(0).filter(contiguous).filter(|_| across))
}

/// Bytes of the widest vectors along that mode that start at their multiples, as far as the
/// operand's constant strides tell.
pub(super) fn vector_bytes(operand: &Operand, along: usize) -> u32 {
    let element = operand.dtype.bytes();
    let others = operand
        .all_axes()
        .enumerate()
        .filter(|(at, _)| *at != along);
    let others: Vec<&Stride> = others.map(|(_, axis)| &axis.stride).collect();
    let whole = |bytes: &u32| {
        others.iter().all(|stride| match stride {
            Stride::Const(stride) => stride % i64::from((bytes / element).max(1)) == 0,
            Stride::Named(_) | Stride::Product { .. } => true,
        })
    };
    WIDTHS.into_iter().find(whole).unwrap_or(element)
}

/// One operand of the multistage way.
pub(super) fn multistage_operand(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
) -> Result<()> {
    let name = operand.name.as_str();
    let Some(along) = vectors_along(operand) else {
        let message = message!(
            "{} is not contiguous along {}: asynchronous copies need layout {}",
            paths::operand(name),
            operand.axis(1).mode,
            operand.layout_along(1)
        );
        chooser.violate("not-contiguous", message);
        return Ok(());
    };
    let path = spec.schedule.copy.get(name).cloned().unwrap_or_default();
    let what = Hop::G2s.key(name);
    let wanted = |bytes| Wanted {
        asynchronous: true,
        ..Wanted::vector(Space::Gmem, Space::Smem, bytes)
    };
    let candidates = match path.g2s.unwrap_or_default() {
        Auto::Given(id) => chooser
            .copy(&what, &Auto::Given(id), wanted(VECTOR_BYTES))
            .into_iter()
            .collect(),
        Auto::Auto => chooser.widest(&what, WIDTHS.map(wanted)),
    };
    let placed = chooser.first(&what, candidates, |chooser, atom| {
        let (dtype, threads) = (operand.dtype, plan.threads);
        let sharing = Sharing::of_vectors(tile, along, threads);
        let tiled = vector_copy(chooser, atom, dtype, sharing, &what)?;
        let Some(tiled) = tiled else { return Ok(None) };
        if !check_strides(chooser, operand, along, atom, &what) {
            return Ok(None);
        }
        let fill = Step {
            operand: operand.id,
            hop: Hop::G2s,
            atom: atom.clone(),
            element_atom: None,
            tiled,
            tile,
            axes: vec![Some(0), Some(1)],
        };
        let lies = Lies {
            contiguous: along,
            filled: Filled::Along,
        };
        let found = fragment_copy(spec, chooser, plan, operand, tile, (lies, &fill))?;
        Ok(found.map(|(smem, load)| Passage {
            assumptions: assumed(operand, atom, &what),
            steps: vec![fill, load],
            smem,
        }))
    })?;
    if let Some(placed) = placed {
        plan.take(placed);
    }
    Ok(())
}

/// The operand's tiles in shared memory and the widest load from there whose values arrive in the
/// registers the MMA wants them in; the tile lies as given, and is filled by the given step.
fn fragment_copy(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    operand: &Operand,
    tile: [i64; 2],
    (lies, fill): (Lies, &Step),
) -> Result<Option<(Vec<SmemTile>, Step)>> {
    let name = operand.name.as_str();
    let Some(mma) = &plan.mma else {
        return Ok(None);
    };
    let path = spec.schedule.copy.get(name).cloned().unwrap_or_default();
    let given = path.s2r.unwrap_or_default();
    let what = Hop::S2r.key(name);
    let candidates: Vec<Arc<Atom>> = match &given {
        Auto::Given(_) => chooser
            .copy(&what, &given, any_load(true))
            .into_iter()
            .collect(),
        Auto::Auto => widest_loads(chooser),
    };
    let swizzle = spec.schedule.swizzle.get(name).cloned().unwrap_or_default();
    let planned = |chooser: &mut Chooser<'_>, atom: &Arc<Atom>| {
        let Some(tiled) = into_fragment(chooser, plan, mma, operand, tile, atom)? else {
            return Ok(None);
        };
        let steps = [fill, &tiled];
        let placed = place_smem(chooser, plan, operand, tile, lies, &swizzle, steps)?;
        Ok(placed.map(|(tiles, wavefronts)| ((tiles, tiled), wavefronts)))
    };
    let mut costs: Vec<(u64, Arc<Atom>)> = Vec::new();
    let free = chooser.first_or(&what, candidates.iter().cloned(), |chooser, atom| {
        let found = planned(chooser, atom)?;
        Ok(found.map(|(placed, wavefronts)| {
            let cost = wavefronts.cost();
            let cheapest = costs.iter().all(|(other, _)| cost <= *other);
            costs.push((cost, atom.clone()));
            refuse_conflicts(chooser, &what, &swizzle, (&wavefronts, cheapest));
            placed
        }))
    })?;
    let wrong = match free {
        Ok(free) => return Ok(Some(free)),
        Err(wrong) => wrong,
    };
    if costs.is_empty() {
        chooser.violations.extend(wrong);
        return Ok(None);
    }
    // None is free of conflicts: the cheapest.
    let cheapest = costs.into_iter().min_by_key(|(cost, _)| *cost);
    let cheapest = cheapest.map(|(_, atom)| atom);
    let found = chooser.first(&what, cheapest, |chooser, atom| planned(chooser, atom))?;
    Ok(found.map(|(placed, _)| placed))
}

/// Loads from shared memory of any width, of a warp together or of each thread.
fn any_load(collective: bool) -> Wanted {
    Wanted {
        bytes: None,
        collective,
        ..Wanted::vector(Space::Smem, Space::Rmem, 0)
    }
}

/// All of them, the widest first.
pub(super) fn widest_loads(chooser: &Chooser<'_>) -> Vec<Arc<Atom>> {
    let mut atoms = chooser.copies(any_load(true));
    atoms.extend(chooser.copies(any_load(false)));
    atoms.sort_by_key(|atom| std::cmp::Reverse(atom.register_bits()));
    atoms
}

/// The load of a tile by that atom, if it fills the MMA's fragments.
pub(super) fn into_fragment(
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    mma: &MmaPlan,
    operand: &Operand,
    tile: [i64; 2],
    atom: &Arc<Atom>,
) -> Result<Option<Step>> {
    let name = operand.name.as_str();
    let mut refuse = |reason: String| {
        let message = message!(
            "{}: {} does not bring {name}'s fragments from shared memory in the order of {}: \
             {reason}: choose auto",
            paths::copy(name, "s2r"),
            atom.id,
            mma.atom.id
        );
        chooser.violate("no-fragment-copy", message);
        Ok(None)
    };
    let Some(copy) = copy_of(atom, operand.dtype)? else {
        return refuse(format!(
            "its pieces are no whole elements of {}",
            operand.dtype
        ));
    };
    let elements = values(&copy)?;
    let tiled = match operand.factor() {
        Some(0) => make_tiled_copy_a(copy, &mma.tiled),
        Some(_) => make_tiled_copy_b(copy, &mma.tiled),
        None => return refuse("it is no factor of the product".to_owned()),
    };
    let Ok(tiled) = tiled else {
        return refuse(format!(
            "it moves {elements} elements a thread, which do not divide its own"
        ));
    };
    let step = Step {
        operand: operand.id,
        hop: Hop::S2r,
        atom: atom.clone(),
        element_atom: None,
        tiled,
        tile,
        axes: vec![Some(0), Some(1)],
    };
    match partition::fills_fragment(plan, mma, &step)? {
        true => Ok(Some(step)),
        false => refuse("its values arrive in other registers, halves or threads".to_string()),
    }
}

/// One operand of the synchronous way: element by element.
pub(super) fn synchronous_operand(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    tile: [i64; 2],
) -> Result<()> {
    let name = operand.name.as_str();
    let path = spec.schedule.copy.get(name).cloned().unwrap_or_default();
    let hops = [(Hop::G2r, path.g2r), (Hop::R2s, path.r2s)];
    // Neighbouring threads take neighbouring elements of the mode that is contiguous, if one is
    // known to be.
    let along = usize::from(*operand.stride(0) != Stride::Const(1));
    let mut steps = Vec::new();
    for (hop, given) in hops {
        let what = hop.key(name);
        let (from, to) = hop.spaces();
        let (dtype, threads) = (operand.dtype, plan.threads);
        let wanted = Wanted::vector(from, to, dtype.bytes());
        let Some(atom) = chooser.copy(&what, &given.unwrap_or_default(), wanted) else {
            return Ok(());
        };
        let sharing = Sharing::of_vectors(tile, along, threads);
        let tiled = vector_copy(chooser, &atom, dtype, sharing, &what)?;
        let Some(tiled) = tiled else { return Ok(()) };
        let elements = values(tiled.atom())?;
        if elements > 1 {
            let message = message!(
                "{}: {} moves {elements} elements at once, this kernel one: use one of {} bytes, \
                 or auto",
                paths::named(what),
                atom.id,
                dtype.bytes()
            );
            chooser.violate("atom-width", message);
            return Ok(());
        }
        steps.push(Step {
            operand: operand.id,
            hop,
            atom,
            element_atom: None,
            tiled,
            tile,
            axes: vec![Some(0), Some(1)],
        });
    }
    let Some(fill) = steps.last().cloned() else {
        return Ok(());
    };
    let lies = Lies {
        contiguous: 0,
        filled: Filled::Singly,
    };
    let found = fragment_copy(spec, chooser, plan, operand, tile, (lies, &fill))?;
    if let Some((smem, load)) = found {
        steps.push(load);
        plan.take(Passage {
            steps,
            smem,
            assumptions: Vec::new(),
        });
    }
    Ok(())
}

/// Stores of the accumulators: two neighbours along n at once where d's rows are contiguous.
pub(super) fn store(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    d: &Operand,
) -> Result<()> {
    let Some(mma) = plan.mma.clone() else {
        return Ok(());
    };
    // Where boxes store, this is the way of the columns that boxes cannot end at.
    let given = spec
        .schedule
        .copy
        .get(&d.name)
        .and_then(|path| path.r2g.clone())
        .unwrap_or_default();
    let pairs = partition::neighbours_along_n(plan, &mma)?;
    let held = if pairs { 2 } else { 1 };
    let what = &Hop::R2g.key(&d.name);
    let wanted =
        |elements: u32| Wanted::vector(Space::Rmem, Space::Gmem, elements * d.dtype.bytes());
    let candidates = match &given {
        Auto::Given(_) => chooser.copy(what, &given, wanted(1)).into_iter().collect(),
        Auto::Auto => chooser.widest(what, (1..=held).rev().map(wanted)),
    };
    let step = chooser.first(what, candidates, |chooser, atom| {
        store_step(chooser, &mma, d, held, atom)
    })?;
    if let Some(step) = step {
        if step.element_atom.is_some() {
            assume(plan, d, &step.atom, what);
        }
        plan.steps.push(Step {
            tile: [spec.schedule.cta_tile[0], spec.schedule.cta_tile[1]],
            ..step
        });
    }
    Ok(())
}

/// The store of a thread's accumulators by that atom, of which it holds so many side by side.
fn store_step(
    chooser: &mut Chooser<'_>,
    mma: &MmaPlan,
    d: &Operand,
    held: u32,
    atom: &Arc<Atom>,
) -> Result<Option<Step>> {
    let what = &Hop::R2g.key(&d.name);
    let Some(copy) = copy_of(atom, d.dtype)? else {
        let message = message!(
            "{}: {} is narrower than one {}: choose auto",
            paths::named(what),
            atom.id,
            d.dtype
        );
        chooser.violate("atom-width", message);
        return Ok(None);
    };
    let elements = values(&copy)?;
    if elements > i64::from(held) {
        let noun = if held == 1 { "neighbour" } else { "neighbours" };
        let message = message!(
            "{}: {} stores {elements} elements, a thread holds {held} {noun}: choose auto",
            paths::named(what),
            atom.id
        );
        chooser.violate("store-width", message);
        return Ok(None);
    }
    if !check_strides(chooser, d, 1, atom, what) {
        return Ok(None);
    }
    let element_atom = if elements > 1 {
        let wanted = Wanted::vector(Space::Rmem, Space::Gmem, d.dtype.bytes());
        chooser.copy(what, &Auto::Auto, wanted)
    } else {
        None
    };
    Ok(Some(Step {
        operand: d.id,
        hop: Hop::R2g,
        atom: atom.clone(),
        element_atom,
        tiled: make_tiled_copy_c(copy, &mma.tiled)?,
        tile: [0; 2],
        axes: vec![Some(0), Some(1)],
    }))
}
