//! What is depended on comes from where `deny.toml` says, under licences that it allows; so do the
//! examples, which are no part of the workspace. `cargo deny`, which a release runs, reads the same
//! lists and wants a network for its advisories; this wants none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};
use tilewright_ci::source_tree;

/// The parts of `deny.toml` that are about licences and sources. A key that is not known here could
/// change what is allowed.
#[derive(Deserialize)]
pub(super) struct Deny {
    pub(super) licenses: Licences,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Licences {
    pub(super) allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

/// Licences that one package may have besides.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
    allow_registry: Vec<String>,
}

/// A package as `cargo metadata` tells it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    /// Where it is from; none of a folder.
    source: Option<String>,
    pub(super) manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// What a lock file holds: every package of every platform.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

impl Deny {
    pub(super) fn read() -> Deny {
        let text = fs::read_to_string(source_tree::root().join("deny.toml")).unwrap();
        let deny: Deny = toml::from_str(&text).unwrap_or_else(|error| {
            panic!("deny.toml: {error}: teach ci/tests/dependencies/licences.rs what it says")
        });
        let words = [&deny.sources.unknown_registry, &deny.sources.unknown_git];
        assert_eq!(words, ["deny"; 2], "deny.toml takes packages from anywhere");
        deny
    }

    /// Whether a package may be under these licences.
    fn allows(&self, name: &str, licences: &Expression) -> bool {
        let own = self
            .licenses
            .exceptions
            .iter()
            .filter(|one| one.name == name);
        let own = own.flat_map(|one| &one.allow);
        let all: Vec<Licensee> = (self.licenses.allow.iter().chain(own))
            .map(|text| Licensee::parse(text).unwrap())
            .collect();
        licences.evaluate(|wanted| all.iter().any(|licensee| licensee.satisfies(wanted)))
    }

    fn knows(&self, source: &str) -> bool {
        let registry = source.strip_prefix("registry+");
        registry.is_some_and(|url| self.sources.allow_registry.iter().any(|known| known == url))
    }

    /// What is wrong with the licence of a package.
    fn of_licence(&self, package: &Package) -> Option<String> {
        let Package { name, version, .. } = package;
        let Some(text) = &package.license else {
            return Some(format!(
                "{name} {version} names no licence: read its files, and leave it or give it \
                 an exception in deny.toml"
            ));
        };
        match Expression::parse_mode(text, ParseMode::LAX) {
            Ok(licences) if self.allows(name, &licences) => None,
            Ok(_) => Some(format!(
                "{name} {version} is under `{text}`; deny.toml allows {}: leave it, or add to the \
                 list what may be used",
                self.licenses.allow.join(", ")
            )),
            Err(error) => Some(format!(
                "{name} {version} is under `{text}`, which is no licence: {}",
                error.reason
            )),
        }
    }

    /// What is wrong with the source of a package.
    fn of_source(&self, from: &str, package: &Locked, own: &BTreeSet<String>) -> Option<String> {
        let Locked {
            name,
            version,
            source,
        } = package;
        let known = self.sources.allow_registry.join(", ");
        let problem = match source {
            Some(source) if self.knows(source) => return None,
            None if own.contains(name) => return None,
            Some(source) => format!("is from {source}"),
            None => "is from a folder that is not of this repository".to_owned(),
        };
        Some(format!(
            "{from}: {name} {version} {problem}; {known} and this repository are allowed"
        ))
    }
}

/// Packages that a lock file has from more than one place.
fn twice(from: &str, packages: &[Locked]) -> Vec<String> {
    let mut places: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for one in packages {
        let place = one.source.as_deref().unwrap_or("a folder");
        let key = (one.name.as_str(), one.version.as_str());
        places.entry(key).or_default().insert(place);
    }
    let many = places.iter().filter(|(_, places)| places.len() > 1);
    many.map(|((name, version), places)| {
        let places: Vec<&str> = places.iter().copied().collect();
        format!(
            "{from}: {name} {version} is from {}: one is enough",
            places.join(" and from ")
        )
    })
    .collect()
}

/// Folders with a lock file of their own, of the repository's root first: workspace, examples and
/// fuzz targets.
fn locked_folders() -> Vec<PathBuf> {
    let files = source_tree::files().unwrap();
    let manifests = files.iter().filter(|file| file.name() == "Cargo.toml");
    let roots = manifests.filter(|file| file.text.lines().any(|line| line == "[workspace]"));
    let mut folders: Vec<PathBuf> = roots
        .map(|file| Path::new(&file.path).parent().unwrap().to_owned())
        .collect();
    folders.sort();
    folders
}

/// Packages of a folder for this machine's platform, whatever the features; they are all there
/// where the folder was built.
pub(super) fn packages(folder: &Path) -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = Command::new(rustc).arg("-vV").output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    let platform = told.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(cargo)
        .current_dir(source_tree::root().join(folder))
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--all-features", "--filter-platform", platform.unwrap()])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", folder.display());
    let metadata: Metadata = serde_json::from_slice(&output.stdout).unwrap();
    metadata.packages
}

