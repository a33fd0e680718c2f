//! Hostile manifests whose own hash is right.
//!
//! In: any bytes, as a manifest. Out: no panic, and a bundle that opens is written and opens again.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tilewright_bundle::{Bundle, BundleWriter, Sha256Hex};
use tilewright_fixture::open;

static FILES: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let bundle = include_bytes!("../../tests/data/format_2/bundle.zip");
    let bundle = Bundle::from_zip(bundle).expect("the bundle of the tests");
    bundle.files().clone()
});

/// The text with the hash of what stands before its last key.
fn resealed(text: &str) -> String {
    let at = text.rfind("  \"bundle_sha256\"").unwrap_or(text.len());
    let hash = Sha256Hex::of(&text.as_bytes()[..at]);
    format!("{}  \"bundle_sha256\": \"{hash}\"\n}}\n", &text[..at])
}

fuzz_target!(|data: &[u8]| {
    let mut files = FILES.clone();
    let bytes = match std::str::from_utf8(data) {
        Ok(text) => resealed(text).into_bytes(),
        Err(_) => data.to_vec(),
    };
    files.insert("manifest.json".to_owned(), bytes);
    let Ok(bundle) = open(&files) else {
        return;
    };
    let writer = BundleWriter::from_bundle(&bundle).expect("the kernels of an opened bundle");
    let again = writer.to_files().expect("the files of an opened bundle");
    open(&again).expect("what was written");
});
