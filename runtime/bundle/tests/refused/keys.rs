//! Texts that are no keys, or not the ones that are wanted.

use tilewright_bundle::{PublicKey, SigningKey};

use crate::Case;

const PRIVATE: &str = include_str!("../data/openssl.pem");
const PUBLIC: &str = include_str!("../data/openssl.pub.pem");
/// `openssl pkcs8 -topk8` of such a key, cut behind its first line.
const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n\
    MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj1EXuWoL3C4QICCAAw\n\
    -----END ENCRYPTED PRIVATE KEY-----\n";
/// Of `openssl genpkey -algorithm x25519`.
const X25519: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VuAyEAHrgvL4KFNxM67nBVAyCaQFU5OlTQ+L8uTIr+dcKBTgY=\n\
    -----END PUBLIC KEY-----\n";
/// The neutral element, under which everything verifies that is not checked strictly.
const WEAK: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
    -----END PUBLIC KEY-----\n";

/// The refusals.
pub fn cases() -> Vec<Case> {
    let cut = &PUBLIC[..60];
    let public = [
        ("a private key where a public one is wanted", PRIVATE),
        ("an encrypted key where a public one is wanted", ENCRYPTED),
        ("a public key of another curve", X25519),
        ("a weak public key", WEAK),
        ("a public key that is cut", cut),
        ("no key at all", "ssh-ed25519 AAAA"),
    ];
    let public = public.map(|(what, text)| {
        let words = PublicKey::all_from_pem(text).unwrap_err().to_string();
        (what.to_owned(), words)
    });
    let private = [
        ("a public key where a private one is wanted", PUBLIC),
        ("an encrypted private key", ENCRYPTED),
        ("an empty file in place of a private key", ""),
    ];
    let private = private.map(|(what, text)| {
        let words = SigningKey::from_pem(text).unwrap_err().to_string();
        (what.to_owned(), words)
    });
    public.into_iter().chain(private).collect()
}
