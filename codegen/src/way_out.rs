//! A way out of a refusal, found by trying.
//!
//! Comes in: a point all of whose kernels spill, use local memory or serialize, or of which there
//! is no plan and with other values is one. Goes out: its refusal with the keys that are at fault
//! and values of theirs with which it builds. Keys that are written are changed one after another,
//! those that cost a kernel least first; what they are changed to is written as the plan took it.
//! What the assembler says of one kernel is one refusal.

use crate::error::{Error, Violation, message};
use crate::first_good;
use crate::making::Making;
use crate::plan::candidates::changes::{Change, Values, changes, values};
use crate::plan::candidates::ways_out;
use crate::spec::keys::model::Point;
use crate::spec::keys::paths;

/// Most changes that the assembler is asked about, and kernels that are made of each.
const MOST_CHANGES: usize = 10;
const MOST_KERNELS: usize = 5;

/// The refusal of a point with a way out that was tried, where an assembler refused it; any other
/// error as it is.
pub fn with_way_out(point: &Point, making: &Making, error: Error) -> Error {
    let (kernel, violations, file) = match error {
        Error::Plan {
            kernel,
            violations,
            file,
        } => (kernel, violations, file),
        other => return other,
    };
    let violations = match violations.iter().any(is_the_assemblers) {
        true => of_the_assembler(point, making, violations),
        false => of_the_plan(point, making, violations),
    };
    Error::Plan {
        kernel,
        violations,
        file,
    }
}

/// What the assembler refuses, told once, with a way out.
fn of_the_assembler(point: &Point, making: &Making, all: Vec<Violation>) -> Vec<Violation> {
    let advice = way_out(
        point,
        making,
        changes(&point.spec.problem, &point.spec.schedule),
    );
    let advice = advice.map(|Values { said, is_limited }| match is_limited {
        true => message!(
            "use {}, which builds, and for more of that a kernel behind this one, in the place of \
             the fold",
            said
        ),
        false => message!("use {}, which builds", said),
    });
    let advice = advice.unwrap_or_else(|| {
        message!(
            "nothing that was tried in the places of its keys builds: use a smaller {}, or compute \
             it in several kernels",
            paths::CTA_TILE
        )
    });
    let mut told: Vec<Violation> = Vec::new();
    for violation in all {
        let first = told.iter_mut().find(|one| is_the_assemblers(one));
        match first.filter(|_| is_the_assemblers(&violation)) {
            Some(first) => first.message = together(&first.message, &violation.message),
            None => told.push(violation),
        }
    }
    for violation in told.iter_mut().filter(|one| is_the_assemblers(one)) {
        violation.keys.clear();
        violation.add(message!(": {}", advice));
    }
    told
}

/// Two things that the assembler says of one kernel: bytes of one and the other at its registers,
/// or one and then the other.
fn together(first: &str, other: &str) -> String {
    const AT: &str = " at ";
    match (first.split_once(AT), other.split_once(AT)) {
        (Some((one, behind)), Some((more, _))) if other.ends_with("allowed") => {
            format!("{one}, {more}{AT}{behind}")
        }
        _ => format!("{first}, and {other}"),
    }
}

/// What the plan refuses, with values that build in the place of those that it has a plan with;
/// where none of the first build, it says so. Without an assembler as it is.
fn of_the_plan(point: &Point, making: &Making, mut all: Vec<Violation>) -> Vec<Violation> {
    let Some((at, front, changes)) = ways_out::unbuilt(point, &all) else {
        return all;
    };
    if making.ptxas.is_none() {
        return all;
    }
    if let Some(Values { said, .. }) = way_out(point, making, changes) {
        all[at].message.truncate(front);
        all[at].add(message!("; with {} it builds", said));
    }
    all
}

/// Whether the assembler said so.
fn is_the_assemblers(violation: &Violation) -> bool {
    let codes = ["spill-loads", "spill-stores", "stack", "ptxas-warning"];
    codes.contains(&violation.code)
}

/// Keys with values with which the point builds: those of the first change that does.
fn way_out(point: &Point, making: &Making, changes: Vec<Change>) -> Option<Values> {
    let code = making.code_arch(&point.id, &point.spec.problem.arch).ok()?;
    let mut tried = vec![point.spec.schedule.clone()];
    let mut judged = 0;
    for Change { keys, schedule } in changes {
        if tried.contains(&schedule) {
            continue;
        }
        tried.push(schedule.clone());
        let point = point.with(schedule);
        let nothing = |_: &mut _| {};
        let found = first_good::among(&point, making, code.as_ref(), (MOST_KERNELS, nothing));
        match found {
            Ok(found) => return Some(values(&keys, &point.spec, &found.made.plan)),
            Err(Error::Plan { violations, .. }) if violations.iter().any(is_the_assemblers) => {
                judged += 1;
            }
            Err(_) => {}
        }
        if judged == MOST_CHANGES {
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::together;

    #[test]
    fn bytes_of_one_kernel_are_told_together() {
        let loads = "24 bytes of spill loads at 255 registers; 0 are allowed";
        let stores = "16 bytes of spill stores at 255 registers; 0 are allowed";
        let both =
            "24 bytes of spill loads, 16 bytes of spill stores at 255 registers; 0 are allowed";
        assert_eq!(together(loads, stores), both);
        assert_eq!(together("a warning", "C7500"), "a warning, and C7500");
    }
}
