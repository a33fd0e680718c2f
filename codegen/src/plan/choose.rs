//! Choosing atoms by what they do. No choice looks at an instruction's name.

use std::sync::Arc;

use crate::arch::Arch;
use crate::atoms::Catalogue;
use crate::atoms::model::{Atom, ConvertFacts, CopyFacts, MmaFacts, Space};
use crate::dtype::Dtype;
use crate::error::Violation;
use crate::spec::model::Auto;

/// Looks atoms up for one plan and collects what is wrong with the user's choices.
pub(super) struct Chooser<'c> {
    /// Every atom.
    pub catalogue: &'c Catalogue,
    /// Target.
    pub arch: Arch,
    /// Limits violated so far.
    pub violations: Vec<Violation>,
}

/// What a copy atom must do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Source space.
    pub from: Space,
    /// Destination space.
    pub to: Space,
    /// Bytes one thread's address names; `None` for any.
    pub bytes: Option<u32>,
    /// Whether it completes later.
    pub asynchronous: bool,
    /// Whether threads of a warp work together.
    pub collective: bool,
    /// Whether it moves boxes of a tensor, and whether to several CTAs.
    pub tensor: Option<bool>,
}

/// Whether it is a copy that plans have a place for: of boxes of two modes, or of a vector, in
/// place of what is there.
fn fits_plans(facts: &CopyFacts) -> bool {
    let flat = facts.tensor.is_none_or(|tensor| tensor.rank == 2);
    flat && facts.bulk.is_none() && facts.reduce.is_none()
}

impl<'c> Chooser<'c> {
    /// Notes a violated limit.
    pub(super) fn violate(&mut self, code: &'static str, message: String) {
        self.violations.push(Violation::new(code, message));
    }

    /// Atoms of that description the architecture has, in catalogue order.
    pub(super) fn copies(&self, wanted: Wanted) -> Vec<Arc<Atom>> {
        let fits = |facts: &CopyFacts| {
            facts.from == wanted.from
                && facts.to == wanted.to
                && wanted.bytes.is_none_or(|bytes| bytes == facts.access_bytes)
                && facts.asynchronous == wanted.asynchronous
                && facts.tensor.map(|tensor| tensor.multicast) == wanted.tensor
                && fits_plans(facts)
                && (facts.thr_id.size().is_ok_and(|threads| threads > 1)) == wanted.collective
        };
        let atoms = self.catalogue.iter().filter(|atom| atom.runs_on(self.arch));
        atoms
            .filter(|atom| atom.copy.as_ref().is_some_and(fits))
            .cloned()
            .collect()
    }

    /// The user's copy atom, checked against `wanted`, or the first that fits.
    pub(super) fn copy(
        &mut self,
        what: &str,
        given: &Auto<String>,
        wanted: Wanted,
    ) -> Option<Arc<Atom>> {
        match given {
            Auto::Auto => {
                let found = self.copies(wanted).into_iter().next();
                if found.is_none() {
                    let message = format!(
                        "{what}: {} has no copy atom from {:?} to {:?} of {} bytes: choose \
                         another arch or path",
                        self.arch,
                        wanted.from,
                        wanted.to,
                        wanted.bytes.unwrap_or(0)
                    );
                    self.violate("no-copy-atom", message);
                }
                found
            }
            Auto::Given(id) => self.named(what, id, |atom| {
                let facts = atom.copy.as_ref();
                facts.is_some_and(|facts| {
                    facts.from == wanted.from && facts.to == wanted.to && fits_plans(facts)
                })
            }),
        }
    }

    /// The atom of that id, if it is of the right kind and the architecture has it.
    pub(super) fn named(
        &mut self,
        what: &str,
        id: &str,
        fits: impl Fn(&Atom) -> bool,
    ) -> Option<Arc<Atom>> {
        let Some(atom) = self.catalogue.get(id) else {
            self.violate("unknown-atom", format!("{what}: there is no atom {id}"));
            return None;
        };
        if !atom.runs_on(self.arch) {
            let message = format!(
                "{what}: {id} needs {}, the arch is {}: choose auto or another arch",
                atom.needs(),
                self.arch
            );
            self.violate("atom-arch", message);
            return None;
        }
        if !fits(atom) {
            self.violate(
                "atom-kind",
                format!("{what}: {id} does not do this: choose auto"),
            );
            return None;
        }
        Some(atom.clone())
    }

    /// The largest MMA on registers of those types, d a b, that the architecture has.
    pub(super) fn mma(&self, types: [Dtype; 3]) -> Option<Arc<Atom>> {
        self.largest_mma(types, |mma| mma.smem == [false; 2])
    }

    /// The MMA on shared memory of those types, d a b, that is `n` wide.
    pub(super) fn smem_mma(&self, types: [Dtype; 3], n: i64) -> Option<Arc<Atom>> {
        self.largest_mma(types, |mma| mma.smem == [true; 2] && mma.mnk[1] == n)
    }

    fn largest_mma(
        &self,
        types: [Dtype; 3],
        also: impl Fn(&MmaFacts) -> bool,
    ) -> Option<Arc<Atom>> {
        let fits = |atom: &&Arc<Atom>| {
            let facts = atom.mma.as_ref();
            atom.runs_on(self.arch) && facts.is_some_and(|mma| mma.types[..3] == types && also(mma))
        };
        let volume = |atom: &&Arc<Atom>| {
            atom.mma
                .as_ref()
                .map_or(0, |mma| mma.mnk.iter().product::<i64>())
        };
        self.catalogue
            .iter()
            .filter(fits)
            .max_by_key(volume)
            .cloned()
    }

    /// The conversion from `from` to `to` of `values` values at once, if the architecture has one.
    pub(super) fn convert(&self, from: Dtype, to: Dtype, values: u32) -> Option<Arc<Atom>> {
        let wanted = ConvertFacts { from, to, values };
        let mut atoms = self.catalogue.iter().filter(|atom| atom.runs_on(self.arch));
        atoms
            .find(|atom| atom.convert.as_ref() == Some(&wanted))
            .cloned()
    }
}
