//! Pages that tests make of what the generator says, and the data that they are made of.

use std::fs;
use std::path::{Path, PathBuf};

use tilewright_codegen::plan;
use tilewright_codegen::spec::{self, SpecFile};

/// The repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files with one of these endings in a folder and in those below it, sorted.
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(files(&path, endings));
        } else if path
            .extension()
            .is_some_and(|found| endings.contains(&found.to_str().unwrap()))
        {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// A spec with all that `tilewright check` warns of.
pub fn warned(name: &str, text: &str) -> SpecFile {
    let file = spec::parse(name, text);
    let mut file = file.unwrap_or_else(|error| panic!("{}", error.report(false)));
    let points = file.points.iter();
    let plans = points.filter_map(|point| Some((point, plan::plan(point).ok()?)));
    let plans: Vec<_> = plans.collect();
    let doubts = plan::doubts(&file, &plans).unwrap();
    file.warnings.extend(doubts);
    file
}

/// Compares a page of the repository with what it is made of; `BLESS=1` writes it.
#[track_caller]
pub fn assert_kept(path: &str, page: &str) {
    let file = repository().join(path);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, page).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == page, "{path} is another: write it with BLESS=1");
}
