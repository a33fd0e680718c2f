//! Names of points: `gemm_bf16_tn@128x128x64_s3-1f3a9c`.
//!
//! Comes in: the specs of a space and the paths that are tuned. Goes out: points with ids that
//! differ from one another and depend on nothing but the point's own values. The hash covers every
//! value of the spec, so that equal ids mean equal kernels; a point that comes again is left out.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::spec::keys::key::Piece;
use crate::spec::keys::model::{Point, Spec};
use crate::spec::keys::print::canonical;
use crate::spec::keys::valued::{Said, by};

/// Characters of the hash in an id; more where two ids of one space would be equal.
const HASH_LENGTHS: [usize; 3] = [6, 12, 64];

/// Points of these specs.
///
/// # Errors
/// [`crate::error::Error::Bug`] when a spec cannot be printed.
pub(in crate::spec) fn points(specs: Vec<Spec>, tuned: &[&str]) -> Result<Vec<Point>> {
    let mut seen = BTreeSet::new();
    let mut named = vec![];
    for (number, spec) in specs.into_iter().enumerate() {
        let hash = hash(&spec)?;
        if seen.insert(hash.clone()) {
            let name = format!("{}@{}", spec.problem.name, suffix(&spec, tuned));
            named.push(Named {
                point: Point {
                    id: name,
                    spec,
                    number,
                },
                hash,
            });
        }
    }
    let ids = |length: usize| -> Vec<String> {
        let id = |Named { point, hash }: &Named| {
            format!("{}-{}", point.id, hash.get(..length).unwrap_or(hash))
        };
        named.iter().map(id).collect()
    };
    let distinct = |ids: &Vec<String>| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
    let ids = HASH_LENGTHS
        .into_iter()
        .map(ids)
        .find(distinct)
        .unwrap_or_else(|| ids(64));
    Ok(ids
        .into_iter()
        .zip(named)
        .map(|(id, named)| Point { id, ..named.point })
        .collect())
}

/// A point whose id has no hash yet.
struct Named {
    point: Point,
    hash: String,
}

fn hash(spec: &Spec) -> Result<String> {
    let digest = Sha256::digest(canonical(spec)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The tile, the pieces that the rows of the model have, some always, others where tuned, and the
/// architecture where that is.
fn suffix(spec: &Spec, tuned: &[&str]) -> String {
    let mut said = spec.pieces();
    said.retain(|said| said.is_in_id(tuned));
    said.sort_by_key(|said| said.key.piece.map(|piece| piece.place));
    let pieces = said.iter().filter_map(|said| {
        let letter = said.key.piece?.letter;
        Some(format!("_{letter}{}", said.short))
    });
    let arch = tuned
        .contains(&"arch")
        .then(|| format!("_{}", spec.problem.arch));
    by(&spec.schedule.cta_tile) + &pieces.chain(arch).collect::<String>()
}

impl Said {
    fn is_in_id(&self, tuned: &[&str]) -> bool {
        let wanted = |piece: Piece| !piece.tuned || tuned.contains(&self.path.as_str());
        self.key.piece.is_some_and(wanted)
    }
}
