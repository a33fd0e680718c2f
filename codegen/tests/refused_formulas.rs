//! Formulas that are read, typed and of a known form, and that no kernel is generated of yet: each
//! `ci/data/formulas_refused/*.yaml` is a good spec whose plan is refused at parts of its formula;
//! the report is the `.txt` file beside it.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test refused_formulas` rewrites the reports.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_codegen::error::{Error, Violation};
use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, SpecFile};

/// The specs, sorted.
fn specs() -> Vec<(String, SpecFile)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/data/formulas_refused");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == "yaml"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let file = spec::parse(&name, &text);
        let file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
        (path.with_extension("txt").display().to_string(), file)
    };
    paths.into_iter().map(read).collect()
}

/// Why a spec has no kernel, at its places in the file.
fn refusal(file: &SpecFile) -> (Error, Vec<Violation>) {
    match plan::plan(&file.points[0]) {
        Ok(plan) => panic!("{} has a plan: {plan}", file.path),
        Err(error) => match file.place(error) {
            Error::Plan {
                kernel,
                violations,
                file,
            } => {
                let all = violations.clone();
                let error = Error::Plan {
                    kernel,
                    violations,
                    file,
                };
                (error, all)
            }
            other => panic!("{}", other.report(false)),
        },
    }
}

#[test]
fn refused_formulas_are_reported_as_recorded() {
    let specs = specs();
    assert!(specs.len() >= 15, "only {} formulas", specs.len());
    for (golden, file) in specs {
        let report = refusal(&file).0.report(false);
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            fs::write(&golden, report).unwrap();
            continue;
        }
        let recorded = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(recorded, report, "{golden}: rerun with BLESS=1");
    }
}

#[test]
fn a_refused_formula_is_refused_inside_its_text() {
    for (_, file) in specs() {
        let start = file.text.find("compute:").unwrap();
        let end = start + file.text[start..].find("\ncta_tile").unwrap();
        for violation in refusal(&file).1 {
            let span = violation.span.unwrap();
            let key = violation.keys.first().unwrap();
            let inside = start < span.bytes.start && span.bytes.end <= end;
            assert_eq!(
                key == "compute",
                inside,
                "{}: {}",
                file.path,
                violation.message
            );
            assert!(
                file.text
                    .get(span.bytes)
                    .is_some_and(|part| !part.is_empty())
            );
        }
    }
}

#[test]
fn what_is_refused_is_printed_and_read_back() {
    for (_, file) in specs() {
        let printed = file.spec.to_yaml().unwrap();
        let again = spec::parse("-", &printed);
        let again = again.unwrap_or_else(|error| panic!("{printed}\n{}", error.report(false)));
        assert_eq!(again.spec, file.spec, "{printed}");
        assert_eq!(again.points[0].id, file.points[0].id);
    }
}
