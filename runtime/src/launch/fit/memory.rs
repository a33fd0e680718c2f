//! Whether the memory given for a launch is large, aligned and separate enough.

use tilewright_bundle::{Assumption, Expr, Kernel, LaunchAbi, Operand, Param, ParamValue};

use super::way_out::copied_first;
use super::{Fit, LaunchPart, View};
use crate::error::{InPlace, Refusal};
use crate::launch::layout::{Extents, Placed, Sharing, sharing};
use crate::launch::reorder::operand_bytes;
use crate::launch::tensor_map::{PlacedMap, TENSOR_UNIT_BYTES, TensorMap};

/// Checks that there is memory for each operand, once, and for nothing else.
pub(super) fn check_names(kernel: &Kernel, views: &[View<'_>], refusals: &mut Vec<Refusal>) {
    let operands = &kernel.semantics.operands;
    let names = views.iter().map(|view| view.operand);
    refusals.extend(wrong_names(kernel, names));
    let given = |name: &str| views.iter().any(|view| view.operand == name);
    for operand in operands.iter().filter(|one| !given(&one.name)) {
        refusals.push(Refusal::NoBuffer {
            operand: operand.name.clone(),
        });
    }
}

/// What is wrong with the names that memory is given for: no operand's, or one of them twice.
pub(crate) fn wrong_names<'v>(
    kernel: &Kernel,
    names: impl Iterator<Item = &'v str> + Clone,
) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for (at, name) in names.clone().enumerate() {
        let operand = name.to_owned();
        if kernel.semantics.operand(name).is_none() {
            let operands = kernel.semantics.operands.iter();
            let known: Vec<&str> = operands.map(|one| one.name.as_str()).collect();
            let known = known.join(", ");
            refusals.push(Refusal::ExtraBuffer { operand, known });
        } else if names.clone().take(at).any(|before| before == name) {
            refusals.push(Refusal::GivenTwice { operand });
        }
    }
    refusals
}

