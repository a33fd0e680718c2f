//! A kernel's certificate: JSON that this crate keeps and hashes and does not read.
//!
//! It is held as compact text, of at most [`MAX_CERTIFICATE_BYTES`]: a tree of values takes more
//! than ten times the memory of its text, and most programs that open a bundle do not ask for it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Longest certificate as compact JSON. Those of the shipped kernels have up to 3 KB: a step of the
/// kernel is some 200 bytes.
pub const MAX_CERTIFICATE_BYTES: usize = 256 << 10;

/// In the place of the proof of a kernel whose PTX was replaced.
const EDITED: &str = r#"{"edited":true}"#;

/// The generator's proof of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    text: String,
}

impl Certificate {
    /// The certificate as compact JSON.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The certificate as a value.
    pub fn value(&self) -> Value {
        // The text was written by `serde_json` from a value that it had read.
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// What is said of a kernel whose PTX was replaced: nothing is proved of it.
    pub(crate) fn edited() -> Certificate {
        Certificate {
            text: EDITED.to_owned(),
        }
    }

    /// Whether the kernel's PTX was replaced, by
    /// [`BundleWriter::edited`](crate::BundleWriter::edited).
    pub fn is_edited(&self) -> bool {
        self.text == EDITED
    }

    pub(crate) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }
}

impl Default for Certificate {
    /// An empty object.
    fn default() -> Certificate {
        Certificate {
            text: "{}".to_owned(),
        }
    }
}

impl From<Value> for Certificate {
    /// The value with the keys of every object sorted, whatever order the map type of this build
    /// keeps.
    fn from(mut value: Value) -> Certificate {
        sort_keys(&mut value);
        Certificate {
            text: value.to_string(),
        }
    }
}

fn sort_keys(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = std::mem::take(map).into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            for (key, mut inner) in entries {
                sort_keys(&mut inner);
                map.insert(key, inner);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Certificate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Certificate, D::Error> {
        let mut text = String::new();
        Compact(&mut text).deserialize(deserializer)?;
        Ok(Certificate { text })
    }
}

/// Writes whatever comes as compact JSON, up to the limit.
struct Compact<'t>(&'t mut String);

impl Compact<'_> {
    fn put<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        if text.len() > MAX_CERTIFICATE_BYTES.saturating_sub(self.0.len()) {
            return Err(E::custom(format!(
                "the certificate has more than {MAX_CERTIFICATE_BYTES} bytes"
            )));
        }
        self.0.push_str(text);
        Ok(())
    }

    fn put_value<E: serde::de::Error>(&mut self, value: impl Serialize) -> Result<(), E> {
        let text = serde_json::to_string(&value).map_err(E::custom)?;
        self.put(&text)
    }
}

impl<'de> DeserializeSeed<'de> for Compact<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Compact<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: serde::de::Error>(mut self, value: bool) -> Result<(), E> {
        self.put_value(value)
    }

    fn visit_i64<E: serde::de::Error>(mut self, value: i64) -> Result<(), E> {
        self.put_value(value)
    }

    fn visit_u64<E: serde::de::Error>(mut self, value: u64) -> Result<(), E> {
        self.put_value(value)
    }

    fn visit_f64<E: serde::de::Error>(mut self, value: f64) -> Result<(), E> {
        self.put_value(value)
    }

    fn visit_str<E: serde::de::Error>(mut self, value: &str) -> Result<(), E> {
        self.put_value(value)
    }

    fn visit_unit<E: serde::de::Error>(mut self) -> Result<(), E> {
        self.put("null")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.put("[")?;
        let mut is_first = true;
        loop {
            let end = self.0.len();
            if !is_first {
                self.put(",")?;
            }
            is_first = false;
            if items.next_element_seed(Compact(&mut *self.0))?.is_none() {
                self.0.truncate(end);
                return self.put("]");
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        self.put("{")?;
        let mut gap = "";
        while let Some(key) = entries.next_key::<String>()? {
            self.put(gap)?;
            self.put_value::<A::Error>(key)?;
            self.put(":")?;
            entries.next_value_seed(Compact(&mut *self.0))?;
            gap = ",";
        }
        self.put("}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        let text = r#"{"a":{"b":[1,-2,1.5,[],{}],"c":null},"z":["\u001b","é",true]}"#;
        let read: Certificate = serde_json::from_str(text).unwrap();
        assert_eq!(read.text(), text);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert_eq!(Certificate::from(read.value()), read);
        let spaced = serde_json::to_string_pretty(&read).unwrap();
        assert_eq!(spaced, serde_json::to_string_pretty(&read.value()).unwrap());
        assert_eq!(serde_json::from_str::<Certificate>(&spaced).unwrap(), read);
        assert_eq!(
            serde_json::from_value::<Certificate>(read.value()).unwrap(),
            read
        );
    }

    #[test]
    fn reading_ends_at_the_limit() {
        let list = |items: usize| format!("[1{}]", ",1".repeat(items - 1));
        let most = MAX_CERTIFICATE_BYTES / 2 - 1;
        assert!(serde_json::from_str::<Certificate>(&list(most)).is_ok());
        let long = serde_json::from_str::<Certificate>(&list(40 * most)).unwrap_err();
        // It stops there, not at the end.
        assert!(long.column() < MAX_CERTIFICATE_BYTES + 100, "{long}");
        assert!(
            long.to_string().contains("more than 262144 bytes"),
            "{long}"
        );
    }
}
