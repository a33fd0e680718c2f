//! Specs that are legal and have no kernel: each `ci/data/plans_refused/<family>/<code>[__variant]`
//! is refused with a violation of that code, and the whole report is the `.txt` file beside it.
//!
//! The plans of `ci/data/plans_taken` are made, and say what was chosen among what.

use std::collections::BTreeSet;
use std::fs;

use tilewright_ci::{golden, source_tree};
use tilewright_codegen::error::Error;
use tilewright_codegen::spec::Point;
use tilewright_codegen::{compile, plan, spec};

const FOLDER: &str = "ci/data/plans_refused";

/// The paths of the specs in the folders below a folder, relative to the root.
pub fn specs(folder: &str) -> Vec<String> {
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(source_tree::root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let families = names(folder).into_iter().filter(|name| !name.contains('.'));
    let families = families.map(|family| format!("{folder}/{family}"));
    let specs = families.flat_map(|family| {
        let specs = names(&family).into_iter();
        let specs = specs.filter(|name| name.ends_with(".yaml"));
        specs.map(move |name| format!("{family}/{name}"))
    });
    let mut paths: Vec<String> = specs.collect();
    assert!(!paths.is_empty(), "no specs in {folder}");
    paths.sort();
    paths
}

/// The one point of each spec in `ci/data/plans_taken`.
pub fn taken() -> Vec<Point> {
    let point = |path: &String| {
        let text = fs::read_to_string(source_tree::root().join(path)).unwrap();
        let file = spec::parse(path, &text);
        let mut file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        file.points.swap_remove(0)
    };
    specs("ci/data/plans_taken").iter().map(point).collect()
}

/// The violation a file is named for: `tile-divides` of `…/tile_divides__k.yaml`.
fn code(path: &str) -> String {
    let stem = path.rsplit('/').next().unwrap().trim_end_matches(".yaml");
    stem.split("__").next().unwrap().replace('_', "-")
}

/// Why there is no plan.
fn refusal(path: &str) -> Error {
    let text = fs::read_to_string(source_tree::root().join(path)).unwrap();
    let file = match spec::parse(path, &text) {
        Ok(file) => file,
        Err(error) => panic!("{path} is no legal spec: {}", error.report(false)),
    };
    match plan::plan(&file.points[0]) {
        Ok(plan) => panic!("{path} has a plan: {plan}"),
        Err(error) => error,
    }
}

#[test]
fn refused_plans_are_reported_as_recorded() {
    let mut differences = Vec::new();
    for path in specs(FOLDER) {
        let error = refusal(&path);
        let Error::Plan { violations, .. } = &error else {
            panic!("{path}: {}", error.report(false))
        };
        let code = code(&path);
        let found: Vec<&str> = violations.iter().map(|violation| violation.code).collect();
        assert!(found.contains(&code.as_str()), "{path} has {found:?}");
        let report = path.replace(".yaml", ".txt");
        differences.extend(golden::difference(&report, &error.report(false)).unwrap());
    }
    golden::assert_none(&differences, "generator");
}

#[test]
fn every_refusal_has_its_place_in_the_file() {
    for path in specs(FOLDER) {
        let text = fs::read_to_string(source_tree::root().join(&path)).unwrap();
        let file = spec::parse(&path, &text).unwrap();
        let error = file.place(refusal(&path));
        let report = error.report(false);
        let Error::Plan { violations, .. } = error else {
            panic!("{report}")
        };
        for violation in violations {
            let span = violation.span.unwrap();
            assert!(text.get(span.bytes).is_some(), "{report}");
            assert!(report.contains(&format!("{path}:{}:{}", span.line, span.column)));
            assert!(!violation.keys.is_empty(), "{report}");
        }
    }
}

#[test]
fn limits_are_reported_together() {
    let path = "ci/data/plans_refused/gemm/smem_capacity__and_registers.yaml";
    let Error::Plan { violations, .. } = refusal(path) else {
        panic!("another error")
    };
    let found: BTreeSet<&str> = violations.iter().map(|violation| violation.code).collect();
    assert_eq!(found, BTreeSet::from(["registers", "smem-capacity"]));
}

/// The choices of every plan in `ci/data/plans_taken`, and why what comes before was left out.
#[test]
fn what_is_left_out_has_its_reason() {
    const CHOICES: &str = "ci/data/plans_taken/choices.txt";
    let mut text = String::new();
    for point in taken() {
        let plan = match plan::plan(&point) {
            Ok(plan) => plan,
            Err(error) => panic!("{}", error.report(false)),
        };
        text.push_str(&format!("{}\n", plan.name));
        for choice in plan.choices.iter().filter(|one| !one.left_out.is_empty()) {
            let reasons = choice.left_out.iter().all(|one| !one.reasons.is_empty());
            assert!(reasons, "{}: {choice}", plan.name);
            for line in choice.to_string().lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    let difference = golden::difference(CHOICES, &text).unwrap();
    golden::assert_none(&Vec::from_iter(difference), "generator");
}

/// Rows so far apart that no emulated memory holds two of them: steps between them pass 32 bits.
#[test]
fn far_strides_compile() {
    let spec = |dtype: &str, stride: i64, extra: &str| {
        format!(
            "kernel: copy\nname: copy_far\narch: sm_80\noperands:\n  \
             s: {{ dtype: {dtype}, layout: \"(m,n):({stride},1)\" }}\n  \
             d: {{ dtype: {dtype}, layout: \"(m,n):(ldd,1)\" }}\ncta_tile: \"(64,64)\"\n{extra}"
        )
    };
    for dtype in ["f16", "f32", "f64"] {
        for stride in [1 << 31, (1 << 31) - 1, 1 << 27] {
            for extra in ["", "copy: { s: { g2s: auto } }"] {
                let text = spec(dtype, stride, extra);
                let file = spec::parse("-", &text).unwrap();
                let taken = compile(&file.points[0]);
                let odd = stride % 2 == 1 && dtype == "f16" && !extra.is_empty();
                let refused = matches!(&taken, Err(Error::Plan { .. }));
                assert!(
                    if odd { refused } else { taken.is_ok() },
                    "{text}: {:?}",
                    taken.map(|made| made.ptx.text.len())
                );
            }
        }
    }
}
