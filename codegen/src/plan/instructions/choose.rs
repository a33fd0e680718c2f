//! Choosing atoms by what they do. No choice looks at an instruction's name.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::arch::Arch;
use crate::atoms::Catalogue;
use crate::atoms::model::{
    Atom, BulkFacts, ConvertFacts, CopyFacts, MmaFacts, Reduction, Space, TensorFacts,
};
use crate::dtype::DType;
use crate::error::{Error, Message, Result, Violation, message};
use crate::plan::data::choices::{Choice, LeftOut};
use crate::spec::Names;
use crate::spec::keys::model::{Auto, Point};
use crate::spec::keys::paths;

/// Looks atoms up for one plan and collects what is wrong with the user's choices.
pub(in crate::plan) struct Chooser<'c> {
    /// Every atom.
    pub catalogue: &'c Catalogue,
    /// Target.
    pub arch: Arch,
    /// What the spec calls its operands.
    pub names: Names,
    /// Limits violated so far.
    pub violations: Vec<Violation>,
    /// What was chosen among several, and why the others were left out.
    pub choices: Vec<Choice>,
}

/// Code of limits that constant strides violate.
pub(in crate::plan) const STRIDE_CODE: &str = "stride";

/// What a copy atom must do.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct Wanted {
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
    /// The boxes of a tensor that it moves, where it moves boxes.
    pub tensor: Option<TensorFacts>,
    /// Where the bytes in a row go that it moves, where it moves those.
    pub bulk: Option<BulkFacts>,
    /// How it combines elements of which type with what is there, where it does.
    pub combined: Option<(Reduction, DType)>,
}

impl Wanted {
    /// A vector of one thread, moved at once.
    pub(in crate::plan) fn vector(from: Space, to: Space, bytes: u32) -> Wanted {
        Wanted {
            from,
            to,
            bytes: Some(bytes),
            asynchronous: false,
            collective: false,
            tensor: None,
            bulk: None,
            combined: None,
        }
    }

    /// Why a copy of those facts has no place in the plan, whatever its width and however many
    /// threads take part in it; `None` when it has one: of boxes of as many modes, or of a vector,
    /// in place of what is there.
    fn misfit(&self, facts: &CopyFacts) -> Option<&'static str> {
        let boxes = facts.tensor.is_some();
        let together = facts.thr_id.size().is_ok_and(|threads| threads > 1);
        Some(if facts.from != self.from || facts.to != self.to {
            "copies between other memory spaces"
        } else if facts.reduce.is_some() && self.combined.is_none() {
            "combines what arrives with what is there"
        } else if facts.reduce.is_none() && self.combined.is_some() {
            "takes the place of what is there, which the formula combines values with"
        } else if facts.reduce != self.combined.map(|(how, _)| how) {
            "does something else to what is there"
        } else if facts.dtype != self.combined.map(|(_, dtype)| dtype) {
            "combines elements of another type"
        } else if facts.bulk.is_some() && self.bulk.is_none() {
            "moves bytes in a row"
        } else if facts.bulk.is_none() && self.bulk.is_some() {
            "does not move bytes in a row, as tiles of a packed operand lie"
        } else if boxes && self.tensor.is_none() {
            "moves boxes of a tensor map, this kernel vectors"
        } else if !boxes && self.tensor.is_some() {
            "moves vectors, this kernel boxes of a tensor map"
        } else if together && !self.collective {
            "is of a whole warp, this kernel's threads copy each for itself"
        } else if facts.tensor.map(|tensor| tensor.rank) != self.tensor.map(|tensor| tensor.rank) {
            match self.tensor.map(|tensor| tensor.rank) {
                Some(3) => "moves boxes of other than three modes",
                Some(4) => "moves boxes of other than four modes",
                _ => "moves boxes of other than two modes",
            }
        } else if facts.asynchronous && !self.asynchronous {
            "ends later, this kernel does not wait for it"
        } else if !facts.asynchronous && self.asynchronous {
            "ends at once, this kernel waits for groups of asynchronous copies"
        } else {
            return None;
        })
    }

    /// Whether it is such a copy in width and threads as well.
    fn is(&self, facts: &CopyFacts) -> bool {
        let threads = facts.thr_id.size().is_ok_and(|threads| threads > 1);
        self.misfit(facts).is_none()
            && self.bytes.is_none_or(|bytes| bytes == facts.access_bytes)
            && facts.tensor == self.tensor
            && facts.bulk == self.bulk
            && threads == self.collective
    }
}

