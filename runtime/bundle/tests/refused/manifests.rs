//! A manifest that was edited, and files that are not what it says.

use tilewright_fixture::open;

use crate::Case;
use crate::sealed::{Files, edited, files};

/// Changes of the manifest's text.
const EDITS: &[(&str, &str)] = &[
    ("\"format\": 2", "\"format\": 3"),
    ("\"format\": 2", "\"format\": 1"),
    ("\"copy_b@x-2\"", "\"copy_a@x-1\""),
    ("\"spec\": \"copy_a\"", "\"spec\": \"copy_c\""),
    ("\"min_driver\": 11000", "\"min_driver\": 12000"),
    ("\"min_driver\": 11000", "\"min_driver\": 11000, \"x\": 1"),
    (
        "\"min_driver\": 11000",
        "\"min_driver\": 11000, \"min_driver\": 1",
    ),
    ("\"min_driver\": 11000", "\"min_driver\": -1"),
    ("ceil_div(n, 256)", "ceil_div(n, oops)"),
    ("\"offset\": 8", "\"offset\": 12"),
    ("\"size\": 4", "\"size\": 8"),
    ("\"operand\": \"d\"", "\"operand\": \"q\""),
    ("\"bytes\": 16", "\"bytes\": 3"),
    ("    256,\n", "    2560,\n"),
    ("    256,\n", "    4294967295,\n"),
    ("\"entry\": \"one\"", "\"entry\": \"one; trap\""),
    ("\"entry\": \"one\"", "\"entry\": \"on\""),
    ("\"kernel\": \"copy\"", "\"kernel\": \"co py\""),
    ("\"role\": \"out\"", "\"role\": \"in\""),
    ("\"bytes\": 12", "\"bytes\": 18446744073709551615"),
    ("\"path\": \"ptx/copy_a", "\"path\": \"ptx/../copy_a"),
    ("\"path\": \"ptx/copy_a", "\"path\": \"/etc/copy_a"),
    ("\"path\": \"ptx/copy_a", "\"path\": \"ptx\\\\copy_a"),
    ("\"path\": \"ptx/copy_a", "\"path\": \"PTX/copy_a"),
    (
        "\"file\": \"ptx/copy_a@x-1.ptx\"",
        "\"file\": \"ptx/copy_b@x-2.ptx\"",
    ),
    (
        "\"path\": \"ptx/copy_a@x-1.ptx\"",
        "\"path\": \"manifest.json\"",
    ),
    (
        "\"path\": \"ptx/copy_a@x-1.ptx\"",
        "\"path\": \"Signatures.json\"",
    ),
];

/// Each edit by itself.
pub fn edited_ones() -> Vec<Case> {
    let case = |(from, to): &(&str, &str)| {
        let tampered = edited(|text| {
            assert!(text.contains(from), "{from} is not in the manifest");
            text.replacen(from, to, 1)
        });
        (
            format!("{} -> {}", from.trim(), to.trim()),
            refusal(&tampered),
        )
    };
    EDITS.iter().map(case).collect()
}

fn refusal(files: &Files) -> String {
    open(files).unwrap_err().to_string()
}

type Change = fn(&mut Files);

const A: &str = "ptx/copy_a@x-1.ptx";
const B: &str = "ptx/copy_b@x-2.ptx";
const MANIFEST: &str = "manifest.json";

/// Changes of files, no hash set right.
const CHANGES: &[(&str, Change)] = &[
    ("no manifest", |files| drop(files.remove(MANIFEST))),
    ("an empty manifest", |files| {
        files.get_mut(MANIFEST).unwrap().clear()
    }),
    ("a manifest that is no text", |files| {
        files.get_mut(MANIFEST).unwrap()[3] = 0xff
    }),
    ("a manifest that is cut", |files| {
        files.get_mut(MANIFEST).unwrap().truncate(900)
    }),
    ("a byte behind the manifest", |files| {
        files.get_mut(MANIFEST).unwrap().push(b'\n')
    }),
    ("a digit of the manifest changed", |files| {
        let bytes = files.get_mut(MANIFEST).unwrap();
        let text = String::from_utf8(std::mem::take(bytes)).unwrap();
        *bytes = text.replacen("256", "512", 1).into_bytes();
    }),
    ("a file is missing", |files| drop(files.remove(A))),
    ("a file is cut", |files| {
        files.get_mut(A).unwrap().truncate(9)
    }),
    ("a file is longer", |files| {
        files.get_mut(A).unwrap().push(b' ')
    }),
    ("a bit of a file is flipped", |files| {
        files.get_mut(A).unwrap()[9] ^= 1
    }),
    ("machine code is changed", |files| {
        files.get_mut("cubin/copy_b@x-2.cubin").unwrap()[0] ^= 1
    }),
    ("two files change places", |files| {
        let (one, two) = (files[A].clone(), files[B].clone());
        files.insert(A.to_owned(), two);
        files.insert(B.to_owned(), one);
    }),
];

/// Each change by itself.
pub fn changed() -> Vec<Case> {
    let case = |(what, change): &(&str, Change)| {
        let mut files = files();
        change(&mut files);
        ((*what).to_owned(), refusal(&files))
    };
    CHANGES.iter().map(case).collect()
}
