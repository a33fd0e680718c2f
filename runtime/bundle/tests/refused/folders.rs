//! Folders whose files are none, or lie elsewhere.

use std::path::Path;

use tilewright_bundle::Bundle;

use crate::Case;
use crate::sealed::writer;

type Change = fn(&Path);

const FILE: &str = "ptx/copy_a@x-1.ptx";

fn moved_behind_a_link(folder: &Path, name: &str) {
    let (path, elsewhere) = (folder.join(name), folder.join("elsewhere"));
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
}

fn replaced_by_a_pipe(folder: &Path, name: &str) {
    let path = folder.join(name);
    let _ = std::fs::remove_file(&path);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
}

const CHANGES: &[(&str, Change)] = &[
    ("no manifest", |folder| {
        std::fs::remove_file(folder.join("manifest.json")).unwrap();
    }),
    ("the manifest is a link", |folder| {
        moved_behind_a_link(folder, "manifest.json");
    }),
    ("a file is a link", |folder| {
        moved_behind_a_link(folder, FILE)
    }),
    ("a folder is a link", |folder| {
        moved_behind_a_link(folder, "ptx")
    }),
    ("a file is a pipe", |folder| {
        replaced_by_a_pipe(folder, FILE)
    }),
    ("the manifest is a pipe", |folder| {
        replaced_by_a_pipe(folder, "manifest.json");
    }),
    ("the signatures are a pipe", |folder| {
        replaced_by_a_pipe(folder, "signatures.json");
    }),
    ("a file is a folder", |folder| {
        std::fs::remove_file(folder.join(FILE)).unwrap();
        std::fs::create_dir(folder.join(FILE)).unwrap();
    }),
    ("a file without end", |folder| {
        let file = std::fs::File::create(folder.join(FILE)).unwrap();
        file.set_len(1 << 40).unwrap();
    }),
    ("a manifest without end", |folder| {
        let file = std::fs::File::create(folder.join("manifest.json")).unwrap();
        file.set_len(1 << 40).unwrap();
    }),
];

/// Each change by itself.
pub fn cases() -> Vec<Case> {
    let case = |(what, change): &(&str, Change)| {
        let folder = tempfile::tempdir().unwrap();
        writer().write(folder.path()).unwrap();
        change(folder.path());
        let words = Bundle::open(folder.path()).unwrap_err().to_string();
        let place = folder.path().to_str().unwrap();
        ((*what).to_owned(), words.replace(place, "BUNDLE"))
    };
    CHANGES.iter().map(case).collect()
}
