//! Every tampering and the words it is refused with, in `golden/refused.txt`; nothing of them is
//! ever opened. `BLESS=1` rewrites the document.
#![allow(clippy::unwrap_used)]

mod archives;
mod folders;
mod keys;
mod manifests;
#[path = "../sealed/mod.rs"]
mod sealed;
mod signatures;

use std::fmt::Write;

/// What was done to a bundle, and what was said to it.
pub type Case = (String, String);

const HEAD: &str = "\
What is done to a bundle, and the words it is refused with. A test writes this file (BLESS=1).
";

#[test]
fn each_tampering_is_refused_in_its_own_words() {
    let chapters = [
        (
            "the manifest, its hash right again",
            manifests::edited_ones(),
        ),
        ("the manifest and the files", manifests::changed()),
        ("the folder", folders::cases()),
        ("the archive", archives::cases()),
        ("what an archive's entries hold", archives::contents()),
        ("the signatures", signatures::cases()),
        ("the keys", keys::cases()),
    ];
    let mut text = HEAD.to_owned();
    for (chapter, cases) in chapters {
        writeln!(text, "\n== {chapter}").unwrap();
        for (what, words) in cases {
            writeln!(text, "\n{what}").unwrap();
            for line in words.lines() {
                writeln!(text, "    {line}").unwrap();
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/refused.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        text == kept,
        "golden/refused.txt differs; rewrite it with BLESS=1:\n{text}"
    );
}
