//! A way out of what the assembler refuses, found by trying.
//!
//! Comes in: a point all of whose kernels spill, use local memory or serialize. Goes out: its
//! refusal with the keys that are at fault and values of theirs with which it builds. Keys that are
//! written are changed one after another, those that cost a kernel least first; what they are
//! changed to is written as the plan took it.

use crate::error::{Error, Violation};
use crate::first_good;
use crate::making::Making;
use crate::plan::model::Plan;
use crate::spec::Keys;
use crate::spec::model::{Auto, FormKind, Passes, Point, Spec};

/// Most changes that are tried, and kernels that are made of each.
const MOST_CHANGES: usize = 10;
const MOST_KERNELS: usize = 3;
/// Most times that a tile is halved.
const MOST_HALVINGS: usize = 4;

/// A spec with other values for some of its keys.
struct Change {
    keys: Vec<&'static str>,
    spec: Spec,
}

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
            let values = keys
                .iter()
                .map(|key| value(key, &point.spec, &found.made.plan));
            let values: Vec<String> = values.collect();
            return Some(format!("use {}, which builds", values.join(" and ")));
        }
        if tried.len() > MOST_CHANGES {
            break;
        }
    }
    None
}

/// A key with its value in a plan.
fn value(key: &str, spec: &Spec, plan: &Plan) -> String {
    let tuple = |all: &[i64]| {
        let all: Vec<String> = all.iter().map(i64::to_string).collect();
        format!("({})", all.join(","))
    };
    let atoms = plan.mma.as_ref().map(|mma| {
        let along = mma.tiled.atom_layout_mnk();
        let size = |mode: usize| {
            along
                .mode(mode)
                .and_then(|one| one.size().ok())
                .unwrap_or(1)
        };
        tuple(&[size(0), size(1), size(2)])
    });
    let value = match key {
        "cta_tile" => Some(tuple(&spec.cta_tile)),
        "mma.atoms" => atoms,
        "threads" => Some(plan.cta_threads().to_string()),
        "min_ctas_per_sm" => plan.min_ctas_per_sm.map(|ctas| ctas.to_string()),
        "scheduler.passes" => Some(Passes::Many.name().to_owned()),
        _ => None,
    };
    format!("{key} {}", value.unwrap_or_else(|| "auto".to_owned()))
}

/// Other values for what is written: fewer CTAs on an SM, other threads, all of these, several
/// passes, and then smaller tiles, of which the plan decides on all else.
fn changes(spec: &Spec) -> Vec<Change> {
    let mut all = Vec::new();
    if let Auto::Given(ctas) = spec.min_ctas_per_sm {
        let fewer = (1..32).map(|halvings| ctas >> halvings);
        for ctas in fewer.take_while(|ctas| *ctas >= 1) {
            let mut spec = spec.clone();
            spec.min_ctas_per_sm = Auto::Given(ctas);
            let keys = vec!["min_ctas_per_sm"];
            all.push(Change { keys, spec });
        }
    }
    let written = written(spec);
    all.extend(written.iter().map(|key| freed(spec, &[*key])));
    if written.len() > 1 {
        all.push(freed(spec, &written));
    }
    if spec.form() == FormKind::Rows && spec.scheduler.passes == Auto::Auto {
        let mut spec = spec.clone();
        spec.scheduler.passes = Auto::Given(Passes::Many);
        let keys = vec!["scheduler.passes"];
        all.push(Change { keys, spec });
    }
    let mut keys = written;
    let mut smaller = freed(spec, &keys).spec;
    keys.push("cta_tile");
    if spec.min_ctas_per_sm != Auto::Auto {
        smaller.min_ctas_per_sm = Auto::Given(1);
        keys.push("min_ctas_per_sm");
    }
    for _ in 0..MOST_HALVINGS {
        let Some(at) = longest(&smaller) else { break };
        smaller.cta_tile[at] /= 2;
        all.push(Change {
            keys: keys.clone(),
            spec: smaller.clone(),
        });
    }
    all
}

/// The keys that are written and decide on threads and registers.
fn written(spec: &Spec) -> Vec<&'static str> {
    let is_given = [
        ("mma.atoms", spec.mma.atoms != Auto::Auto),
        ("mma.permutation", spec.mma.permutation != Auto::Auto),
        ("threads", spec.threads != Auto::Auto),
        ("threads_along", spec.threads_along != Auto::Auto),
    ];
    let given = is_given.into_iter().filter(|(_, given)| *given);
    given.map(|(key, _)| key).collect()
}

/// The spec with these keys left to the plan.
fn freed(spec: &Spec, keys: &[&'static str]) -> Change {
    let mut spec = spec.clone();
    for key in keys {
        match *key {
            "mma.atoms" => spec.mma.atoms = Auto::Auto,
            "mma.permutation" => spec.mma.permutation = Auto::Auto,
            "threads" => spec.threads = Auto::Auto,
            _ => spec.threads_along = Auto::Auto,
        }
    }
    let keys = keys.to_vec();
    Change { keys, spec }
}

/// The longest extent of a tile that may be halved: of what results have, as a tile has all of what
/// is folded.
fn longest(spec: &Spec) -> Option<usize> {
    let tile = &spec.cta_tile;
    let folded = spec.compute.folded();
    let is_cut = |at: &usize| {
        let mode = spec.modes().get(*at);
        mode.is_some_and(|mode| !folded.contains(&mode.as_str()))
    };
    let cut = (0..tile.len()).filter(is_cut);
    let even = cut.filter(|at| tile[*at] > 1 && tile[*at] % 2 == 0);
    even.max_by_key(|at| tile[*at])
}
