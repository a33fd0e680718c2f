//! Signatures are checked by keys as OpenSSL makes them, and go when the bundle becomes another.
#![allow(clippy::unwrap_used, clippy::panic)]

mod sealed;

use tilewright_bundle::*;
use tilewright_fixture::{choice, open, table};

use self::sealed::{files, writer};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_random(&[seed; 32])
}

fn signed_by(seeds: &[u8]) -> Bundle {
    let mut bundle = open(&files()).unwrap();
    for seed in seeds {
        bundle.sign(&key(*seed));
    }
    bundle
}

fn policy(seeds: &[u8]) -> Policy {
    Policy::signed_by(seeds.iter().map(|seed| key(*seed).public()))
}

/// The key of the first test of RFC 8032, as `openssl pkey` and `openssl pkey -pubout` write it.
const OPENSSL_KEY: &str = include_str!("data/openssl.pem");
const OPENSSL_PUBLIC: &str = include_str!("data/openssl.pub.pem");
/// `openssl pkey -pubin -in openssl.pub.pem -outform DER | sha256sum`.
const OPENSSL_ID: &str = include_str!("data/openssl.id");
/// `openssl pkeyutl -sign -inkey openssl.pem -rawin -in TEXT`, in hexadecimal digits, of the text
/// that is signed for a hash of 64 zeros.
const OPENSSL_SIGNATURE: &str = include_str!("data/openssl.signature");

#[test]
fn a_signed_bundle_opens_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, policy) = (signed_by(&[1]), policy(&[2, 1]));
    let id = key(1).public().id();
    for name in ["b", "b.zip"] {
        let path = folder.path().join(name);
        bundle.save(&path).unwrap();
        for bundle in [policy.open(&path).unwrap(), Bundle::open(&path).unwrap()] {
            assert_eq!(bundle.signatures().unwrap().signatures[0].key_id, id);
            assert!(bundle.unlisted(&path).unwrap().is_empty());
        }
        assert_eq!(
            policy.open(&path).unwrap().signed_by(),
            std::slice::from_ref(&id)
        );
        assert!(Bundle::open(&path).unwrap().signed_by().is_empty());
    }
    let bytes = std::fs::read(folder.path().join("b.zip")).unwrap();
    policy.open_zip(&bytes).unwrap();
}

#[test]
fn several_may_sign_and_any_of_them_will_do() {
    let both = signed_by(&[1, 2, 1]);
    assert_eq!(both.signatures().unwrap().signatures.len(), 2);
    let opened = |policy: &Policy| {
        let files = both.files().iter();
        policy.open_files(files.map(|(p, b)| (p.as_str(), b.as_slice())))
    };
    for seeds in [&[1][..], &[2], &[3, 2]] {
        assert_eq!(opened(&policy(seeds)).unwrap().signed_by().len(), 1);
    }
    assert_eq!(opened(&policy(&[1, 2])).unwrap().signed_by().len(), 2);
    let unknown = opened(&policy(&[3])).unwrap_err();
    let Error::Signature(SignatureFault::UnknownKey { signed, required }) = unknown else {
        panic!("{unknown}");
    };
    assert_eq!((signed.len(), required.len()), (2, 1));
    let none = opened(&Policy::signed_by([])).unwrap_err();
    assert!(matches!(none, Error::Signature(SignatureFault::NoKeys)));
}

#[test]
fn every_changed_digit_of_a_signature_is_noticed() {
    let mut files = signed_by(&[1]).files().clone();
    let text = String::from_utf8(files[SIGNATURES_FILE].clone()).unwrap();
    let start = text.find("\"signature\": \"").unwrap() + 14;
    for at in start..start + 128 {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        files.insert(SIGNATURES_FILE.to_owned(), bytes);
        let refs = files.iter().map(|(p, b)| (p.as_str(), b.as_slice()));
        let refused = policy(&[1]).open_files(refs).unwrap_err();
        let is_wrong = matches!(refused, Error::Signature(SignatureFault::Wrong { .. }));
        assert!(is_wrong, "digit {at}: {refused}");
    }
}

#[test]
fn a_bundle_that_becomes_another_has_no_signature() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = signed_by(&[1]);
    bundle.save(folder.path()).unwrap();
    let kernel = &bundle.kernels()[0];
    let device = TunedDevice {
        name: "GPU".to_owned(),
        sm: None,
        sms: 1,
    };
    let point = TunedPoint {
        extents: vec![8, 8],
        strides: Vec::new(),
        choices: vec![choice(kernel, 1.0)],
    };
    let mut writer = BundleWriter::from_bundle(&bundle).unwrap();
    writer.tune(&table(kernel, device, vec![point])).unwrap();
    writer.write(folder.path()).unwrap();
    let tuned = Bundle::open(folder.path()).unwrap();
    assert!(tuned.tuning().is_some() && tuned.signatures().is_none());
    let refused = policy(&[1]).open(folder.path()).unwrap_err();
    assert!(matches!(
        refused.without_path(),
        Error::Signature(SignatureFault::Missing { .. })
    ));
}

#[test]
fn keys_are_what_openssl_makes() {
    let key = SigningKey::from_pem(OPENSSL_KEY).unwrap();
    assert_eq!(key.to_pem(), OPENSSL_KEY);
    assert_eq!(key.public().to_pem(), OPENSSL_PUBLIC);
    assert_eq!(key.public().id().as_str(), OPENSSL_ID.trim());
    let zeros = "0".repeat(64);
    let hash: Sha256Hex = serde_json::from_value(serde_json::json!(zeros)).unwrap();
    let text = format!("tilewright bundle signature 1\n{zeros}\n");
    assert_eq!(signed_text(&hash), text);
    assert_eq!(key.sign(text.as_bytes()), OPENSSL_SIGNATURE.trim());
    let both = format!(
        "one:\n{OPENSSL_PUBLIC}two:\n{}",
        self::key(1).public().to_pem()
    );
    let keys = PublicKey::all_from_pem(&both).unwrap();
    assert_eq!(keys, [key.public(), self::key(1).public()]);
}

#[test]
fn a_writer_of_the_same_bundle_gives_the_bytes_that_were_signed() {
    let bundle = signed_by(&[1]);
    let mut again = BundleWriter::from_bundle(&bundle)
        .unwrap()
        .to_files()
        .unwrap();
    again.insert(
        SIGNATURES_FILE.to_owned(),
        bundle.files()[SIGNATURES_FILE].clone(),
    );
    assert_eq!(&again, bundle.files());
    assert_eq!(&writer().to_files().unwrap(), &files());
}
