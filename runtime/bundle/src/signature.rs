//! Signatures of a bundle, the keys they are by, and what a bundle must bring to be opened.
//!
//! `signatures.json` lies beside the manifest, which does not list it:
//!
//! ```json
//! {
//!   "format": 1,
//!   "bundle_sha256": "<the manifest's>",
//!   "signatures": [{ "key_id": "<64 digits>", "signature": "<128 digits>" }]
//! }
//! ```
//!
//! `key_id` is the SHA-256 of the public key ([`PublicKey::id`]). Signed is the text of two lines
//! that [`signed_text`] gives, with ed25519 as RFC 8032 says it without a context. The hash in it
//! is `bundle_sha256`, which covers every byte of the manifest and so of every file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{SignatureFault as Fault, shorten};
use crate::hash::Sha256Hex;
use crate::key::PublicKey;
#[cfg(feature = "signatures")]
use crate::key::SigningKey;

/// The name of the file in a bundle.
pub const SIGNATURES_FILE: &str = "signatures.json";
/// The format of the file that this crate writes and the only one it reads.
pub const SIGNATURES_FORMAT: u32 = 1;
/// Largest file of signatures.
pub(crate) const MAX_SIGNATURES_BYTES: u64 = 64 << 10;
/// Most signatures of a bundle.
const MAX_SIGNATURES: usize = 64;

/// The signatures of one bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signatures {
    /// [`SIGNATURES_FORMAT`].
    pub format: u32,
    /// The hash of the bundle they are of.
    pub bundle_sha256: Sha256Hex,
    /// One for each key, in the order of the keys' ids.
    pub signatures: Vec<Signature>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// [`PublicKey::id`] of the key it is by.
    pub key_id: Sha256Hex,
    /// 64 bytes in hexadecimal digits.
    pub signature: String,
}

/// The text that is signed for the bundle of this hash.
pub fn signed_text(bundle_sha256: &Sha256Hex) -> String {
    format!("tilewright bundle signature 1\n{bundle_sha256}\n")
}

/// Public keys of which any may have signed.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    keys: BTreeMap<Sha256Hex, PublicKey>,
}

impl FromIterator<PublicKey> for Keyring {
    fn from_iter<T: IntoIterator<Item = PublicKey>>(keys: T) -> Keyring {
        let keys = keys.into_iter().map(|key| (key.id(), key));
        Keyring {
            keys: keys.collect(),
        }
    }
}

impl Keyring {
    fn ids(&self) -> Vec<String> {
        self.keys.keys().map(Sha256Hex::to_string).collect()
    }
}

/// Which bundles may be opened.
#[derive(Debug, Clone, Default)]
pub enum Policy {
    /// Those without a signature too. Signatures are of the bundle or refused, and by whom they
    /// are, nobody asks.
    #[default]
    Unsigned,
    /// Those that one of these keys signed.
    Signed(Keyring),
}

impl Policy {
    /// Only bundles that one of `keys` signed.
    pub fn signed_by(keys: impl IntoIterator<Item = PublicKey>) -> Policy {
        Policy::Signed(keys.into_iter().collect())
    }

    /// Checks a bundle's signatures; says which of the keys have signed.
    pub(crate) fn check(
        &self,
        bundle: &Sha256Hex,
        signatures: Option<&Signatures>,
    ) -> Result<Vec<Sha256Hex>, Fault> {
        let Policy::Signed(keyring) = self else {
            return Ok(Vec::new());
        };
        let required = keyring.ids();
        if required.is_empty() {
            return Err(Fault::NoKeys);
        }
        let Some(signatures) = signatures else {
            return Err(Fault::Missing { required });
        };
        let message = signed_text(bundle);
        let mut good = Vec::new();
        for one in &signatures.signatures {
            let Some(key) = keyring.keys.get(&one.key_id) else {
                continue;
            };
            let raw = raw(&one.signature).map_err(|message| Fault::Malformed { message })?;
            if !key.verifies(message.as_bytes(), &raw) {
                let key_id = one.key_id.to_string();
                return Err(Fault::Wrong { key_id });
            }
            good.push(one.key_id.clone());
        }
        if good.is_empty() {
            let signed = signatures.signatures.iter();
            let signed = signed.map(|one| one.key_id.to_string()).collect();
            return Err(Fault::UnknownKey { signed, required });
        }
        Ok(good)
    }
}

impl Signatures {
    /// Reads the file of the bundle with this hash.
    pub(crate) fn parse(bytes: &[u8], bundle: &Sha256Hex) -> Result<Signatures, Fault> {
        let malformed = |message: String| Fault::Malformed { message };
        let read: Signatures =
            serde_json::from_slice(bytes).map_err(|e| malformed(shorten(&e.to_string())))?;
        let (found, known) = (read.format, SIGNATURES_FORMAT);
        if found != known {
            let message = format!("has format {found}; this program reads format {known}");
            return Err(malformed(message));
        }
        let count = read.signatures.len();
        if !(1..=MAX_SIGNATURES).contains(&count) {
            let message = format!("{count} signatures; 1 to {MAX_SIGNATURES} are allowed");
            return Err(malformed(message));
        }
        let mut ids = BTreeSet::new();
        for (at, one) in read.signatures.iter().enumerate() {
            let place = |message: String| malformed(format!("signature {}: {message}", at + 1));
            if !one.key_id.is_well_formed() {
                let message = "key_id is not 64 lower-case hexadecimal digits";
                return Err(place(message.to_owned()));
            }
            if !ids.insert(&one.key_id) {
                return Err(place(format!("key {} has signed before it", one.key_id)));
            }
            raw(&one.signature).map_err(place)?;
        }
        if read.bundle_sha256 != *bundle {
            return Err(Fault::OtherBundle {
                signed: shorten(read.bundle_sha256.as_str()),
                found: bundle.to_string(),
            });
        }
        Ok(read)
    }

    /// Whether some bytes are such a file, of whatever bundle.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        serde_json::from_slice::<Signatures>(bytes).is_ok()
    }

    /// These, or none, and one by `key`, in place of an earlier one by it.
    #[cfg(feature = "signatures")]
    pub(crate) fn with(
        earlier: Option<&Signatures>,
        bundle: &Sha256Hex,
        key: &SigningKey,
    ) -> Signatures {
        let key_id = key.public().id();
        let signature = key.sign(signed_text(bundle).as_bytes());
        let earlier = earlier.iter().flat_map(|all| &all.signatures);
        let others = earlier.filter(|one| one.key_id != key_id).cloned();
        let one = Signature {
            key_id: key_id.clone(),
            signature,
        };
        let mut signatures: Vec<Signature> = others.chain([one]).collect();
        signatures.sort_by(|a, b| a.key_id.cmp(&b.key_id));
        Signatures {
            format: SIGNATURES_FORMAT,
            bundle_sha256: bundle.clone(),
            signatures,
        }
    }

    /// The file's text.
    #[cfg(feature = "signatures")]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Text and numbers are always JSON.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        (text + "\n").into_bytes()
    }
}

/// The 64 bytes of a signature.
fn raw(digits: &str) -> Result<[u8; 64], String> {
    let wrong = || "signature is not 128 lower-case hexadecimal digits".to_owned();
    let is_digit = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    let digits = digits.as_bytes();
    if digits.len() != 128 || !digits.iter().all(is_digit) {
        return Err(wrong());
    }
    let mut bytes = [0; 64];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |c: u8| if c <= b'9' { c - b'0' } else { c - b'a' + 10 };
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Ok(bytes)
}
