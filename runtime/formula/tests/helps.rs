//! Helps, done as they say: for each `ci/data/formulas_rejected/<stem>.formula` there is
//! `ci/data/mended/formulas_rejected/<stem>.formula`, the same formula with what the helps of its
//! report propose. It is accepted, and what the helps quote stands in it.
#![allow(clippy::unwrap_used, clippy::panic)]

mod kernel_files;

use std::fs;

use kernel_files::{files, folder, read};
use tilewright_formula::{check, doubtful, report};

/// Formulas that have no mended one, with the reason.
const WITHOUT: &[(&str, &str)] = &[
    (
        "too_deep",
        "82 parentheses around nothing: no part of it has a name",
    ),
    (
        "many_problems",
        "each of its problems is mended in a formula of its own",
    ),
];

/// Codes of problems whose helps quote a form: its names and numbers stand for others.
const FORMS: &[&str] = &["arity", "index-form", "left-index", "type"];

/// A quoted part with `…` for names and numbers, which stand for others.
fn form(part: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    for c in part.chars() {
        match is_word(c) {
            true if out.ends_with('…') => {}
            true => out.push('…'),
            false => out.push(c),
        }
    }
    out
}

/// Whether what a help quotes stands in a text: one part of those that it gives to choose from, a
/// `…` being anything.
fn stands_in(code: &str, help: &str, text: &str) -> bool {
    let parts = help.split('`').skip(1).step_by(2);
    let is_form = FORMS.contains(&code);
    let parts = parts.map(|part| match is_form {
        true => form(part),
        false => part.to_owned(),
    });
    let parts: Vec<String> = parts.collect();
    let stands = |part: &String| {
        let mut rest = text;
        part.split('…').all(|piece| match rest.find(piece) {
            Some(at) => {
                rest = &rest[at + piece.len()..];
                true
            }
            None => false,
        })
    };
    parts.is_empty() || parts.iter().any(stands)
}

#[test]
fn what_is_done_as_helps_say_is_accepted() {
    let mut wrong = Vec::new();
    for file in files("ci/data/formulas_rejected", "formula") {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        if WITHOUT.iter().any(|(without, _)| *without == stem) {
            continue;
        }
        let mended = folder("ci/data/mended/formulas_rejected").join(format!("{stem}.formula"));
        let Ok(whole) = fs::read_to_string(&mended) else {
            wrong.push(format!("{stem}: no {}", mended.display()));
            continue;
        };
        let (signature, text) = read(&whole);
        match check(&text, &signature) {
            Ok(formula) => assert!(doubtful(&formula).is_empty(), "{stem} is doubtful"),
            Err(problems) => wrong.push(format!("{stem}: {}", report(&text, &problems))),
        }
        let (signature, text) = read(&fs::read_to_string(&file).unwrap());
        for problem in check(&text, &signature).unwrap_err() {
            let Some(help) = problem.help else {
                wrong.push(format!("{stem}: no help of `{}`", problem.message));
                continue;
            };
            if !stands_in(problem.code, &help, &whole) {
                wrong.push(format!("{stem}: `{help}` is not done"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_mended_was_rejected() {
    let names = |folder| {
        let files = files(folder, "formula").into_iter();
        files.map(|file| file.file_name().unwrap().to_owned())
    };
    let rejected: Vec<_> = names("ci/data/formulas_rejected").collect();
    assert!(names("ci/data/mended/formulas_rejected").all(|name| rejected.contains(&name)));
    for (stem, why) in WITHOUT {
        let name = format!("{stem}.formula");
        assert!(rejected.iter().any(|known| **known == *name) && !why.is_empty());
    }
}
