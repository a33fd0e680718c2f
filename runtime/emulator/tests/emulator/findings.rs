//! The page of findings is made of the ids.

use std::path::Path;
use std::{env, fs};

use tilewright_emulator::{FindingId, findings_page};

#[test]
fn the_page_is_made_of_the_ids() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md");
    let page = findings_page();
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), page, "BLESS=1 makes it");
}

#[test]
fn each_finding_says_what_it_is_and_what_mends_it() {
    for id in FindingId::ALL {
        for sentence in [id.summary(), id.way_out()] {
            assert!(sentence.ends_with('.'), "{id}: {sentence}");
            assert!(sentence.len() > 20, "{id}: {sentence}");
        }
        assert!(id.section().starts_with(&format!("## `{id}`\n")), "{id}");
        assert_eq!(FindingId::parse(id.as_str()), Some(*id));
    }
}
