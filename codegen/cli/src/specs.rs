//! Specs named on the command line: found, loaded, and their points chosen.
//!
//! In: paths and the choice of points. Out: checked spec files, or a [`Failure`] that says whose
//! fault it is. A folder stands for every spec in it and below it, but for `atoms` folders, which
//! hold instruction records.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tilewright_build::spec_files;
use tilewright_codegen::error::Error;
use tilewright_codegen::plan;
use tilewright_codegen::plan::data::model::Plan;
use tilewright_codegen::spec::{self, Point, SpecFile};

use crate::args;
use crate::outcome::Failure;
use crate::terminal;

/// The folder beside the families that holds no specs.
const ATOMS: &str = "atoms";

/// The spec files that `paths` name, each folder's in the order of their names.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let mut files = spec_files(path).map_err(Failure::could_not_run)?;
        files.retain(|file| !lies_in_atoms(file.strip_prefix(path).unwrap_or(file)));
        if files.is_empty() {
            let reason = format!("{}: no *.yaml in this folder", path.display());
            return Err(Failure::CouldNotRun(reason));
        }
        found.append(&mut files);
    }
    Ok(found)
}

/// Whether a file lies in a folder of instruction records.
fn lies_in_atoms(file: &Path) -> bool {
    file.parent()
        .is_some_and(|folders| folders.iter().any(|folder| folder == ATOMS))
}

/// Reads and checks one spec.
pub fn load(path: &Path) -> Result<SpecFile, Failure> {
    spec::load(path).map_err(failure)
}

/// The report of what a spec says and may not mean, where there is something.
pub fn warned(file: &SpecFile) -> Option<String> {
    (!file.warnings.is_empty()).then(|| file.warned(true))
}

/// Whose fault an error of the compiler is. The report keeps its colours; they are dropped where
/// stderr is no terminal.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Spec { .. } | Error::Plan { .. } | Error::Unsupported { .. } => {
            Failure::Rejected(error.report(true))
        }
        Error::Io { .. } | Error::Tool { .. } => Failure::could_not_run(error),
        Error::Bug { .. } | Error::Algebra(_) => Failure::Bug(error.report(true)),
    }
}

/// Plans a point of a file. Its refusal has its places in the file; a bug names file and point.
pub fn planned(file: &SpecFile, point: &Point) -> Result<Plan, Failure> {
    plan::plan(point).map_err(|error| failure_at(file, point, error))
}

/// The failure of a point of a file.
pub fn failure_at(file: &SpecFile, point: &Point, error: Error) -> Failure {
    match failure(file.place(error)) {
        Failure::Bug(report) => Failure::Bug(format!("{}: {}: {report}", file.path, point.id)),
        other => other,
    }
}

/// Points that have no plan, by the first limit that they violate: the error of the first of each
/// with its places in the file, and how many there are.
pub fn by_reason(file: &SpecFile, refused: Vec<Error>) -> Vec<(Error, usize)> {
    let mut reasons: Vec<(&str, Error, usize)> = Vec::new();
    for error in refused {
        let code = match &error {
            Error::Plan { violations, .. } => violations.first().map_or("", |first| first.code),
            _ => "",
        };
        match reasons.iter_mut().find(|(known, ..)| *known == code) {
            Some((_, _, count)) => *count += 1,
            None => reasons.push((code, error, 1)),
        }
    }
    let placed = reasons.into_iter();
    placed
        .map(|(_, error, count)| (file.place(error), count))
        .collect()
}

/// The report of an error that so many points come to.
pub fn report_of(error: &Error, count: usize) -> String {
    with_count(error.report(true), count)
}

/// The report of a reason that so many points have.
pub fn with_count(mut report: String, count: usize) -> String {
    if count > 1 {
        let others = count - 1;
        let points = if others == 1 { "point" } else { "points" };
        report.push_str(&format!(
            "  and {others} more {points} for the first of these reasons: --dropped lists them\n"
        ));
    }
    report
}

