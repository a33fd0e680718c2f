//! Helps, done as they say: for each `ci/data/specs_rejected/<stem>.yaml` there is
//! `ci/data/mended/specs_rejected/<stem>.yaml`, the same spec with what the helps of its report
//! propose. It is accepted and has a plan, and what the helps quote stands in it.

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_codegen::error::{Error, Problem};
use tilewright_codegen::{plan, spec};

/// Specs that have no mended one, with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("alias__billion_laughs", "an attack: nothing of it is meant"),
    ("empty", "there is nothing to mend"),
    (
        "many_problems",
        "each of its problems is mended in a spec of its own",
    ),
    ("not_utf8", "no text: an editor saves it as UTF-8"),
    ("too_deep", "an attack: nothing of it is meant"),
];

/// Most points of a space that are tried.
const MOST_POINTS: usize = 40;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../ci/data")
        .join(name)
}

/// Names of the specs in a folder, sorted.
fn stems(name: &str) -> Vec<String> {
    let entries = fs::read_dir(folder(name)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let yaml = paths.filter(|path| path.extension().is_some_and(|found| found == "yaml"));
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut stems: Vec<String> = yaml.map(stem).collect();
    stems.sort();
    stems
}

/// The parts of a text between backticks or double quotes.
fn quoted(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for mark in ['`', '"'] {
        parts.extend(text.split(mark).skip(1).step_by(2));
    }
    parts
}

/// Words in helps that stand for others.
const ANY: &[&str] = &["value", "name", "key", "condition"];

/// A quoted part with `…` for what stands for anything: some words, and every name of a form.
fn pattern(part: &str, is_form: bool) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), part);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let taken = word.max(first.len_utf8());
        let piece = &rest[..taken];
        let is_any = word > 0 && (is_form || ANY.contains(&piece));
        out += if is_any { "…" } else { piece };
        rest = &rest[taken..];
    }
    out
}

/// Whether what a help quotes stands in a text: one part of those that it gives to choose from.
fn stands_in(help: &str, text: &str) -> bool {
    let is_form = help.contains("in the form");
    let parts = quoted(help).into_iter();
    let parts: Vec<String> = parts.map(|part| pattern(part, is_form)).collect();
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

fn problems(file: &Path) -> Vec<Problem> {
    match spec::load(file) {
        Err(Error::Spec { problems, .. }) => problems,
        Err(error) => panic!("{}", error.report(false)),
        Ok(_) => panic!("{} is accepted", file.display()),
    }
}

#[test]
fn what_is_done_as_helps_say_is_accepted() {
    let mut wrong = Vec::new();
    for stem in stems("specs_rejected") {
        if WITHOUT.iter().any(|(without, _)| *without == stem) {
            continue;
        }
        let mended = folder("mended/specs_rejected").join(format!("{stem}.yaml"));
        let Ok(text) = fs::read_to_string(&mended) else {
            wrong.push(format!("{stem}: no {}", mended.display()));
            continue;
        };
        let planned = spec::load(&mended).and_then(|file| {
            // Of a tuning space some points have none.
            let mut points = file.points.iter().take(MOST_POINTS).map(plan::plan);
            let first = points.next().unwrap();
            let made = first.or_else(|error| points.find_map(Result::ok).ok_or(error));
            made.map_err(|error| file.place(error))
        });
        if let Err(error) = planned {
            wrong.push(format!("{stem}: {}", error.report(false)));
        }
        for problem in problems(&folder("specs_rejected").join(format!("{stem}.yaml"))) {
            let help = problem.help.unwrap_or_default();
            if !stands_in(&help, &text) {
                wrong.push(format!("{stem}: `{help}` is not done"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_mended_was_rejected() {
    let rejected = stems("specs_rejected");
    let mended = stems("mended/specs_rejected");
    assert!(
        mended.iter().all(|stem| rejected.contains(stem)),
        "{mended:?}"
    );
    for (stem, why) in WITHOUT {
        let is_one = rejected.iter().any(|known| known == stem);
        let is_mended = mended.iter().any(|known| known == stem);
        assert!(is_one && !is_mended && !why.is_empty(), "{stem}");
    }
}
