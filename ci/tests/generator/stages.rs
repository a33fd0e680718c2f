//! Every stage of a few specs as recorded in `ci/data/golden`: `<name>.plan.txt`, `.tile.txt`,
//! `.program.txt` and `.ptx`. The PTX is compared at the version of LLVM that made it only, which
//! `ptx.lock` names.

use std::fs;

use tilewright_ci::{golden, source_tree};
use tilewright_codegen::{compile, spec};

use crate::locks;

/// Specs with one point each, of small tiles so that the texts can be read.
const SPECS: [&str; 6] = [
    "specs/copy/vectorized.yaml",
    "specs/copy/cp_async_swizzled.yaml",
    "ci/data/specs_golden/gemm/small_tn.yaml",
    "ci/data/specs_golden/gemm/small_simt.yaml",
    "ci/data/specs_golden/gemm/small_roles.yaml",
    "specs/gemm/simt_f32.yaml",
];

#[test]
fn stages_are_as_recorded() {
    let mut differences = Vec::new();
    for path in SPECS {
        let text = fs::read_to_string(source_tree::root().join(path)).unwrap();
        let file = match spec::parse(path, &text) {
            Ok(file) => file,
            Err(error) => panic!("{}", error.report(false)),
        };
        assert_eq!(file.points.len(), 1, "{path} has one point");
        let compiled = compile(&file.points[0]).unwrap_or_else(|e| panic!("{}", e.report(false)));
        let mut stages = vec![
            ("plan.txt", compiled.plan.to_string()),
            ("tile.txt", compiled.tile.to_string()),
            ("program.txt", compiled.program.to_string()),
        ];
        if golden::blessing() || locks::is_recorded_llvm() {
            stages.push(("ptx", compiled.ptx.text));
        }
        for (stage, text) in stages {
            let path = format!("ci/data/golden/{}.{stage}", file.spec.problem.name);
            differences.extend(golden::difference(&path, &text).unwrap());
        }
    }
    golden::assert_none(&differences, "generator");
}

#[test]
fn every_recorded_stage_belongs_to_a_spec() {
    let names: Vec<String> = SPECS
        .iter()
        .map(|path| {
            let text = fs::read_to_string(source_tree::root().join(path)).unwrap();
            spec::parse(path, &text).unwrap().spec.problem.name
        })
        .collect();
    for entry in fs::read_dir(source_tree::root().join("ci/data/golden")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let (name, _) = file.split_once('.').unwrap();
        assert!(
            names.iter().any(|known| known == name),
            "{file} is of no spec"
        );
    }
}
