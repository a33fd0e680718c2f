//! Numbers in address arithmetic: strides, masks, shifts, swizzles, offsets, descriptors.

use super::Mutant;
use crate::mutation::statement::Statement;

/// Arithmetic that addresses and bounds are made of.
const ARITHMETIC: [&str; 14] = [
    "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "bfe", "bfi", "min", "max", "mov",
];

pub(super) fn mutate(one: &Statement<'_>, mutants: &mut Vec<Mutant>) {
    let is_float = one
        .opcode
        .split('.')
        .any(|part| part.starts_with('f') || part == "bf16x2");
    let arithmetic = ARITHMETIC.iter().any(|name| one.is(name)) && !is_float;
    let compares = one.is("setp") && !is_float || one.is("selp");
    for (at, operand) in one.operands.iter().enumerate().skip(1) {
        let Ok(value) = operand.parse::<i64>() else {
            continue;
        };
        if arithmetic || compares {
            change(one, at, &neighbour(one, value).to_string(), mutants);
        }
    }
    if one.is("wgmma.mma_async") {
        signs(one, mutants);
    }
    offsets(one, mutants);
}

/// The number that is most easily taken for this one.
fn neighbour(one: &Statement<'_>, value: i64) -> i64 {
    let low = value & value.wrapping_neg();
    match value {
        0 => 1,
        // The highest bit of a mask is lost; the lowest bit of a swizzle or of a sum of parts
        // moves up.
        _ if one.is("and") => value & !(1i64 << (63 - value.leading_zeros())),
        _ if one.is("xor") || one.is("or") => value ^ low ^ low.wrapping_shl(1),
        _ => value.wrapping_add(1),
    }
}

fn change(one: &Statement<'_>, at: usize, new: &str, mutants: &mut Vec<Mutant>) {
    let mut operands = one.operands.clone();
    operands[at] = new;
    let text = operands.join(", ");
    let is = format!("{}{} {text};", one.guard_text(), one.opcode);
    let detail = format!("{at}={new}");
    mutants.push(Mutant::replace(one, "constant", &detail, is));
}

/// Signs and transpositions of a warpgroup product: the numbers behind its predicate.
fn signs(one: &Statement<'_>, mutants: &mut Vec<Mutant>) {
    for (at, operand) in one.operands.iter().enumerate().skip(1) {
        let other = match *operand {
            "1" => "-1",
            "-1" => "1",
            "0" => "1",
            _ => continue,
        };
        // The last two are transpositions when there are four.
        let numbers = one
            .operands
            .iter()
            .filter(|o| o.parse::<i64>().is_ok())
            .count();
        let transposes = numbers == 4 && at + 2 >= one.operands.len();
        let other = match (transposes, *operand) {
            (true, "1") => "0",
            (true, _) => "1",
            (false, _) => other,
        };
        change(one, at, other, mutants);
    }
}

/// Offsets in the addresses of shared memory and of copies into it.
fn offsets(one: &Statement<'_>, mutants: &mut Vec<Mutant>) {
    let shared = one.has("shared") || one.is("ldmatrix") || one.is("stmatrix");
    let global_offset = one.has("global") && (one.is("ld") || one.is("st"));
    if !shared && !global_offset {
        return;
    }
    for (at, operand) in one.operands.iter().enumerate() {
        let Some(inner) = operand
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        else {
            continue;
        };
        let inner = inner.trim();
        let offset = inner.rsplit_once('+').map(|(_, offset)| offset.trim());
        // A plain global address has no constant part.
        if inner.contains(',') || !shared && offset.is_none() {
            continue;
        }
        let step = if one.is("ldmatrix") || one.is("stmatrix") || one.is("cp") {
            16
        } else {
            element_bytes(one)
        };
        let new = format!("[{inner}+{step}]");
        change(one, at, &new, mutants);
    }
}

/// Bytes that one lane moves.
fn element_bytes(one: &Statement<'_>) -> u32 {
    let bits = one.opcode.rsplit('.').next().unwrap_or_default();
    let bits = bits
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .unwrap_or(32);
    let lanes = match (one.has("v2"), one.has("v4")) {
        (true, _) => 2,
        (_, true) => 4,
        _ => 1,
    };
    (bits / 8).max(1) * lanes
}
