//! Signatures that are none, of something else, or by somebody else.

use tilewright_bundle::{Bundle, Policy, SIGNATURES_FILE, SigningKey};
use tilewright_fixture::open;

use crate::Case;
use crate::sealed::{Files, edited, files};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_random(&[seed; 32])
}

fn signed(files: &Files, seed: u8) -> Bundle {
    let mut bundle = open(files).unwrap();
    bundle.sign(&key(seed));
    bundle
}

/// The signatures' text with one text in the place of another.
fn replaced(from: &str, to: &str) -> Files {
    let mut files = signed(&files(), 1).files().clone();
    let text = String::from_utf8(files[SIGNATURES_FILE].clone()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    let text = text.replacen(from, to, 1);
    files.insert(SIGNATURES_FILE.to_owned(), text.into_bytes());
    files
}

/// The signatures of one bundle beside the files of another, as if they were of it.
fn carried_over(sets_the_hash: bool) -> Files {
    let whole = files();
    let other = signed(&tuned_differently(), 1);
    let mut text = String::from_utf8(other.files()[SIGNATURES_FILE].clone()).unwrap();
    if sets_the_hash {
        let hash = open(&whole).unwrap().hash().to_string();
        text = text.replace(other.hash().as_str(), &hash);
    }
    let mut files = whole;
    files.insert(SIGNATURES_FILE.to_owned(), text.into_bytes());
    files
}

/// Another bundle that opens.
fn tuned_differently() -> Files {
    edited(|text| text.replacen("\"generator\": \"test\"", "\"generator\": \"tests\"", 1))
}

/// Each case: what, the files, and whether a key is required.
fn all() -> Vec<(&'static str, Files, bool)> {
    let id = key(1).public().id().to_string();
    let other = key(2).public().id().to_string();
    let line = "\"signature\": \"";
    let twice = |text: &str| format!("{text}, {text}");
    let one = format!("{{\n      \"key_id\": \"{id}\"");
    let whole = String::from_utf8(signed(&files(), 1).files()[SIGNATURES_FILE].clone()).unwrap();
    let at = whole.find("    {").unwrap();
    let entry = whole[at..whole.rfind('}').unwrap()].trim_end();
    let entry = entry.strip_suffix(']').unwrap().trim_end();
    let mut stripped = tuned_differently();
    stripped.remove(SIGNATURES_FILE);
    let mut empty = files();
    empty.insert(SIGNATURES_FILE.to_owned(), Vec::new());
    let mut long = files();
    long.insert(SIGNATURES_FILE.to_owned(), vec![b' '; 1 << 20]);
    vec![
        ("no signature", files(), true),
        ("signatures taken away, the manifest edited", stripped, true),
        ("by another key", signed(&files(), 2).files().clone(), true),
        (
            "by another key under the name of ours",
            replaced_key(&other, &id),
            true,
        ),
        ("of another bundle", carried_over(false), true),
        (
            "of another bundle, with this one's hash",
            carried_over(true),
            true,
        ),
        (
            "of another bundle, no key required",
            carried_over(false),
            false,
        ),
        ("an empty file", empty, false),
        ("a file of a megabyte", long, false),
        (
            "another format",
            replaced("\"format\": 1", "\"format\": 2"),
            false,
        ),
        (
            "an unknown key of the file",
            replaced("\"format\"", "\"x\": 1, \"format\""),
            false,
        ),
        ("no list", replaced(entry, ""), false),
        ("one twice", replaced(entry, &twice(entry)), false),
        (
            "a short signature",
            replaced(line, &format!("{line}\", \"x\": \"")),
            false,
        ),
        (
            "digits that are none",
            replaced(line, &format!("{line}zz")),
            false,
        ),
        (
            "a key's id that is none",
            replaced(&one, "{\n      \"key_id\": \"../x\""),
            false,
        ),
    ]
}

fn replaced_key(from: &str, to: &str) -> Files {
    let mut files = signed(&files(), 2).files().clone();
    let text = String::from_utf8(files[SIGNATURES_FILE].clone()).unwrap();
    let text = text.replace(from, to).into_bytes();
    files.insert(SIGNATURES_FILE.to_owned(), text);
    files
}

/// The refusals.
pub fn cases() -> Vec<Case> {
    let case = |(what, files, is_required): (&str, Files, bool)| {
        let policy = match is_required {
            true => Policy::signed_by([key(1).public()]),
            false => Policy::Unsigned,
        };
        let files = files.iter().map(|(p, b)| (p.as_str(), b.as_slice()));
        let words = policy.open_files(files).unwrap_err().to_string();
        (what.to_owned(), words)
    };
    let none = Policy::signed_by([]).open_files([]).map(|_| ());
    assert!(none.is_err());
    all().into_iter().map(case).collect()
}
