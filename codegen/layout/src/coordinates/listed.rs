//! Composition through coordinates, from the list of its values.
//!
//! In: two layouts whose parts do not split alike. Out: the layout, or the smallest counterexample.
//! Invariant: at most [`MOST_VALUES`] values are listed.

use super::subtree;
use crate::basis::{Basis, Path};
use crate::error::{Counterexample, Error, Reason, Result};
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::tuple::Profile;

/// Most values that are listed.
const MOST_VALUES: i64 = 1 << 14;

/// The values of the composition, in order.
fn values<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    b: &Layout<I, Basis<I>>,
    paths: &[Path],
    size: i64,
) -> Result<Vec<D>> {
    let modes: Vec<Layout<I, D>> = paths.iter().map(|p| subtree(a, p)).collect::<Result<_>>()?;
    (0..size)
        .map(|x| {
            let coord = b.at(I::constant(x))?;
            let mut sum = D::default();
            for (mode, path) in modes.iter().zip(paths) {
                sum = sum.plus(&mode.at(coord.coefficient(path))?)?;
            }
            Ok(sum)
        })
        .collect()
}

/// `composition_coords` by listing all values.
pub(super) fn composition<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    b: &Layout<I, Basis<I>>,
    paths: &[Path],
) -> Result<Layout<I, D>> {
    let what = format!("{a} o {b}");
    let undecided = || Error::Undecided {
        what: what.clone(),
        searched: 0,
    };
    let constants: Option<Vec<i64>> = b.leaves().map(|(s, _)| s.as_i64()).collect();
    let extents = constants.ok_or_else(undecided)?;
    let size = extents.iter().try_fold(1i64, |p, s| p.try_mul(s))?;
    if size > MOST_VALUES {
        return Err(undecided());
    }
    let values = values(a, b, paths, size)?;
    let refuse = |at: usize, sum: &D, reason| {
        Error::NotALayout(Box::new(Counterexample {
            what: what.clone(),
            at: at as i64,
            want: values.get(at).map(D::to_string).unwrap_or_default(),
            sum_of_modes: sum.to_string(),
            reason,
        }))
    };
    let (mut modes, mut profiles, mut unit): (Vec<(i64, D)>, _, usize) = (vec![], vec![], 1);
    for (leaf, &extent) in extents.iter().enumerate() {
        let (begin, mut left) = (modes.len(), extent);
        while left > 1 {
            let step = &values[unit];
            let mut run = 1;
            while run < left && values[run as usize * unit] == step.scaled(&I::constant(run))? {
                run += 1;
            }
            modes.push((run, step.clone()));
            if left % run != 0 {
                let at = run as usize * unit;
                check::<I, D>(&modes, &values[..at], &refuse)?;
                let reason = Reason::Leaf {
                    leaf,
                    extent: left,
                    step_changes_at: run,
                };
                return Err(refuse(at, &step.scaled(&I::constant(run))?, reason));
            }
            left /= run;
            unit *= run as usize;
        }
        if modes.len() == begin {
            modes.push((1, D::default()));
        }
        profiles.push(match modes.len() - begin {
            1 => Profile::leaf(),
            n => Profile::flat(n),
        });
    }
    check::<I, D>(&modes, &values, &refuse)?;
    let shape = modes.iter().map(|m| I::constant(m.0)).collect();
    let stride = modes.iter().map(|m| m.1.clone()).collect();
    Layout::from_parts(b.profile().graft(profiles.into_iter()), shape, stride)
}

/// Compares the sums of modes with the values.
fn check<I: Int, D: Stride<I>>(
    modes: &[(i64, D)],
    values: &[D],
    refuse: &dyn Fn(usize, &D, Reason) -> Error,
) -> Result<()> {
    for (at, want) in values.iter().enumerate() {
        let (mut sum, mut left) = (D::default(), at as i64);
        for (n, d) in modes {
            sum = sum.plus(&d.scaled(&I::constant(left % n))?)?;
            left /= n;
        }
        if sum != *want {
            return Err(refuse(at, &sum, Reason::Carry));
        }
    }
    Ok(())
}
