//! Rows: every tile of the flow is made once, in the order of its nodes, or in passes.
//!
//! Loads come first, so that all of them are under way before anything waits. The body stands there
//! for tiles that are wholly inside, for those that end where vectors do, and for the others, whose
//! elements are moved one by one.

use crate::error::Result;
use crate::ir::build::bug;
use crate::ir::build::flow::{FlowTiles, Way};
use crate::ir::build::passes::Passing;
use crate::ir::build::tiles::Tiles;
use crate::ir::tile::{Bounds, Op, WHOLE};
use crate::plan::flow::{Flow, Node};
use crate::plan::partition;

/// What a CTA does with its tile.
pub(super) fn body<'p>(tiles: &mut Tiles<'p>, flow: &'p Flow) -> Result<Vec<Op>> {
    let plan = tiles.plan();
    let whole = plan.steps.iter().find(|step| step.keeps() == [true; 2]);
    let step = whole.or(plan.steps.first());
    let step = step.ok_or_else(|| bug(plan, "nothing is moved"))?;
    let whole = partition::whole_of_step(step)?.dst;
    let flow_tiles = FlowTiles::declare(tiles, flow, &whole, &[])?;
    let ways = |bounds| -> Result<Vec<Op>> {
        let way = match bounds {
            Bounds::Inside | Bounds::Vectors => Way::Vectors,
            Bounds::Checked => Way::Elements,
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
        match plan.cta_tile[1 - flow.along] {
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
    Ok(ops)
}
