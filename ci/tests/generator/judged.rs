//! What the assembler made of texts that it was given before: a verdict depends on the text, the
//! architecture that the text names, and the assembler's version alone, so that it is asked once
//! of each.
//!
//! Comes in: a point's PTX. Goes out: the verdict that `ptxas.lock` or `ci/data/ptxas.lock` has of
//! a text of that hash, where their heads name the assembler that is there. Nothing is recorded
//! that the gate is against. One text in [`ONE_IN`], by the seed of samples, is assembled all the
//! same and compared by the test of the lock, and with `BLESS=1` every text is.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use tilewright_bundle::Sha256Hex;
use tilewright_ci::{golden, source_tree};
use tilewright_codegen::ptx::ptxas;

use crate::kept::Assembled;
use crate::locks::llvm;
use crate::sample;

/// The lock of the shipped points, and that of other points that tests run.
pub const LOCKS: [&str; 2] = ["ptxas.lock", "ci/data/ptxas.lock"];
/// Of so many texts one is assembled whatever the locks say.
const ONE_IN: u32 = 12;

/// The versions that verdicts depend on.
pub fn tools() -> String {
    let ptxas = ptxas::find().expect("no ptxas: run ci/setup.sh, or set TILEWRIGHT_PTXAS");
    format!("ptxas {}, {}", ptxas::version(&ptxas).unwrap(), llvm())
}

/// The beginning of a text's hash, as a lock names it.
fn hash(text: &str) -> String {
    Sha256Hex::of(text.as_bytes()).to_string()[..16].to_owned()
}

/// A point's line in a lock.
pub fn line(id: &str, text: &str, made: &Assembled) -> String {
    let Assembled {
        registers,
        smem_bytes,
        spill_bytes,
        ..
    } = made;
    let hash = hash(text);
    format!("{id} registers {registers} smem_bytes {smem_bytes} spill_bytes {spill_bytes} {hash}")
}

/// What a lock's line says of the text with that hash.
fn read(line: &str) -> Option<(String, Assembled)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [
        _,
        "registers",
        registers,
        "smem_bytes",
        smem,
        "spill_bytes",
        spills,
        hash,
    ] = *words
    else {
        return None;
    };
    let made = Assembled {
        registers: registers.parse().ok()?,
        smem_bytes: smem.parse().ok()?,
        spill_bytes: spills.parse().ok()?,
        violations: Vec::new(),
    };
    Some((hash.to_owned(), made))
}

/// The verdicts by the texts' hashes.
fn locked() -> &'static BTreeMap<String, Assembled> {
    static LOCKED: OnceLock<BTreeMap<String, Assembled>> = OnceLock::new();
    LOCKED.get_or_init(|| {
        let head = format!("# {}", tools());
        let text = |path: &&str| {
            let text = fs::read_to_string(source_tree::root().join(path)).unwrap_or_default();
            text.strip_prefix(&head).unwrap_or_default().to_owned()
        };
        let texts = LOCKS.iter().map(text).collect::<String>();
        texts.lines().filter_map(read).collect()
    })
}

/// Whether a point's text is assembled whatever is recorded of it.
pub fn is_sampled(id: &str) -> bool {
    let lot = Sha256Hex::of(format!("{} {id}", sample::seed()).as_bytes()).to_string();
    golden::blessing()
        || u32::from_str_radix(&lot[..4], 16)
            .unwrap()
            .is_multiple_of(ONE_IN)
}

/// What is recorded of a point's text.
pub fn verdict(id: &str, text: &str) -> Option<Assembled> {
    let found = locked().get(&hash(text)).filter(|_| !is_sampled(id));
    found.cloned()
}

#[test]
fn verdicts_are_of_their_texts_alone() {
    let made = Assembled {
        registers: 40,
        smem_bytes: 1024,
        spill_bytes: 0,
        violations: Vec::new(),
    };
    let (found, again) = read(&line("copy@8x8-1", "a text", &made)).unwrap();
    assert!(found == hash("a text") && found != hash("another") && again == made);
    for damaged in [
        "copy registers 4",
        "copy registers x smem_bytes 1 spill_bytes 0 00",
    ] {
        assert!(read(damaged).is_none(), "{damaged}");
    }
    assert!(verdict("copy@8x8-1", "a text that nobody made").is_none());
}
