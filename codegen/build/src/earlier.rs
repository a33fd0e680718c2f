//! What earlier runs of a build script wrote into `OUT_DIR` under other names.
//!
//! Cargo never empties that folder, and `include_kernels!` takes whatever lies there under its
//! name: an old bundle, after a folder was given another name. So the names that were written are
//! kept in a record there. Those that this process has not written lose their bundle and get a
//! source that does not compile and says which name is meant; so does the name that
//! `include_kernels!()` reads, where nothing was written under it.
//!
//! Invariant: no file is touched that the build step did not write itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::launchers;

/// The file of `OUT_DIR` that has the names, a line each.
const RECORD: &str = "tilewright-build.names";
/// The name that `include_kernels!()` reads.
const PLAIN: &str = "kernels";

/// The names that this process has written, by folder. A build script may write several.
static WRITTEN: Mutex<BTreeMap<PathBuf, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Whether this process has written that name into a folder.
pub(crate) fn is_written(folder: &Path, name: &str) -> bool {
    let all = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(folder).is_some_and(|names| names.contains(name))
}

/// Takes note that `name` was written into a folder by this process, and puts away what others
/// wrote there under names that this one has not written.
///
/// # Errors
/// [`Error::Io`] when a file cannot be written.
pub(crate) fn put_away(folder: &Path, name: &str) -> Result<(), Error> {
    let written = {
        let mut all = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let written = all.entry(folder.to_owned()).or_default();
        written.insert(name.to_owned());
        written.clone()
    };
    put_away_but(folder, &written)
}

fn put_away_but(folder: &Path, written: &BTreeSet<String>) -> Result<(), Error> {
    let record = folder.join(RECORD);
    let known = std::fs::read_to_string(&record).unwrap_or_default();
    let known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    let source = |name: &str| folder.join(format!("{name}.rs"));
    for name in known.difference(written) {
        let bundle = folder.join(format!("{name}.zip"));
        if bundle.exists() {
            std::fs::remove_file(&bundle).map_err(Error::io(&bundle))?;
        }
        write_refusal(&source(name), name, written)?;
    }
    if !known.contains(PLAIN) && !written.contains(PLAIN) {
        write_refusal(&source(PLAIN), PLAIN, written)?;
    }
    let all: Vec<&str> = known.union(written).map(String::as_str).collect();
    std::fs::write(&record, all.join("\n") + "\n").map_err(Error::io(&record))
}

/// Writes a source that does not compile, unless something else lies there.
fn write_refusal(path: &Path, name: &str, written: &BTreeSet<String>) -> Result<(), Error> {
    if !launchers::may_write(path) {
        return Ok(());
    }
    let text = refusal(name, written);
    std::fs::write(path, text).map_err(Error::io(path))
}

/// A source that says which names are meant.
fn refusal(name: &str, written: &BTreeSet<String>) -> String {
    let calls = written.iter().map(|name| match name.as_str() {
        PLAIN => "include_kernels!()".to_owned(),
        name => format!("include_kernels!({name:?})"),
    });
    let calls: Vec<String> = calls.collect();
    let told = format!(
        "the build script makes no kernels of the name {name:?}: say {}, or give that name to \
         Config::name in the build script",
        calls.join(" or ")
    );
    format!("{}\ncompile_error!({told:?});\n", launchers::NO_KERNELS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What a run of a build script that writes these names leaves.
    fn run(folder: &Path, names: &[&str]) {
        let mut written = BTreeSet::new();
        for name in names {
            launchers::write(&folder.join(format!("{name}.rs")), launchers::LIKE_A_SOURCE).unwrap();
            std::fs::write(folder.join(format!("{name}.zip")), "PK").unwrap();
            written.insert((*name).to_owned());
            put_away_but(folder, &written).unwrap();
        }
    }

    #[test]
    fn what_an_earlier_run_wrote_under_another_name_does_not_compile() {
        let out = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
        let is_there = |name: &str| out.path().join(name).exists();
        run(out.path(), &["kernels"]);
        assert_eq!(read("kernels.rs"), launchers::LIKE_A_SOURCE);
        run(out.path(), &["gpu"]);
        let told = read("kernels.rs");
        let says = r#"say include_kernels!(\"gpu\"), or give that name to Config::name"#;
        assert!(
            told.contains("compile_error!") && told.contains(says),
            "{told}"
        );
        assert!(!is_there("kernels.zip") && is_there("gpu.zip"));
        // Several names of one run stay, and all of them are told.
        run(out.path(), &["fast", "small"]);
        assert_eq!(read("fast.rs"), launchers::LIKE_A_SOURCE);
        assert_eq!(read("small.rs"), launchers::LIKE_A_SOURCE);
        let says = r#"say include_kernels!(\"fast\") or include_kernels!(\"small\"), or"#;
        assert!(read("gpu.rs").contains(says) && read("kernels.rs").contains(says));
        // And back.
        run(out.path(), &["kernels"]);
        assert_eq!(read("kernels.rs"), launchers::LIKE_A_SOURCE);
        assert!(is_there("kernels.zip") && !is_there("small.zip"));
        assert!(read("small.rs").contains("say include_kernels!(), or"));
    }

    #[test]
    fn a_name_that_was_never_written_says_which_is_meant() {
        let out = tempfile::tempdir().unwrap();
        run(out.path(), &["fast"]);
        let told = std::fs::read_to_string(out.path().join("kernels.rs")).unwrap();
        assert!(told.contains(r#"include_kernels!(\"fast\")"#), "{told}");
        // What somebody else wrote is left alone.
        let out = tempfile::tempdir().unwrap();
        std::fs::write(out.path().join("kernels.rs"), "pub const MINE: u32 = 1;").unwrap();
        run(out.path(), &["fast"]);
        let left = std::fs::read_to_string(out.path().join("kernels.rs")).unwrap();
        assert_eq!(left, "pub const MINE: u32 = 1;");
    }
}
