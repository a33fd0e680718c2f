//! Synchronization atoms of the same facts take one another's place.

use tilewright_atoms::RECORDS;

use super::*;
use crate::arch::Arch;
use crate::atoms::sync::{Act, Scope, SyncFacts};

/// The embedded catalogue with texts replaced, each of which stands somewhere, and more records.
pub(crate) fn edited(edits: &[(String, String)], more: &str) -> Catalogue {
    let mut sources: Vec<(&str, String)> = RECORDS
        .iter()
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect();
    for (from, to) in edits {
        assert!(
            sources.iter().any(|(_, text)| text.contains(from)),
            "{from}"
        );
        for (_, text) in &mut sources {
            *text = text.replace(from, to);
        }
    }
    sources.push(("more", more.to_owned()));
    let sources: Vec<_> = sources
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    Catalogue::read(&sources).unwrap()
}

const WAIT: SyncFacts = SyncFacts::of(Act::MbarrierAwait, Scope::Cta);

/// A wait of that id for that architecture, with those operands.
fn wait(id: &str, needs: &str, operands: &str) -> String {
    format!(
        "- {{ id: {id}, kind: sync, sync: {{ does: mbarrier_await, scope: cta }}, align_bytes: 8, \
         {needs}, min_ptx: 80, source: s, emit: {{ template: t }}, operands: [{operands}] }}\n"
    )
}

const BARRIER: &str = "{ name: barrier, is: address, space: smem }";
const PARITY: &str = "{ name: parity, is: int }";

#[test]
fn the_newest_of_the_architecture_is_found() {
    let both = format!("{BARRIER}, {PARITY}");
    let transposed = format!("{PARITY}, {BARRIER}");
    let text = wait("first", "min_sm: 80", &both)
        + &wait("second", "min_sm: 90, exact: true", &transposed)
        + &wait("third", "min_sm: 90", &transposed);
    let catalogue = Catalogue::read(&[("a", &text)]).unwrap();
    let found = |arch| {
        let atom = catalogue.sync(WAIT, Arch::parse(arch).unwrap());
        atom.map(|atom| atom.id.as_str())
    };
    assert_eq!(found("sm_75"), None);
    assert_eq!(found("sm_86"), Some("first"));
    assert_eq!(found("sm_90"), Some("third"));
    assert_eq!(found("sm_90a"), Some("second"));
    let ids: Vec<_> = catalogue.syncs(WAIT).iter().map(|one| &one.id).collect();
    assert_eq!(ids, ["second", "third", "first"]);
    let others = SyncFacts::of(Act::MbarrierAwait, Scope::Cluster);
    assert!(catalogue.syncs(others).is_empty());
    assert!(catalogue.syncs(WAIT.on(Space::Smem)).is_empty());
}

#[test]
fn atoms_that_cannot_take_the_place_are_named() {
    let problem = |second: &str| {
        let both = format!("{BARRIER}, {PARITY}");
        let text = wait("first", "min_sm: 90", &both) + second;
        Catalogue::read(&[("a", &text)]).unwrap_err()
    };
    assert_eq!(
        problem(&wait("second", "min_sm: 100", BARRIER)),
        "second waits for an mbarrier (CTA), as first does, with other operands"
    );
    let both = format!("{BARRIER}, {PARITY}");
    assert_eq!(
        problem(&wait("second", "min_sm: 90", &both)),
        "second waits for an mbarrier (CTA) on sm_90, as first does"
    );
}
