//! Structs that are passed by value: where their fields lie, and the bytes of all.
//!
//! In: a struct of a manifest, and what each field is. Out: its bytes, or everything that is wrong
//! with it. Invariant: fields are aligned as a C compiler aligns them, and no two overlap.

use tilewright_emulator::{Arg, Memory};

use super::LaunchFileError;
use super::compare;
use super::manifest::{Field, LaunchArg, StructArg};

/// Bytes of a pointer, and of a tensor map with what its address is a multiple of.
const POINTER: usize = 8;
const TENSORMAP: usize = 128;
const TENSORMAP_ALIGNMENT: usize = 64;
/// The most bytes of a kernel's parameters (PTX ISA, kernel function parameters).
const MOST_BYTES: usize = 32_764;

/// The size of a field and what its offset is a multiple of; none of what is no field, or has no
/// value.
fn size_and_alignment(arg: &LaunchArg) -> Option<(usize, usize)> {
    match arg {
        LaunchArg::Buffer(_) | LaunchArg::Null { .. } => Some((POINTER, POINTER)),
        LaunchArg::Tensormap(_) => Some((TENSORMAP, TENSORMAP_ALIGNMENT)),
        LaunchArg::Bytes { size, .. } => Some((*size, 1)),
        LaunchArg::Scalar { dtype, value, .. } => {
            let size = compare::scalar_bytes(dtype, value)?.len();
            Some((size, size.max(1)))
        }
        LaunchArg::Memory(_) | LaunchArg::Struct(_) => None,
    }
}

/// Everything that is wrong with where fields lie, and with what lies under them.
pub(super) fn problems(of: &StructArg) -> Vec<String> {
    let (mut problems, size) = (Vec::new(), of.size);
    if size > MOST_BYTES {
        problems.push(format!(
            "it has {size} bytes; a kernel's parameters have {MOST_BYTES} at most"
        ));
    }
    if let Some(hex) = &of.hex
        && compare::hex_bytes(hex).is_none_or(|bytes| bytes.len() != size)
    {
        problems.push(format!("hex is not two digits for each of {size} bytes"));
    }
    let mut spans: Vec<(usize, usize, &str)> = Vec::new();
    for Field { at, arg } in &of.fields {
        let name = arg.name();
        let what = match arg {
            LaunchArg::Struct(_) => Some("a struct: list its fields among those of the outer one"),
            LaunchArg::Memory(_) => Some("memory, which is not passed: list it among args"),
            _ => None,
        };
        if let Some(what) = what {
            problems.push(format!("field {name} at {at} is {what}"));
        }
        let Some((bytes, alignment)) = size_and_alignment(arg) else {
            continue;
        };
        if !at.is_multiple_of(alignment) {
            let next = at.next_multiple_of(alignment);
            problems.push(format!(
                "field {name} at {at}: its offset is a multiple of {alignment}, such as {next}"
            ));
        }
        let end = at.saturating_add(bytes);
        if end > size {
            problems.push(format!(
                "field {name} at {at} of {bytes} bytes ends at {end}, the struct at {size}"
            ));
        }
        let other = spans.iter().find(|(from, to, _)| *at < *to && *from < end);
        if let Some((from, to, other)) = other {
            problems.push(format!(
                "field {name} at {at} of {bytes} bytes overlaps {other}, from {from} to {to}"
            ));
        }
        spans.push((*at, end, name));
    }
    problems
}

/// The bytes, given what each field is.
///
/// # Errors
/// That of a field which cannot be made.
pub(super) fn bytes(
    of: &StructArg,
    memory: &Memory,
    mut value: impl FnMut(&LaunchArg) -> Result<Arg, LaunchFileError>,
) -> Result<Vec<u8>, LaunchFileError> {
    let under = of.hex.as_deref().and_then(compare::hex_bytes);
    let mut all = under.unwrap_or_default();
    all.resize(of.size, 0);
    for field in &of.fields {
        let bytes = value(&field.arg)?.to_bytes(memory);
        let span = field.at..field.at.saturating_add(bytes.len());
        // Reading the manifest has refused fields that lie elsewhere.
        if let Some(place) = all.get_mut(span) {
            place.copy_from_slice(&bytes);
        }
    }
    Ok(all)
}
