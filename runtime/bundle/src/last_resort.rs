//! Which functions of a bundle have no last resort: a kernel that takes every shape (but nothing
//! along what is folded, which no kernel takes), every address, and every stride that one of its
//! kernels leaves open, on every device that a kernel of it is for, or on all from one on.
//!
//! A problem that no kernel takes is refused at run time. What a formula or its types demand, every
//! kernel of it demands: promises about tables, whole elements, whole bytes of packed ones.

use std::collections::BTreeMap;
use std::fmt;

use crate::code::Capability;
use crate::expr::Expr;
use crate::hash::Sha256Hex;
use crate::manifest::{Assumption, Kernel, Operand};

/// What a spec is like that gives a function its last resort.
pub const LAST_RESORT: &str = "a spec of the same formula that names every stride of every \
                               operand, as (m,k):(lda,sa), and whose rows are folded in many \
                               passes";

/// How many of a function's specs are named in a sentence.
const NAMED: usize = 4;

/// A function without a last resort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoLastResort {
    /// `semantics.function` of its kernels.
    pub function: Sha256Hex,
    /// The specs of its kernels.
    pub specs: Vec<String>,
    /// The kernel that lacks the least.
    pub nearest: String,
    /// What keeps it from being the last resort.
    pub lacks: Vec<String>,
    /// Why no spec gives it one, where none does: tensor cores alone multiply its factors, or
    /// elements share bytes.
    pub why_none: Option<String>,
}

impl NoLastResort {
    /// The specs, the first of them by name: `gemm_a, gemm_b, gemm_c, gemm_d and 12 more specs`.
    pub fn specs_text(&self) -> String {
        let (named, others) = self.specs.split_at(self.specs.len().min(NAMED));
        let named = named.join(", ");
        match others.len() {
            0 => named,
            1 => format!("{named} and one more spec"),
            count => format!("{named} and {count} more specs"),
        }
    }
}

impl fmt::Display for NoLastResort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nearest, lacks) = (&self.nearest, self.lacks.join(", "));
        write!(
            f,
            "no last resort for {}: the nearest, {nearest}, {lacks}",
            self.specs_text()
        )?;
        match &self.why_none {
            Some(why) => write!(f, "; {why}"),
            None => Ok(()),
        }
    }
}

/// The functions of these kernels that have no last resort, in the order of their first kernels.
///
/// Each is to take every problem on the devices that its own kernels are for; where `least` is
/// given, on that one and on newer ones.
pub fn without_last_resort(kernels: &[&Kernel], least: Option<Capability>) -> Vec<NoLastResort> {
    let mut functions: Vec<(&Sha256Hex, Vec<&Kernel>)> = Vec::new();
    let mut places: BTreeMap<&Sha256Hex, usize> = BTreeMap::new();
    for kernel in kernels {
        let function = &kernel.semantics.function;
        let at = *places.entry(function).or_insert_with(|| {
            functions.push((function, Vec::new()));
            functions.len() - 1
        });
        functions[at].1.push(kernel);
    }
    let told = functions.into_iter().filter_map(|(function, kernels)| {
        let devices = devices(&kernels, least);
        lacking(function, &kernels, &devices)
    });
    told.collect()
}

/// The devices that a function is to be computed on.
fn devices(kernels: &[&Kernel], least: Option<Capability>) -> Vec<Capability> {
    let mut devices: Vec<Capability> = least.into_iter().collect();
    for kernel in kernels {
        let own = kernel.capability;
        let is_older = least.is_some_and(|least| own.min_sm < least.min_sm);
        if !is_older && !devices.contains(&own) {
            devices.push(own);
        }
    }
    devices
}

fn lacking(
    function: &Sha256Hex,
    kernels: &[&Kernel],
    devices: &[Capability],
) -> Option<NoLastResort> {
    // What each kernel lacks by itself, least first; of equals the first counts.
    let mut candidates: Vec<(&Kernel, Vec<String>)> = kernels
        .iter()
        .map(|kernel| (*kernel, lacks(kernel, devices)))
        .collect();
    candidates.sort_by_key(|(_, lacks)| lacks.len());
    let layouts = |kernel: &Kernel| {
        let operands = kernel.semantics.operands.iter();
        operands
            .map(|o| o.layout.text().to_owned())
            .collect::<Vec<_>>()
    };
    let classes: BTreeMap<Vec<String>, &Kernel> = kernels
        .iter()
        .map(|kernel| (layouts(kernel), *kernel))
        .collect();
    let mut worst: Option<(&Kernel, Vec<String>)> = None;
    for kernel in classes.into_values() {
        let all = |(candidate, own): &(&Kernel, Vec<String>)| {
            let narrower = narrower(candidate, kernel);
            let lacks: Vec<String> = own.iter().cloned().chain(narrower).collect();
            lacks
        };
        let each = candidates.iter().map(|one| (one.0, all(one)));
        let nearest = each.min_by_key(|(_, lacks)| lacks.len())?;
        let is_worse = |worst: &(&Kernel, Vec<String>)| nearest.1.len() > worst.1.len();
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some(nearest);
        }
    }
    let (nearest, lacks) = worst.filter(|(_, lacks)| !lacks.is_empty())?;
    let mut specs: Vec<String> = kernels.iter().map(|kernel| kernel.spec.clone()).collect();
    specs.sort();
    specs.dedup();
    Some(NoLastResort {
        why_none: why_none(nearest),
        function: function.clone(),
        specs,
        nearest: nearest.id.clone(),
        lacks,
    })
}

