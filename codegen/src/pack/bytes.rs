//! Bytes as text in JSON: base64.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

/// Writes bytes.
pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&BASE64_STANDARD.encode(bytes))
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    BASE64_STANDARD.decode(text).map_err(D::Error::custom)
}
