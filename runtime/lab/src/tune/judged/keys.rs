//! The keys of a record: which there are, and which have values of another type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::record::Record;
use super::{Faults, VALUE_CHARS, fault, shown};

/// A record of nothing, with every key that a record cannot be without, and others.
const PLAIN: &str = r#"{
    "format": 1, "outcome": "screened", "content_hash": "", "backend": "", "sm": null, "sms": 1,
    "date": "", "commit": "", "gpu": "", "driver": "", "cublaslt": null, "ptxas": "",
    "sm_clock_mhz": null, "power_w": null, "family": "", "kernel": "",
    "problem": {"m": 1, "n": 1, "k": 1, "batch": 1},
    "dtype": {"a": null, "b": null, "c": null, "d": null, "acc": null}, "layout": "",
    "mode": "sustained", "ours_us": 0.0, "default_us": null, "best_us": 0.0, "peer": "",
    "ratio_default": null, "ratio_best": 0.0, "aa_ratio": null, "tflops": 0.0, "tbps": 0.0,
    "rel_err": 0.0, "max_err": 0.0, "rounds": 0, "spread": 0.0, "ratio_spread": 0.0,
    "aa_spread": null, "candidates": 0
}"#;
/// The keys that are left out where there is nothing to say.
const OPTIONAL: [&str; 7] = [
    "reason",
    "detail",
    "unit",
    "peer_version",
    "peer_max_err",
    "bound",
    "replayed",
];
/// The keys that are objects of named values.
const NESTED: [&str; 2] = ["problem", "dtype"];

/// A record of nothing.
fn plain() -> Value {
    // It is read by a test.
    serde_json::from_str(PLAIN).unwrap_or_default()
}

/// The keys that no record has.
pub(super) fn unknown(object: &Map<String, Value>) -> Faults {
    let plain = plain();
    let is_known = |key: &str| plain.get(key).is_some() || OPTIONAL.contains(&key);
    let outer = object.iter().filter(|(key, _)| !is_known(key));
    let outer = outer.map(|(key, value)| (key.clone(), value));
    // Extents of a problem have any name.
    let types = object.get("dtype").and_then(Value::as_object);
    let inner = types.into_iter().flatten();
    let inner = inner.filter(|(key, _)| plain["dtype"].get(key).is_none());
    let inner = inner.map(|(key, value)| (format!("dtype.{key}"), value));
    let named = |(key, value): (String, &Value)| {
        let key: String = key
            .chars()
            .take(VALUE_CHARS)
            .flat_map(char::escape_debug)
            .collect();
        fault(&key, shown(value), "a record has no such key")
    };
    outer.chain(inner).map(named).collect()
}

/// The keys whose values are of another type, and those that are missing: each is tried in a record
/// of nothing.
pub(super) fn mistyped(object: &Map<String, Value>) -> Faults {
    let plain = plain();
    let error = |record: Value| serde_json::from_value::<Record>(record).err();
    let mut faults = Vec::new();
    for (key, value) in object {
        let mut one = plain.clone();
        one[key] = value.clone();
        let Some(wrong) = error(one) else {
            continue;
        };
        let before = faults.len();
        let inner = value.as_object().filter(|_| NESTED.contains(&key.as_str()));
        for (name, value) in inner.into_iter().flatten() {
            let mut one = plain.clone();
            one[key][name] = value.clone();
            let wrong = error(one)
                .map(|wrong| fault(&format!("{key}.{name}"), shown(value), &told(&wrong)));
            faults.extend(wrong);
        }
        if faults.len() == before {
            faults.push(fault(key, shown(value), &told(&wrong)));
        }
    }
    for key in plain.as_object().into_iter().flat_map(Map::keys) {
        let mut without = plain.clone();
        if let (false, Some(all)) = (object.contains_key(key), without.as_object_mut()) {
            all.remove(key);
            faults.extend(error(without).map(|_| format!("`{key}` is missing")));
        }
    }
    faults
}

/// The keys of a line that a record can have as they are, `problem.m` among them.
#[derive(Debug, Default)]
pub(super) struct Taken(BTreeSet<String>);

/// Keys whose values say which values of others are allowed.
const FOLLOW: [(&str, &[&str]); 2] = [
    ("outcome", &["reason", "detail", "ours_us"]),
    ("backend", &["sm", "unit"]),
];

impl Taken {
    /// Whether what is told of a key is of the line, and not of what stands there in its place.
    pub(super) fn can_tell(&self, fault: &str) -> bool {
        let key = fault.trim_start_matches('`').split('`').next();
        let key = key.unwrap_or_default();
        let outer = key.split('.').next().unwrap_or_default();
        let mut follow = FOLLOW.iter().filter(|(_, keys)| keys.contains(&outer));
        // What a record of nothing has stands in the place of what is missing or mistyped.
        let is_replaced = is_of_nothing(key) && !self.0.contains(key);
        !is_replaced && follow.all(|(of, _)| self.0.contains(*of))
    }
}

/// Whether a record of nothing has a key.
fn is_of_nothing(key: &str) -> bool {
    let pointer = format!("/{}", key.replace('.', "/"));
    plain().pointer(&pointer).is_some()
}

/// A record of nothing with those values of a line that it can have.
pub(super) fn mended(object: &Map<String, Value>) -> (Option<Record>, Taken) {
    let (mut record, mut taken) = (plain(), Taken::default());
    let mut put = |key: &str, name: Option<&str>, value: &Value| {
        let mut one = record.clone();
        let place = match name {
            None => &mut one[key],
            Some(name) => &mut one[key][name],
        };
        *place = value.clone();
        if serde_json::from_value::<Record>(one.clone()).is_ok() {
            record = one;
            let inner = name.map(|name| format!("{key}.{name}"));
            taken.0.insert(inner.unwrap_or_else(|| key.to_owned()));
        }
    };
    for (key, value) in object {
        match value.as_object().filter(|_| NESTED.contains(&key.as_str())) {
            None => put(key, None, value),
            Some(inner) => {
                for (name, value) in inner {
                    put(key, Some(name), value);
                }
            }
        }
    }
    (serde_json::from_value(record).ok(), taken)
}

/// An error of reading without the place, which is one in a record of nothing.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
