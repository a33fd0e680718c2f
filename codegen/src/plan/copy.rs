//! Planning a copy: `d = s`, both `(m,n)`, through registers or through shared memory.

use crate::atoms::model::Space;
use crate::error::Result;
use crate::plan::choose::{Chooser, Wanted};
use crate::plan::model::{Hop, Plan, Step};
use crate::plan::tiled::{assume, place_smem, vector_copy};
use crate::plan::{limits, start};
use crate::spec::model::{Auto, Operand, Point, Stride};

/// Threads of a CTA unless the spec says otherwise.
const THREADS: u32 = 256;
/// Bytes of the widest vector `auto` takes.
const VECTOR_BYTES: u32 = 16;

/// Plans the point. `None` when the chooser has violations that leave nothing to plan.
pub(super) fn plan(point: &Point, chooser: &mut Chooser<'_>) -> Result<Option<Plan>> {
    let spec = &point.spec;
    let (Some(s), Some(d)) = (spec.operand("s"), spec.operand("d")) else {
        return Ok(None);
    };
    let mut plan = start(point, spec.threads.unwrap_or_else(|| THREADS));
    let path = spec.copy.get("s").cloned().unwrap_or_default();
    let through_smem = path.g2s.is_some() || path.s2r.is_some();
    let store = spec
        .copy
        .get("d")
        .and_then(|path| path.r2g.clone())
        .unwrap_or_default();
    let hops = if through_smem {
        vec![
            (s, Hop::G2s, path.g2s.unwrap_or_default()),
            (s, Hop::S2r, path.s2r.unwrap_or_default()),
            (d, Hop::R2g, store),
        ]
    } else {
        vec![
            (s, Hop::G2r, path.g2r.unwrap_or_default()),
            (d, Hop::R2g, store),
        ]
    };
    for (operand, hop, given) in hops {
        if let Some(step) = step(chooser, &mut plan, operand, hop, &given)? {
            plan.steps.push(step);
        }
    }
    check_vectors(chooser, &plan);
    if !chooser.violations.is_empty() {
        return Ok(None);
    }
    if let (Some(fill), Some(empty)) = (
        plan.step("s", Hop::G2s).cloned(),
        plan.step("s", Hop::S2r).cloned(),
    ) {
        let swizzle = spec.swizzle.get("s").cloned().unwrap_or(Auto::Auto);
        let tile = [spec.cta_tile[0], spec.cta_tile[1]];
        place_smem(chooser, &mut plan, s, tile, 1, &swizzle, [&fill, &empty])?;
        plan.stages = 1;
        plan.smem_bytes = plan.stage_bytes;
    }
    limits::check_smem(chooser, &plan);
    Ok(Some(plan))
}

fn step(
    chooser: &mut Chooser<'_>,
    plan: &mut Plan,
    operand: &Operand,
    hop: Hop,
    given: &Auto<String>,
) -> Result<Option<Step>> {
    let what = format!("copy.{}.{}", operand.name, hop.name());
    let (from, to) = match hop {
        Hop::G2s => (Space::Gmem, Space::Smem),
        Hop::S2r => (Space::Smem, Space::Rmem),
        Hop::R2s => (Space::Rmem, Space::Smem),
        Hop::G2r => (Space::Gmem, Space::Rmem),
        Hop::R2g => (Space::Rmem, Space::Gmem),
        Hop::S2g => (Space::Smem, Space::Gmem),
    };
    let asynchronous = hop == Hop::G2s;
    let wanted = |bytes| Wanted {
        from,
        to,
        bytes: Some(bytes),
        asynchronous,
        collective: false,
        tensor: None,
    };
    let along = operand
        .strides
        .iter()
        .position(|stride| *stride == Stride::Const(1));
    let vector = if along.is_some() {
        VECTOR_BYTES
    } else {
        operand.dtype.bytes()
    };
    let Some(atom) = chooser.copy(&what, given, wanted(vector)) else {
        return Ok(None);
    };
    let bytes = atom.copy.as_ref().map_or(0, |facts| facts.access_bytes);
    let element_atom = if bytes > operand.dtype.bytes() && !asynchronous {
        chooser.copy(&what, &Auto::Auto, wanted(operand.dtype.bytes()))
    } else {
        None
    };
    let tile = [plan.cta_tile[0], plan.cta_tile[1]];
    let along = along.unwrap_or(1);
    let tiled = vector_copy(
        chooser,
        &atom,
        operand.dtype,
        tile,
        along,
        plan.threads,
        &what,
    )?;
    let Some(tiled) = tiled else { return Ok(None) };
    if from == Space::Gmem || to == Space::Gmem {
        assume(plan, operand, &atom, &what);
    }
    Ok(Some(Step {
        operand: operand.name.clone(),
        hop,
        atom,
        element_atom,
        tiled,
        tile,
    }))
}

/// The load into registers and the store from them must hold the same vectors.
fn check_vectors(chooser: &mut Chooser<'_>, plan: &Plan) {
    let width = |operand: &str, hop: Hop| {
        let atom = plan.step(operand, hop).map(|step| &step.atom);
        atom.and_then(|atom| atom.copy.as_ref())
            .map(|facts| facts.access_bytes)
    };
    let load = width("s", Hop::S2r).or(width("s", Hop::G2r));
    if let (Some(load), Some(store)) = (load, width("d", Hop::R2g))
        && load != store
    {
        let message = format!("loads move {load} bytes and stores {store}: use the same width");
        chooser.violate("copy-widths", message);
    }
}
