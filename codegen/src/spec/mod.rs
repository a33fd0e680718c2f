//! Specs: YAML in, a checked model and its tuning space out.
//!
//! Comes in: text of any kind. Goes out: a [`SpecFile`], or every problem at once, each with its
//! place, the actual and the allowed value and the nearest legal one. One table of keys drives the
//! checks, the tuning paths and the JSON Schema.
//!
//! - `words`: the words of specs, without a file
//! - `yaml`: text to a tree that knows its places
//! - `kernel`: what follows from what a kernel computes
//! - `keys`: the table of keys, by which files are read, checked and printed
//! - `space`: the points of a file
//! - `docs`: schema and reference page
//!
//! ```
//! let text = r#"
//! kernel: copy
//! name: copy_plain
//! arch: sm_80
//! operands:
//!   s: { dtype: f32, layout: "(m,n):(lds,1)" }
//!   d: { dtype: f32, layout: "(m,n):(ldd,1)" }
//! cta_tile: "(32,128)"
//! tune:
//!   cta_tile: ["(32,128)", "(64,64)"]
//! "#;
//! let file = tilewright_codegen::spec::parse("specs/copy/plain.yaml", text)?;
//! assert_eq!(file.spec.schedule.cta_tile, [32, 128]);
//! assert!(file.points[1].id.starts_with("copy_plain@64x64-"));
//! # Ok::<(), tilewright_codegen::error::Error>(())
//! ```

mod words;
mod yaml;
mod kernel;
pub mod keys;
pub mod space;
mod docs;
#[cfg(test)]
mod tests;

use std::io::Read as _;
use std::path::Path;

pub use docs::reference::reference;
pub use docs::schema::schema;
pub use kernel::forms::{FORMS, FormFacts, FormKind, TypeRule};
pub use kernel::product_modes::{LEAST_BLOCK, Planes, ProductModes};
pub use kernel::resolved::{Computes, TILE_MODES};
pub(crate) use kernel::shape::default_formula;
pub(crate) use kernel::tile::positional;
pub use keys::model::{Point, Spec};
pub use keys::names::expected_name;
pub(crate) use keys::phrases::{Names, Phrase};
pub(crate) use keys::strides::WORKSPACE;
pub use space::tune::MAX_POINTS;
pub use yaml::tree::{MAX_DEPTH, MAX_NODES, MAX_SCALAR_BYTES, MAX_SIZE_BYTES};

pub use tilewright_formula::identity::default_words;

use crate::error::{Error, Problem, Result};
use crate::spec::yaml::problems::{Problems, span_of};

/// A checked spec file.
#[derive(Clone, Debug)]
pub struct SpecFile {
    /// Path as the user gave it.
    pub path: String,
    /// Text of the file.
    pub text: String,
    /// The spec as written, without its tuning.
    pub spec: Spec,
    /// The tuning space in the order of the file, the last path fastest; the spec itself when
    /// nothing is tuned.
    pub points: Vec<Point>,
    /// What is legal in it and may not be meant.
    pub warnings: Vec<Problem>,
}

impl SpecFile {
    /// The report of what may not be meant, with source lines; empty where there is nothing.
    pub fn warned(&self, color: bool) -> String {
        crate::error::warned(&self.path, &self.text, &self.warnings, color)
    }

    /// The point of that id, of the id's part after `@`, or of its hash.
    pub fn point(&self, id: &str) -> Option<&Point> {
        let is = |point: &&Point| {
            let suffix = point.id.split_once('@').map_or("", |(_, suffix)| suffix);
            let hash = suffix.rsplit_once('-').map_or("", |(_, hash)| hash);
            [point.id.as_str(), suffix, hash].contains(&id)
        };
        self.points.iter().find(is)
    }
}

/// Reads and checks the spec in a file.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, else as [`parse`].
pub fn load(path: &Path) -> Result<SpecFile> {
    let name = path.display().to_string();
    let io = |source| Error::Io {
        path: name.clone(),
        source,
    };
    // What is no file may have no end, or wait for a writer.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        let message =
            "no regular file: a spec is read from a file, not from a folder, pipe or device";
        return Err(io(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            message,
        )));
    }
    let most = MAX_SIZE_BYTES as u64;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.starts_with(b"PK\x03\x04") {
        let mut problems = Problems::default();
        let message = "it is a zip file, as bundles are, and no spec";
        let help =
            format!("`tilewright verify {name}` runs a bundle, `tilewright bundle show` lists it");
        problems.add("not-utf8", &span_of("", 0..0), message, help);
        return Err(refusal(&name, "", problems));
    }
    if bytes.len() > MAX_SIZE_BYTES {
        let mut problems = Problems::default();
        let message = format!("more than the {MAX_SIZE_BYTES} bytes that are accepted");
        problems.add(
            "too-large",
            &span_of("", 0..0),
            message,
            "split it into several specs",
        );
        return Err(refusal(&name, "", problems));
    }
    match String::from_utf8(bytes) {
        Ok(text) => parse(&name, &text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let mut problems = Problems::default();
            let message = format!("byte {at} is no UTF-8");
            problems.add(
                "not-utf8",
                &span_of(&text, at..at + 3),
                message,
                "save the file as UTF-8",
            );
            Err(refusal(&name, &text, problems))
        }
    }
}

/// Checks the spec in a text. `path` decides what its name must be and is quoted in reports; it is
/// not opened.
///
/// # Errors
/// [`Error::Spec`] with every problem.
pub fn parse(path: &str, text: &str) -> Result<SpecFile> {
    let mut problems = Problems::default();
    let Some(tree) = yaml::tree::read(text, &mut problems) else {
        return Err(refusal(path, text, problems));
    };
    let tree = keys::slips::quoted(tree, text, &mut problems);
    let (spec, mut problems) = keys::build::build(path, text, &tree, problems);
    let tuning = space::tune::Tuning {
        path,
        text,
        tree: &tree,
        shape: keys::compute::shape(&tree, text, &mut Problems::default()),
        base: problems.list().to_vec(),
    };
    let points = tuning.points(spec.as_ref(), &mut problems)?;
    match spec {
        Some(spec) if problems.is_empty() => Ok(SpecFile {
            path: path.into(),
            text: text.into(),
            spec,
            points,
            warnings: problems.warnings(),
        }),
        _ => Err(refusal(path, text, problems)),
    }
}

fn refusal(path: &str, text: &str, problems: Problems) -> Error {
    Error::Spec {
        path: path.into(),
        source_text: text.into(),
        problems: problems.into_sorted(),
    }
}
