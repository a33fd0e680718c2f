//! Why a bundle's signatures do not open it, and why a text is no key.

/// What is wrong with a bundle's signatures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// A key is required and nobody signed.
    #[error(
        "the bundle has no signature; one by {} is required: `tilewright bundle sign` makes it",
        any_of(required)
    )]
    Missing {
        /// Ids of the keys of which one is required.
        required: Vec<String>,
    },
    /// None of those that signed is required.
    #[error(
        "the bundle is signed by {}; a signature by {} is required",
        signed.join(", "),
        any_of(required)
    )]
    UnknownKey {
        /// Ids of the keys that signed.
        signed: Vec<String>,
        /// Ids of the keys of which one is required.
        required: Vec<String>,
    },
    /// A signature is not of its key and this bundle.
    #[error("the signature by key {key_id} is wrong: it is of another bundle or by another key")]
    Wrong {
        /// The key it names.
        key_id: String,
    },
    /// The signatures are of a bundle of another hash.
    #[error(
        "signatures.json is of the bundle {signed}; this one is {found}: sign it, or remove the \
         file"
    )]
    OtherBundle {
        /// The hash it names.
        signed: String,
        /// The bundle's.
        found: String,
    },
    /// The file of signatures is none.
    #[error("signatures.json: {message}")]
    Malformed {
        /// What is wrong.
        message: String,
    },
    /// Any key of none is asked for.
    #[error("a signature is required, and no key is given that it may be by")]
    NoKeys,
}

fn any_of(keys: &[String]) -> String {
    match keys {
        [one] => format!("key {one}"),
        several => format!("one of the keys {}", several.join(", ")),
    }
}

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A private key stands where a public one is wanted.
    #[error("this is a private key; give its public key: `openssl pkey -in KEY -pubout`")]
    IsPrivate,
    /// A public key stands where a private one is wanted.
    #[error("this is a public key; signing takes the private key")]
    IsPublic,
    /// The private key is encrypted.
    #[error("the key is encrypted; decrypt it first: `openssl pkey -in KEY`")]
    IsEncrypted,
    /// It is no PEM of an ed25519 key.
    #[error(
        "no {what} of ed25519: {message}; `tilewright bundle keygen` and `openssl genpkey \
         -algorithm ed25519` make keys"
    )]
    Malformed {
        /// What was wanted.
        what: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A public key with which anything verifies.
    #[error("the key is weak: signatures by it prove nothing")]
    Weak,
}
