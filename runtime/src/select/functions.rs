//! Functions as a reader knows them: by the spec's word and the types, and by whatever else tells
//! those of one word and the same types apart.

use std::collections::BTreeMap;

use tilewright_bundle::{Kernel, Sha256Hex};
use tilewright_formula::identity;

/// Digits of a function's hash that are shown.
pub(crate) const DIGITS: usize = 12;

/// A function as a reader of specs knows it: `gemm_f32 (530d2c8e1437)`.
pub(crate) fn function_text(spec: &str, hash: &Sha256Hex) -> String {
    let hash = hash.as_str();
    format!("{spec} ({})", hash.get(..DIGITS).unwrap_or(hash))
}

/// The types of a kernel's operands and sums: `a=bf16 b=bf16 d=f32 sums=f32`.
pub(crate) fn types(kernel: &Kernel) -> String {
    let operands = kernel.semantics.operands.iter();
    let mut all: Vec<String> = operands
        .map(|o| format!("{}={}", o.name, o.dtype))
        .collect();
    all.extend(kernel.accumulator().map(|dtype| format!("sums={dtype}")));
    all.join(" ")
}

/// The first kernel of each function.
pub(crate) fn first_of_each<'k>(kernels: impl Iterator<Item = &'k Kernel>) -> Vec<&'k Kernel> {
    let mut found: Vec<&Kernel> = Vec::new();
    for kernel in kernels {
        let function = &kernel.semantics.function;
        if !found.iter().any(|k| k.semantics.function == *function) {
            found.push(kernel);
        }
    }
    found
}

/// The types that each operand, and the sums, have in some kernels: `a=bf16 or f16`.
pub(crate) fn types_of(kernels: &[&Kernel]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for kernel in kernels {
        let operands = kernel.semantics.operands.iter();
        let operands = operands.map(|o| (o.name.as_str(), o.dtype));
        let sums = kernel.accumulator().map(|dtype| ("sums", dtype));
        for (name, dtype) in operands.chain(sums) {
            let at = all.iter().position(|(known, _)| *known == name);
            let at = at.unwrap_or_else(|| {
                all.push((name, Vec::new()));
                all.len() - 1
            });
            if let Some((_, types)) = all.get_mut(at).filter(|(_, t)| !t.contains(&dtype.text())) {
                types.push(dtype.text());
            }
        }
    }
    let told = all.iter();
    told.map(|(name, types)| format!("{name}={}", types.join(" or ")))
        .collect()
}

/// Several functions, each of which one kernel is given, by word and types; those of the same word
/// and types with the lines of their formula or signature that the others have not, as an operand
/// that is packed; and by what names each alone, a spec and the beginning of the hash.
pub(crate) fn told_apart(functions: &[&Kernel]) -> Vec<String> {
    let heads: Vec<String> = functions
        .iter()
        .map(|kernel| format!("{} {}", kernel.kernel, types(kernel)))
        .collect();
    let lines: Vec<Vec<String>> = functions.iter().map(|kernel| said(kernel)).collect();
    let one = |(at, kernel): (usize, &&Kernel)| {
        let alike = |other: &usize| *other != at && heads[*other] == heads[at];
        let alike: Vec<usize> = (0..heads.len()).filter(alike).collect();
        let is_own = |line: &&String| alike.iter().any(|other| !lines[*other].contains(line));
        let own: Vec<&str> = lines[at]
            .iter()
            .filter(is_own)
            .map(String::as_str)
            .collect();
        let own = match (alike.is_empty(), own.is_empty()) {
            (true, _) => String::new(),
            (false, true) => ", with nothing more".to_owned(),
            (false, false) => format!(", {}", own.join(", ")),
        };
        let hash = kernel.semantics.function.to_string();
        let hash = hash.get(..DIGITS).unwrap_or(&hash);
        format!("{}{own} ({}, {hash})", heads[at], kernel.spec)
    };
    functions.iter().enumerate().map(one).collect()
}

/// The operands whose types differ among some functions, with the type that each has there.
pub(crate) fn differing_types(functions: &[&Kernel]) -> Vec<(String, Vec<String>)> {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let operands = functions.iter().flat_map(|k| &k.semantics.operands);
    for operand in operands {
        let all = types.entry(&operand.name).or_default();
        let dtype = operand.dtype.text().to_owned();
        if !all.contains(&dtype) {
            all.push(dtype);
        }
    }
    let differing = types.into_iter().filter(|(_, all)| all.len() > 1);
    differing
        .map(|(name, all)| (name.to_owned(), all))
        .collect()
}

/// What a function is, a line for each operand, scalar and statement.
fn said(kernel: &Kernel) -> Vec<String> {
    let text = kernel.formula().map(identity::function);
    text.unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}
