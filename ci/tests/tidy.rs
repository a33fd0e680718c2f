//! The repository keeps the rules of house style that a machine can check.
#![allow(clippy::unwrap_used)]

use tilewright_ci::source_tree::{self, SourceFile};
use tilewright_ci::tidy::allowed::{LONG_FILES, LONG_FUNCTIONS};
use tilewright_ci::tidy::{
    Complaint, assert_none, facts, floors, layering, manifests, order, text_rules,
};
use tilewright_codegen::atoms;

fn check_each(rule: impl Fn(&SourceFile) -> Vec<Complaint>) {
    let files = source_tree::files().unwrap();
    assert!(files.len() > 30, "only {} files were found", files.len());
    assert_none(&files.iter().flat_map(rule).collect::<Vec<_>>());
}

fn check_each_manifest(rule: impl Fn(&SourceFile) -> Vec<Complaint>) {
    let is_manifest = |file: &SourceFile| file.name() == "Cargo.toml";
    check_each(|file| {
        if is_manifest(file) {
            rule(file)
        } else {
            Vec::new()
        }
    });
}

#[test]
fn files_are_named_for_what_is_inside() {
    check_each(text_rules::names);
}

#[test]
fn files_open_with_their_head() {
    check_each(text_rules::heads);
}

#[test]
fn lines_fit_on_a_screen() {
    check_each(text_rules::columns);
}

#[test]
fn files_and_lines_end_cleanly() {
    check_each(text_rules::endings);
}

#[test]
fn nothing_is_left_for_later() {
    check_each(text_rules::words);
}

#[test]
fn files_are_short() {
    check_each(|file| text_rules::file_lengths(file, LONG_FILES));
}

#[test]
fn functions_are_short() {
    check_each(|file| text_rules::function_lengths(file, LONG_FUNCTIONS));
}

#[test]
fn modules_use_only_those_above_them() {
    assert_none(&layering::check(&source_tree::files().unwrap()));
}

#[test]
fn modules_of_folders_use_only_those_above_them() {
    assert_none(&order::check(&source_tree::files().unwrap()));
}

#[test]
fn the_generator_names_no_instruction() {
    let catalogue = atoms::catalogue().unwrap();
    let ids: Vec<&str> = catalogue.iter().map(|atom| atom.id.as_str()).collect();
    assert!(ids.len() > 300, "only {} atoms were found", ids.len());
    check_each(|file| facts::instruction_ids(file, &ids));
}

#[test]
fn floors_use_only_those_below_them() {
    // Each of them lists its modules in layering order, as a crate's root file does.
    let exec = "runtime/emulator/src/exec";
    let floors = ["state", "memory", "instructions", "warps"];
    let mut parents = vec![format!("{exec}.rs")];
    parents.extend(floors.map(|floor| format!("{exec}/{floor}.rs")));
    assert_none(&floors::check(&source_tree::files().unwrap(), &parents));
}

#[test]
fn packages_share_the_lints() {
    check_each_manifest(manifests::lints);
}

#[test]
fn packages_hold_what_they_include() {
    let files = source_tree::files().unwrap();
    let manifest = |file: &&SourceFile| {
        let is_package = file.text.contains("[package]");
        let is_published = !file.text.contains("publish = false");
        file.path.ends_with("/Cargo.toml") && is_package && is_published
    };
    let packages = files.iter().filter(manifest);
    let packages: Vec<&str> = packages
        .filter_map(|file| file.path.strip_suffix("/Cargo.toml"))
        .collect();
    assert!(packages.contains(&"codegen") && !packages.contains(&"ci"));
    // Tests are not built where a package is installed.
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
    check_each(
        |file| match file.path.contains("/src/") && !is_test(&file.path) {
            true => manifests::included(file, &packages),
            false => Vec::new(),
        },
    );
}

#[test]
fn external_crates_have_their_reason() {
    check_each_manifest(manifests::reasons);
}

#[test]
fn the_change_log_has_an_entry_for_this_version() {
    let log = std::fs::read_to_string(source_tree::root().join("CHANGELOG.md")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let heading = |line: &str| line.starts_with("## ") && line.contains(version);
    assert!(
        log.lines().any(heading),
        "CHANGELOG.md has no heading for {version}"
    );
}

#[test]
fn releases_are_told_in_few_lines() {
    check_each(text_rules::change_log);
}
