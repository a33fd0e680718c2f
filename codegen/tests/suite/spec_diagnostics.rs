//! Rejected specs and their diagnostics: each `ci/data/specs_rejected/<code>[__variant].yaml` is
//! refused with a problem of that code, and its report is the `.txt` file beside it.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test suite spec_diagnostics` rewrites
//! the reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::made::{self, repository};
use tilewright_codegen::error::{Error, Problem};
use tilewright_codegen::{catalogue, spec};

/// Files with that extension in a folder, sorted.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    made::files(&repository().join(folder), &[extension])
}

/// The error of a rejected spec, named by its file alone so that reports are the same everywhere.
fn rejection(file: &Path) -> Error {
    let mut error = match spec::load(file) {
        Ok(_) => panic!("{} is accepted", file.display()),
        Err(error) => error,
    };
    if let Error::Spec { path, .. } = &mut error {
        *path = file.file_name().unwrap().to_str().unwrap().to_string();
    }
    error
}

fn problems(error: &Error) -> &[Problem] {
    match error {
        Error::Spec { problems, .. } => problems,
        other => panic!("no spec error: {other}"),
    }
}

/// Compares a text with a golden file, or writes it when `BLESS=1`. Says what differs.
fn golden(file: &Path, actual: &str) -> Option<String> {
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(file, actual).unwrap();
        return None;
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    let first = expected
        .lines()
        .zip(actual.lines())
        .position(|(a, b)| a != b);
    let first = first.unwrap_or(expected.lines().count().min(actual.lines().count()));
    let line = |text: &str| text.lines().nth(first).unwrap_or("the end").to_string();
    let (was, is) = (line(&expected), line(actual));
    (expected != actual).then(|| {
        format!(
            "{}:{}\n  recorded: {was}\n  now:      {is}",
            file.display(),
            first + 1
        )
    })
}

#[test]
fn rejected_specs_are_reported_as_recorded() {
    let specs = files("ci/data/specs_rejected", "yaml");
    let differences: Vec<String> = specs
        .iter()
        .filter_map(|file| golden(&file.with_extension("txt"), &rejection(file).report(false)))
        .collect();
    assert!(
        differences.is_empty(),
        "{}\nrerun with BLESS=1",
        differences.join("\n")
    );
    assert!(specs.len() >= 25, "only {} rejected specs", specs.len());
    let reports = files("ci/data/specs_rejected", "txt");
    assert_eq!(reports.len(), specs.len(), "a report without a spec");
}

/// Accepted specs with something in them that may not be meant: each
/// `ci/data/specs_warned/<code>[__variant].yaml` has a warning of that code.
#[test]
fn what_may_not_be_meant_is_reported_as_recorded() {
    let mut differences = Vec::new();
    let specs = files("ci/data/specs_warned", "yaml");
    let mut loaded = Vec::new();
    for path in &specs {
        let name = path.file_name().unwrap().to_str().unwrap();
        let file = made::warned(name, &fs::read_to_string(path).unwrap());
        let code = name.trim_end_matches(".yaml").split("__").next().unwrap();
        let code = code.replace('_', "-");
        assert!(file.warnings.iter().any(|one| one.code == code), "{name}");
        differences.extend(golden(&path.with_extension("txt"), &file.warned(false)));
        loaded.push(file);
    }
    assert!(
        differences.is_empty(),
        "{}\nrerun with BLESS=1",
        differences.join("\n")
    );
    assert_eq!(catalogue::warned(&loaded).len(), specs.len());
    assert!(specs.len() >= 5, "only {} specs", specs.len());
}

/// The spellings that a warning proposes, in its place, are warned of no more.
#[test]
fn what_warnings_propose_is_meant() {
    for path in files("ci/data/specs_warned", "yaml") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let file = made::warned(name, &text);
        for warning in &file.warnings {
            let help = warning.help.clone().unwrap();
            for proposed in help.split('`').skip(1).step_by(2) {
                let mended = match warning.code {
                    "empty-range" | "name-mismatch" | "rounded-integer" | "zero-divisor" => {
                        let (before, rest) = text.split_at(warning.span.bytes.start);
                        let behind = &rest[warning.span.bytes.len()..];
                        format!("{before}{proposed}{behind}")
                    }
                    "slow-mma" => format!("{text}{proposed}\n"),
                    // The value from the sum on to the statement's end, or to its parenthesis.
                    _ => {
                        let line = text
                            .lines()
                            .find(|line| line.contains("b[") || line.contains("bias["))
                            .unwrap();
                        let value = line.split_once("= ").unwrap().1;
                        let value = value.trim_start_matches('(').split(") * 2").next().unwrap();
                        text.replace(value, proposed)
                    }
                };
                let again = made::warned(name, &mended);
                assert!(again.warnings.is_empty(), "{}", again.warned(false));
            }
        }
    }
}