impl<'c> Chooser<'c> {
    /// For a point, with the atoms of that catalogue.
    pub(in crate::plan) fn of(point: &Point, catalogue: &'c Catalogue) -> Chooser<'c> {
        Chooser {
            catalogue,
            arch: point.spec.problem.arch,
            names: Names::of(&point.spec),
            violations: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// Notes a violated limit, of the keys that its message names.
    pub(in crate::plan) fn violate(&mut self, code: &'static str, message: Message) {
        self.violations.push(Violation::new(code, message));
    }

    /// Refuses that part of the formula.
    pub(in crate::plan) fn violate_formula(
        &mut self,
        code: &'static str,
        message: Message,
        part: Range<usize>,
    ) {
        let keys = vec![paths::COMPUTE.path().to_owned()];
        let mut violation = Violation {
            keys,
            part: Some(part),
            ..Violation::new(code, "")
        };
        violation.add(message);
        self.violations.push(violation);
    }

    /// Whether an architecture has products of what lies in shared memory.
    pub(in crate::plan) fn multiplies_smem(&self, arch: Arch) -> bool {
        let mut atoms = self.catalogue.iter().filter(|atom| atom.runs_on(arch));
        atoms.any(|atom| atom.mma.as_ref().is_some_and(|mma| mma.smem == [true; 2]))
    }

    /// Whether an architecture has such products of those types, d a b.
    pub(in crate::plan) fn multiplies_smem_of(&self, arch: Arch, types: [DType; 3]) -> bool {
        let mut atoms = self.catalogue.iter().filter(|atom| atom.runs_on(arch));
        atoms.any(|atom| {
            let facts = atom.mma.as_ref();
            facts.is_some_and(|mma| mma.smem == [true; 2] && mma.types[..3] == types)
        })
    }

    /// Atoms of that description the architecture has, in catalogue order.
    pub(in crate::plan) fn copies(&self, wanted: Wanted) -> Vec<Arc<Atom>> {
        let atoms = self.catalogue.iter().filter(|atom| atom.runs_on(self.arch));
        let fits = |atom: &&Arc<Atom>| atom.copy.as_ref().is_some_and(|facts| wanted.is(facts));
        atoms.filter(fits).cloned().collect()
    }

    /// Whether the architecture has vectors of one thread that go to shared memory by themselves.
    pub(in crate::plan) fn copies_later(&self) -> bool {
        let vectors = Wanted {
            bytes: None,
            asynchronous: true,
            ..Wanted::vector(Space::Gmem, Space::Smem, 0)
        };
        !self.copies(vectors).is_empty()
    }

    /// The first atom of each of these descriptions. Where there is none at all, a limit is
    /// violated.
    pub(in crate::plan) fn widest(
        &mut self,
        what: &str,
        wanted: impl IntoIterator<Item = Wanted>,
    ) -> Vec<Arc<Atom>> {
        let mut atoms = Vec::new();
        let mut first = None;
        for wanted in wanted {
            first = first.or(Some(wanted));
            atoms.extend(self.copies(wanted).into_iter().next());
        }
        if let (true, Some(wanted)) = (atoms.is_empty(), first) {
            self.copy(what, &Auto::Auto, wanted);
        }
        atoms
    }

    /// The user's copy atom, checked against `wanted`, or the first that fits.
    pub(in crate::plan) fn copy(
        &mut self,
        what: &str,
        given: &Auto<String>,
        wanted: Wanted,
    ) -> Option<Arc<Atom>> {
        match given {
            Auto::Auto => {
                let found = self.copies(wanted).into_iter().next();
                if found.is_none() {
                    let bytes = wanted.bytes.unwrap_or(0);
                    let way_out = match bytes {
                        1 => "use an element type of 2 bytes or more",
                        _ => "choose another arch or path",
                    };
                    let noun = if bytes == 1 { "byte" } else { "bytes" };
                    let message = message!(
                        "{}: {} has no copy atom from {} to {} of {bytes} {noun}: {way_out}",
                        paths::named(what),
                        self.arch,
                        wanted.from,
                        wanted.to,
                    );
                    self.violate("no-copy-atom", message);
                }
                found
            }
            Auto::Given(id) => self.named(what, id, |atom| match &atom.copy {
                Some(facts) => wanted.misfit(facts).map(str::to_string),
                None => Some("is no copy".to_string()),
            }),
        }
    }

    /// What is made, and the limits that it violates, which are not among those of the plan.
    pub(in crate::plan) fn aside<T>(
        &mut self,
        make: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<Violation>) {
        let known = self.violations.len();
        let made = make(self);
        (made, self.violations.split_off(known))
    }

    /// As [`Chooser::first_or`]; when no candidate is left, the plan has what is wrong.
    pub(in crate::plan) fn first<C: fmt::Display, T>(
        &mut self,
        key: &str,
        candidates: impl IntoIterator<Item = C>,
        attempt: impl FnMut(&mut Self, &C) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        Ok(match self.first_or(key, candidates, attempt)? {
            Ok(found) => Some(found),
            Err(violations) => {
                self.violations.extend(violations);
                None
            }
        })
    }

    /// The first candidate for which `attempt` finds nothing wrong; the others are left out for
    /// what was found at them. When none is left, the violated limits that say most: those of the
    /// first candidate that the operand's constant strides allow.
    pub(in crate::plan) fn first_or<C: fmt::Display, T>(
        &mut self,
        key: &str,
        candidates: impl IntoIterator<Item = C>,
        mut attempt: impl FnMut(&mut Self, &C) -> Result<Option<T>>,
    ) -> Result<std::result::Result<T, Vec<Violation>>> {
        let chosen = self.choices.len();
        let mut left_out: Vec<LeftOut> = Vec::new();
        for candidate in candidates {
            self.choices.truncate(chosen);
            let (mut found, mut reasons) = self.aside(|chooser| attempt(chooser, &candidate));
            // Layouts are made of the point's own values, so these do not go together.
            if let Err(Error::Algebra(error)) = &found {
                let message = message!(
                    "{}: the layouts of {candidate} do not fit the tile: {error}: choose auto, or \
                     another {}",
                    paths::named(key),
                    paths::CTA_TILE
                );
                reasons.push(Violation::new("layouts", message));
                found = Ok(None);
            }
            match found {
                Ok(Some(found)) if reasons.is_empty() => {
                    self.choices.push(Choice {
                        key: key.to_string(),
                        taken: candidate.to_string(),
                        left_out,
                    });
                    return Ok(Ok(found));
                }
                Ok(_) => left_out.push(LeftOut {
                    candidate: candidate.to_string(),
                    reasons,
                }),
                Err(error) => {
                    self.violations.extend(reasons);
                    return Err(error);
                }
            }
        }
        let by_stride = |one: &&LeftOut| one.reasons.iter().any(|it| it.code == STRIDE_CODE);
        let telling = left_out.iter().find(|one| !by_stride(one));
        let telling = telling.or(left_out.first());
        let reasons = telling.map(|one| one.reasons.clone());
        Ok(Err(reasons.unwrap_or_default()))
    }

    /// The atom of that id, if it is of the right kind and the architecture has it.
    /// `misfit` says what it does instead otherwise.
    pub(in crate::plan) fn named(
        &mut self,
        what: &str,
        id: &str,
        misfit: impl Fn(&Atom) -> Option<String>,
    ) -> Option<Arc<Atom>> {
        let Some(atom) = self.catalogue.get(id) else {
            self.violate(
                "unknown-atom",
                message!("{}: there is no atom {id}", paths::named(what)),
            );
            return None;
        };
        if !atom.runs_on(self.arch) {
            let message = message!(
                "{}: {id} needs {}, the {} is {}: choose auto or another arch",
                paths::named(what),
                atom.needs(),
                paths::ARCH,
                self.arch
            );
            self.violate("atom-arch", message);
            return None;
        }
        if let Some(misfit) = misfit(atom) {
            let message = message!("{}: {id} {misfit}: choose auto", paths::named(what));
            self.violate("atom-kind", message);
            return None;
        }
        Some(atom.clone())
    }

    /// The largest MMA on registers of those types, d a b, that the architecture has.
    pub(in crate::plan) fn mma(&self, types: [DType; 3]) -> Option<Arc<Atom>> {
        self.largest_mma(types, |mma| mma.smem == [false; 2])
    }

    /// The types of a and b that tensor cores add up in that type, of operands that lie in shared
    /// memory or on registers, each pair once.
    pub(in crate::plan) fn mma_types(
        &self,
        accumulator: DType,
        smem: [bool; 2],
    ) -> Vec<[DType; 2]> {
        let is_such = |mma: &&MmaFacts| {
            mma.smem == smem && mma.types[0] == accumulator && !mma.is_of_one_thread()
        };
        let there = self.catalogue.iter().filter(|atom| atom.runs_on(self.arch));
        let there = there.filter_map(|atom| atom.mma.as_ref());
        let mut pairs = Vec::new();
        for mma in there.filter(is_such) {
            let pair = [mma.types[1], mma.types[2]];
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    }

    /// The MMA on shared memory of those types, d a b, that is `n` wide.
    pub(in crate::plan) fn smem_mma(&self, types: [DType; 3], n: i64) -> Option<Arc<Atom>> {
        self.largest_mma(types, |mma| mma.smem == [true; 2] && mma.mnk[1] == n)
    }

    /// The MMA of those types, d a b, that has a from registers, b from shared memory, and is `n`
    /// wide.
    pub(in crate::plan) fn rows_mma(&self, types: [DType; 3], n: i64) -> Option<Arc<Atom>> {
        self.largest_mma(types, |mma| mma.smem == [false, true] && mma.mnk[1] == n)
    }

    /// How wide the MMAs on shared memory of those types, d a b, are, in ascending order.
    pub(in crate::plan) fn smem_widths(&self, types: [DType; 3]) -> Vec<i64> {
        let there = self.catalogue.iter().filter(|atom| atom.runs_on(self.arch));
        let there = there.filter_map(|atom| atom.mma.as_ref());
        let fits = |mma: &&MmaFacts| mma.smem == [true; 2] && mma.types[..3] == types;
        let widths = there.filter(fits).map(|mma| mma.mnk[1]);
        let widths: BTreeSet<i64> = widths.collect();
        widths.into_iter().collect()
    }

    fn largest_mma(
        &self,
        types: [DType; 3],
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
    pub(in crate::plan) fn convert(
        &self,
        from: DType,
        to: DType,
        values: u32,
    ) -> Option<Arc<Atom>> {
        let wanted = ConvertFacts { from, to, values };
        let mut atoms = self.catalogue.iter().filter(|atom| atom.runs_on(self.arch));
        atoms
            .find(|atom| atom.convert.as_ref() == Some(&wanted))
            .cloned()
    }
}
