//! Hostile signatures and keys.
//!
//! In: any bytes, as `signatures.json` beside a bundle and as the text of a key. Out: no panic, and
//! no bundle is taken for signed but with the one signature that its key has made.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tilewright_bundle::{Bundle, Policy, PublicKey, SIGNATURES_FILE, SigningKey, signed_text};

static SIGNED: LazyLock<(Bundle, Policy, String)> = LazyLock::new(|| {
    let key = SigningKey::from_random(&[7; 32]);
    let bundle = include_bytes!("../../tests/data/format_2/signed.zip");
    let bundle = Bundle::from_zip(bundle).expect("the bundle of the tests");
    let signature = key.sign(signed_text(bundle.hash()).as_bytes());
    (bundle, Policy::signed_by([key.public()]), signature)
});

fuzz_target!(|data: &[u8]| {
    let (bundle, policy, signature) = &*SIGNED;
    let mut files = bundle.files().clone();
    files.insert(SIGNATURES_FILE.to_owned(), data.to_vec());
    let files = files.iter().map(|(p, b)| (p.as_str(), b.as_slice()));
    if let Ok(opened) = policy.open_files(files) {
        let made = opened.signatures().expect("it is signed");
        let by_key = |id| made.signatures.iter().find(|one| one.key_id == id);
        let found = by_key(opened.signed_by()[0].clone()).expect("the key has signed");
        assert_eq!(&found.signature, signature);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        for key in PublicKey::all_from_pem(text).unwrap_or_default() {
            let again = PublicKey::all_from_pem(&key.to_pem());
            assert_eq!(again.expect("a key that was written"), [key]);
        }
        let _ = SigningKey::from_pem(text);
    }
});
