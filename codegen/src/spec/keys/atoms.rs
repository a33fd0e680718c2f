//! The atoms a spec may name, by what they do.

use std::fmt;

use crate::atoms::catalogue;
use crate::atoms::model::{self, Space};
use crate::spec::keys::key::Kind;

/// What an atom is named for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spec) enum Job {
    /// The MMA of the main loop.
    Multiply,
    /// A hop of an operand's way.
    Move(Space, Space),
    /// Anything that specs do not name.
    Other,
}

/// One atom.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct Known {
    /// Its id.
    pub id: &'static str,
    /// What it does.
    pub job: Job,
    /// The record.
    pub atom: &'static model::Atom,
}

/// Every atom of the catalogue; none when its records are malformed, which the catalogue reports
/// itself.
pub(in crate::spec) fn atoms() -> impl Iterator<Item = Known> {
    catalogue()
        .ok()
        .into_iter()
        .flat_map(|catalogue| catalogue.iter())
        .map(|atom| Known {
            id: &atom.id,
            job: match (&atom.copy, atom.kind) {
                (_, model::Kind::Mma) => Job::Multiply,
                (Some(copy), model::Kind::Copy) => Job::Move(copy.from, copy.to),
                _ => Job::Other,
            },
            atom,
        })
}

/// The job that a key of that kind wants.
pub(in crate::spec) fn job(kind: Kind) -> Option<Job> {
    match kind {
        Kind::MmaAtom => Some(Job::Multiply),
        Kind::CopyAtom { from, to } => Some(Job::Move(from, to)),
        _ => None,
    }
}

fn name(space: Space) -> &'static str {
    match space {
        Space::Gmem => "gmem",
        Space::Smem => "smem",
        Space::Rmem => "rmem",
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Job::Multiply => f.write_str("multiplies"),
            Job::Move(from, to) => write!(f, "moves {} to {}", name(*from), name(*to)),
            Job::Other => f.write_str("neither multiplies nor moves data"),
        }
    }
}