/// A line on a point that has no kernel: `dropped ID (CODE): every violated limit`.
pub fn dropped_line(point: &str, error: &Error) -> String {
    let code = match error {
        Error::Plan { .. } => error.codes().join(", "),
        _ => "bug".to_owned(),
    };
    let limits = error.to_string().replace('\n', " ");
    format!("dropped {point} ({code}): {limits}")
}

/// Points that two of the files have: each with the paths of both.
pub fn twice(files: &[SpecFile]) -> Vec<String> {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let mut pairs: Vec<(&str, &str, &str)> = Vec::new();
    for file in files {
        for point in &file.points {
            let Some(before) = first.insert(&point.id, &file.path) else {
                continue;
            };
            if !pairs
                .iter()
                .any(|(one, other, _)| (*one, *other) == (before, &file.path))
            {
                pairs.push((before, &file.path, &point.id));
            }
        }
    }
    let told = |(one, other, id): (&str, &str, &str)| {
        format!("error: {one} and {other} hold one spec, {id}: name it once")
    };
    pairs.into_iter().map(told).collect()
}

/// The points of a spec that were chosen: the first one that has a kernel unless others were, or
/// all that have one. What is left out on the way is said.
pub fn points<'f>(file: &'f SpecFile, choice: &args::Points) -> Result<Vec<&'f Point>, Failure> {
    if let Some(id) = &choice.point {
        let point = file.point(id).ok_or_else(|| unknown_point(file, id))?;
        return Ok(vec![point]);
    }
    if let [alone] = file.points.as_slice() {
        return Ok(vec![alone]);
    }
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for point in &file.points {
        match plan::plan(point) {
            Err(error @ Error::Plan { .. }) => refused.push((point, error)),
            // What else is wrong with it is said where it is shown.
            Ok(_) | Err(_) => found.push(point),
        }
        if !choice.all && !found.is_empty() {
            break;
        }
    }
    if found.is_empty() {
        let first = refused.into_iter().next();
        return first.map_or(Ok(found), |(point, error)| {
            Err(failure_at(file, point, error))
        });
    }
    for (_, error) in &refused {
        // It begins with the point's id.
        let text = error.to_string();
        let why = text.lines().next().unwrap_or_default();
        terminal::complain("note", &format!("left out {why}"));
    }
    Ok(found)
}

fn unknown_point(file: &SpecFile, id: &str) -> Failure {
    let ids: String = file
        .points
        .iter()
        .map(|point| match plan::plan(point) {
            Ok(_) => format!("  {}\n", point.id),
            Err(error) => format!("  {} (no kernel: {})\n", point.id, error.codes().join(", ")),
        })
        .collect();
    Failure::CouldNotRun(format!(
        "{} has no point `{id}`; it has:\n{}",
        file.path,
        ids.trim_end()
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    #[test]
    fn a_folder_stands_for_its_specs_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for family in ["gemm", "copy", "atoms"] {
            fs::create_dir(at(family)).unwrap();
        }
        for file in [
            "gemm/b.yaml",
            "gemm/a.yml",
            "gemm/notes.md",
            "copy/c.yaml",
            "atoms/d.yaml",
        ] {
            fs::write(at(file), "").unwrap();
        }
        let found = find(&[folder.path().to_path_buf()]).unwrap();
        assert_eq!(
            found,
            [at("copy/c.yaml"), at("gemm/a.yml"), at("gemm/b.yaml")]
        );
        assert_eq!(find(&[at("nowhere.yaml")]).unwrap(), [at("nowhere.yaml")]);
        assert_eq!(find(&[at("atoms")]).unwrap(), [at("atoms/d.yaml")]);
        fs::create_dir(at("empty")).unwrap();
        assert!(matches!(find(&[at("empty")]), Err(Failure::CouldNotRun(_))));
    }
}
