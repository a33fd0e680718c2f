//! What is shipped tells of all that is linked into it: `ci/made_of.sh` has notices made by
//! `about.toml`, and the scripts that pack run it. The notices themselves take a tool that only a
//! release has; this holds what they are made from, without a network.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use spdx::{Expression, Licensee, ParseMode};
use tilewright_ci::source_tree;

use super::licences::{Deny, Package, packages};
use super::lines_in;

/// A thing as `ci/made_of.sh` names it.
struct Thing {
    name: &'static str,
    /// How `cargo tree` is asked for it.
    options: &'static [&'static str],
    /// A crate that it has to be linked from.
    needs: &'static str,
}

const THINGS: [Thing; 4] = [
    Thing {
        name: "command",
        options: &["--package", "tilewright"],
        needs: "inkwell",
    },
    Thing {
        name: "command-without-llvm",
        options: &["--package", "tilewright", "--no-default-features"],
        needs: "clap_builder",
    },
    Thing {
        name: "module",
        options: &["--package", "tilewright-python"],
        needs: "pyo3",
    },
    Thing {
        name: "library",
        options: &["--package", "tilewright-capi"],
        needs: "pulp",
    },
];

/// The name and the version of each crate of others that a thing is linked from.
fn linked(thing: &Thing) -> BTreeSet<(String, String)> {
    let text = lines_in(".", "normal", thing.options);
    let foreign = text.lines().filter(|line| !line.contains("(/"));
    let crates = foreign.filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        Some((name.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    });
    crates.collect()
}

/// What `about.toml` says.
struct About(toml::Table);

impl About {
    fn read() -> About {
        let text = fs::read_to_string(source_tree::root().join("about.toml")).unwrap();
        About(toml::from_str(&text).unwrap())
    }

    /// The licences that a crate is taken under.
    fn accepted(&self) -> Vec<&str> {
        let list = self.0["accepted"].as_array().unwrap();
        list.iter().map(|one| one.as_str().unwrap()).collect()
    }

    /// The files that have the licence of a crate whose package has none.
    fn clarified(&self, name: &str) -> Vec<&str> {
        let files = self.0.get(name).map(|one| &one["clarify"]["files"]);
        let files = files.and_then(toml::Value::as_array).into_iter().flatten();
        files.map(|file| file["path"].as_str().unwrap()).collect()
    }

    /// What the notices of a package would lack.
    fn lacks(&self, package: &Package) -> Vec<String> {
        let Package { name, version, .. } = package;
        let mut lacks = Vec::new();
        let text = package.license.as_deref().unwrap_or_default();
        let accepted = self.accepted();
        let is_accepted = Expression::parse_mode(text, ParseMode::LAX).is_ok_and(|licences| {
            let known = |one: &&str| Licensee::parse(one).unwrap();
            let known: Vec<Licensee> = accepted.iter().map(known).collect();
            licences.evaluate(|wanted| known.iter().any(|one| one.satisfies(wanted)))
        });
        if !is_accepted {
            lacks.push(format!(
                "{name} {version} is linked and under `{text}`; about.toml accepts {}: leave it, \
                 or add a licence that wants no more than its text told",
                accepted.join(", ")
            ));
        }
        let folder = package.manifest_path.parent().unwrap();
        let named = self.clarified(name);
        let has_text = named.iter().any(|path| folder.join(path).is_file());
        if !has_text && !has_file(folder, &["licen", "copying", "unlicense"]) && !is_apache(text) {
            lacks.push(format!(
                "{name} {version} has no file of its licence: name one in about.toml, under \
                 [{name}.clarify]"
            ));
        }
        if has_file(folder, &["notice"]) {
            lacks.push(format!(
                "{name} {version} has a NOTICE, which cargo-about copies not: have \
                 ci/made_of.sh copy it"
            ));
        }
        lacks
    }
}

/// Whether a folder has a file whose name begins so, in capitals or not.
fn has_file(folder: &Path, beginnings: &[&str]) -> bool {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    let mut names = names.map(|name| name.to_string_lossy().to_lowercase());
    names.any(|name| beginnings.iter().any(|start| name.starts_with(start)))
}

/// Whether a licence can be the one whose text names no owner.
fn is_apache(licence: &str) -> bool {
    licence.contains("Apache-2.0") && !licence.contains(" AND ")
}

#[test]
fn all_that_is_linked_has_a_text_to_tell() {
    let about = About::read();
    let all = packages(Path::new(""));
    let mut found = BTreeSet::new();
    for thing in &THINGS {
        let linked = linked(thing);
        let names: BTreeSet<&str> = linked.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(thing.needs), "{}: {names:?}", thing.name);
        let is_in = |one: &&Package| linked.contains(&(one.name.clone(), one.version.clone()));
        let told: Vec<&Package> = all.iter().filter(is_in).collect();
        assert_eq!(told.len(), linked.len(), "{}", thing.name);
        found.extend(told.into_iter().flat_map(|package| about.lacks(package)));
    }
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_is_linked_is_under_licences_that_are_allowed() {
    let (about, deny) = (About::read(), Deny::read());
    let accepted = about.accepted();
    assert!(accepted.len() > 3, "{accepted:?}");
    let unlisted = |one: &&str| !deny.licenses.allow.iter().any(|known| known == one);
    let unlisted: Vec<&str> = accepted.into_iter().filter(unlisted).collect();
    assert!(unlisted.is_empty(), "{unlisted:?} is not in deny.toml");
}

