//! A small module of two floors that keeps its layering and breaks it.
#![allow(clippy::unwrap_used)]

use super::*;

const PARENT: &str = "//! Runs.\nmod state;\nmod warps;\nuse state::State;\n\
                      use warps::{Warp, go};\nfn launch(st: &State) { go(st) }\n";
const STATE: &str = "impl State { fn count(&self) {} }";
const WARPS: &str = "impl State { fn turn(&self) { self.count() } }";

/// The complaints when a file is added to the crate, or takes the place of one.
fn complaints(path: &str, text: &str) -> Vec<String> {
    let path = format!("emulator/src/{path}");
    let mut files = vec![
        SourceFile::new("emulator/src/exec.rs", PARENT),
        SourceFile::new("emulator/src/exec/state.rs", STATE),
        SourceFile::new("emulator/src/exec/warps.rs", WARPS),
        SourceFile::new("emulator/src/memory.rs", "fn store() {}"),
    ];
    files.retain(|file| file.path != path);
    files.push(SourceFile::new(path, text));
    let found = check(&files, &["emulator/src/exec.rs".to_owned()]);
    found.iter().map(Complaint::to_string).collect()
}

#[test]
fn a_floor_may_use_those_it_stands_on() {
    let text = "use super::state::State; use crate::memory::Memory; use crate::exec::State;";
    assert!(complaints("exec/warps.rs", text).is_empty());
    let text = "use super::super::state::State; use super::Turn; fn f() { st.count() }";
    assert!(complaints("exec/warps/turn.rs", text).is_empty());
    assert!(
        complaints(
            "exec/state/site.rs",
            "use super::State; fn f() { x.store() }"
        )
        .is_empty()
    );
}

#[test]
fn a_floor_may_not_name_one_above_it() {
    let expected =
        "emulator/src/exec/state.rs:2: `state` uses `warps`, which `exec` lists below it";
    for text in [
        "\nuse crate::exec::warps::Warp;",
        "\nuse crate::{exec::{state::State, warps}, memory};",
        "\nuse super::warps;",
        "\nuse super::super::exec::warps::go;",
    ] {
        assert_eq!(complaints("exec/state.rs", text), [expected], "{text}");
    }
    let inner = "use super::super::warps::go;";
    assert_eq!(complaints("exec/state/site.rs", inner).len(), 1);
    assert_eq!(
        complaints("exec/state.rs", "fn f(w: super::Warp) {}").len(),
        1
    );
}

#[test]
fn a_floor_may_not_use_the_module_that_lists_it() {
    for text in [
        "use super::launch;",
        "use super::*;",
        "use crate::exec;",
        "fn f() { st.launch() }",
    ] {
        assert_eq!(complaints("exec/state.rs", text).len(), 1, "{text}");
    }
}

#[test]
fn a_floor_may_not_call_a_method_that_a_later_one_gives() {
    assert_eq!(
        complaints("exec/state/site.rs", "\nfn f(st: &State) { st.turn() }"),
        [
            "emulator/src/exec/state/site.rs:2: `state` calls `turn`, which is only defined below \
             it in `exec`"
        ]
    );
    assert_eq!(
        complaints("exec/state/site.rs", "fn f() { State::turn(st) }").len(),
        1
    );
    let generic = "fn f() { st.turn::<4>() }";
    assert_eq!(complaints("exec/state/site.rs", generic).len(), 1);
    let own = "fn turn() {} fn f() { st.turn() }";
    assert!(complaints("exec/state/site.rs", own).is_empty());
}

#[test]
fn files_that_nobody_lists_are_found() {
    assert_eq!(
        complaints("exec/orphan.rs", ""),
        ["emulator/src/exec/orphan.rs:1: `exec` lists no module `orphan`"]
    );
    let missing = check(&[], &["emulator/src/exec.rs".to_owned()]);
    assert_eq!(missing.len(), 1);
}
