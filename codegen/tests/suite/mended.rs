//! The helps of refused plans, done as they say: for each spec of `ci/data/plans_refused` there is
//! the same in `ci/data/mended/plans_refused` with other values for keys that its refusal names,
//! which has a plan.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tilewright_codegen::error::{Error, Violation};
use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, Point};

const REFUSED: &str = "ci/data/plans_refused";
const MENDED: &str = "ci/data/mended/plans_refused";

/// Refusals that nothing mends, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The specs in the folders below a folder: `gemm/threads.yaml`, sorted.
fn specs(folder: &str) -> Vec<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let folder = repository().join(folder);
    let families = names(&folder).into_iter();
    let families = families.filter(|name| folder.join(name).is_dir());
    let specs = families.flat_map(|family| {
        let specs = names(&folder.join(&family)).into_iter();
        let specs = specs.filter(|name| name.ends_with(".yaml"));
        specs.map(move |name| format!("{family}/{name}"))
    });
    let mut all: Vec<String> = specs.collect();
    all.sort();
    all
}

/// The one point of a spec.
fn point(folder: &str, path: &str) -> Point {
    let path = format!("{folder}/{path}");
    let text = fs::read_to_string(repository().join(&path)).unwrap();
    let file = spec::parse(&path, &text);
    let mut file = file.unwrap_or_else(|error| panic!("{path}: {}", error.report(false)));
    file.points.swap_remove(0)
}

#[test]
fn every_refusal_has_its_mended_spec() {
    let excepted = EXCEPTIONS.iter().map(|(path, _)| (*path).to_owned());
    let mut all: Vec<String> = specs(MENDED).into_iter().chain(excepted).collect();
    all.sort();
    assert_eq!(all, specs(REFUSED), "one in {MENDED} for each of {REFUSED}");
}

#[test]
fn mended_specs_have_plans() {
    let refused = |path: &String| {
        let error = plan::plan(&point(MENDED, path)).err()?;
        Some(format!("{path}: {}", error.report(false)))
    };
    let refused: Vec<String> = specs(MENDED).iter().filter_map(refused).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// Whether one of two dotted keys is the other or a part of it; of the ways of one operand, one
/// stands in the place of another.
fn is_part(one: &str, other: &str) -> bool {
    let way = |key: &str| {
        let operand = key.rsplit_once('.').filter(|_| key.starts_with("copy."));
        operand.map(|(operand, _)| operand.to_owned())
    };
    let together = way(one).is_some() && way(one) == way(other);
    let (one, other) = (one.split('.'), other.split('.'));
    together || one.zip(other).all(|(one, other)| one == other)
}

/// Whether a refusal speaks of a key: among those at fault, or by its name in a message. A formula
/// that is another has other operands, modes and tiles; and fewer products have another formula.
fn speaks_of(violations: &[Violation], key: &str) -> bool {
    let names = |of: &str| {
        violations
            .iter()
            .flat_map(|one| &one.keys)
            .any(|key| is_part(of, key))
    };
    let follows = ["operands.", "modes.", "cta_tile"];
    let of_formula = names("compute") && follows.iter().any(|follows| key.starts_with(follows));
    let of_planes =
        key == "compute" && violations.iter().any(|one| one.message.contains(" modes."));
    let said = violations.iter().any(|one| {
        let word = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        one.message
            .split(|c: char| !word(c))
            .any(|word| word == key)
    });
    of_formula || of_planes || said || names(key)
}

#[test]
fn mended_specs_differ_in_what_the_refusal_names() {
    let mut elsewhere = Vec::new();
    for path in specs(MENDED) {
        let (refused, mended) = (point(REFUSED, &path), point(MENDED, &path));
        let Err(Error::Plan { violations, .. }) = plan::plan(&refused) else {
            panic!("{path} is not refused")
        };
        let [before, after] = [refused, mended].map(|point| {
            let said = point.spec.said().into_iter();
            said.collect::<BTreeMap<String, String>>()
        });
        let keys = before.keys().chain(after.keys());
        let moved = keys.filter(|key| before.get(*key) != after.get(*key));
        for key in moved.filter(|key| !speaks_of(&violations, key)) {
            elsewhere.push(format!("{path}: {key}"));
        }
    }
    elsewhere.dedup();
    assert!(elsewhere.is_empty(), "{}", elsewhere.join("\n"));
}
