//! A factor that the MMA has from registers: consumers load the rows that they multiply out of the
//! slot, in which boxes may lay them either way.

use std::sync::Arc;

use super::MMA_ROWS;
use crate::arch::WARPGROUP;
use crate::atoms::model::Atom;
use crate::error::{Result, message};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{Hop, SmemTile, Step};
use crate::plan::gemm::multistage_copies::{into_fragment, widest_loads};
use crate::plan::instructions::choose::Chooser;
use crate::plan::smem::accesses::SmemAccesses;
use crate::spec::keys::model::{Operand, Spec};
use crate::spec::keys::paths;

/// Registers of a thread for the fragments of one MMA's rows, of a whole step along k.
pub(super) fn registers(spec: &Spec, a: &Operand) -> i64 {
    let bits = MMA_ROWS * spec.schedule.cta_tile[2] * i64::from(a.dtype.bits());
    bits / i64::from(WARPGROUP * 32)
}

/// Plans how a comes from its slot into the registers that the MMA has it from, by the widest loads
/// that bring elements there; nothing where the MMA reads the slot.
pub(super) fn fragments(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    a: &Operand,
) -> Result<()> {
    let smem = plan.smem.iter().find(|tile| tile.operand == a.id).cloned();
    let mma = plan.mma.as_ref().filter(|mma| mma.from_registers());
    let (Some(_), Some(smem)) = (mma, smem) else {
        return Ok(());
    };
    check_shared(spec, chooser, a);
    let atoms = widest_loads(chooser);
    let tile = [spec.schedule.cta_tile[0], spec.schedule.cta_tile[2]];
    let what = Hop::S2r.key(&a.name);
    let step = chooser.first(&what, atoms, |chooser, atom| {
        load(chooser, plan, (a, tile), (&smem, atom))
    })?;
    plan.steps.extend(step);
    Ok(())
}

/// Refuses slots that CTAs fill for each other: threads that have read one would have to tell the
/// whole cluster so, which ptxas 13.0 does by a fence of the whole GPU for each arrival.
fn check_shared(spec: &Spec, chooser: &mut Chooser<'_>, a: &Operand) {
    let [m, n, k] = spec.schedule.cluster;
    if n > 1 {
        let message = message!(
            "{} ({m},{n},{k}) shares the tiles of {} among {n} CTAs, and threads load them into \
             registers, which CTAs that fill slots for others do not learn of: use ({m},1,{k})",
            paths::CLUSTER,
            a.name
        );
        chooser.violate("cluster", message);
    }
}

/// The load of a tile by that atom, if it fills fragments and finds its elements in a row.
fn load(
    chooser: &mut Chooser<'_>,
    plan: &Plan,
    (a, tile): (&Operand, [i64; 2]),
    (smem, atom): (&SmemTile, &Arc<Atom>),
) -> Result<Option<Step>> {
    let Some(mma) = &plan.mma else {
        return Ok(None);
    };
    let Some(step) = into_fragment(chooser, plan, mma, a, tile, atom)? else {
        return Ok(None);
    };
    let accesses = SmemAccesses::new(plan, &step, &smem.layout.inner, smem.dtype)?;
    if !accesses.whole(&smem.layout.swizzle) {
        let message = message!(
            "{}: {} loads elements in a row, which {} has not so in its slot: choose auto",
            paths::copy(&a.name, "s2r"),
            atom.id,
            a.name
        );
        chooser.violate("no-fragment-copy", message);
        return Ok(None);
    }
    Ok(Some(step))
}
