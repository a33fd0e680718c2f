//! Other programs that differ from a module in one place, to learn in one run of the module which
//! of them would run differently.
//!
//! Comes in: the module and the others, decoded. Goes out: for each place of the code, what stands
//! there instead. An instruction that only computes registers is compared by its results, lane by
//! lane, wherever the module executes it; of anything else only the way to it is watched. So a
//! program that is said to run the same does run the same; one that is said to differ may not.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::inst::{Exec, Inst};
use crate::module::{Module, PREDICATE};

/// What stands at a place instead.
#[derive(Clone, Debug)]
pub(crate) enum Instead {
    /// Something else: whoever comes here runs differently.
    Anything,
    /// Nothing: whoever executes the instruction runs differently.
    Nothing,
    /// An instruction that only computes registers, or another guard of a branch.
    Inst(Box<Inst>),
}

/// Programs that differ from one module.
#[derive(Clone, Debug, Default)]
pub struct Alternatives {
    count: usize,
    /// By instruction: the number of the program, and what it has there.
    places: BTreeMap<u32, Vec<(usize, Instead)>>,
    /// Programs of which nothing is known.
    unknown: Vec<usize>,
}

impl Alternatives {
    /// Adds a program; gives its number, from 0.
    pub fn add(&mut self, module: &Module, other: &Module) -> usize {
        let number = self.count;
        self.count += 1;
        let mut put = |pc: u32, what| self.places.entry(pc).or_default().push((number, what));
        match difference(module, other) {
            None => self.unknown.push(number),
            Some((places, Instead::Anything)) => {
                places.for_each(|pc| put(pc, Instead::Anything));
            }
            Some((places, what)) => put(places.start, what),
        }
        number
    }

    /// How many programs were added.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no program was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The other programs, and which of them were seen to differ.
pub(crate) struct Watched<'a> {
    alternatives: &'a Alternatives,
    differs: Vec<AtomicBool>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(alternatives: &'a Alternatives) -> Watched<'a> {
        let differs = (0..alternatives.len()).map(|_| AtomicBool::new(false));
        let watched = Watched {
            alternatives,
            differs: differs.collect(),
        };
        alternatives
            .unknown
            .iter()
            .for_each(|one| watched.note(*one));
        watched
    }

    pub(crate) fn note(&self, number: usize) {
        if let Some(differs) = self.differs.get(number) {
            differs.store(true, Relaxed);
        }
    }

    pub(crate) fn differs(&self, number: usize) -> bool {
        let differs = self.differs.get(number);
        differs.is_some_and(|differs| differs.load(Relaxed))
    }

    /// What stands at an instruction instead, by program.
    pub(crate) fn at(&self, pc: u32) -> &'a [(usize, Instead)] {
        self.alternatives.places.get(&pc).map_or(&[], Vec::as_slice)
    }

    /// Whether each program was seen to differ, by its number.
    pub(crate) fn into_differs(self) -> Vec<bool> {
        self.differs
            .into_iter()
            .map(AtomicBool::into_inner)
            .collect()
    }
}

/// Where another program differs, and how; `None` when more than code differs. An empty range
/// stands for no difference.
fn difference(module: &Module, other: &Module) -> Option<(Range<u32>, Instead)> {
    let (mine, theirs) = (&module.code, &other.code);
    let more = theirs.len() as i64 - mine.len() as i64;
    if !same_frame(module, other) || more != 0 && module.functions.len() > 1 {
        return None;
    }
    // First without regard to where jumps lead, then with it.
    let alike = |(a, b): &(&Inst, &Inst)| {
        same(module, a, other, b, |from, to| {
            [0, more].contains(&(i64::from(to) - i64::from(from)))
        })
    };
    let first = mine.iter().zip(theirs).take_while(alike).count();
    let most = mine.len().min(theirs.len()) - first;
    let ends = mine.iter().rev().zip(theirs.iter().rev()).take(most);
    let last = mine.len() - ends.take_while(alike).count();
    let leads = |from: u32, to: u32| {
        let (from, to) = (i64::from(from), i64::from(to));
        from <= first as i64 && to == from || from >= last as i64 && to == from + more
    };
    let before = mine.iter().zip(theirs).take(first);
    let behind = mine
        .iter()
        .rev()
        .zip(theirs.iter().rev())
        .take(mine.len() - last);
    let mut rest = before.chain(behind);
    // Nobody is seen to come to what is put behind the end.
    let beyond = first == mine.len() && more != 0;
    if beyond || !rest.all(|(a, b)| same(module, a, other, b, leads)) {
        return None;
    }
    // What is put between two instructions is met by whoever comes to the second one.
    let end = last.max(first + usize::from(more != 0));
    let places = first as u32..end as u32;
    let what = match (mine.get(first), theirs.get(first)) {
        (Some(_), _) if (first + 1, more) == (last, -1) => Instead::Nothing,
        (Some(a), Some(b)) if (first + 1, more) == (last, 0) && comparable(module, a, other, b) => {
            Instead::Inst(Box::new(b.clone()))
        }
        _ => Instead::Anything,
    };
    Some((places, what))
}

