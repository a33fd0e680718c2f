//! Formulas of real kernels, `ci/data/formulas`: each is accepted, printed, and printed again the
//! same; the file beside it has its canonical spelling.
#![allow(clippy::unwrap_used, clippy::panic)]

mod kernel_files;

use std::fs;

use kernel_files::{files, golden, read};
use tilewright_formula::{check, identity, print, report};

#[test]
fn formulas_of_kernels_are_accepted_and_spelled_canonically() {
    let mut differences = Vec::new();
    let files = files("ci/data/formulas", "formula");
    for file in &files {
        let (signature, text) = read(&fs::read_to_string(file).unwrap());
        let formula = match check(&text, &signature) {
            Ok(formula) => formula,
            Err(problems) => panic!("{}\n{}", file.display(), report(&text, &problems)),
        };
        let spelled = print::print(&formula.tree);
        let again = check(&spelled, &signature).unwrap();
        assert_eq!(print::print(&again.tree), spelled);
        assert_eq!(identity::function(&again), identity::function(&formula));
        let head = identity::signature_text(&signature);
        let (same, _) = read(&format!("{head}compute:\n"));
        assert_eq!(same, signature);
        let record = format!("{spelled}\nfunction:\n{}", identity::function(&formula));
        differences.extend(golden(&file.with_extension("txt"), &record));
    }
    assert!(
        differences.is_empty(),
        "{}\nBLESS=1 records them",
        differences.join("\n")
    );
    assert!(files.len() >= 30);
}
