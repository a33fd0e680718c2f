//! Sums so long that the bound of normal values lets a part of one be missing.
//!
//! Rounding may move a sum of normal values by about `0.64 k * k * 2^-24`, and what a tile along k
//! adds to it is about its length's root, 8 of 64: from a length of some 14,000 on the bound is
//! wider. Sums of small integers are exact, and nothing may be missing from them.

use tilewright_bundle::Kernel;
use tilewright_runtime::Problem;

use super::far::contracted;

/// Values of a sum from which integers show what normal values may not.
const LONG: i64 = 8192;

/// Whether a product of the kernel has sums that integers show more of than normal values do.
pub fn has_long_sums(kernel: &Kernel, problem: &Problem) -> bool {
    let Some((form, formula)) = kernel.form().zip(kernel.formula()) else {
        return false;
    };
    let extent = |mode: usize| {
        let named = formula.modes.get(mode).map(|mode| mode.name.as_str());
        let given = named.and_then(|name| problem.extent(name));
        given.or(formula.constant(mode)).unwrap_or(1)
    };
    let summed = contracted(form).into_iter().map(extent);
    summed.fold(1, i64::saturating_mul) >= LONG
}
