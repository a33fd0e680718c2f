//! The reference page of specs is what the table of keys says today.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tilewright_codegen::spec;

#[test]
fn the_page_is_made_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/spec.md");
    let page = spec::reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/spec.md is another: write it with BLESS=1"
    );
}
