//! Entries of tables, which say where along an axis of another operand elements lie.
//!
//! Most lie inside, some on either side of it; where something is stored at them, those inside are
//! distinct, as the kernel has its callers promise.

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use tilewright_bundle::{Assumption, DType, Kernel};
use tilewright_formula::{Formula, Role};

use super::numbers::round;
use tilewright_runtime::Extents;
use tilewright_runtime::Problem;

/// One in so many entries lies outside.
const ONE_IN: u32 = 8;

/// What the entries of a table are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Table {
    /// The shortest extent that they look into, and the longest.
    extent: i64,
    longest: i64,
    /// Whether those inside are distinct.
    is_distinct: bool,
}

impl Table {
    /// The table that an operand is, where it is one. Where it looks into several, entries lie
    /// inside all of them or outside of each.
    pub fn of(formula: &Formula, extents: &[Extents], at: usize) -> Option<Table> {
        let mut found: Option<Table> = None;
        for (operand, extents) in extents.iter().enumerate() {
            let axes = formula.tables(operand).into_iter().zip(extents.axes());
            let own = axes.filter(|(table, _)| *table == Some(at));
            for (_, (extent, _)) in own {
                let known = found.unwrap_or(Table {
                    extent,
                    longest: extent,
                    is_distinct: false,
                });
                found = Some(Table {
                    extent: extent.min(known.extent),
                    longest: extent.max(known.longest),
                    is_distinct: known.is_distinct || formula.role(operand) != Role::Input,
                });
            }
        }
        found
    }

    /// So many entries, as that type holds them.
    pub fn entries(&self, dtype: DType, count: usize, seed: u64) -> Vec<f64> {
        let mut rng = StdRng::seed_from_u64(seed);
        let (last, behind) = (self.extent, self.longest);
        let ends = [i64::from(i32::MIN), i64::from(i32::MAX)];
        let outside = [-1, behind, behind + 1].into_iter().chain(ends);
        let held = |entry: &i64| round(dtype, *entry as f64) == *entry as f64;
        let is_outside = |entry: &i64| held(entry) && !(0..behind).contains(entry);
        let outside: Vec<i64> = outside.filter(is_outside).collect();
        let mut left: Vec<i64> = match self.is_distinct {
            true => (0..last).filter(held).collect(),
            false => Vec::new(),
        };
        left.shuffle(&mut rng);
        let entry = |_| {
            let inside = match self.is_distinct {
                true => left.pop(),
                false => Some(rng.random_range(0..last.max(1))),
            };
            let stray = outside.choose(&mut rng).copied();
            let is_stray = rng.random_range(0..ONE_IN) == 0;
            let entry = if is_stray {
                stray.or(inside)
            } else {
                inside.or(stray)
            };
            entry.unwrap_or(0) as f64
        };
        (0..count).map(entry).collect()
    }
}

/// Whether there are elements of an output that no entry of a table may name.
pub(super) fn is_written_in_part(formula: &Formula, at: usize) -> bool {
    let is_input = formula.role(at) == Role::Input;
    !is_input && formula.tables(at).iter().any(Option::is_some)
}

/// The problem with what inputs that are drawn here are known to keep of a kernel's promises.
pub fn promised(kernel: &Kernel, problem: Problem) -> Problem {
    let names = kernel.semantics.operands.iter().map(|one| &one.name);
    let kept: Vec<String> = names
        .map(|name| Assumption::distinct_entries(name))
        .collect();
    kernel
        .assumptions
        .iter()
        .fold(problem, |problem, one| match one {
            Assumption::Promise { promise, .. } if kept.contains(promise) => {
                problem.with_promise(promise)
            }
            _ => problem,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_lie_on_both_sides_of_what_they_look_into() {
        let table = Table {
            extent: 50,
            longest: 50,
            is_distinct: false,
        };
        let entries = table.entries(DType::S32, 400, 3);
        let inside = entries
            .iter()
            .filter(|one| (0.0..50.0).contains(*one))
            .count();
        assert!((300..390).contains(&inside), "{inside}");
        for edge in [
            -1.0,
            0.0,
            49.0,
            50.0,
            f64::from(i32::MIN),
            f64::from(i32::MAX),
        ] {
            assert!(entries.contains(&edge), "{edge}");
        }
        assert_eq!(entries, table.entries(DType::S32, 400, 3));
    }

    #[test]
    fn entries_that_are_stored_at_are_distinct() {
        for (extent, longest, count) in [(50, 50, 20), (50, 50, 50), (7, 90, 50), (1, 1, 3)] {
            let table = Table {
                extent,
                longest,
                is_distinct: true,
            };
            for (dtype, seed) in [(DType::S32, 1), (DType::S32, 2), (DType::U8, 3)] {
                let entries = table.entries(dtype, count, seed);
                let mut inside: Vec<i64> = entries.iter().map(|one| *one as i64).collect();
                inside.retain(|one| (0..longest).contains(one));
                let all = inside.len();
                inside.sort_unstable();
                inside.dedup();
                assert_eq!((entries.len(), inside.len()), (count, all));
            }
        }
    }
}
