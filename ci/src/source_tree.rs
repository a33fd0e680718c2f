//! The files of the repository, as text.
//!
//! In: the folder this crate was built in. Out: every text file that people write, with its path
//! relative to the root and `/` between folders. Build outputs, test data and measured rows are not
//! among them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders nobody writes by hand, relative to the root.
const NOT_WRITTEN_BY_HAND: [&str; 3] = ["target", "ci/data", "bench/results"];

/// The hidden folders of the root that are part of the repository.
const HIDDEN_SOURCES: [&str; 3] = [".cargo", ".ci", ".github"];

/// The endings of the files that house style is about.
const ENDINGS: [&str; 8] = ["rs", "tera", "sh", "toml", "md", "yaml", "yml", "py"];

/// One file of the repository.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path relative to the root, with `/` between folders.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl SourceFile {
    /// A file with this path and text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> SourceFile {
        SourceFile {
            path: path.into(),
            text: text.into(),
        }
    }

    /// The name without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether the path ends in `.ending`.
    pub fn ends_in(&self, ending: &str) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, end)| end == ending)
    }

    /// Whether the file holds nothing but tests or benches.
    pub fn is_test(&self) -> bool {
        let folders = ["tests/", "benches/"];
        self.name() == "tests.rs"
            || folders.iter().any(|folder| {
                self.path.starts_with(folder) || self.path.contains(&format!("/{folder}"))
            })
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every file that house style is about, in the order of their paths.
///
/// # Errors
///
/// When a folder or a file cannot be read, or a file is not UTF-8.
pub fn files() -> io::Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    collect(&root(), "", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<SourceFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if is_skipped(&path) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), found)?;
        } else if kind.is_file() && ENDINGS.iter().any(|end| path.ends_with(&format!(".{end}"))) {
            let text = fs::read_to_string(entry.path())
                .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
            found.push(SourceFile { path, text });
        }
    }
    Ok(())
}

fn is_skipped(path: &str) -> bool {
    let hidden = path.starts_with('.') && !path.contains('/') && !HIDDEN_SOURCES.contains(&path);
    hidden
        || NOT_WRITTEN_BY_HAND.contains(&path)
        || path.starts_with("target-")
        || path.ends_with("/target")
}
