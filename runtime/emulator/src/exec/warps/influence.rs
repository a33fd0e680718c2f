//! What registers that differ from one iteration of a loop to the next have influence on.
//!
//! Comes in: the way of an iteration, and the registers that it leaves otherwise than it found
//! them. Goes out: which instructions compute something else each time, and which guards have to be
//! looked at; nothing when an address, a value of memory or what another lane gets is another. All
//! registers that are not told of hold the same at the same place of each iteration, as long as the
//! guards leave the same lanes: by induction over the instructions of one iteration after another.

use std::collections::{BTreeMap, BTreeSet};

use crate::inst::{CLOCK, Effect, Exec, Inst, Named};
use crate::module::PREDICATE;

/// Passes over the way until the registers that differ are known.
const PASSES: usize = 16;

/// What differs at one instruction of the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Differs {
    /// It reads or overwrites something that differs.
    pub(super) computes: bool,
    /// Its guard may leave other lanes.
    pub(super) guard: bool,
}

/// What differs at each instruction of a way; `None` when it can be seen.
pub(super) fn influence(
    code: &[Inst],
    named: &BTreeMap<u32, Named>,
    path: &[u32],
    changing: &BTreeSet<u32>,
) -> Option<Vec<Differs>> {
    let mut start = changing.clone();
    start.insert(CLOCK);
    for _ in 0..PASSES {
        let mut differing = start.clone();
        let steps = path.iter().map(|pc| {
            let inst = code.get(*pc as usize)?;
            one(inst, named.get(pc)?, &mut differing)
        });
        let steps = steps.collect::<Option<Vec<Differs>>>()?;
        if differing.is_subset(&start) {
            return Some(steps);
        }
        start.append(&mut differing);
    }
    None
}

/// What differs at one instruction, and what behind it.
fn one(inst: &Inst, named: &Named, differing: &mut BTreeSet<u32>) -> Option<Differs> {
    let among = |slots: &[u32]| slots.iter().any(|slot| differing.contains(slot));
    let guard = inst
        .guard
        .is_some_and(|guard| differing.contains(&(guard.slot | PREDICATE)));
    let (reads, overwrites) = (among(&named.reads), among(&named.writes));
    if among(&named.shows) || inst.effect == Effect::Other {
        return None;
    }
    // A wait leaves lanes as they are whose barrier is none.
    let whole = inst.guard.is_none() && !matches!(inst.exec, Exec::Mbarrier(_));
    if reads {
        differing.extend(&named.writes);
    } else if whole {
        named.writes.iter().for_each(|slot| {
            differing.remove(slot);
        });
    }
    Some(Differs {
        computes: reads || overwrites,
        guard,
    })
}
