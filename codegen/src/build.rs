//! The `build.rs` entry point: specs of a folder become a bundle in `OUT_DIR`.
//!
//! ```no_run
//! // In `main` of build.rs.
//! tilewright_codegen::build::compile("kernels");
//! ```
//!
//! The service embeds the bundle with `static KERNELS: &[(&str, &[u8])] =
//! include!(concat!(env!("OUT_DIR"), "/kernels.rs"));`. LLVM runs inside the build script's own
//! process: what it cannot select ends the build with LLVM's own message.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::LineInfo;
use crate::error::{Error, Result};
use crate::pack::{self, Artifact};
use crate::spec;

/// Compiles every spec below `folder` (relative to the package) into the bundle `OUT_DIR/<folder's
/// name>` and writes `OUT_DIR/<folder's name>.rs`, an expression that embeds it. Problems become
/// `cargo::error=` lines and end the build; the script is run again when the folder changes.
pub fn compile(folder: impl AsRef<Path>) {
    let folder = folder.as_ref();
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-env-changed=TILEWRIGHT_PTXAS");
    let errors = match std::env::var_os("OUT_DIR") {
        None => vec![Error::Tool {
            tool: "build script",
            message: "OUT_DIR is not set: call this from build.rs".to_string(),
        }],
        Some(out) => match compile_into(folder, Path::new(&out)) {
            Ok(_) => return,
            Err(errors) => errors,
        },
    };
    for error in errors {
        for line in error.report(false).lines() {
            println!("cargo::error={line}");
        }
    }
    std::process::exit(1);
}

/// [`compile`] without a build script: the bundle's folder below `out`.
///
/// # Errors
/// Every spec's errors, in the order of the files.
pub fn compile_into(folder: &Path, out: &Path) -> std::result::Result<PathBuf, Vec<Error>> {
    let one = |error| vec![error];
    let name = folder
        .file_name()
        .map_or("kernels".into(), |name| name.to_string_lossy().into_owned());
    let mut artifacts = Vec::new();
    let mut errors = Vec::new();
    let files = spec_files(folder).map_err(one)?;
    if files.is_empty() {
        return Err(vec![Error::Tool {
            tool: "build script",
            message: format!(
                "{} holds no .yaml spec: add one or name another folder",
                folder.display()
            ),
        }]);
    }
    for file in files {
        match compile_file(&file) {
            Ok(made) => artifacts.extend(made),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let bundle = out.join(&name);
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle).map_err(|source| one(io(&bundle, source)))?;
    }
    pack::write(artifacts, pack::provenance(), &bundle).map_err(one)?;
    embed(&bundle, &out.join(format!("{name}.rs"))).map_err(one)?;
    Ok(bundle)
}

/// Spec files below a folder, sorted by path: those whose names end in `.yaml` or `.yml`, in small
/// or capital letters, and begin with no dot. Symbolic links are followed, and a folder that is
/// reached in two ways is read once.
///
/// # Errors
/// [`Error::Io`] when a folder cannot be read, or a link leads nowhere.
pub fn spec_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut seen = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let place = folder
            .canonicalize()
            .map_err(|source| io(&folder, source))?;
        if !seen.insert(place) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(|source| io(&folder, source))? {
            let entry = entry.map_err(|source| io(&folder, source))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            let named = is_spec_name(&path);
            match std::fs::metadata(&path) {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if named => files.push(path),
                Err(source) if named => return Err(io(&path, source)),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_spec_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|is| {
        let known = ["yaml", "yml"];
        known.iter().any(|known| is.eq_ignore_ascii_case(known))
    })
}

fn compile_file(file: &Path) -> Result<Vec<Artifact>> {
    let spec = spec::load(file)?;
    let made = spec.points.iter();
    made.map(|point| {
        crate::artifact(&spec, point, LineInfo::Beside).map_err(|error| spec.place(error))
    })
    .collect()
}

/// Writes the expression `&[("manifest.json", include_bytes!(…)), …]`.
fn embed(bundle: &Path, target: &Path) -> Result<()> {
    let mut files = Vec::new();
    let mut folders = vec![bundle.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|source| io(&folder, source))? {
            let path = entry.map_err(|source| io(&folder, source))?.path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let relative = file
            .strip_prefix(bundle)
            .unwrap_or(&file)
            .to_string_lossy()
            .replace('\\', "/");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "    ({relative:?}, include_bytes!({:?})),",
            file.to_string_lossy()
        );
    }
    text.push_str("]\n");
    std::fs::write(target, text).map_err(|source| io(target, source))
}

fn io(path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        path: path.display().to_string(),
        source,
    }
}