/// Checks size, alignment and overlap of the memory given for each operand.
pub(super) fn check(kernel: &Kernel, fit: &Fit, views: &[View<'_>], refusals: &mut Vec<Refusal>) {
    let operands = &kernel.semantics.operands;
    let mut ranges: Vec<(&Operand, &Extents, u64, u64)> = Vec::new();
    for (operand, extents) in operands.iter().zip(&fit.operands) {
        let Some(view) = views.iter().find(|v| v.operand == operand.name) else {
            continue;
        };
        let needs = operand_bytes(operand, extents).unwrap_or(u64::MAX);
        check_bytes(view, needs, refusals);
        refusals.extend(misaligned(kernel, operand, view.address));
        // Behind a buffer that is too short lies memory of others.
        let end = view.address.saturating_add(needs.min(view.bytes));
        ranges.push((operand, extents, view.address, end));
    }
    for (at, (one, place, start, end)) in ranges.iter().enumerate() {
        for (other, other_place, other_start, other_end) in &ranges[..at] {
            let same = start == other_start && place == other_place && one.dtype == other.dtype;
            let touch = start < other_end && other_start < end;
            let touch = touch && !(same && may_lie_over(one, other));
            let written = if one.role.is_written() {
                Some((one, other))
            } else {
                None
            }
            .or_else(|| other.role.is_written().then_some((other, one)));
            let Some((output, beside)) = written.filter(|_| touch) else {
                continue;
            };
            // Rows of one may lie between those of the other.
            let placed = |operand: &Operand, extents, address| Placed {
                address,
                extents,
                dtype: operand.dtype,
            };
            let first = placed(one, *place, *start);
            let shared = sharing(&first, &placed(other, other_place, *other_start));
            let alike = start == other_start && one.dtype == other.dtype;
            let in_place = match (may_lie_over(output, beside), beside.role.is_written()) {
                (true, _) => InPlace::Taken,
                (false, false) if alike => InPlace::Possible,
                _ => InPlace::Never,
            };
            let (output, other) = (output.name.clone(), beside.name.clone());
            match shared {
                Sharing::Apart => {}
                Sharing::Shared => refusals.push(Refusal::Overlap {
                    output,
                    other,
                    in_place,
                }),
                Sharing::Unknown => refusals.push(Refusal::MayOverlap { output, other }),
            }
        }
    }
}

/// Whether the kernel allows that one of two operands takes the place of the other.
fn may_lie_over(one: &Operand, other: &Operand) -> bool {
    let over = |output: &Operand, input: &Operand| output.over.as_ref() == Some(&input.name);
    over(one, other) || over(other, one)
}

/// Checks that no tensor map reaches beyond the memory given for its operand.
pub(super) fn check_maps(maps: &[PlacedMap], views: &[View<'_>], refusals: &mut Vec<Refusal>) {
    for placed in maps.iter().filter(|placed| !placed.in_workspace) {
        let needs = span_bytes(&placed.map).unwrap_or(u64::MAX);
        for view in views.iter().filter(|v| v.operand == placed.operand) {
            check_bytes(view, needs, refusals);
        }
    }
}

/// Checks that the memory given for an operand has so many bytes; one that is too small is refused
/// once, by the most that is needed of it.
fn check_bytes(view: &View<'_>, bytes: u64, refusals: &mut Vec<Refusal>) {
    if bytes <= view.bytes {
        return;
    }
    let mut known = refusals.iter_mut().filter_map(|one| match one {
        Refusal::BufferTooSmall { operand, needs, .. } if operand == view.operand => Some(needs),
        _ => None,
    });
    match known.next() {
        Some(needs) => *needs = bytes.max(*needs),
        None => refusals.push(Refusal::BufferTooSmall {
            operand: view.operand.to_owned(),
            needs: bytes,
            has: view.bytes,
        }),
    }
}

/// Checks that nothing that a launch passes of the workspace, of this many bytes, lies beyond it:
/// places begin inside it, and tensor maps end there.
pub(super) fn check_workspace(
    abi: &LaunchAbi,
    part: &LaunchPart,
    bytes: u64,
    refusals: &mut Vec<Refusal>,
) {
    let mapped = part.tensor_maps.iter().filter(|one| one.in_workspace);
    let mapped = mapped.map(|one| {
        let span = span_bytes(&one.map).unwrap_or(u64::MAX);
        (one.at, one.map.base.saturating_add(span))
    });
    for (at, end) in part.in_workspace.iter().copied().chain(mapped) {
        let name = |param: &&Param| usize::try_from(param.offset) == Ok(at);
        if let Some(param) = abi.params.iter().find(name).filter(|_| end > bytes) {
            refusals.push(Refusal::Range {
                what: format!("parameter {}, end in the workspace", param.name),
                value: i64::try_from(end).unwrap_or(i64::MAX),
                least: 0,
                most: i64::try_from(bytes).unwrap_or(i64::MAX),
            });
        }
    }
}

/// Bytes from the first to behind the last element of a tensor, or `None` beyond 64 bits.
fn span_bytes(map: &TensorMap) -> Option<u64> {
    let element = u64::from(map.dtype.bytes());
    let steps = std::iter::once(element).chain(map.strides);
    let mut span = element;
    for (extent, step) in map.dims.iter().zip(steps).take(usize::from(map.rank)) {
        span = span.checked_add(extent.saturating_sub(1).checked_mul(step)?)?;
    }
    Some(span)
}

/// That an operand does not lie as a kernel needs it; no kernel takes elements that are cut.
pub fn misaligned(kernel: &Kernel, operand: &Operand, address: u64) -> Option<Refusal> {
    let needs = alignment_bytes(kernel, operand);
    if address.is_multiple_of(u64::from(needs)) {
        return None;
    }
    let is_one = |stride: &Expr| stride.constant_value() == Some(1);
    let is_whole = address.is_multiple_of(u64::from(operand.dtype.bytes()));
    let names_stride = operand.layout.stride.iter().any(is_one);
    let way_out = match (is_whole, copied_first(kernel, operand)) {
        (true, Some(copy)) => format!("give a copy, or build a kernel of a spec with {copy}"),
        (true, None) if names_stride => {
            "give a copy, or build a kernel of a spec that names its stride of 1".to_owned()
        }
        _ => "give a copy".to_owned(),
    };
    Some(Refusal::Alignment {
        operand: operand.name.clone(),
        needs,
        address,
        way_out,
    })
}

/// Alignment the first element of `operand` must have: its own size, what is assumed, or what a
/// tensor map of it asks.
pub fn alignment_bytes(kernel: &Kernel, operand: &Operand) -> u32 {
    let assumed = kernel.assumptions.iter().filter_map(|a| match a {
        Assumption::Align {
            operand: name,
            bytes,
            ..
        } if *name == operand.name => Some(*bytes),
        _ => None,
    });
    let is_mapped = |p: &Param| match &p.value {
        ParamValue::TensorMap(map) => map.is_over(&operand.name),
        _ => false,
    };
    let mut params = kernel.launches.iter().flat_map(|launch| &launch.params);
    let mapped = params.any(is_mapped);
    let mapped = mapped.then_some(TENSOR_UNIT_BYTES);
    let least = operand.dtype.bytes().max(1);
    assumed.chain(mapped).fold(least, u32::max)
}