#[test]
fn each_lack_of_a_notice_is_told() {
    let about = About::read();
    let all = packages(Path::new(""));
    let find = |name: &str| all.iter().find(|one| one.name == name).unwrap().clone();
    let whole = find("pulp");
    assert_eq!(about.lacks(&whole), Vec::<String>::new());
    let mut other = whole.clone();
    other.license = Some("MPL-2.0".to_owned());
    let told = about.lacks(&other);
    assert!(
        told.len() == 1 && told[0].contains("under `MPL-2.0`; about.toml accepts Apache-2.0, MIT"),
        "{told:?}"
    );
    let bare = find("pulp-wasm-simd-flag");
    let told = About(toml::toml! { accepted = ["MIT"] }).lacks(&bare);
    assert!(
        told.len() == 1 && told[0].contains("name one in about.toml"),
        "{told:?}"
    );
    let folder = tempfile::tempdir().unwrap();
    for name in ["LICENSE", "NOTICE.txt"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let mut noted = whole.clone();
    noted.manifest_path = folder.path().join("Cargo.toml");
    let told = about.lacks(&noted);
    assert!(
        told.len() == 1 && told[0].contains("has a NOTICE"),
        "{told:?}"
    );
}

fn script(path: &str) -> String {
    fs::read_to_string(source_tree::root().join(path)).unwrap()
}

/// The archives of `ci/release.sh` that have something built in them, and no notices.
fn without_notices(script: &str) -> Vec<&str> {
    let packed = script.match_indices("\npacked ");
    let unnoticed = packed.filter_map(|(at, _)| {
        let mut quoted = script[at..].split('"').skip(1).step_by(2);
        let (archive, folder) = (quoted.next()?, quoted.next()?);
        let made = format!("\nci/made_of.sh notices \"{folder}/licenses\" ");
        (!script[..at].contains(&made)).then_some(archive)
    });
    unnoticed.collect()
}

#[test]
fn every_archive_of_a_release_has_notices() {
    let script = script("ci/release.sh");
    assert_eq!(script.matches("\npacked ").count(), 3);
    assert_eq!(without_notices(&script), Vec::<&str>::new());
    for thing in ["command", "command-without-llvm", "library"] {
        let line = format!("/licenses\" {thing}\n");
        assert_eq!(script.matches(&line).count(), 1, "{thing}");
    }
    let forgets = script.replace("ci/made_of.sh notices", "true");
    assert_eq!(without_notices(&forgets).len(), 3);
}

#[test]
fn the_wheel_has_notices_and_lists_of_all_its_things() {
    let script = script("ci/python.sh");
    let (_, complete) = script.split_once("\ncomplete() {").unwrap();
    let (adds, _) = complete.split_once("/wheel\" pack ").unwrap();
    assert!(adds.contains("\n    add_notices \"$root\"\n"));
    for line in [
        "local notices=$1/tilewright/licenses ",
        "\n    ci/made_of.sh notices \"$notices\" command module library\n",
        "\n    ci/made_of.sh sbom \"$info/sboms\" command library\n",
        "/License-File: third-party\\/",
    ] {
        assert!(script.contains(line), "ci/python.sh has no {line}");
    }
}

/// `ci/made_of.sh` on notices with this text, of the C library.
fn checked(text: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("THIRD-PARTY-library.txt");
    fs::write(&file, text).unwrap();
    Command::new(source_tree::root().join("ci/made_of.sh"))
        .arg("check")
        .arg(file)
        .arg("library")
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .unwrap()
}

#[test]
fn a_crate_without_a_notice_stops_a_release() {
    let library = THINGS.iter().find(|thing| thing.name == "library").unwrap();
    let lines = linked(library).into_iter();
    let lines: Vec<String> = lines
        .map(|(name, version)| format!("{name} {version}: MIT\n"))
        .collect();
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let whole = checked(&lines.concat());
    assert!(whole.status.success(), "{}", told(&whole));
    let less = checked(&lines[1..].concat());
    let left_out = lines[0].replace(": MIT", "");
    let wanted = format!("has no notice of {left_out}");
    assert!(
        less.status.code() == Some(1) && told(&less).contains(&wanted),
        "{}",
        told(&less)
    );
    let unnamed = checked(&(lines.concat() + "Copyright (c) <year> <copyright holders>\n"));
    let wanted = "has a licence without its owner";
    assert!(
        unnamed.status.code() == Some(1) && told(&unnamed).contains(wanted),
        "{}",
        told(&unnamed)
    );
}
