//! Machine code beside the PTX: carried along, and refused where it is not what its entry says.
#![allow(clippy::unwrap_used)]

mod sealed;

use tilewright_bundle::*;
use tilewright_fixture::{cubin, empty_ptx, open, opened};

use self::sealed::{Files, kernel, resealed};

/// A writer of a kernel `one` with this machine code.
fn with(target: &str, code: &[u8]) -> Result<BundleWriter, String> {
    let mut writer = BundleWriter::new(Provenance::new("test"));
    let added = writer.add(
        kernel("copy_a@x-1", "one"),
        &empty_ptx("one"),
        Some((target, code)),
    );
    added.map(|()| writer).map_err(|error| error.to_string())
}

/// The files with an edited kernel, all hashes right again.
fn edited(files: &Files, edit: impl Fn(&mut Kernel)) -> Files {
    let mut manifest: Manifest = serde_json::from_slice(&files["manifest.json"]).unwrap();
    for kernel in &mut manifest.kernels {
        edit(kernel);
        kernel.content_hash = Sha256Hex::default();
        kernel.lines = None;
        let text = serde_json::to_string(kernel).unwrap();
        kernel.content_hash = Sha256Hex::of(text.as_bytes());
    }
    let text = serde_json::to_string_pretty(&manifest).unwrap() + "\n";
    let mut files = files.clone();
    files.insert("manifest.json".to_owned(), resealed(&text).into_bytes());
    files
}

#[test]
fn code_is_carried_along() {
    let code = cubin(90, &["one"]);
    let bundle = opened(&with("sm_90a", &code).unwrap());
    let kernel = &bundle.kernels()[0];
    assert_eq!(bundle.cubin(kernel), Some(code.as_slice()));
    let zip = BundleWriter::from_bundle(&bundle)
        .unwrap()
        .to_zip()
        .unwrap();
    let zipped = Bundle::from_zip(&zip).unwrap();
    assert_eq!(zipped.hash(), bundle.hash());
    assert_eq!(zipped.cubin(kernel), Some(code.as_slice()));
    let part = BundleWriter::part(&zipped, |_| true).unwrap();
    let whole = opened(&BundleWriter::merge(&[("part", &opened(&part))], false).unwrap());
    assert_eq!(whole.hash(), bundle.hash());
    // The same kernel without its code takes the code of the other side.
    let mut bare = BundleWriter::new(Provenance::new("test"));
    let (id, ptx) = ("copy_a@x-1", empty_ptx("one"));
    bare.add(sealed::kernel(id, "one"), &ptx, None).unwrap();
    let bare = opened(&bare);
    let both = BundleWriter::merge(&[("code", &bundle), ("ptx", &bare)], false).unwrap();
    let both = opened(&both);
    assert_eq!(both.cubin(&both.kernels()[0]), Some(code.as_slice()));
}

#[test]
fn code_of_another_kernel_or_gpu_is_refused() {
    let cases = [
        (
            "sm_90a",
            cubin(90, &["two", "one_more"]),
            "has no code of the kernel one",
        ),
        (
            "sm_90a",
            cubin(80, &["one"]),
            "is machine code for sm_80; its target is sm_90a",
        ),
    ];
    for (target, code, words) in cases {
        let told = with(target, &code).unwrap_err();
        assert!(told.contains(words), "{told}");
    }
    let mut other = cubin(90, &["one"]);
    other[18] = 62;
    let told = with("sm_90", &other).unwrap_err();
    assert!(told.contains("is an ELF file for machine 62"), "{told}");
}

#[test]
fn edited_bundles_are_refused_whatever_their_hashes() {
    let files = with("sm_90a", &cubin(90, &["one"]))
        .unwrap()
        .to_files()
        .unwrap();
    assert!(open(&edited(&files, |_| {})).is_ok());
    let target =
        |kernel: &mut Kernel| "sm_80".clone_into(&mut kernel.cubin.as_mut().unwrap().target);
    let told = open(&edited(&files, target)).unwrap_err().to_string();
    let words = "is machine code for sm_90; its target is sm_80";
    assert!(told.contains(words), "{told}");
    // Code of another kernel in its place: the hash is the file's alone.
    let mut swapped = files.clone();
    let path = "cubin/copy_a@x-1.cubin";
    let other = cubin(90, &["two"]);
    assert_eq!(other.len(), files[path].len());
    swapped.insert(path.to_owned(), other.clone());
    let told = open(&swapped).unwrap_err().to_string();
    assert!(told.contains("the file's hash is"), "{told}");
    let (was, is) = (Sha256Hex::of(&files[path]), Sha256Hex::of(&other));
    let text = String::from_utf8(swapped["manifest.json"].clone()).unwrap();
    let text = text.replace(was.as_str(), is.as_str());
    swapped.insert("manifest.json".to_owned(), text.into_bytes());
    let told = open(&edited(&swapped, |_| {})).unwrap_err().to_string();
    assert!(told.contains("has no code of the kernel one"), "{told}");
}

#[test]
fn damaged_code_is_refused_and_never_worse() {
    let whole = cubin(90, &["one"]);
    for length in 4..whole.len() {
        let told = with("sm_90", &whole[..length]).unwrap_err();
        assert!(told.contains("is a damaged ELF file"), "{length}: {told}");
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut other = whole.clone();
            other[at] ^= 1 << bit;
            // Most of what a file says is of no interest here; none of it may panic.
            let _ = with("sm_90", &other);
        }
    }
}

#[test]
fn flags_are_read_by_the_rules_of_their_version() {
    let mut older = cubin(0, &["one"]);
    (older[8], older[48]) = (7, 90);
    with("sm_90", &older).unwrap();
    assert!(with("sm_80", &older).is_err());
    // Of rules that are not known yet nothing is concluded.
    let mut newer = cubin(80, &["one"]);
    newer[8] = 9;
    with("sm_90", &newer).unwrap();
}
