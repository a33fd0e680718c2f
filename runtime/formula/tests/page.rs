//! The reference page is what the tables say.
#![allow(clippy::unwrap_used)]

mod kernel_files;

use kernel_files::{folder, golden};
use tilewright_formula::functions::{DERIVED, PRIMITIVES};
use tilewright_formula::page::markdown;

#[test]
fn the_reference_page_is_generated() {
    let page = markdown();
    let difference = golden(&folder("runtime/formula/docs/notation.md"), &page);
    assert!(difference.is_none(), "BLESS=1 records the page");
    let named = |name: &str| page.contains(name);
    assert!(PRIMITIVES.iter().all(|row| named(row.name)));
    assert!(DERIVED.iter().all(|row| named(row.definition)));
}
