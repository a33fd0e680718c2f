//! Formulas of real kernels, `ci/data/formulas`: each is accepted, printed, and printed again the
//! same; the file beside it has its canonical spelling.
#![allow(clippy::unwrap_used, clippy::panic)]

mod kernel_files;

use std::collections::BTreeSet;
use std::fs;

use kernel_files::{files, golden, read};
use tilewright_formula::form::{Contraction, Factor, FoldSite, Form, recognize};
use tilewright_formula::{Formula, check, identity, print, report};

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
        let form = match recognize(&formula) {
            Ok(recognized) => {
                let others = recognized.others.iter().map(|(name, why, span)| {
                    let place = text.get(span.clone()).unwrap_or("").lines().next();
                    format!("not {name}: {why}: `{}`\n", place.unwrap_or(""))
                });
                drawn(&formula, &recognized.form) + &others.collect::<String>()
            }
            Err(problems) => report(&text, &problems),
        };
        let function = identity::function(&formula);
        let tile = formula
            .tile_modes()
            .into_iter()
            .map(|mode| formula.modes[mode].name.as_str());
        let tile: Vec<&str> = tile.collect();
        let sizes = formula.extent_names().join(" ");
        let record = format!(
            "{spelled}\nfunction:\n{function}\ntile: {}\nsizes: {sizes}\nform: {form}",
            tile.join(" ")
        );
        differences.extend(golden(&file.with_extension("txt"), &record));
    }
    assert!(
        differences.is_empty(),
        "{}\nBLESS=1 records them",
        differences.join("\n")
    );
    assert!(files.len() >= 30);
}

