//! Rows: every tile of the flow is made once, in the order of its nodes, or in passes.
//!
//! What passes through shared memory is brought there before all else. Loads come first, so that
//! all of them are under way before anything waits. The body stands there for tiles that are wholly
//! inside, for those that end where vectors do, and for the others, whose elements are moved one by
//! one.

use crate::error::Result;
use crate::ir::tile::build::chunked_rows::Passing;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::values::{Edge, FlowTiles, moved};
use crate::ir::tile::build::{WorkTile, bug, ring, sync};
use crate::ir::tile::{Bounds, Op, Stage, Sync, View, WHOLE};
use crate::plan::copies::partition;
use crate::plan::data::moves::{Hop, Step};
use crate::plan::data::values::{Does, Flow, Node, Staged};
use crate::spec::keys::model::OperandId;

/// What a CTA does with a work tile.
pub(super) fn work_tile<'p>(tiles: &mut Tiles<'p>, flow: &'p Flow) -> Result<WorkTile> {
    let plan = tiles.plan();
    let moved = flow.nodes.iter().filter_map(|node| moved(plan, node));
    let steps: Vec<&Step> = moved.map(|(_, step)| step).collect();
    let whole = steps.iter().find(|step| step.keeps() == [true; 2]);
    let step = whole.or(steps.first());
    let step = step.ok_or_else(|| bug(plan, "nothing is moved"))?;
    let whole = partition::whole_of_step(step)?.dst;
    let staged = staged(tiles, flow)?;
    let flow_tiles = FlowTiles::declare(tiles, flow, &whole, &|_| None)?;
    let ways = |bounds| -> Result<Vec<Op>> {
        let way = match bounds {
            Bounds::Inside | Bounds::Vectors => Edge::Vectors,
            Bounds::Checked => Edge::Elements,
        };
        if let Some(passes) = &flow.passes {
            let passing = Passing {
                tiles,
                flow,
                held: &flow_tiles,
                passes,
            };
            return passing.body((way, bounds));
        }
        let early = |_: usize, node: &Node| !node.late;
        let mut ops = flow_tiles.loads(tiles, early, (way, bounds, WHOLE))?;
        ops.extend(flow_tiles.values(tiles, |_, _| true, (way, bounds, WHOLE), None)?);
        Ok(ops)
    };
    let passes = flow.passes.as_ref();
    let mut ops = flow_tiles.begin_sums()?;
    // Where vectors lie along chunks, each chunk has its own edge, and rows alone have one here.
    if passes.is_some_and(|passes| passes.over == flow.along) {
        let inside = ways(Bounds::Inside)?;
        match plan.extent(1 - flow.along) {
            1 => ops.extend(inside),
            _ => ops.push(Op::IfInside(inside, ways(Bounds::Vectors)?)),
        }
    } else {
        let edge = match flow.vector > 1 {
            true => vec![Op::IfVectors(
                ways(Bounds::Vectors)?,
                ways(Bounds::Checked)?,
            )],
            false => ways(Bounds::Checked)?,
        };
        ops.push(Op::IfInside(ways(Bounds::Inside)?, edge));
    }
    let of_tile = |at: usize| !passes.is_some_and(|passes| passes.adds_up(flow, at));
    ops.extend(flow_tiles.add_up(tiles, of_tile)?);
    Ok(WorkTile {
        begins: staged,
        trip: None,
        ends: Vec::new(),
        results: ops,
    })
}

/// Brings into shared memory what passes through it: asynchronous copies first, so that they are
/// under way while other elements are turned.
fn staged(tiles: &mut Tiles<'_>, flow: &Flow) -> Result<Vec<Op>> {
    let loaded = flow.nodes.iter().filter_map(|node| match node.does {
        Does::Load(operand) => node.staged.as_ref().map(|staged| (operand, staged)),
        _ => None,
    });
    let (filled, transposed): (Vec<_>, Vec<_>) =
        loaded.partition(|(_, staged)| **staged == Staged::Filled);
    let buffer = |tiles: &Tiles<'_>, operand| tiles.smem(operand, Stage::Fixed(0), None);
    let mut ops = Vec::new();
    for (operand, _) in &filled {
        let views = [tiles.gmem_of(*operand, None)?, buffer(tiles, *operand)?];
        ops.push(tiles.step_of(*operand, Hop::G2s, views, Bounds::Checked)?);
    }
    let buffers = filled.iter().map(|(operand, _)| buffer(tiles, *operand));
    let buffers: Vec<View> = buffers.collect::<Result<_>>()?;
    let pipe = match buffers.is_empty() {
        true => None,
        false => Some(ring(tiles, buffers)),
    };
    ops.extend(pipe.map(|pipe| sync(Sync::Commit(pipe))));
    for (operand, staged) in &transposed {
        let to = buffer(tiles, *operand)?;
        ops.extend(turn(tiles, *operand, staged, to)?);
    }
    ops.extend(pipe.map(|pipe| sync(Sync::Await(pipe, 0))));
    let any = !filled.is_empty() || !transposed.is_empty();
    ops.extend(any.then(|| sync(Sync::Meet)));
    Ok(ops)
}

/// Loads vectors of an operand and writes their elements to shared memory one by one.
fn turn(tiles: &mut Tiles<'_>, id: OperandId, staged: &Staged, to: View) -> Result<Vec<Op>> {
    let name = &tiles.plan().operand(id).name;
    let vectors = tiles.loaded(&format!("{name}_stage"), id, Hop::G2r, false)?;
    let element = match staged {
        Staged::Turned(element) => element.clone(),
        Staged::Filled | Staged::Boxes => None,
    };
    let alone = match element {
        Some(_) => tiles.loaded(&format!("{name}_alone"), id, Hop::G2r, true)?,
        None => vectors,
    };
    let from = tiles.gmem_of(id, None)?;
    let mut whole = vec![tiles.step_of(id, Hop::G2r, [from, vectors], Bounds::Inside)?];
    // Vectors are taken apart; those cut by an edge come so.
    whole.extend(element.map(|element| Op::Map {
        to: alone,
        from: vec![vectors],
        element,
        share: WHOLE,
    }));
    let edge = tiles.step_of(id, Hop::G2r, [from, alone], Bounds::Checked)?;
    let load = match tiles.has_elements(id, Hop::G2r) {
        true => Op::IfInside(whole, vec![edge]),
        false => edge,
    };
    let write = tiles.step_of(id, Hop::R2s, [alone, to], Bounds::Inside)?;
    Ok(vec![load, write])
}
