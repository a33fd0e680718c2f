//! How the operands of a flow come from memory into registers and go back: the copy of each over
//! the tile, and what its registers hold.
//!
//! Comes in: how threads share out the tile. Goes out: a step of the plan for every node that is
//! loaded or stored, with what launches must guarantee for it.

use std::sync::Arc;

use tilewright_layout::{CopyAtom, TiledCopy};

use crate::atoms::model::{Atom, Reduction};
use crate::dtype::DType;
use crate::element::Packing;
use crate::error::{Result, message};
use crate::plan::copies::sub_byte;
use crate::plan::copies::tiled_copy::{check_strides, fitting};
use crate::plan::data::moves::{Hop, Step};
use crate::plan::instructions::choose::{Chooser, Wanted};
use crate::spec::keys::model::{Auto, Operand, Spec, Stride};
use crate::spec::keys::paths;

/// Bytes of the widest vector.
pub(in crate::plan) const WIDEST_BYTES: u32 = 16;

/// How threads share out a tile that is moved.
pub(in crate::plan) struct Shared<'s> {
    /// The coordinate along which a thread has elements side by side.
    pub along: usize,
    /// How many.
    pub together: u32,
    /// Extents of the tile.
    pub tile: [i64; 2],
    /// How what is stored is combined with what is there, where an atom does so.
    pub combined: Option<(Reduction, DType)>,
    /// Whether elements are moved one by one.
    pub by_element: bool,
    /// The copy of an atom over it.
    pub tiled: &'s dyn Fn(CopyAtom) -> Result<TiledCopy>,
}

/// Which coordinate of the tile runs along each axis of an operand, itself or through a table, none
/// along an outer mode's; nothing where an axis is of neither.
pub(in crate::plan) fn axes_of(spec: &Spec, operand: &Operand) -> Option<Vec<Option<usize>>> {
    let (modes, outer) = (spec.problem.modes(), spec.problem.compute.outer_modes());
    (0..operand.axes.len())
        .map(|axis| {
            let along = spec.problem.modes_along(operand, axis);
            let own = |mode: &String| along.contains(&mode.as_str());
            let at = modes.iter().take(2).position(own);
            (at.is_some() || outer.iter().any(own)).then_some(at)
        })
        .collect()
}

/// Which coordinate of the tile runs along the axis of stride 1 of an operand; none where a table
/// looks into it, whose entries lie anywhere.
pub(in crate::plan) fn contiguous(spec: &Spec, operand: &Operand) -> Option<usize> {
    let axis = operand.contiguous_axis()?;
    if operand.looked_into() == Some(axis) {
        return None;
    }
    let axes = axes_of(spec, operand)?;
    let along = axes.get(axis).copied().flatten()?;
    (!entries_along(&axes, operand, along)).then_some(along)
}

/// Whether elements side by side along that coordinate of the tile have entries of a table each.
fn entries_along(axes: &[Option<usize>], operand: &Operand, along: usize) -> bool {
    let axis = operand.looked_into().and_then(|axis| axes.get(axis));
    axis.is_some_and(|at| *at == Some(along))
}

/// The atom that a spec asks for on a hop of an operand.
fn asked(spec: &Spec, name: &str, hop: Hop) -> Auto<String> {
    let path = spec.schedule.copy.get(name);
    let given = path.and_then(|path| hop.atom_of(path));
    given.cloned().unwrap_or_default()
}

/// The step that moves an operand between global memory and registers: by the atom that the spec
/// gives, or the widest whose vectors are whole.
pub(in crate::plan) fn step(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    (operand, hop): (&Operand, Hop),
    shared: &Shared<'_>,
) -> Result<Option<Step>> {
    let name = &operand.name;
    let what = hop.key(name);
    let Some(axes) = axes_of(spec, operand) else {
        refuse_summed(chooser, name);
        return Ok(None);
    };
    let looked_into = operand.looked_into();
    let along = |axis: &usize| axes[*axis] == Some(shared.along) && looked_into != Some(*axis);
    let along = (0..axes.len())
        .find(along)
        .filter(|_| !entries_along(&axes, operand, shared.along));
    let in_vectors = |axis: usize| *operand.stride(axis) == Stride::Const(1);
    let in_row = along.filter(|axis| !shared.by_element && in_vectors(*axis));
    let together = in_row.map_or(1, |_| shared.together);
    let in_registers = matches!(hop, Hop::G2r | Hop::G2rLast | Hop::R2g);
    let vectors = in_registers && !shared.by_element && shared.together > 1;
    let apart = along.filter(|axis| vectors && !in_vectors(*axis));
    if !sub_byte::whole_bytes(chooser, operand, (in_row, together), &what)
        || !sub_byte::side_by_side(spec, chooser, (operand, apart), &what)
    {
        return Ok(None);
    }
    let (from, to) = hop.spaces();
    // Bytes that the fewest elements are moved in, and those that a thread has side by side.
    let element = operand.dtype.bytes();
    let bytes = together * operand.dtype.bits() / 8;
    let wanted = |bytes: u32| Wanted {
        combined: shared.combined,
        ..Wanted::vector(from, to, bytes)
    };
    let given = asked(spec, name, hop);
    let candidates: Vec<Arc<Atom>> = match &given {
        Auto::Given(_) => Vec::from_iter(chooser.copy(&what, &given, wanted(bytes))),
        Auto::Auto => chooser.widest(&what, widths(bytes, element).map(wanted)),
    };
    chooser.first(&what, candidates, |chooser, atom| {
        let Some((copy, moved)) = fitting(chooser, atom, operand.dtype, &what)? else {
            return Ok(None);
        };
        // Along a mode that runs along no axis, or along one by a table, there are none.
        let side_by_side = along.map_or(1, |_| shared.together);
        if i64::from(side_by_side) % moved != 0 {
            let message = message!(
                "{}: {} moves {moved} elements, a thread has {side_by_side} side by side: choose \
                 auto",
                paths::named(&what),
                atom.id
            );
            chooser.violate("atom-width", message);
            return Ok(None);
        }
        if !check_strides(chooser, operand, along.unwrap_or(0), atom, &what) {
            return Ok(None);
        }
        Ok(Some(Step {
            operand: operand.id,
            hop,
            atom: atom.clone(),
            element_atom: match moved > i64::from(operand.dtype.per_byte()) {
                true => chooser.copy(&what, &Auto::Auto, wanted(element)),
                false => None,
            },
            tiled: (shared.tiled)(copy)?,
            tile: shared.tile,
            axes: axes.clone(),
        }))
    })
}

fn refuse_summed(chooser: &mut Chooser<'_>, name: &str) {
    let message = message!(
        "{} lies along a mode that is summed: compute with it in a kernel before",
        paths::operand(name)
    );
    chooser.violate("epilogue-operand", message);
}

/// Bytes of vectors from the widest that a thread has side by side to one element.
fn widths(bytes: u32, element: u32) -> impl Iterator<Item = u32> {
    let widest = bytes.min(WIDEST_BYTES);
    let widths = (0..).map(move |halvings| widest >> halvings);
    widths.take_while(move |bytes| *bytes >= element)
}

/// How registers hold what a step moves, where whole vectors are moved and where single elements
/// are.
pub(in crate::plan) fn held(operand: &Operand, step: &Step) -> [Option<Packing>; 2] {
    let dtype = operand.dtype;
    let packing = |atom: &Atom| atom.moved().map(|ty| Packing { dtype, ty });
    let whole = packing(&step.atom);
    let edge = step.element_atom.as_deref().and_then(packing);
    [whole, edge.or(whole)]
}
