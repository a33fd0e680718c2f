//! Keys of ed25519 as files: what OpenSSL and `tilewright bundle keygen` write.
//!
//! A public key is `SubjectPublicKeyInfo`, a private one PKCS #8, both as PEM (RFC 8410).

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    KeypairBytes,
};
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};

use crate::error::KeyError;
use crate::hash::Sha256Hex;

/// Begins a public key.
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----";
/// Ends it.
const PUBLIC_END: &str = "-----END PUBLIC KEY-----";
/// Begins a private key.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----";
/// Begins a private key that takes a password.
const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
/// Most text of keys.
const MAX_TEXT: usize = 1 << 20;

/// A key that signatures are checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Every public key of a PEM text, of which there must be one at least.
    ///
    /// # Errors
    /// When there is none, or one is no key of ed25519, or is weak.
    pub fn all_from_pem(text: &str) -> Result<Vec<PublicKey>, KeyError> {
        let malformed = |message: String| KeyError::Malformed {
            what: "public key",
            message,
        };
        if text.contains(PRIVATE) || text.contains(ENCRYPTED) {
            return Err(KeyError::IsPrivate);
        }
        if text.len() > MAX_TEXT {
            return Err(malformed(format!("it has more than {MAX_TEXT} bytes")));
        }
        let mut keys = Vec::new();
        for part in text.split(PUBLIC).skip(1) {
            let body = part.split(PUBLIC_END).next().unwrap_or_default();
            let pem = format!("{PUBLIC}{body}{PUBLIC_END}\n");
            let key = VerifyingKey::from_public_key_pem(&pem);
            let key = key.map_err(|e| malformed(e.to_string()))?;
            if key.is_weak() {
                return Err(KeyError::Weak);
            }
            keys.push(PublicKey(key));
        }
        match keys.is_empty() {
            true => Err(malformed(format!("the text has no line {PUBLIC}"))),
            false => Ok(keys),
        }
    }

    /// The key as PEM.
    pub fn to_pem(&self) -> String {
        let pem = self.0.to_public_key_pem(LineEnding::LF);
        pem.unwrap_or_default()
    }

    /// What the key is called: the SHA-256 of its `SubjectPublicKeyInfo`, as
    /// `openssl pkey -pubin -outform DER | sha256sum` gives it.
    pub fn id(&self) -> Sha256Hex {
        let der = self.0.to_public_key_der();
        Sha256Hex::of(der.as_ref().map(|der| der.as_bytes()).unwrap_or_default())
    }

    /// Whether a signature of `message` is by this key, with every check of RFC 8032 and without
    /// what lets one signature stand for several messages.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

/// A key that signs. Its memory is cleared when it goes.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey of {}", self.public().id())
    }
}

impl SigningKey {
    /// The key of 32 random bytes, from a generator fit for keys.
    pub fn from_random(bytes: &[u8; 32]) -> SigningKey {
        SigningKey(ed25519_dalek::SigningKey::from_bytes(bytes))
    }

    /// Reads a PEM text.
    ///
    /// # Errors
    /// When it is no private key of ed25519, or an encrypted one.
    pub fn from_pem(text: &str) -> Result<SigningKey, KeyError> {
        if text.contains(ENCRYPTED) {
            return Err(KeyError::IsEncrypted);
        }
        if text.contains(PUBLIC) {
            return Err(KeyError::IsPublic);
        }
        let malformed = |message: String| KeyError::Malformed {
            what: "private key",
            message,
        };
        if !text.contains(PRIVATE) {
            return Err(malformed(format!("the text has no line {PRIVATE}")));
        }
        let key = ed25519_dalek::SigningKey::from_pkcs8_pem(text);
        let key = key.map_err(|e| malformed(e.to_string()))?;
        Ok(SigningKey(key))
    }

    /// The key as PEM, in the first version of PKCS #8, which every OpenSSL reads.
    pub fn to_pem(&self) -> String {
        let bytes = KeypairBytes {
            secret_key: self.0.to_bytes(),
            public_key: None,
        };
        let pem = bytes.to_pkcs8_pem(LineEnding::LF);
        pem.map(|pem| pem.to_string()).unwrap_or_default()
    }

    /// The key that its signatures are checked with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// A signature of some bytes, as 128 hexadecimal digits. Bundles are signed by
    /// [`crate::Bundle::sign`], which knows what is signed.
    pub fn sign(&self, bytes: &[u8]) -> String {
        let signature = self.0.sign(bytes).to_bytes();
        signature.map(|byte| format!("{byte:02x}")).concat()
    }
}
