//! What is published says what it is, to who finds it in a registry: a description, words to find
//! it by, its documentation, a page, its licences. docs.rs documents it without an LLVM, and `cargo
//! binstall` finds the archives that a release has.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use tilewright_ci::source_tree;

use super::{lines_in, tree};

/// The categories of crates.io that are used, from `src/boot/categories.toml` of its repository:
/// others are dropped with a warning when a package is published.
const CATEGORIES: [&str; 11] = [
    "command-line-utilities",
    "compilers",
    "data-structures",
    "development-tools::build-utils",
    "development-tools::debugging",
    "emulators",
    "encoding",
    "hardware-support",
    "mathematics",
    "parser-implementations",
    "science",
];

/// The platform that docs.rs is to document.
const DOCUMENTED: &str = "x86_64-unknown-linux-gnu";

/// What lies in every package.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// A package as `cargo metadata` tells it.
#[derive(Debug, Clone, Deserialize)]
struct Package {
    name: String,
    /// Registries that it may go to; empty where it may go to none.
    publish: Option<Vec<String>>,
    description: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    license: Option<String>,
    repository: Option<String>,
    homepage: Option<String>,
    documentation: Option<String>,
    readme: Option<PathBuf>,
    /// What `[package.metadata]` has.
    metadata: Value,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// Every package of the workspace that is published.
fn published() -> Vec<Package> {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let mut packages = serde_json::from_str::<Metadata>(&text).unwrap().packages;
    packages.retain(|package| package.publish.is_none());
    let names: Vec<&str> = packages.iter().map(|one| one.name.as_str()).collect();
    assert!(
        names.len() >= 10 && names.contains(&"tilewright"),
        "{names:?}"
    );
    packages
}

/// What cargo prints at the repository's root, without a network.
fn cargo(words: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    let command = command.current_dir(source_tree::root()).args(words);
    let output = command.args(["--offline", "--locked"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {words:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

impl Package {
    /// The settings of docs.rs under this key, as words.
    fn docs(&self, key: &str) -> Vec<&str> {
        let list = self.metadata["docs"]["rs"][key].as_array();
        let list = list.into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    }

    /// What it lacks.
    fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let mut want = |holds: bool, what: &str| {
            if !holds {
                lacks.push(format!("{}: {what}", self.name));
            }
        };
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let has_words = text(&self.description).split_whitespace().count() > 3;
        want(has_words, "a description that says what it is");
        want((1..=5).contains(&self.keywords.len()), "1 to 5 keywords");
        for word in &self.keywords {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let fits = word.len() <= 20 && word.chars().all(is_plain);
            want(fits, &format!("`{word}` is no keyword of crates.io"));
        }
        want(
            (1..=5).contains(&self.categories.len()),
            "1 to 5 categories",
        );
        for slug in &self.categories {
            let is_known = CATEGORIES.contains(&slug.as_str());
            want(
                is_known,
                &format!("`{slug}` is no category: see CATEGORIES"),
            );
        }
        want(text(&self.license) == "MIT OR Apache-2.0", "the licences");
        let is_link = |value: &Option<String>| text(value).starts_with("https://");
        want(is_link(&self.repository), "a repository");
        want(is_link(&self.homepage), "a homepage");
        want(is_link(&self.documentation), "documentation");
        let folder = self.manifest_path.parent().unwrap();
        let readme = self.readme.as_ref().map(|path| folder.join(path));
        let readme = readme.and_then(|path| fs::read_to_string(path).ok());
        let heading = format!("# {}\n", self.name);
        let has_page = readme.is_some_and(|text| text.starts_with(&heading));
        want(has_page, "a readme that begins with its name");
        let is_documented = self.docs("targets") == [DOCUMENTED];
        want(is_documented, "`targets` for docs.rs: x86_64 Linux alone");
        lacks
    }
}

#[test]
fn published_packages_say_what_they_are() {
    let packages = published();
    let lacks: Vec<String> = packages.iter().flat_map(Package::lacks).collect();
    assert!(lacks.is_empty(), "{}", lacks.join("\n"));
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package.categories.iter().map(String::as_str))
        .collect();
    assert_eq!(
        used,
        BTreeSet::from(CATEGORIES),
        "CATEGORIES are those used"
    );
}

#[test]
fn each_lack_of_a_package_is_told() {
    type Damage = fn(&mut Package);
    let whole = published().remove(0);
    assert_eq!(whole.lacks(), Vec::<String>::new());
    let told = |damage: Damage| {
        let mut package = whole.clone();
        damage(&mut package);
        package.lacks().join("\n")
    };
    let damages: [(Damage, &str); 9] = [
        (|p| p.description = Some("A crate".into()), "a description"),
        (|p| p.keywords.clear(), "1 to 5 keywords"),
        (
            |p| p.keywords = vec!["GPU kernels".into()],
            "`GPU kernels` is no keyword",
        ),
        (|p| p.keywords = vec!["gpu".into(); 6], "1 to 5 keywords"),
        (
            |p| p.categories = vec!["gpu".into()],
            "`gpu` is no category",
        ),
        (|p| p.license = None, "the licences"),
        (|p| p.documentation = None, "documentation"),
        (|p| p.readme = Some("README.txt".into()), "a readme"),
        (|p| p.metadata = Value::Null, "`targets` for docs.rs"),
    ];
    for (damage, part) in damages {
        let told = told(damage);
        assert!(
            told.contains(part) && told.lines().count() == 1,
            "{part}: {told}"
        );
    }
}

#[test]
fn packages_hold_their_page_and_licences() {
    for package in published() {
        let name = package.name.as_str();
        let listed = cargo(&["package", "--list", "--allow-dirty", "--package", name]);
        let listed: BTreeSet<&str> = listed.lines().collect();
        let folder = package.manifest_path.parent().unwrap();
        for file in FILES {
            assert!(listed.contains(file), "{name} is published without {file}");
            // Links, which a checkout may have turned into files with a path in them.
            if file.starts_with("LICENSE") {
                let own = fs::read_to_string(folder.join(file)).unwrap();
                let shared = fs::read_to_string(source_tree::root().join(file)).unwrap();
                assert!(
                    own == shared,
                    "{file} of {name} is another than the repository's"
                );
            }
        }
    }
}

/// docs.rs has no LLVM: a package either does without, or looks for none.
#[test]
fn packages_are_documented_without_llvm() {
    for package in published() {
        let name = package.name.as_str();
        let features = package.docs("features").join(",");
        let mut more = vec!["--features", &features];
        if package.metadata["docs"]["rs"]["no-default-features"] == true {
            more.push("--no-default-features");
        }
        if !tree(name, "normal,build", &more).contains("llvm-sys") {
            continue;
        }
        more.extend(["--package", name, "--invert", "llvm-sys"]);
        let found = lines_in(".", "normal,features", &more);
        let links_none = "inkwell feature \"llvm22-1-no-llvm-linking\"";
        assert!(found.contains(links_none), "docs.rs has no LLVM for {name}");
    }
}

#[test]
fn the_archive_of_a_release_is_where_binstall_looks() {
    let packages = published();
    let command = packages
        .iter()
        .find(|one| one.name == "tilewright")
        .unwrap();
    let setting = |key: &str| {
        let value = command.metadata["binstall"][key].as_str().unwrap();
        let value = value
            .replace("{ version }", "$version")
            .replace("{ target }", "$target");
        value.replace("tilewright-$version", "$name")
    };
    let script = fs::read_to_string(source_tree::root().join("ci/release.sh")).unwrap();
    assert!(script.contains("\nname=tilewright-$version\n"));
    let archive = setting("pkg-url");
    let archive = archive.strip_prefix("{ repo }/releases/download/v$version/");
    assert_eq!(archive, Some("$name-$target.tar.gz"));
    assert_eq!(setting("bin-dir"), "$name-$target/{ bin }{ binary-ext }");
    assert_eq!(setting("pkg-fmt"), "tgz");
    let packed = r#"packed "$name-$target.tar.gz" "$stage/$name-$target""#;
    assert!(
        script.contains(packed),
        "ci/release.sh names its archive otherwise"
    );
}

/// The assembler that set-up installs is the one that the wheel depends on and messages name.
#[test]
fn ptxas_is_of_one_version() {
    let read = |path: &str| fs::read_to_string(source_tree::root().join(path)).unwrap();
    let setup = read("ci/setup.sh");
    let mut lines = setup.lines();
    let version = lines.find_map(|line| line.strip_prefix("ptxas_version="));
    let version = version.unwrap();
    for (path, words) in [
        (
            "runtime/python/pyproject.toml",
            format!("\"nvidia-cuda-nvcc~={version};"),
        ),
        (
            "codegen/src/ptx/ptxas.rs",
            format!("nvidia-cuda-nvcc=={version} "),
        ),
        ("codegen/docs/install.md", format!("| `ptxas` {version},")),
    ] {
        assert!(read(path).contains(&words), "{path} has no {words}");
    }
}
