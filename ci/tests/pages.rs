//! Every command and every block of code of every page does what the page says, in the order in
//! which a reader meets them, in a folder that looks like a clone: with `ptxas`, and without.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tilewright_ci::pages::{self, Fate, Page};
use tilewright_ci::{outside, source_tree};

/// What is written for its records, not to be followed.
const RECORDS: [&str; 2] = ["CHANGELOG.md", "ARCHITECTURE.md"];
/// What stands in the place of cargo: nothing is asked of a network, nothing is optimized, which
/// takes minutes, and a crate has the versions of an example of ours. What the clone links to is
/// compiled where it is, once for every clone: all of it, as for the tests, since packages by
/// themselves would have other features.
const CARGO: &str = r#"#!/bin/bash
set -euo pipefail
words=()
for word; do [ "$word" = --release ] || words+=("$word"); done
case "$PWD/" in
    "$PAGES_CLONE"/*)
        cd "$PAGES_ROOT${PWD#"$PAGES_CLONE"}"
        if [ "$1 ${2-} ${3-}" = "build --release --package" ]; then
            "$PAGES_CARGO" pkgid --offline "$4"
            words=(build --workspace --lib --bins --tests)
        fi
        ;;
    *)
        if [ -f Cargo.toml ] && [ ! -f Cargo.lock ]; then cp "$PAGES_LOCK" Cargo.lock; fi
        if [ "$1" = run ]; then sed -i "s|\"../tilewright/|\"$PAGES_ROOT/|" Cargo.toml; fi
        words=("$1" --config "$PAGES_PROFILE" "${words[@]:1}")
        ;;
esac
CARGO_TARGET_DIR=$PAGES_TARGET exec "$PAGES_CARGO" "${words[@]}"
"#;

/// The folder that tests build into.
fn target() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap().to_owned()
}

/// Every page, by its path.
fn all() -> BTreeMap<String, Page> {
    let files = source_tree::files().unwrap();
    let is_page = |path: &str| path.ends_with(".md") && !RECORDS.contains(&path);
    let pages = files.iter().filter(|file| is_page(&file.path));
    pages
        .map(|file| (file.path.clone(), pages::read(&file.text)))
        .collect()
}

/// A folder with a clone in it, as links, and the programs that pages call.
struct Place {
    folder: tempfile::TempDir,
    has_ptxas: bool,
}

impl Place {
    fn new(has_ptxas: bool) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let (clone, programs) = (folder.path().join("tilewright"), folder.path().join("bin"));
        let built = target().join("debug");
        fs::create_dir_all(folder.path().join("target")).unwrap();
        for name in ["debug", "release"] {
            symlink(&built, folder.path().join("target").join(name)).unwrap();
        }
        for path in [&clone, &programs, &folder.path().join("out")] {
            fs::create_dir(path).unwrap();
        }
        for entry in fs::read_dir(source_tree::root()).unwrap() {
            let entry = entry.unwrap();
            let left_out = ["target", ".git", ".tools"].map(Into::into);
            if !left_out.contains(&entry.file_name()) {
                symlink(entry.path(), clone.join(entry.file_name())).unwrap();
            }
        }
        // Another file, so that it finds no tools in folders above.
        fs::copy(built.join("tilewright"), programs.join("tilewright")).unwrap();
        let cargo = programs.join("cargo");
        fs::write(&cargo, CARGO).unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        Place { folder, has_ptxas }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program in the environment of a reader.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        // Of a machine without the assembler none is on the path either.
        let is_left = |folder: &Path| self.has_ptxas || !folder.join("ptxas").exists();
        let folders = std::env::split_paths(&path).filter(|folder| is_left(folder));
        let path = std::env::join_paths(folders)
            .unwrap()
            .into_string()
            .unwrap();
        command
            .current_dir(self.at("tilewright"))
            .env("PATH", format!("{}:{path}", self.at("bin").display()))
            .env("CARGO_TARGET_DIR", self.at("target"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("PAGES_CARGO", outside::cargo())
            .env("PAGES_PROFILE", outside::profile(&target()).unwrap())
            .env("PAGES_TARGET", target())
            .env("PAGES_ROOT", source_tree::root())
            .env("PAGES_CLONE", self.at("tilewright"))
            .env(
                "PAGES_LOCK",
                source_tree::root().join("runtime/examples/rust/Cargo.lock"),
            )
            .stdin(Stdio::null())
            .env_remove("CUDA_HOME")
            .env_remove("TILEWRIGHT");
        let own = source_tree::root().join(".tools/bin/ptxas");
        match (self.has_ptxas, std::env::var_os("TILEWRIGHT_PTXAS")) {
            (true, None) => command.env("TILEWRIGHT_PTXAS", own),
            (true, Some(_)) => &mut command,
            (false, _) => command.env_remove("TILEWRIGHT_PTXAS"),
        };
        if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
            // As the examples have it, with which what is compiled is shared.
            command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        }
        command
    }

    /// Follows a page to its end. What is wrong with it, if anything.
    fn follow(&self, path: &str, page: &Page) -> Vec<String> {
        let script = self.at("out").join("script");
        fs::write(&script, self.script(page)).unwrap();
        let log = self.at("out").join("log");
        let told = fs::File::create(&log).unwrap();
        let mut shell = self.command("bash");
        let shell = shell.arg(&script).stderr(told.try_clone().unwrap());
        let status = shell.stdout(told).status().unwrap();
        let mut wrong = Vec::new();
        if !status.success() {
            let last = fs::read_to_string(self.at("out").join("last")).unwrap();
            let log = fs::read_to_string(&log).unwrap();
            wrong.push(format!("{path}:{last}: {status}\n{log}"));
            return wrong;
        }
        for block in &page.blocks {
            let Fate::Shown(all) = &block.fate else {
                continue;
            };
            for (number, shown) in all.iter().enumerate() {
                let name = format!("{}-{number}", block.line);
                let printed = fs::read_to_string(self.at("out").join(name)).unwrap();
                if !pages::is_shown(&printed, &shown.printed) {
                    let command = &shown.command;
                    wrong.push(format!(
                        "{path}:{}: {command} prints\n{printed}",
                        block.line
                    ));
                }
            }
        }
        wrong
    }

    /// What a reader types: each section begins in the clone.
    fn script(&self, page: &Page) -> String {
        let out = self.at("out");
        let mut script = String::from("set -euo pipefail\n");
        let mut section = None;
        for block in &page.blocks {
            if section.replace(block.section) != Some(block.section) || block.folder.is_some() {
                let folder = block.folder.as_deref().unwrap_or(".");
                let clone = self.at("tilewright");
                writeln!(script, "cd '{}/{folder}'", clone.display()).unwrap();
            }
            writeln!(script, "echo {} >'{}/last'", block.line, out.display()).unwrap();
            match &block.fate {
                Fate::Typed => script += &block.text,
                Fate::Shown(all) => {
                    for (number, shown) in all.iter().enumerate() {
                        let to = format!("{}/{}-{number}", out.display(), block.line);
                        // A command's verdict is what it prints.
                        writeln!(script, "( {} ) >'{to}' || true", shown.command).unwrap();
                    }
                }
                Fate::Written(name) => {
                    writeln!(script, "mkdir -p \"$(dirname '{name}')\"").unwrap();
                    writeln!(script, "cat >'{name}' <<'END_OF_BLOCK'").unwrap();
                    script += &block.text;
                    script += "END_OF_BLOCK\n";
                }
                Fate::Picture | Fate::Elsewhere(_) | Fate::NotRun(_) | Fate::Wrong(_) => {}
            }
        }
        script
    }
}

/// Pages of compilers and crates, which say the same with ptxas and without.
const OF_COMPILERS: [&str; 3] = ["runtime/capi/", "codegen/build/", "runtime/examples/"];

fn followed(has_ptxas: bool) {
    let mut wrong = Vec::new();
    for (path, page) in &all() {
        if !has_ptxas && OF_COMPILERS.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let is_followed =
            |fate: &Fate| matches!(fate, Fate::Typed | Fate::Shown(_) | Fate::Written(_));
        if page.blocks.iter().any(|block| is_followed(&block.fate)) {
            wrong.extend(Place::new(has_ptxas).follow(path, page));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_are_followed_with_ptxas() {
    followed(true);
}

#[test]
fn pages_are_followed_without_ptxas() {
    followed(false);
}

/// No block is left out without a reason; who is said to run one speaks of its page.
#[test]
fn every_block_has_its_fate() {
    let mut wrong = Vec::new();
    for (path, page) in &all() {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        for block in &page.blocks {
            let problem = match &block.fate {
                Fate::Wrong(what) => what.clone(),
                Fate::Elsewhere(test) => {
                    let text = fs::read_to_string(source_tree::root().join(test));
                    match text {
                        Ok(text) if text.contains(name) => continue,
                        Ok(_) => format!("{test} does not speak of {name}"),
                        Err(error) => format!("{test}: {error}"),
                    }
                }
                _ => continue,
            };
            wrong.push(format!("{path}:{}: {problem}", block.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Commands within lines are ones that there are, with flags that they have; whole ones, which a
/// reader would type, stand in blocks.
#[test]
fn commands_within_lines_are_those_that_there_are() {
    let place = Place::new(true);
    let mut helps: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (path, page) in &all() {
        for (line, command) in &page.commands {
            let told = pages::told(command);
            if told.is_for_typing {
                wrong.push(format!("{path}:{line}: `{command}` belongs into a block"));
                continue;
            }
            let help = helps.entry(told.subcommands.clone()).or_insert_with(|| {
                let mut help = place.command("tilewright");
                let output = help.args(&told.subcommands).arg("--help").output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                output.status.success().then_some(text)
            });
            let Some(help) = help else {
                wrong.push(format!("{path}:{line}: there is no `{command}`"));
                continue;
            };
            for flag in told.flags {
                let mut words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                if !words.any(|word| word == flag) {
                    wrong.push(format!("{path}:{line}: `{command}`: there is no {flag}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