/// A form as a few lines: its parts by name.
fn drawn(formula: &Formula, form: &Form) -> String {
    let modes = |modes: &[usize]| {
        let names = modes.iter().map(|mode| formula.modes[*mode].name.clone());
        names.collect::<Vec<_>>().join(",")
    };
    let folds = |folds: &[FoldSite]| {
        let each = folds
            .iter()
            .map(|site| format!("{}[{}]", site.fold.name(), modes(&site.modes)));
        each.collect::<Vec<_>>().join(" ")
    };
    let contraction = |one: &Contraction| {
        let factor = |factor: &Factor| {
            let values = factor
                .values
                .iter()
                .map(|value| &formula.text[value.span.clone()]);
            values.collect::<Vec<_>>().join(" * ")
        };
        let [a, b] = [0, 1].map(|side| factor(&one.factors[side]));
        let [rows, columns] = [modes(&one.rows), modes(&one.columns)];
        let [batch, summed] = [modes(&one.batch), modes(&one.summed)];
        let parts = one.parts.as_ref().map_or(String::new(), |parts| {
            let scales = parts
                .scales
                .iter()
                .map(|scale| &formula.text[scale.span.clone()]);
            let scales = scales.collect::<Vec<_>>().join(" * ");
            format!(
                " parts[{}] {} of {scales}",
                modes(&parts.sum.modes),
                parts.accumulator
            )
        });
        format!(
            "  rows[{rows}] {a}\n  columns[{columns}] {b}\n  batch[{batch}] summed[{summed}] \
             in {}{parts}\n  before {:?} after {:?} folds {} plain {:?}\n",
            one.accumulator,
            one.prologue,
            one.epilogue,
            folds(&one.folds),
            one.plain
        )
    };
    let parts = match form {
        Form::Rows(rows) => format!("  folds {} copy {:?}\n", folds(&rows.folds), rows.copy),
        Form::Contraction(one) => contraction(one),
        Form::Chain(chain) => format!(
            "{}  normalizer {}\n{}",
            contraction(&chain.first),
            folds(&chain.normalizer),
            contraction(&chain.second)
        ),
    };
    let text = format!("{}\n{parts}", form.name());
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

#[test]
fn spellings_of_one_product_are_one_form() {
    let plain = |text: &str| {
        let (signature, text) = read(text);
        let formula = check(&text, &signature).unwrap();
        match recognize(&formula).unwrap().form {
            Form::Contraction(one) => one.plain,
            other => panic!("{}", other.name()),
        }
    };
    let head = "a: bf16 (m,k)\nb: bf16 (n,k)\nd: bf16 (m,n)\ncompute:\n";
    for text in [
        "acc[m,n] = sum[k] a[m,k] * b[n,k]\nd[m,n] = acc[m,n]",
        "d[m,n] = sum[k] b[n,k] * a[m,k]",
        "t[n,m]: f32 = sum[k] b[n,k] * a[m,k]; d[m,n] = t[n,m]",
    ] {
        assert_eq!(plain(&format!("{head}{text}")), Some([0, 1, 2]), "{text}");
    }
    let turned = "a: bf16 (k,m)\nb: bf16 (k,n)\nd: bf16 (n,m)\ncompute:\n";
    let text = format!("{turned}d[n,m] = sum[k] a[k,m] * b[k,n]");
    assert_eq!(plain(&text), Some([1, 0, 2]));
    let wrong = "a: bf16 (m,k)\nb: bf16 (m,k)\nd: bf16 (m)\ncompute:\n";
    let (signature, text) = read(&format!("{wrong}d[m] = sum[k] a[m,k] * b[m,k]"));
    let recognized = recognize(&check(&text, &signature).unwrap()).unwrap();
    assert_eq!(recognized.form.name(), "rows");
}

/// Codes of problems whose helps propose no text of their own: a choice is left to the writer, or
/// it is the signature that changes.
const PROSE: &[&str] = &[
    "annotation",
    "arity",
    "bad-name",
    "combine",
    "index-count",
    "index-form",
    "index-table",
    "left-index",
    "left-mode",
    "mode-extent",
    "mode-not-folded",
    "mode-twice",
    "name-twice",
    "no-output",
    "no-statement",
    "number-range",
    "over",
    "ragged-fold",
    "ragged-left",
    "ragged-operand",
    "ragged-table",
    "read-before-write",
    "stray-character",
    "sum-type",
    "syntax",
    "too-deep",
    "type",
    "unknown-name",
    "unused",
    "written-name",
    "written-twice",
];

/// Each help that proposes a text is done as it says, one after another: the problem is gone, and
/// after a few nothing is proposed any more.
#[test]
fn what_helps_propose_is_accepted() {
    const MOST: usize = 12;
    let mut prose = BTreeSet::new();
    for file in files("ci/data/formulas_rejected", "formula") {
        let (signature, mut text) = read(&fs::read_to_string(&file).unwrap());
        let name = file.display();
        for step in 0.. {
            let problems = check(&text, &signature).err().unwrap_or_default();
            let helped = |one: &&tilewright_formula::Problem| one.help.is_some();
            let without = problems.iter().filter(helped);
            prose.extend(without.filter(|one| one.edit.is_none()).map(|one| one.code));
            let Some(problem) = problems.iter().rev().find(|one| one.edit.is_some()) else {
                break;
            };
            assert!(step < MOST, "{name}: helps go in a circle:\n{text}");
            let edit = problem.edit.clone().unwrap();
            text.replace_range(edit.span, &edit.text);
            let left = check(&text, &signature).err().unwrap_or_default();
            let again = |one: &tilewright_formula::Problem| {
                (one.code, &one.message, &one.place)
                    == (problem.code, &problem.message, &problem.place)
            };
            assert!(
                !left.iter().any(again),
                "{name}: the help changes nothing:\n{text}\n{}",
                report(&text, &left)
            );
        }
    }
    let known: BTreeSet<&str> = PROSE.iter().copied().collect();
    assert_eq!(prose, known, "helps without a text: this list only shrinks");
}

/// A guard is understood as a condition of what is divided, or of the remainder itself.
#[test]
fn guards_of_quotients_and_remainders_are_understood() {
    let taken = |value: &str| {
        let head = "t: f32 (q)\nx: f32 (m)\nd: f32 (m)\ncompute:\nd[m] = x[m] + ";
        let (signature, text) = read(&format!("{head}{value}"));
        check(&text, &signature).is_ok()
    };
    assert!(taken("where(m/16 >= 0 and m/16 < size(q), t[m/16], 0)"));
    assert!(taken("where(m < 16*size(q), t[m/16], 0)"));
    assert!(taken("where(m >= 12*size(q), 0, t[m/12])"));
    assert!(taken("where(m%64 < size(q), t[m%64], 0)"));
    assert!(taken("where(size(q) - 1 >= m%64, t[m%64], 0)"));
    assert!(taken("where(m-3 >= 0 and m-3 < 8*size(q), t[(m-3)/8], 0)"));
    // A quotient of numbers that are rounded, a bound that is one too many, another remainder.
    assert!(!taken("where(m/12 < size(q), t[m/12], 0)"));
    assert!(!taken("where(m/16 <= size(q), t[m/16], 0)"));
    assert!(!taken("where(m%64 <= size(q), t[m%64], 0)"));
    assert!(!taken("where(m%32 < size(q), t[m%64], 0)"));
    assert!(!taken("where(m%64 < size(q), 0, t[m%64])"));
    assert!(!taken("where(m-3 < 8*size(q), t[(m-3)/8], 0)"));
}

#[test]
fn rejected_formulas_are_reported_as_recorded() {
    let files = files("ci/data/formulas_rejected", "formula");
    let mut differences = Vec::new();
    for file in &files {
        let (signature, text) = read(&fs::read_to_string(file).unwrap());
        let Err(problems) = check(&text, &signature) else {
            panic!("{} is accepted", file.display());
        };
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let code = stem.split("__").next().unwrap().replace('_', "-");
        let codes: BTreeSet<&str> = problems.iter().map(|problem| problem.code).collect();
        assert!(
            stem == "many_problems" || codes.contains(code.as_str()),
            "{stem}: {codes:?}"
        );
        assert!(stem != "many_problems" || codes.len() >= 3, "{codes:?}");
        for problem in &problems {
            let span = problem.span().unwrap_or_default();
            assert!(text.get(span.clone()).is_some(), "{stem}: {span:?}");
        }
        let report = report(&text, &problems);
        differences.extend(golden(&file.with_extension("txt"), &report));
    }
    assert!(
        differences.is_empty(),
        "{}\nBLESS=1 records them",
        differences.join("\n")
    );
    assert!(files.len() >= 40);
}
