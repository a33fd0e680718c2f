//! The catalogue: every atom by id.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tilewright_atoms::RECORDS;

use super::model::{Atom, OperandKind};
use super::sync::SyncFacts;
use super::{family, record};
use crate::arch::Arch;
use crate::error::{Error, Result};

/// Every atom this build knows.
#[derive(Debug)]
pub struct Catalogue {
    atoms: Vec<Arc<Atom>>,
    index: BTreeMap<String, usize>,
}

/// The catalogue of the embedded records, read once per process.
///
/// # Errors
///
/// [`Error::Bug`] naming every malformed record.
pub fn catalogue() -> Result<&'static Catalogue> {
    static CATALOGUE: OnceLock<std::result::Result<Catalogue, String>> = OnceLock::new();
    CATALOGUE
        .get_or_init(|| Catalogue::read(RECORDS))
        .as_ref()
        .map_err(|message| Error::Bug {
            stage: "atoms",
            kernel: "specs/atoms".to_owned(),
            message: message.clone(),
            dump: String::new(),
        })
}

impl Catalogue {
    /// The atom of that id.
    pub fn get(&self, id: &str) -> Option<&Arc<Atom>> {
        self.index.get(id).and_then(|&at| self.atoms.get(at))
    }

    /// The id that looks most like `id`, if one comes near.
    pub fn nearest(&self, id: &str) -> Option<&str> {
        let score = |known: &&str| strsim::jaro_winkler(id, known);
        let best = self
            .index
            .keys()
            .map(String::as_str)
            .max_by(|a, b| score(a).total_cmp(&score(b)))?;
        (score(&best) > 0.7).then_some(best)
    }

    /// Every atom, in the order of the record files.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Atom>> {
        self.atoms.iter()
    }

    /// The atoms of those facts, newest architecture first.
    pub fn syncs(&self, facts: SyncFacts) -> Vec<&Arc<Atom>> {
        let atoms = self.atoms.iter();
        let mut atoms: Vec<_> = atoms.filter(|atom| atom.sync == Some(facts)).collect();
        atoms.sort_by_key(|atom| std::cmp::Reverse((atom.min_sm, atom.exact)));
        atoms
    }

    /// The newest atom of those facts that the architecture has.
    pub fn sync(&self, facts: SyncFacts, arch: Arch) -> Option<&Arc<Atom>> {
        let atoms = self.syncs(facts);
        atoms.into_iter().find(|atom| atom.runs_on(arch))
    }

    /// Reads record files, given as (name, text).
    pub(super) fn read(sources: &[(&str, &str)]) -> std::result::Result<Catalogue, String> {
        let mut catalogue = Catalogue {
            atoms: Vec::new(),
            index: BTreeMap::new(),
        };
        let mut problems = Vec::new();
        for (file, text) in sources {
            catalogue.read_file(file, text, &mut problems);
        }
        catalogue.check_syncs(&mut problems);
        if problems.is_empty() {
            Ok(catalogue)
        } else {
            Err(problems.join("; "))
        }
    }

    fn read_file(&mut self, file: &str, text: &str, problems: &mut Vec<String>) {
        let records: Vec<Value> = match serde_yaml::from_str(text) {
            Ok(records) => records,
            Err(error) => return problems.push(format!("{file}: {error}")),
        };
        for (number, source) in records.into_iter().enumerate() {
            let here = format!("{file}, record {}", number + 1);
            match family::expand(source) {
                Ok(rows) => rows.into_iter().for_each(|row| match record::atom(row) {
                    Ok(atom) => self.add(atom, &here, problems),
                    Err(problem) => problems.push(format!("{here}: {problem}")),
                }),
                Err(problem) => problems.push(format!("{here}: {problem}")),
            }
        }
    }

    /// Atoms of the same facts can take one another's place: they have the same operands, in any
    /// order, and come with different architectures.
    fn check_syncs(&self, problems: &mut Vec<String>) {
        let mut first: BTreeMap<SyncFacts, &Atom> = BTreeMap::new();
        let mut taken = BTreeMap::new();
        for atom in &self.atoms {
            let Some(facts) = atom.sync else { continue };
            let other = *first.entry(facts).or_insert(atom);
            if operands(other) != operands(atom) {
                problems.push(format!(
                    "{} {facts}, as {} does, with other operands",
                    atom.id, other.id
                ));
            }
            if let Some(other) = taken.insert((facts, atom.needs()), &atom.id) {
                problems.push(format!(
                    "{} {facts} on {}, as {other} does",
                    atom.id,
                    atom.needs()
                ));
            }
        }
    }

    fn add(&mut self, atom: Atom, here: &str, problems: &mut Vec<String>) {
        if self
            .index
            .insert(atom.id.clone(), self.atoms.len())
            .is_some()
        {
            problems.push(format!("{here}: id {} is taken", atom.id));
        }
        self.atoms.push(Arc::new(atom));
    }
}

/// Names and kinds of the operands, in the order of their names.
fn operands(atom: &Atom) -> Vec<(&str, OperandKind)> {
    let operands = atom.operands.iter();
    let mut operands: Vec<_> = operands
        .map(|operand| (operand.name.as_str(), operand.kind))
        .collect();
    operands.sort_by_key(|(name, _)| *name);
    operands
}
