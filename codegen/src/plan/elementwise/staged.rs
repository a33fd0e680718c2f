//! Which operands pass through shared memory on their way to registers.

use crate::plan::copies::vector_width;
use crate::plan::data::values::{Does, Flow};
use crate::spec::keys::model::{Auto, Passes, Spec};

/// Whether the elements of a node pass through shared memory: whole tiles that are turned, or of
/// which the spec says so, where one CTA holds them all at once.
pub(super) fn is_staged(spec: &Spec, flow: &Flow, at: usize, (along, ctas): (usize, i64)) -> bool {
    let node = &flow.nodes[at];
    let Does::Load(operand) = node.does else {
        return false;
    };
    let operand = spec.problem.operand(operand);
    let whole = node.keeps == [true; 2] && node.table.is_none() && operand.looked_into().is_none();
    let several = !matches!(
        spec.schedule.scheduler.passes,
        Auto::Auto | Auto::Given(Passes::One)
    );
    if !whole || several || ctas > 1 {
        return false;
    }
    // Two elements of a byte are turned by no store of single ones.
    if operand.dtype.per_byte() > 1 {
        return false;
    }
    let path = spec.schedule.copy.get(&operand.name);
    let asked = path.is_some_and(|path| path.g2s.is_some() || path.s2r.is_some());
    asked || vector_width::contiguous(spec, operand).is_some_and(|own| own != along)
}
