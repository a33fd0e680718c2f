//! What a reader of a build is told of functions that have no kernel for every problem.

use tilewright_bundle::{Bundle, Capability, Kernel, NoLastResort, without_last_resort};

use crate::arch::capability;
use crate::error::Error;

/// Functions that are told by name.
const TOLD: usize = 3;

/// On which GPUs every function is to have a kernel for every problem.
#[derive(Debug, Clone)]
pub(crate) enum LastResort {
    /// On those that its own kernels are for.
    Own,
    /// On this architecture and newer ones.
    From(String),
    /// Nowhere: what is missing is known.
    Nowhere,
}

impl LastResort {
    /// The oldest of them, where it is named.
    pub(crate) fn least(&self) -> Result<Option<Capability>, Error> {
        match self {
            LastResort::Own | LastResort::Nowhere => Ok(None),
            LastResort::From(arch) => capability(arch).map(Some),
        }
    }
}

/// A line on them, if there are any: all of them, or those of several specs, one of which may have
/// been meant to take what the others do not. On GPUs from `least` on, or on those that the kernels
/// of each are for.
pub(crate) fn line(bundle: &Bundle, all: bool, least: Option<Capability>) -> Option<String> {
    let kernels: Vec<&Kernel> = bundle.kernels().iter().collect();
    let mut found = without_last_resort(&kernels, least);
    found.retain(|lacking| all || lacking.specs.len() > 1);
    if found.is_empty() {
        return None;
    }
    let one = |lacking: &NoLastResort| {
        let (specs, lacks) = (lacking.specs_text(), lacking.lacks.join(", "));
        match &lacking.why_none {
            Some(why) => format!("{specs} ({lacks}; {why})"),
            None => format!("{specs} ({lacks})"),
        }
    };
    let told: Vec<String> = found.iter().take(TOLD).map(one).collect();
    let more = match found.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (count, told) = (found.len(), told.join("; "));
    let functions = match count {
        1 => "function does",
        _ => "functions do",
    };
    Some(format!(
        "{count} {functions} not take every problem (others are refused at run time): {told}{more}"
    ))
}
