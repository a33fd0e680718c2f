//! Cargo on crates outside of the workspace, as users' crates are.
//!
//! In: the tests' target folder. Out: how cargo is called so that it takes from there what the
//! workspace's own build left: crates are shared where their features are the same and the profile
//! is, also of what build scripts link. The crates themselves say nothing of it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::source_tree;

/// The cargo that runs the tests.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// What cargo's option `--config` takes for the workspace's profile `dev`: a file that is written
/// below a folder, whole at any time.
///
/// # Errors
/// Those of reading `Cargo.toml` and of writing the file.
pub fn profile(folder: &Path) -> io::Result<PathBuf> {
    let manifest = fs::read_to_string(source_tree::root().join("Cargo.toml"))?;
    let path = folder.join("outside.toml");
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, of_dev(&manifest).as_bytes())?;
    file.persist(&path)?;
    Ok(path)
}

/// The tables `profile.dev` of a manifest, with the same for build scripts. Packages of ours, which
/// have other features there than here and are compiled anew whatever their profile is, are not
/// optimized, so that they compile fast. A variable that says how much is debugged stays in force,
/// which a key of a file would not let it.
fn of_dev(manifest: &str) -> String {
    let named = std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_some();
    let mut is_dev = false;
    let mut made = String::new();
    let mut of_scripts = String::from("[profile.dev.build-override]\n");
    let mut table = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_dev = line.starts_with("[profile.dev");
            table = line;
        }
        let anew = line.starts_with("tilewright-") && !line.contains("opt-level = 0");
        if !is_dev || anew || (named && line.starts_with("debug")) {
            continue;
        }
        let line = match table {
            "[profile.dev]" if line.starts_with("opt-level") => "opt-level = 0",
            _ => line,
        };
        made.extend([line, "\n"]);
        // Cargo knows no `lto` of build scripts.
        if table == "[profile.dev]" && line != table && !line.starts_with("lto") {
            of_scripts.extend([line, "\n"]);
        }
    }
    made + &of_scripts
}

#[cfg(test)]
mod tests {
    use super::of_dev;

    #[test]
    fn scripts_have_the_profile_of_the_rest() {
        let manifest = "[package]\nname = \"x\"\n\n[profile.dev]\nopt-level = 1\nlto = \"off\"\n\n\
                        [profile.dev.package]\na = { opt-level = 3 }\n\
                        tilewright-b = { opt-level = 3, overflow-checks = true }\n\n\
                        [profile.release]\nlto = true\n";
        let made = of_dev(manifest);
        for table in ["[profile.dev]", "[profile.dev.build-override]"] {
            assert!(
                made.contains(&format!("{table}\nopt-level = 0\n")),
                "{made}"
            );
        }
        assert!(made.contains("a = { opt-level = 3 }") && !made.contains("lto = true"));
        assert_eq!(made.matches("lto = \"off\"").count(), 1, "{made}");
        assert!(!made.contains("tilewright-b"));
    }
}
