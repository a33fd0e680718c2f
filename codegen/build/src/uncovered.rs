//! What a reader of a build is told of functions that have no kernel for every problem.

use tilewright_bundle::{Bundle, Kernel, NoLastResort, without_last_resort};

/// Functions that are told by name.
const TOLD: usize = 3;

/// A line on them, if there are any: all of them, or those of several specs, one of which may have
/// been meant to take what the others do not.
pub(crate) fn line(bundle: &Bundle, all: bool) -> Option<String> {
    let kernels: Vec<&Kernel> = bundle.kernels().iter().collect();
    let mut found = without_last_resort(&kernels, None);
    found.retain(|lacking| all || lacking.specs.len() > 1);
    if found.is_empty() {
        return None;
    }
    let one = |lacking: &NoLastResort| {
        let (specs, lacks) = (lacking.specs.join(", "), lacking.lacks.join(", "));
        format!("{specs} ({lacks})")
    };
    let told: Vec<String> = found.iter().take(TOLD).map(one).collect();
    let more = match found.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (count, told) = (found.len(), told.join("; "));
    let functions = if count == 1 {
        "function has"
    } else {
        "functions have"
    };
    Some(format!(
        "{count} {functions} no kernel for every problem; others are refused at run time: \
         {told}{more}"
    ))
}
