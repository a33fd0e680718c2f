//! Elements of outputs that share an address, as constant strides have it: in a tile, and in blocks
//! of columns.

use crate::error::message;
use crate::plan::data::model::Plan;
use crate::plan::instructions::choose::Chooser;
use crate::spec::keys::model::{Axis, Operand, Stride};
use crate::spec::keys::paths;

/// Elements of the output that share an address within a tile, as constant strides have it.
pub(in crate::plan) fn check_tiles(chooser: &mut Chooser<'_>, plan: &Plan) {
    // Elements along one mode lie apart.
    let mut outputs = plan.operands.iter();
    let cut = |one: &Operand, mode: usize| {
        let along = |axis: &&Axis| plan.mode_along(axis) == Some(mode);
        one.axes.iter().find(along).cloned()
    };
    let matrix = |one: &Operand| Some((cut(one, 0)?, cut(one, 1)?));
    let found = outputs.find_map(|one| {
        matrix(one)
            .filter(|_| one.is_written())
            .map(|two| (one, two))
    });
    let Some((d, (first, second))) = found else {
        return;
    };
    let (Stride::Const(row), Stride::Const(column)) = (&first.stride, &second.stride) else {
        return;
    };
    let (row, column) = (*row, *column);
    // (i, j) and (i + column/g, j - row/g) lie at one address.
    let common = gcd(row, column).max(1);
    let [rows, columns] = [column / common, row / common];
    // A mode of constant extent ends in the tile that has all of it.
    let there = |axis: &Axis, tile: i64| {
        let constant = plan.computes.formula.constant_of(&axis.mode);
        constant.map_or(tile, |extent| extent.min(tile))
    };
    let m = there(&first, plan.extent(0));
    let n = there(&second, plan.extent(1));
    if rows < m && columns < n {
        let name = &d.name;
        let [first, second] = [first.mode, second.mode];
        let named = match d.axes.len() {
            2 => format!("({first},{second}):(ld{name},1)"),
            _ => "strides with names".to_owned(),
        };
        let message = message!(
            "{}: elements ({rows},0) and (0,{columns}) of a tile of ({m},{n}) lie at one address \
             by strides ({row},{column}): use {named}, or a stride of at least {} along {first} or \
             {} along {second}",
            paths::operand(name),
            column.saturating_mul(n),
            row.saturating_mul(m)
        );
        chooser.violate("overlapping-output", message);
    }
}

/// Refuses outputs whose blocks lie in one another, as constant strides have it.
pub(in crate::plan) fn check_blocks(chooser: &mut Chooser<'_>, plan: &Plan, columns: usize) {
    let columns = plan.mode(columns).unwrap_or_default();
    let Some(extent) = plan.computes.formula.constant_of(columns) else {
        return;
    };
    for operand in plan.operands.iter().filter(|one| one.is_written()) {
        let along = operand.axes.iter().find(|axis| axis.mode == columns);
        let blocks = plan.computes.blocks();
        let block = (operand.axes_apart()).find(|axis| Some(&axis.mode) == blocks.as_ref());
        let (Some(along), Some(block)) = (along, block) else {
            continue;
        };
        let (Stride::Const(step), Stride::Const(stride)) = (&along.stride, &block.stride) else {
            continue;
        };
        let (name, mode) = (&operand.name, &block.mode);
        // Element i of a block and 0 of the one b behind it, where i times step is b times stride.
        let common = gcd(*stride, *step).max(1);
        if stride / common < extent {
            let behind = match step / common {
                1 => "the next".to_owned(),
                blocks => format!("the one {blocks} behind it"),
            };
            let message = message!(
                "{}: element {} of a block along {mode} and 0 of {behind} lie at one address by \
                 strides ({step},{stride}): use a stride with a name along {mode}, or {} or more",
                paths::operand(name),
                stride / common,
                extent * step
            );
            chooser.violate("overlapping-output", message);
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
