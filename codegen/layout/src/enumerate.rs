//! From a list of values back to a layout.
//!
//! In: offsets in the order of the linear index. Out: the shortest flat layout with these values,
//! or the first place where there is none.

use crate::error::{Counterexample, Error, Reason, Result};
use crate::int::Int;
use crate::layout::Layout;

/// The flat layout of fewest modes whose values are `offsets`: `[0,1,2,5,6,7]` is `(3,2):(1,5)`.
///
/// # Errors
/// [`Error::Domain`] for an empty list or one that does not begin with 0; [`Error::NotALayout`]
/// with the first value that no layout has; [`Error::Overflow`].
pub fn from_offsets(offsets: &[i64]) -> Result<Layout> {
    if offsets.first() != Some(&0) {
        return Err(Error::domain(
            "a layout has at least one value and the first is 0".to_owned(),
        ));
    }
    let (mut leaves, mut unit) = (Vec::new(), 1usize);
    while let Some(&step) = offsets.get(unit) {
        let linear = |x: usize| {
            let wanted = i64::try_from(x).ok().and_then(|x| x.checked_mul(step));
            wanted.is_some() && offsets.get(x * unit).copied() == wanted
        };
        let left = offsets.len() / unit;
        let run = (1..left).find(|&x| !linear(x)).unwrap_or(left);
        let extent = i64::try_from(left).unwrap_or(i64::MAX);
        let size = i64::try_from(run).unwrap_or(i64::MAX);
        if !left.is_multiple_of(run) {
            let reason = Reason::Leaf {
                leaf: leaves.len(),
                extent,
                step_changes_at: size,
            };
            return Err(refuse(offsets, run * unit, size.try_mul(&step)?, reason));
        }
        leaves.push((size, step));
        unit *= run;
    }
    let layout = Layout::from_leaves(leaves);
    for (i, (got, &want)) in layout.offsets()?.zip(offsets).enumerate() {
        if got != want {
            return Err(refuse(offsets, i, got, Reason::Carry));
        }
    }
    Ok(layout)
}

fn refuse(offsets: &[i64], at: usize, sum: i64, reason: Reason) -> Error {
    Error::NotALayout(Box::new(Counterexample {
        what: format!("a list of {} values", offsets.len()),
        at: i64::try_from(at).unwrap_or(i64::MAX),
        want: offsets.get(at).map(i64::to_string).unwrap_or_default(),
        sum_of_modes: sum.to_string(),
        reason,
    }))
}
