//! A way out of what the assembler refuses, found by trying.
//!
//! Comes in: a point all of whose kernels spill, use local memory or serialize. Goes out: its
//! refusal with the keys that are at fault and values of theirs with which it builds. Keys that are
//! written are changed one after another, those that cost a kernel least first; what they are
//! changed to is written as the plan took it.

use crate::error::{Error, Violation};
use crate::first_good;
use crate::making::Making;
use crate::plan::candidates::changes::{Change, changes, values};
use crate::spec::Keys;
use crate::spec::keys::model::{Point, Spec};

/// Most changes that are tried, and kernels that are made of each.
const MOST_CHANGES: usize = 10;
const MOST_KERNELS: usize = 5;

/// The refusal of a point with a way out that was tried, where an assembler refused it; any other
/// error as it is.
pub fn with_way_out(point: &Point, making: &Making, error: Error) -> Error {
    let (kernel, mut violations, file) = match error {
        Error::Plan {
            kernel,
            violations,
            file,
        } if violations.iter().any(is_the_assemblers) => (kernel, violations, file),
        other => return other,
    };
    let advice = way_out(point, making);
    let advice = advice.unwrap_or_else(|| {
        "nothing that was tried in the places of its keys builds: use a smaller cta_tile, or \
         compute it in several kernels"
            .to_owned()
    });
    let keys = Keys::of(&point.spec).named(&advice);
    for violation in violations.iter_mut().filter(|one| is_the_assemblers(one)) {
        violation.message = format!("{}: {advice}", violation.message);
        violation.keys.clone_from(&keys);
    }
    Error::Plan {
        kernel,
        violations,
        file,
    }
}

/// Whether the assembler said so.
fn is_the_assemblers(violation: &Violation) -> bool {
    let codes = ["spill-loads", "spill-stores", "stack", "ptxas-warning"];
    codes.contains(&violation.code)
}

/// What to write so that the point builds.
fn way_out(point: &Point, making: &Making) -> Option<String> {
    let code = making.code_arch(&point.id, &point.spec.arch).ok()?;
    let mut tried: Vec<Spec> = vec![point.spec.clone()];
    for Change { keys, spec } in changes(&point.spec) {
        if tried.contains(&spec) {
            continue;
        }
        let (id, spec) = (point.id.clone(), spec);
        tried.push(spec.clone());
        let point = Point { id, spec };
        let nothing = |_: &mut _| {};
        let found = first_good::among(&point, making, code.as_ref(), (MOST_KERNELS, nothing));
        if let Ok(found) = found {
            let values = values(&keys, &point.spec, &found.made.plan);
            return Some(format!("use {values}, which builds"));
        }
        if tried.len() > MOST_CHANGES {
            break;
        }
    }
    None
}
