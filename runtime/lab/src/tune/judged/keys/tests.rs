//! Keys that records have; what is wrong with values is in `runtime/lab/tests/lab/records.rs`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::super::super::record::Reason;
use super::*;

#[test]
fn every_key_of_a_record_is_known() {
    let plain: Record = serde_json::from_str(PLAIN).unwrap();
    let full = Record {
        reason: Some(Reason::Load),
        detail: Some(String::new()),
        unit: Some(String::new()),
        row: crate::bench::Row {
            peer_version: Some(String::new()),
            peer_max_err: Some(0.0),
            bound: Some(String::new()),
            replayed: Some(true),
            ..plain.row
        },
        ..plain
    };
    let written = serde_json::to_value(&full).unwrap();
    let keys = |value: &Value| -> BTreeSet<String> {
        let object = value.as_object().unwrap();
        object.keys().cloned().collect()
    };
    let optional = OPTIONAL.map(str::to_owned);
    let known: BTreeSet<String> = keys(&super::plain()).into_iter().chain(optional).collect();
    assert_eq!(keys(&written), known);
    for nested in NESTED {
        assert_eq!(keys(&written[nested]), keys(&super::plain()[nested]));
    }
    assert_eq!(unknown(written.as_object().unwrap()), [""; 0]);
    assert_eq!(mistyped(written.as_object().unwrap()), [""; 0]);
}
