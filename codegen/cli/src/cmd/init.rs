//! `init`: a first spec with comments, of a product or of rows.
//!
//! In: a word for what is computed, element types, an architecture. Out: a spec that has a kernel:
//! it is planned before it is written, and what has none is told with the plan's own words. Where
//! no architecture is asked for, it is the oldest of those from sm_80 on that has one.

mod text;

use std::io::Write as _;
use std::path::Path;

use tilewright_codegen::{plan, spec};

use crate::args::init::{Arch, Init};
use crate::outcome::{Failure, Outcome, Verdict};
use crate::specs;
use crate::terminal::{self, GOOD};

/// What a spec is called that is written nowhere.
const UNNAMED: &str = "first.yaml";

/// Writes the spec, or prints it.
pub fn run(args: &Init) -> Outcome {
    let path = args.output.as_deref().unwrap_or(Path::new(UNNAMED));
    let text = match args.arch {
        Some(arch) => planned(args, arch, path)?,
        None => planned(args, Arch::Sm80, path).or_else(|refused| {
            let newer = planned(args, Arch::Sm90a, path);
            newer.map_err(|_| refused)
        })?,
    };
    let Some(path) = &args.output else {
        terminal::print(&text)?;
        return Ok(Verdict::Good);
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::io(folder.display(), &error))?;
    }
    let mut created = std::fs::File::create_new(path).map_err(|error| {
        Failure::CouldNotRun(format!(
            "{}: {error}: name another file, or remove that one",
            path.display()
        ))
    })?;
    let written = created.write_all(text.as_bytes());
    written.map_err(|error| Failure::io(path.display(), &error))?;
    let (good, shown) = (terminal::paint(GOOD, "good"), path.display());
    terminal::print_line(&format!("{good}: {shown}"))?;
    terminal::diagnose(&format!(
        "next: tilewright build {shown} -o kernels.zip && tilewright verify kernels.zip"
    ));
    Ok(Verdict::Good)
}

/// The spec for an architecture, which has a plan there.
fn planned(args: &Init, arch: Arch, path: &Path) -> Result<String, Failure> {
    let text = text::spec(args, arch, path).map_err(Failure::CouldNotRun)?;
    let file = spec::parse(&path.display().to_string(), &text).map_err(specs::failure)?;
    for point in &file.points {
        plan::plan(point).map_err(|error| specs::failure_at(&file, point, error))?;
    }
    Ok(text)
}
