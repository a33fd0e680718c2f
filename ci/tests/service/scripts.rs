//! What else lies in the example's folder: its script that besets it, and its own tests.

use std::process::Command;

use tilewright_fixture::GEMM;

use crate::started::{bundle, cargo, home};

/// What README.md tells to type is what the script's own head tells.
#[test]
fn the_page_says_how_to_beset_the_service() {
    let read = |name: &str| std::fs::read_to_string(home().join(name)).unwrap();
    let (page, script) = (read("README.md"), read("besiege.sh"));
    let (_, typed) = page.split_once("```sh\n").unwrap();
    let (typed, _) = typed.split_once("```").unwrap();
    assert!(typed.lines().count() > 2);
    for line in typed.lines() {
        assert!(script.contains(&format!("#   {line}\n")), "{line}");
    }
}

#[test]
fn the_script_that_besets_the_service_is_content_with_it() {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new("bash")
        .arg(home().join("besiege.sh"))
        .args([cargo(&["build"]), bundle(place.path(), GEMM)])
        // Bodies that are larger together than what may be held.
        .envs([("HEADS", "20"), ("BODIES", "8"), ("BODY_MIB", "50")])
        .output()
        .unwrap();
    let [told, wrong] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{told}{wrong}");
    assert!(told.contains("400 MiB of bodies to send"), "{told}");
    assert!(told.contains("told to end: exit code 0"), "{told}");
}

#[test]
fn the_example_s_own_tests_pass() {
    cargo(&["test", "--lib"]);
}