#[test]
fn the_file_name_is_the_code() {
    for file in files("ci/data/specs_rejected", "yaml") {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_string();
        if stem == "many_problems" {
            continue;
        }
        let code = stem.split("__").next().unwrap().replace('_', "-");
        let error = rejection(&file);
        let codes: BTreeSet<&str> = problems(&error)
            .iter()
            .map(|problem| problem.code)
            .collect();
        assert!(codes.contains(code.as_str()), "{stem}: {codes:?}");
        assert!(
            codes.len() <= 3,
            "{stem} is about more than one thing: {codes:?}"
        );
    }
}

#[test]
fn all_problems_of_a_file_are_reported_at_once() {
    let error = rejection(&repository().join("ci/data/specs_rejected/many_problems.yaml"));
    let codes: BTreeSet<&str> = problems(&error)
        .iter()
        .map(|problem| problem.code)
        .collect();
    assert!(codes.len() >= 19, "{codes:?}");
    let starts: Vec<usize> = problems(&error)
        .iter()
        .map(|p| p.span.bytes.start)
        .collect();
    assert!(starts.is_sorted(), "{starts:?}");
}

#[test]
fn every_problem_says_where_and_what_to_do() {
    for file in files("ci/data/specs_rejected", "yaml") {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        for problem in problems(&rejection(&file)) {
            let Problem {
                span,
                message,
                help,
                ..
            } = problem;
            assert!(
                text.get(span.bytes.clone()).is_some(),
                "{}: {span:?}",
                file.display()
            );
            let before = &text[..span.bytes.start];
            assert_eq!(span.line, before.matches('\n').count() + 1, "{message}");
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            assert_eq!(span.column, column, "{}: {message}", file.display());
            assert!(help.is_some(), "{message}");
            assert!(
                !message.ends_with('.') && !message.chars().any(char::is_control),
                "{message}"
            );
        }
    }
}

#[test]
fn reports_show_no_hidden_character() {
    let allowed =
        |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    for file in files("ci/data/specs_rejected", "yaml") {
        let report = rejection(&file).report(false);
        assert!(report.chars().all(allowed), "{report}");
        let colored = rejection(&file).report(true);
        assert!(
            colored.contains("\u{1b}["),
            "no colour in {}",
            file.display()
        );
        let json = rejection(&file).json().to_string();
        assert!(json.starts_with(r#"{"kind":"spec""#), "{json}");
    }
}

#[test]
fn shipped_specs_are_accepted() {
    let mut ids = BTreeSet::new();
    for file in [files("specs/copy", "yaml"), files("specs/gemm", "yaml")].concat() {
        let loaded = match spec::load(&file) {
            Ok(loaded) => loaded,
            Err(error) => panic!("{}", error.report(false)),
        };
        for point in &loaded.points {
            let (name, suffix) = point.id.split_once('@').unwrap();
            assert_eq!(name, loaded.spec.problem.name);
            assert_eq!(suffix.rsplit_once('-').unwrap().1.len(), 6, "{}", point.id);
            assert!(ids.insert(point.id.clone()), "{} twice", point.id);
        }
    }
    assert!(ids.len() >= 11, "{ids:?}");
}

#[test]
fn the_schema_is_as_recorded() {
    let mut schema = spec::schema();
    // The catalogue of atoms grows by itself; the schema lists what it holds.
    let (moves, multiplies) = ("atom_that_moves_gmem_to_smem", "atom_that_multiplies");
    let ids = |name: &str| schema["$defs"][name]["enum"].to_string();
    assert!(
        ids(moves).contains("\"sm80_cp_async_cg_16\""),
        "{}",
        ids(moves)
    );
    assert!(
        ids(multiplies).contains("\"sm80_mma_16x8x16_f32_bf16_bf16\""),
        "{}",
        ids(multiplies)
    );
    let definitions = schema["$defs"].as_object_mut().unwrap();
    definitions.retain(|name, _| !name.starts_with("atom_that_"));
    let file = repository().join("ci/data/spec.schema.json");
    let actual = serde_json::to_string_pretty(&sorted(schema)).unwrap() + "\n";
    let difference = golden(&file, &actual);
    assert!(
        difference.is_none(),
        "{}\nrerun with BLESS=1",
        difference.unwrap_or_default()
    );
}

/// The value with keys in order, whatever order `serde_json` is built to keep.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries
                .into_iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect()
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}
