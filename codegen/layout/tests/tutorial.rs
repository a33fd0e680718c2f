//! The page `docs/tutorial.md`, which is the tutorial of the documentation as a page: for a book,
//! and for whoever reads the repository.
//!
//! `BLESS=1 cargo nextest run -p tilewright-layout --test tutorial` writes it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// The parts, in their order.
const PARTS: [&str; 3] = [
    "src/tutorial.rs",
    "src/tutorial/threads.rs",
    "src/tutorial/elsewhere.rs",
];

/// What links to items are on the page.
const LINKS: [(&str, &str); 6] = [
    ("Part two: [`threads`].", ""),
    ("[part one](super)", "part one"),
    ("[first page](crate)", "first page"),
    ("[`threads`]", "part two"),
    ("[`elsewhere`]", "part three"),
    (
        "[`make_tiled_copy`](crate::make_tiled_copy)",
        "`make_tiled_copy`",
    ),
];

/// A line of prose.
fn prose(line: &str) -> String {
    let text = LINKS.iter().fold(line.to_owned(), |text, (link, words)| {
        text.replace(link, words)
    });
    // The page has the title.
    match text.strip_prefix("# ") {
        Some(title) => format!("## {title}"),
        None => text,
    }
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut page = "# Layouts, from `4:1` to a tiled MMA\n".to_owned();
    for part in PARTS {
        let text = fs::read_to_string(root.join(part)).unwrap();
        page.push('\n');
        let mut in_block = false;
        for line in text.lines() {
            if let Some((_, picture)) = line.split_once("include_str!(\"") {
                let (_, name) = picture.rsplit_once('/').unwrap();
                let name = name.trim_end_matches(".svg\")]");
                page.push_str(&format!("![{name}]({name}.svg)\n"));
                continue;
            }
            let Some(line) = line.strip_prefix("//!") else {
                continue;
            };
            let line = line.strip_prefix(' ').unwrap_or(line);
            match line.strip_prefix("```") {
                Some("") if !in_block => {
                    in_block = true;
                    page.push_str("<!-- run by: codegen/layout/src/tutorial.rs -->\n```rust\n");
                }
                Some(_) => {
                    in_block = !in_block;
                    page.push_str(&format!("{line}\n"));
                }
                // Lines that the documentation hides.
                None if in_block && (line.starts_with("# ") || line == "#") => {}
                None if in_block => page.push_str(&format!("{line}\n")),
                None => page.push_str(&format!("{}\n", prose(line))),
            }
        }
    }
    page
}

#[test]
fn the_page_is_made_of_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/tutorial.md is another: BLESS=1 writes it"
    );
    assert!(page.matches("```rust").count() > 20 && page.matches(".svg)").count() == 5);
    assert!(!page.contains("[`"), "a link that no page has");
}