/// Whether a package is of this repository.
fn is_own(package: &Package) -> bool {
    package.source.is_none() && package.manifest_path.starts_with(source_tree::root())
}

#[test]
fn licences_are_those_that_are_allowed() {
    let deny = Deny::read();
    let mut found = BTreeSet::new();
    let mut foreign = 0;
    for folder in ["", "runtime/examples/rust", "runtime/examples/service"] {
        for package in packages(Path::new(folder)) {
            // What is ours and unlicensed is an example or a fuzz target, and never published.
            if is_own(&package) && package.license.is_none() {
                continue;
            }
            foreign += usize::from(!is_own(&package));
            found.extend(deny.of_licence(&package));
        }
    }
    assert!(foreign > 200, "only {foreign} packages were found");
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn packages_are_from_one_registry_or_of_this_repository() {
    let deny = Deny::read();
    let files = source_tree::files().unwrap();
    let manifests = files.iter().filter(|file| file.name() == "Cargo.toml");
    let own: BTreeSet<String> = manifests
        .filter_map(|file| toml::from_str::<toml::Table>(&file.text).ok())
        .filter_map(|table| Some(table.get("package")?.get("name")?.as_str()?.to_owned()))
        .collect();
    let folders = locked_folders();
    assert!(folders.len() > 7, "{folders:?}");
    let mut found = Vec::new();
    for folder in &folders {
        let path = source_tree::root().join(folder).join("Cargo.lock");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!(
                "{}: {error}: cargo generate-lockfile makes it",
                path.display()
            )
        });
        let lock: Lock = toml::from_str(&text).unwrap();
        let from = folder.join("Cargo.lock").display().to_string();
        let wrong = |one| deny.of_source(&from, one, &own);
        found.extend(lock.package.iter().filter_map(wrong));
        found.extend(twice(&from, &lock.package));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn each_licence_that_is_not_allowed_is_told() {
    let mut deny = Deny::read();
    let package = |license: Option<&str>| Package {
        name: "thing".to_owned(),
        version: "1.0.0".to_owned(),
        license: license.map(str::to_owned),
        source: None,
        manifest_path: PathBuf::new(),
    };
    let said = |deny: &Deny, license| deny.of_licence(&package(license)).unwrap_or_default();
    for fine in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert_eq!(said(&deny, Some(fine)), "", "{fine}");
    }
    for (wrong, part) in [
        (
            Some("GPL-3.0-only"),
            "is under `GPL-3.0-only`; deny.toml allows Apache-2.0, ",
        ),
        (
            Some("MIT AND GPL-2.0-only"),
            "is under `MIT AND GPL-2.0-only`; deny.toml allows",
        ),
        (Some("GPL-2.0-only WITH LLVM-exception"), "deny.toml allows"),
        (Some("see the file"), "which is no licence"),
        (None, "names no licence"),
    ] {
        assert!(
            said(&deny, wrong).contains(part),
            "{wrong:?}: {}",
            said(&deny, wrong)
        );
    }
    deny.licenses.exceptions.push(Exception {
        name: "thing".to_owned(),
        allow: vec!["GPL-3.0-only".to_owned()],
    });
    assert_eq!(said(&deny, Some("GPL-3.0-only")), "");
}

#[test]
fn each_source_that_is_not_allowed_is_told() {
    let deny = Deny::read();
    let locked = |source: Option<&str>| Locked {
        name: "thing".to_owned(),
        version: "1.0.0".to_owned(),
        source: source.map(str::to_owned),
    };
    let index = "registry+https://github.com/rust-lang/crates.io-index";
    let own = BTreeSet::from(["thing".to_owned()]);
    let said = |source, own: &BTreeSet<String>| deny.of_source("lock", &locked(source), own);
    assert_eq!(said(Some(index), &own).or(said(None, &own)), None);
    for (source, part) in [
        (
            Some("git+https://example.org/thing#abc"),
            "is from git+https://example.org/thing#abc;",
        ),
        (
            Some("registry+https://example.org/index"),
            "is from registry+https://example.org/index",
        ),
        (None, "is from a folder that is not of this repository"),
    ] {
        let said = said(source, &BTreeSet::new()).unwrap();
        assert!(
            said.starts_with("lock: thing 1.0.0 ") && said.contains(part),
            "{said}"
        );
    }
    let both = twice("lock", &[locked(Some(index)), locked(None), locked(None)]);
    assert_eq!(
        both,
        [format!(
            "lock: thing 1.0.0 is from a folder and from {index}: one is enough"
        )]
    );
    assert!(twice("lock", &[locked(Some(index))]).is_empty());
}