/// Whether everything but the code is the same.
fn same_frame(a: &Module, b: &Module) -> bool {
    (a.version, &a.target, a.narrow, a.uses_wgmma) == (b.version, &b.target, b.narrow, b.uses_wgmma)
        && (&a.entries, &a.functions, &a.shared) == (&b.entries, &b.functions, &b.shared)
        && (&a.globals, &a.constants, &a.addressed) == (&b.globals, &b.constants, &b.addressed)
}

/// Whether two instructions are the same; `leads` says whether two jumps lead to one place.
fn same(
    module: &Module,
    a: &Inst,
    other: &Module,
    b: &Inst,
    leads: impl Fn(u32, u32) -> bool,
) -> bool {
    let aims = match (&a.exec, &b.exec) {
        (Exec::Branch { target: from }, Exec::Branch { target: to }) => leads(*from, *to),
        (
            Exec::BranchIndexed { index, targets },
            Exec::BranchIndexed {
                index: theirs,
                targets: others,
            },
        ) => {
            let mut pairs = targets.iter().zip(others.iter());
            index == theirs
                && targets.len() == others.len()
                && pairs.all(|(from, to)| leads(*from, *to))
        }
        (a, b) => a == b,
    };
    aims && (a.guard, a.class) == (b.guard, b.class) && named(module, a) == named(other, b)
}

/// The registers that an instruction names.
fn named<'m>(module: &'m Module, inst: &Inst) -> Option<&'m [u32]> {
    let (start, count) = (inst.operands.0 as usize, inst.operands.1 as usize);
    module.operand_slots.get(start..start + count)
}

/// Whether two instructions differ in what they compute at most.
fn comparable(module: &Module, a: &Inst, other: &Module, b: &Inst) -> bool {
    let sorted = |module, inst| {
        let mut slots = named(module, inst)?.to_vec();
        slots.sort_unstable();
        slots.dedup();
        Some(slots)
    };
    let computes = match (&a.exec, &b.exec) {
        (Exec::Branch { target }, Exec::Branch { target: other }) => target == other,
        (a, b) => results(a).is_some() && results(b).is_some(),
    };
    computes && a.class == b.class && sorted(module, a) == sorted(other, b)
}

/// The registers that an instruction writes when it does nothing else, predicates marked by
/// [`PREDICATE`].
pub(crate) fn results(exec: &Exec) -> Option<Vec<u32>> {
    match exec {
        Exec::Alu { dst, .. }
        | Exec::Folded { dst, .. }
        | Exec::Insert { dst, .. }
        | Exec::Convert { dst, .. }
        | Exec::ConvertPack { dst, .. }
        | Exec::ConvertEach { dst, .. }
        | Exec::Set { dst, .. }
        | Exec::Select { dst, .. }
        | Exec::Pack { dst, .. } => Some(vec![dst.slot]),
        Exec::Setp { p, q, .. } => {
            let written = [p, q].into_iter().flatten();
            Some(written.map(|slot| slot | PREDICATE).collect())
        }
        Exec::Pred { dst, .. } => Some(vec![dst | PREDICATE]),
        _ => None,
    }
}
