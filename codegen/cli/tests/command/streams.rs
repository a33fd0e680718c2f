//! Where the command writes, and what happens when nobody reads.

use crate::session::{command, finish, tilewright};

#[test]
fn no_colour_goes_where_there_is_no_terminal() {
    let run = tilewright(["doctor"]);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    let run = tilewright(["bundle", "show", "/nonexistent/bundle"]).expect(2);
    assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    assert!(run.stderr.contains("/nonexistent/bundle"), "{}", run.stderr);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for args in [["completions", "bash"], ["doctor", "--json"]] {
        let writer = writer.try_clone().unwrap();
        let run = finish(command().args(args).stdout(writer).output().unwrap()).expect(0);
        assert_eq!(run.stderr, "");
    }
    // The verdict is the same, whoever reads.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.yaml");
    std::fs::write(&path, "kernel: copy\nname: bad\n").unwrap();
    for args in [
        ["check", path.to_str().unwrap()],
        ["emulate", "/no/such/manifest.json"],
    ] {
        let code = tilewright(args).code;
        assert_ne!(code, 0);
        let writer = writer.try_clone().unwrap();
        finish(command().args(args).stdout(writer).output().unwrap()).expect(code);
    }
}
