//! The steps of a way through shared memory.

use std::sync::Arc;

use super::{Asked, Staging, Through};
use crate::atoms::model::{Atom, Space};
use crate::element::{Element, Packing};
use crate::error::{Result, message};
use crate::plan::copies::tiled_copy::{Sharing, check_strides, fitting, vector_copy};
use crate::plan::copies::vector_width::axes_of;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::instructions::arithmetic::repacked;
use crate::plan::instructions::choose::{Chooser, Wanted};
use crate::spec::keys::model::Auto;
use crate::spec::keys::paths;

/// What takes the elements of loaded vectors apart; nothing where they come so.
pub(super) fn alone(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    load: &Step,
) -> Option<Arc<Element>> {
    let packing = |ty| Packing {
        dtype: asked.operand.dtype,
        ty,
    };
    let element = load.element_atom.as_deref().and_then(Atom::moved);
    match (load.atom.moved(), element) {
        (Some(from), Some(to)) if from != to => repacked(chooser, packing(from), packing(to)),
        _ => None,
    }
}

/// A step of the way into shared memory, along the operand's own mode.
pub(super) fn fill(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    way: Staging,
    hop: Hop,
) -> Result<Option<Step>> {
    let (what, operand) = (asked.key(hop), asked.operand);
    let (from, to) = hop.spaces();
    let element = operand.dtype.bytes();
    // What is turned is written one element after the other.
    let bytes = if hop == Hop::R2s { element } else { way.fill };
    let wanted = Wanted {
        asynchronous: hop == Hop::G2s,
        ..Wanted::vector(from, to, bytes)
    };
    let Some(atom) = chooser.copy(&what, &asked.given(hop), wanted) else {
        return Ok(None);
    };
    let shares = asked.shares;
    let threads = u32::try_from(shares.threads).unwrap_or(u32::MAX);
    let mut sharing = Sharing::of_vectors(shares.tile, asked.own, threads);
    if way.through == Through::Turned {
        sharing.together = i64::from(way.fill / element);
        sharing.most = way.beside;
    }
    let tiled = vector_copy(chooser, &atom, operand.dtype, sharing, &what)?;
    let Some(tiled) = tiled else { return Ok(None) };
    let axes = axes_of(asked.spec, operand).unwrap_or_default();
    if from == Space::Gmem {
        let axis = axes.iter().position(|at| *at == Some(asked.own));
        check_strides(chooser, operand, axis.unwrap_or(asked.own), &atom, &what);
    }
    let element_atom = match bytes > element && hop != Hop::G2s {
        true => chooser.copy(&what, &Auto::Auto, Wanted::vector(from, to, element)),
        false => None,
    };
    Ok(Some(Step {
        operand: operand.id,
        hop,
        atom,
        element_atom,
        tiled,
        tile: shares.tile,
        axes,
    }))
}

/// The step out of shared memory, as threads share out the flow's tile.
pub(super) fn load(
    chooser: &mut Chooser<'_>,
    asked: &Asked<'_>,
    way: Staging,
) -> Result<Option<Step>> {
    let (what, operand) = (asked.key(Hop::S2r), asked.operand);
    let wanted = |bytes: u32| Wanted::vector(Space::Smem, Space::Rmem, bytes);
    let Some(atom) = chooser.copy(&what, &asked.given(Hop::S2r), wanted(way.load)) else {
        return Ok(None);
    };
    let Some((copy, moved)) = fitting(chooser, &atom, operand.dtype, &what)? else {
        return Ok(None);
    };
    let vector = asked.shares.vector;
    if vector % moved != 0 {
        let message = message!(
            "{}: {} moves {moved} elements, a thread has {vector} side by side: choose auto",
            paths::named(what),
            atom.id
        );
        chooser.violate("atom-width", message);
        return Ok(None);
    }
    Ok(Some(Step {
        operand: operand.id,
        hop: Hop::S2r,
        element_atom: match moved > 1 {
            true => chooser.copy(&what, &Auto::Auto, wanted(operand.dtype.bytes())),
            false => None,
        },
        atom,
        tiled: asked.shares.tiled(copy)?,
        tile: asked.shares.tile,
        axes: axes_of(asked.spec, operand).unwrap_or_default(),
    }))
}
