//! A bundle opens when it is whole and is refused when anything in it was changed.
#![allow(clippy::unwrap_used)]

mod sealed;

use proptest::prelude::*;
use tilewright_bundle::*;
use tilewright_fixture::{empty_ptx, open};

use self::sealed::{Files, edited, files, kernel, resealed, writer};

fn refusal(files: &Files) -> String {
    open(files).unwrap_err().to_string()
}

#[test]
fn what_is_written_opens_again() {
    let bundle = open(&files()).unwrap();
    assert_eq!(bundle.kernels().len(), 2);
    let two = bundle.kernel("copy_b@x-2").unwrap();
    assert_eq!(
        (two.spec.as_str(), two.ptx.version.as_str()),
        ("copy_b", "7.0")
    );
    assert_eq!(bundle.ptx(two), empty_ptx("two"));
    assert_eq!(bundle.cubin(two), Some(b"machine code".as_slice()));
    assert_eq!(bundle.of_spec("copy_a").count(), 1);
    assert_eq!(two.launches[0].params[2].offset, 16);
    assert_eq!(two.certificate.value()["a"]["conflicts"], 1.5);
}

#[test]
fn folders_hold_the_same_bytes_whatever_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let hash = writer().write(folder.path()).unwrap();
    let bundle = Bundle::open(folder.path()).unwrap();
    assert_eq!(bundle.hash(), &hash);
    let mut other = BundleWriter::new(Provenance::new("test"));
    let cubin = Some(("sm_90a", b"machine code".as_slice()));
    other
        .add(kernel("copy_b@x-2", "two"), &empty_ptx("two"), cubin)
        .unwrap();
    other
        .add(kernel("copy_a@x-1", "one"), &empty_ptx("one"), None)
        .unwrap();
    assert_eq!(other.to_files().unwrap(), files());
    for (path, bytes) in files() {
        assert_eq!(std::fs::read(folder.path().join(path)).unwrap(), bytes);
    }
}

#[test]
fn every_flipped_byte_is_noticed() {
    let whole = files();
    for (path, bytes) in &whole {
        for at in 0..bytes.len() {
            let mut tampered = whole.clone();
            tampered.get_mut(path).unwrap()[at] ^= 1 << (at % 7);
            assert!(open(&tampered).is_err(), "{path} at {at}");
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    let whole = files();
    for (path, bytes) in &whole {
        for len in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            let mut cut = whole.clone();
            cut.get_mut(path).unwrap().truncate(len);
            assert!(open(&cut).is_err(), "{path} cut at {len}");
        }
        let mut longer = whole.clone();
        longer.get_mut(path).unwrap().push(b'\n');
        assert!(open(&longer).is_err(), "{path} with a byte more");
        let mut missing = whole.clone();
        missing.remove(path);
        assert!(refusal(&missing).contains(path), "{path} missing");
    }
}

#[test]
fn long_lists_and_deep_values_are_refused() {
    let many = (0..300)
        .map(|at| format!("\"p{at}\""))
        .collect::<Vec<_>>()
        .join(",");
    let tampered =
        edited(|text| text.replacen("\"format\": 2", &format!("\"format\": [{many}]"), 1));
    assert!(open(&tampered).is_err());
    let deep = "[".repeat(50_000);
    let tampered =
        edited(|text| text.replacen("\"a\": {", &format!("\"q\": {deep}, \"a\": {{"), 1));
    assert!(open(&tampered).is_err());
    let long = format!("{}1", "1+".repeat(4000));
    let tampered = edited(|text| text.replacen("ceil_div(n, 256)", &long, 1));
    assert!(refusal(&tampered).contains("bytes long"));
    let operand = r#"{"name":"s","role":"in","dtype":"f32","layout":"1:1"},"#;
    let tampered = edited(|text| {
        text.replacen(
            "\"operands\": [",
            &format!("\"operands\": [{}", operand.repeat(99)),
            1,
        )
    });
    assert!(refusal(&tampered).contains("101 operands"));
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    writer().write(folder.path()).unwrap();
    std::fs::rename(folder.path().join("ptx"), folder.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("moved"), folder.path().join("ptx")).unwrap();
    let refused = writer().write(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("is a link"), "{refused}");
}

#[test]
fn writers_refuse_what_readers_would() {
    let mut writer = writer();
    let again = writer
        .add(kernel("copy_a@x-1", "one"), &empty_ptx("one"), None)
        .unwrap_err();
    assert!(again.to_string().contains("used twice"));
    let mut wrong = kernel("../evil", "one");
    wrong.certificate = serde_json::json!(1).into();
    wrong.launches[0].block = [0, 1, 1];
    let all = writer
        .add(wrong, &empty_ptx("other"), None)
        .unwrap_err()
        .to_string();
    for part in [
        "an id has",
        "certificate is no object",
        "block [0, 1, 1]",
        "no .entry one",
    ] {
        assert!(all.contains(part), "{part} missing in {all}");
    }
    let no_version = writer
        .add(kernel("c", "one"), ".entry one()", None)
        .unwrap_err();
    assert!(no_version.to_string().contains("no .version line"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_manifests_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
        reseal in any::<bool>(),
    ) {
        let mut files = files();
        let mut bytes = files["manifest.json"].clone();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte & 0x7f),
                2 => { bytes.remove(at); }
                _ => {
                    let digit = b'0' + byte % 10;
                    bytes[at] = if bytes[at].is_ascii_digit() { digit } else { bytes[at] };
                }
            }
        }
        if reseal && let Ok(text) = std::str::from_utf8(&bytes) {
            bytes = resealed(text).into_bytes();
        }
        files.insert("manifest.json".to_owned(), bytes);
        if let Ok(bundle) = open(&files) {
            prop_assert!(bundle.kernels().iter().all(|k| !bundle.ptx(k).is_empty()));
        }
    }
}
