//! The JSON Schema of specs as an editor applies it: it accepts what the checks accept, in the
//! usual spelling, and refuses values of wrong types, also those of formulas and their names.

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::Value;
use tilewright_codegen::spec;

/// A spec with everything that stands beside a formula.
const FORMULA: &str = r#"kernel: moe
name: t
arch: sm_90a
operands:
  a: { dtype: bf16, layout: "(m,k):(lda,1)" }
  b: { dtype: bf16, layout: "(g,n,k):(s1b,s2b,1)" }
  t: { dtype: s32, layout: "(g+1):(1)" }
  d: { dtype: bf16, layout: "(m,n):(ldd,1)" }
scalars: { alpha: f32 }
modes: { m: { in: g, starts: t }, n: 128 }
compute: |
  d[m,n] = alpha * (sum[k] a[m,k] * b[g,n,k])
cta_tile: { m: 128, k: 64 }
tune:
  pipeline.stages: [2, 3]
"#;

fn validator() -> Validator {
    jsonschema::validator_for(&spec::schema()).unwrap()
}

fn value(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

/// The specs below a folder.
fn specs(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            specs(&path, out);
        } else if path.extension().is_some_and(|found| found == "yaml") {
            out.push(path);
        }
    }
}

#[test]
fn what_the_checks_accept_it_accepts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for folder in [
        "specs/copy",
        "specs/gemm",
        "ci/data/formulas_refused",
        "ci/data/plans_refused",
        "ci/data/plans_taken",
        "ci/data/specs_golden",
        "bench/space",
    ] {
        specs(&root.join(folder), &mut paths);
    }
    assert!(paths.len() > 100, "only {} specs", paths.len());
    let validator = validator();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        assert!(spec::parse("-", &text).is_ok(), "{}", path.display());
        let value = value(&text);
        let problems: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{}: {problems:?}", path.display());
    }
}

#[test]
fn values_of_wrong_types_are_refused() {
    let validator = validator();
    let accepts = |text: &str| {
        let checked = spec::parse("-", text).is_ok();
        (validator.is_valid(&value(text)), checked)
    };
    assert_eq!(accepts(FORMULA), (true, true));
    let compute = "|\n  d[m,n] = alpha * (sum[k] a[m,k] * b[g,n,k])";
    let ragged = "{ in: g, starts: t }";
    for (written, wrong) in [
        (compute, "[1, 2]"),
        (compute, "{ d: a }"),
        (compute, "3"),
        ("{ alpha: f32 }", "[alpha]"),
        ("{ alpha: f32 }", "alpha"),
        ("alpha: f32", "alpha: f16"),
        ("alpha: f32", "alpha: { dtype: f32 }"),
        (ragged, "{ in: g, starts: t, counts: t }"),
        (ragged, "{ in: g }"),
        (ragged, "{ in: g, begins: t }"),
        ("n: 128", "n: 0"),
        ("n: 128", "n: many"),
        ("n: 128", "n: [128]"),
        ("modes: {", "modes: { g: 1.5,"),
        ("{ m: 128, k: 64 }", "{ m: 128, k: 0 }"),
        ("{ m: 128, k: 64 }", "[128, 64]"),
        ("kernel: moe", "kernel: 'no word'"),
        ("scalars:", "scalers:"),
    ] {
        let text = FORMULA.replace(written, wrong);
        assert_ne!(text, FORMULA, "{written}");
        assert_eq!(accepts(&text), (false, false), "{wrong}:\n{text}");
    }
    // A word without a default formula needs one that is written.
    let without = FORMULA.replace(&format!("compute: {compute}\n"), "");
    let without = without.replace("scalars: { alpha: f32 }\n", "");
    let without = without.replace(&format!("modes: {{ m: {ragged}, n: 128 }}\n"), "");
    assert_eq!(accepts(&without), (false, false), "{without}");
}

#[test]
fn an_editor_is_told_what_the_keys_mean() {
    let schema = spec::schema();
    let keys = &schema["$defs"]["formula"]["properties"];
    for (key, meaning) in [
        ("compute", "a statement a line"),
        ("scalars", "given by value"),
        ("modes", "constant extent"),
    ] {
        let told = keys[key]["description"].as_str().unwrap();
        assert!(told.contains(meaning), "{key}: {told}");
    }
    let types: Vec<&str> = keys["scalars"]["additionalProperties"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(types, ["f32", "f64", "s32", "u32"]);
}

#[test]
fn a_list_of_spaces_holds_maps() {
    let tuned = |tune: &str| {
        let text = FORMULA.replace("tune:\n  pipeline.stages: [2, 3]\n", tune);
        validator().is_valid(&value(&text))
    };
    assert!(tuned(
        "tune:\n  - pipeline.stages: [2, 3]\n  - pipeline.stages: [4]\n"
    ));
    for wrong in [
        "[]",
        "[[{ pipeline.stages: [4] }]]",
        "[4]",
        "[{ stages: [4] }]",
    ] {
        assert!(!tuned(&format!("tune: {wrong}\n")), "{wrong}");
    }
}