/// Why no kernel computes what this one does with any strides, where none does.
fn why_none(kernel: &Kernel) -> Option<String> {
    let operands = || kernel.semantics.operands.iter();
    if let Some(factor) = operands().find(|operand| kernel.is_of_tensor_cores(operand)) {
        let dtype = factor.dtype;
        let name = &factor.name;
        return Some(format!(
            "factors of {dtype} have kernels for other rows by copies alone, `copy: {{ {name}: {{ \
             realign: workspace }} }}`"
        ));
    }
    let pairs = operands().find(|operand| operand.dtype.per_byte() > 1)?;
    let (name, dtype) = (&pairs.name, pairs.dtype);
    Some(format!(
        "elements of {name} ({dtype}) share bytes, so that rows of every operand are whole vectors"
    ))
}

/// What keeps a kernel from being the last resort for its own layouts.
fn lacks(kernel: &Kernel, devices: &[Capability]) -> Vec<String> {
    let mut lacks = Vec::new();
    let own = kernel.capability;
    let reaches = |device: &Capability| match device.exact {
        true => own.allows(device.min_sm),
        false => !own.exact && own.min_sm <= device.min_sm,
    };
    let missed = devices.iter().filter(|device| !reaches(device));
    if let Some(device) = missed.min_by_key(|device| device.min_sm) {
        lacks.push(format!("does not run on sm_{}", device.min_sm));
    }
    if kernel.maps_operands() {
        lacks.push("has tensor maps, which take rows of whole 16 bytes".to_owned());
    }
    let picky = kernel
        .assumptions
        .iter()
        .filter(|one| !is_demanded(one, kernel));
    lacks.extend(picky.map(|assumption| format!("assumes {}", assumption.text())));
    lacks.extend(shared_strides(kernel));
    lacks
}

/// Strides that several axes have under one name, so that they have to be the same.
fn shared_strides(kernel: &Kernel) -> Vec<String> {
    let mut axes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let operands = &kernel.semantics.operands;
    let extents = operands.iter().flat_map(|operand| &operand.layout.shape);
    let extents: Vec<&str> = extents.filter_map(Expr::single_word).collect();
    for operand in operands {
        let words = operand.layout.stride.iter().filter_map(Expr::single_word);
        for word in words.filter(|word| !extents.contains(word)) {
            axes.entry(word).or_default().push(&operand.name);
        }
    }
    let shared = axes.into_iter().filter(|(_, of)| of.len() > 1);
    let told = shared.map(|(word, of)| format!("has one stride, {word}, for {}", of.join(" and ")));
    told.collect()
}

/// Whether every kernel of the formula assumes this.
fn is_demanded(assumption: &Assumption, kernel: &Kernel) -> bool {
    let operands = &kernel.semantics.operands;
    match assumption {
        Assumption::Promise { .. } => true,
        Assumption::Align { operand, bytes, .. } => {
            let operand = kernel.semantics.operand(operand);
            operand.is_some_and(|operand| *bytes <= operand.dtype.bytes().max(1))
        }
        Assumption::Expr { expr, .. } => {
            // Rows of packed elements begin and end at bytes.
            let multiple = || {
                let (name, number) = expr.text().strip_suffix(" == 0")?.split_once(" % ")?;
                Some((name, number.parse::<u32>().ok()?))
            };
            let is_of = |operand: &Operand, name: &str| {
                let layout = &operand.layout;
                let mut words = layout.shape.iter().chain(&layout.stride);
                words.any(|expr| expr.single_word() == Some(name))
            };
            multiple().is_some_and(|(name, number)| {
                let mut packed = operands.iter().filter(|o| is_of(o, name));
                packed.any(|operand| operand.dtype.per_byte().is_multiple_of(number))
            })
        }
    }
}

/// What a kernel takes of its operands that another one does not: strides that are fixed.
fn narrower(kernel: &Kernel, other: &Kernel) -> Option<String> {
    let shapes = kernel.semantics.operands.iter();
    let extents: Vec<&str> = shapes
        .flat_map(|operand| operand.layout.shape.iter().filter_map(Expr::single_word))
        .collect();
    let is_free = |stride: &Expr| {
        let word = stride.single_word();
        word.is_some_and(|word| !extents.contains(&word))
    };
    let pairs = kernel.semantics.operands.iter().filter_map(|operand| {
        let theirs = other.semantics.operand(&operand.name)?;
        let (own, theirs) = (&operand.layout, &theirs.layout);
        let mut strides = own.stride.iter().zip(&theirs.stride);
        let takes = strides.all(|(own, theirs)| is_free(own) || own.text() == theirs.text());
        (!takes).then(|| format!("takes {} as {own} alone, not as {theirs}", operand.name))
    });
    let told: Vec<String> = pairs.collect();
    (!told.is_empty()).then(|| told.join(", "))
}
