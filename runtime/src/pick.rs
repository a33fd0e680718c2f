//! Choosing a kernel of a bundle for a problem: the first that can run, with a reason for each one
//! passed over.
//!
//! The order is the bundle's: a family's kernels as its maker ranked them, plain kernels that take
//! every layout and alignment last. A kernel is *plain* when it assumes nothing and has no tensor
//! maps, which take aligned rows alone.

use std::collections::BTreeMap;

use tilewright_bundle::{Bundle, DType, Family, Kernel, Param, ParamValue};

use crate::device::Arg;
use crate::error::{Error, Refusal};
use crate::info::DeviceInfo;
use crate::launch::{alignment_bytes, fit};
use crate::problem::Problem;

/// What a caller wants computed, apart from the extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The family.
    pub family: Family,
    /// Element types by operand; an operand left out may have any.
    pub dtypes: Vec<(String, DType)>,
}

impl Query {
    /// Every kernel of a family.
    pub fn family(family: Family) -> Query {
        Query {
            family,
            dtypes: Vec::new(),
        }
    }

    /// The same query with a fixed element type for one operand.
    #[must_use]
    pub fn with_dtype(mut self, operand: &str, dtype: DType) -> Query {
        self.dtypes.push((operand.to_owned(), dtype));
        self
    }

    fn matches(&self, kernel: &Kernel) -> bool {
        let has = |(name, dtype): &(String, DType)| {
            kernel
                .semantics
                .operand(name)
                .is_some_and(|o| o.dtype == *dtype)
        };
        kernel.family == self.family && self.dtypes.iter().all(has)
    }
}

/// A kernel passed over, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The kernel's id.
    pub kernel: String,
    /// Every reason.
    pub refusals: Vec<Refusal>,
}

/// How often kernels were passed over, by kind of refusal.
pub type SkipCounts = BTreeMap<&'static str, u64>;

/// The kernel chosen, and those before it that could not run.
#[derive(Debug, Clone)]
pub struct Pick<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Kernels passed over, in the order tried.
    pub skips: Vec<Skip>,
}

impl Pick<'_> {
    /// The skips counted by the kind of their first refusal.
    pub fn counts(&self) -> SkipCounts {
        let mut counts = SkipCounts::new();
        for refusal in self.skips.iter().filter_map(|s| s.refusals.first()) {
            *counts.entry(refusal.kind()).or_default() += 1;
        }
        counts
    }
}

/// The first kernel of a bundle that answers `query` and takes `problem` on a device.
///
/// `addresses` gives the device address of operands already allocated, so that alignment counts;
/// an operand left out is taken as aligned.
///
/// # Errors
/// [`Error::NothingFits`] when no kernel can.
pub fn pick<'a>(
    bundle: &'a Bundle,
    query: &Query,
    problem: &Problem,
    device: &DeviceInfo,
    addresses: &[(&str, u64)],
) -> Result<Pick<'a>, Error> {
    among(bundle.kernels().iter(), query, problem, device, addresses)
}

/// As [`pick`], among some of a bundle's kernels.
pub(crate) fn among<'a>(
    kernels: impl Iterator<Item = &'a Kernel>,
    query: &Query,
    problem: &Problem,
    device: &DeviceInfo,
    addresses: &[(&str, u64)],
) -> Result<Pick<'a>, Error> {
    let candidates = kernels.filter(|k| query.matches(k));
    first_that_fits(candidates, query.family, problem, device, addresses)
}

/// Tries kernels in order, the plain ones after all others.
fn first_that_fits<'a>(
    candidates: impl Iterator<Item = &'a Kernel>,
    family: Family,
    problem: &Problem,
    device: &DeviceInfo,
    addresses: &[(&str, u64)],
) -> Result<Pick<'a>, Error> {
    let mut candidates: Vec<&Kernel> = candidates.collect();
    candidates.sort_by_key(|k| is_plain(k));
    let mut skips = Vec::new();
    for kernel in candidates {
        let mut refusals = fit(kernel, problem, device).err().unwrap_or_default();
        refusals.extend(misaligned(kernel, addresses));
        if refusals.is_empty() {
            return Ok(Pick { kernel, skips });
        }
        skips.push(Skip {
            kernel: kernel.id.clone(),
            refusals,
        });
    }
    let first = |s: &Skip| {
        let why = s
            .refusals
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!("{}: {why}", s.kernel)
    };
    Err(Error::NothingFits {
        family: family.text(),
        skips: skips.iter().map(first).collect(),
    })
}

fn is_plain(kernel: &Kernel) -> bool {
    let is_map = |p: &Param| matches!(p.value, ParamValue::TensorMap(_));
    kernel.assumptions.is_empty() && !kernel.abi.params.iter().any(is_map)
}

fn misaligned(kernel: &Kernel, addresses: &[(&str, u64)]) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for (name, address) in addresses {
        let Some(operand) = kernel.semantics.operand(name) else {
            continue;
        };
        let needs = alignment_bytes(kernel, operand);
        if !address.is_multiple_of(u64::from(needs)) {
            let operand = operand.name.clone();
            refusals.push(Refusal::Alignment {
                operand,
                needs,
                address: *address,
            });
        }
    }
    refusals
}

/// The kernel a name means: an id exactly, else the first of a spec that takes `problem`, or the
/// first of the spec when no problem is given.
///
/// # Errors
/// [`Error::UnknownKernel`] with the nearest name, or [`Error::NothingFits`].
pub fn find<'a>(
    bundle: &'a Bundle,
    name: &str,
    problem: Option<&Problem>,
    device: &DeviceInfo,
) -> Result<Pick<'a>, Error> {
    if let Some(kernel) = bundle.kernel(name) {
        return Ok(Pick {
            kernel,
            skips: Vec::new(),
        });
    }
    let mut of_spec = bundle
        .kernels()
        .iter()
        .filter(|k| k.spec == name)
        .peekable();
    match (of_spec.peek(), problem) {
        (None, _) => Err(unknown(bundle, name)),
        (Some(kernel), None) => Ok(Pick {
            kernel,
            skips: Vec::new(),
        }),
        (Some(kernel), Some(problem)) => {
            let family = kernel.family;
            first_that_fits(of_spec, family, problem, device, &[])
        }
    }
}

fn unknown(bundle: &Bundle, name: &str) -> Error {
    let names = bundle
        .kernels()
        .iter()
        .flat_map(|k| [k.id.as_str(), k.spec.as_str()]);
    let shared = |other: &str| {
        name.bytes()
            .zip(other.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let nearest = names
        .max_by_key(|other| shared(other))
        .filter(|other| shared(other) > 2);
    Error::UnknownKernel {
        name: name.to_owned(),
        nearest: nearest.map(str::to_owned),
    }
}

/// Operand addresses of launch arguments as far as they matter to alignment: every allocation
/// starts at a multiple of 256, so offsets say it all.
pub fn addresses<'a>(args: &[Arg<'a>]) -> Vec<(&'a str, u64)> {
    args.iter()
        .map(|arg| (arg.operand, arg.offset_bytes))
        .collect()
}
