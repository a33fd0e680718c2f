//! The epilogue of a product: a share of the results at a time is computed and stored, while the
//! operands of the next share are on their way.

use crate::error::Result;
use crate::ir::tile::build::product::Product;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::values::{Edge, FlowTiles, is_made_once};
use crate::ir::tile::{Bounds, Op, Slice, View, WHOLE};
use crate::plan::data::values::Node;
use crate::spec::keys::model::OperandId;

/// Values of a thread in one share, where results go to memory past shared memory.
const SHARE: usize = 16;

/// Shares that a thread's results are made in: one, where nothing is computed that registers would
/// be held for.
fn shares(product: &Product<'_>) -> u32 {
    let (values, mut shares) = (product.values, 1);
    if product.flow.stores_bare_sums() {
        return 1;
    }
    while values.is_multiple_of(4 * shares) && values / shares > SHARE {
        shares *= 2;
    }
    shares as u32
}

/// From registers to memory: checked, every element by itself, where it is inside.
pub(super) fn direct(tiles: &Tiles<'_>, product: &Product<'_>, bounds: Bounds) -> Result<Vec<Op>> {
    let flow = &product.flow;
    let way = match bounds {
        Bounds::Inside | Bounds::Vectors => Edge::Vectors,
        Bounds::Checked => Edge::Elements,
    };
    let count = shares(product);
    let (mut ops, made) = flow.folded(tiles, (way, bounds, count), None)?;
    // What all rows share comes a share at a time where shares are of other columns each.
    let along = flow.goes_along_columns(count);
    let first = |at: usize, node: &Node| !made[at] && is_made_once(node, along);
    let rest = |at: usize, node: &Node| !made[at] && !is_made_once(node, along);
    ops.extend(flow.loads(tiles, first, (way, bounds, WHOLE))?);
    ops.extend(flow.values(tiles, first, (way, bounds, WHOLE), None)?);
    let how = ((way, bounds, count), None);
    ops.extend(flow.by_shares(tiles, &rest, how, &|_| Vec::new())?);
    Ok(ops)
}

/// What makes the results that leave by boxes.
pub(super) struct OfBoxes {
    /// What comes before the first box.
    pub before: Vec<Op>,
    /// What makes each box.
    pub parts: Vec<Vec<Op>>,
    /// The registers that results are in.
    pub held: Option<View>,
}

/// What makes the results of each box, and the registers that they are in: what comes before the
/// first box, then each box's part. Boxes go along the columns first, so many to a row.
pub(super) fn of_boxes(
    tiles: &Tiles<'_>,
    flow: &FlowTiles<'_>,
    (output, boxes, of_a_row): (OperandId, u32, u32),
) -> Result<OfBoxes> {
    let (way, bounds) = (Edge::Vectors, Bounds::Vectors);
    let (mut before, made) = flow.folded(tiles, (way, bounds, boxes), Some(output))?;
    let of_rows = |at: usize, node: &Node| !made[at] && !node.keeps[1];
    before.extend(flow.loads(tiles, of_rows, (way, bounds, WHOLE))?);
    before.extend(flow.values(tiles, of_rows, (way, bounds, WHOLE), None)?);
    let along_rows = |at: usize, node: &Node| !made[at] && node.keeps == [false, true];
    let whole = |at: usize, node: &Node| !made[at] && node.keeps == [true; 2];
    // What all rows share is made with the first boxes that have its columns.
    let load = |number: u32| -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        if number < of_a_row {
            let share = Slice(number, of_a_row);
            ops.extend(flow.loads(tiles, along_rows, (way, bounds, share))?);
        }
        let share = Slice(number, boxes);
        ops.extend(flow.loads(tiles, whole, (way, bounds, share))?);
        Ok(ops)
    };
    before.extend(load(0)?);
    let mut parts = Vec::new();
    for number in 0..boxes {
        let mut ops = Vec::new();
        if number + 1 < boxes {
            ops.extend(load(number + 1)?);
        }
        if number < of_a_row {
            let how = (way, bounds, Slice(number, of_a_row));
            ops.extend(flow.values(tiles, along_rows, how, Some(output))?);
        }
        let how = (way, bounds, Slice(number, boxes));
        ops.extend(flow.values(tiles, whole, how, Some(output))?);
        parts.push(ops);
    }
    let view = flow.stored_to(output).map(|node| flow.view(node, way));
    Ok(OfBoxes {
        before,
        parts,
        held: view,
    })
}

/// The results of a product whose warps are all alike.
pub(super) fn results(tiles: &Tiles<'_>, product: &Product<'_>) -> Result<Vec<Op>> {
    let [inside, checked] = [Bounds::Inside, Bounds::Checked];
    let mut ops = vec![
        Op::Section,
        Op::IfInside(
            direct(tiles, product, inside)?,
            direct(tiles, product, checked)?,
        ),
    ];
    ops.extend(product.add_up(tiles)?);
    Ok(ops)
}
