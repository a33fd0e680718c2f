//! What ARCHITECTURE.md shows of one kernel and says of folders is what the generator prints and
//! what the heads of modules say; its tables name files that there are, in short cells.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test suite architecture` writes it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::made;
use tilewright_codegen::{Compiled, compile, pack, spec};

/// The page.
const PAGE: &str = "ARCHITECTURE.md";
/// What stands around each part that is made.
const MARKS: [&str; 2] = ["life", "folders"];
/// Where the larger crates have their folders.
const SOURCES: [&str; 7] = [
    "codegen/src",
    "codegen/layout/cli/src",
    "codegen/cli/src",
    "runtime/src",
    "runtime/lab/src",
    "runtime/emulator/src",
    "ci/src",
];
/// Longest cell of a table, in characters.
const CELL: usize = 300;
/// Fewest rows that say where something is changed.
const CHANGES: usize = 25;

/// The kernel whose life is shown.
const SPEC: &str = r#"kernel: gemm
name: small
arch: sm_80
operands:
  a: { dtype: bf16, layout: "(m,k):(lda,1)" }
  b: { dtype: bf16, layout: "(n,k):(ldb,1)" }
  d: { dtype: bf16, layout: "(m,n):(ldd,1)" }
compute: "d[m,n] = relu(sum[k] a[m,k] * b[n,k])"
cta_tile: "(64,64,32)"
pipeline: { stages: 2 }
"#;

/// Lines of a print: so many from the first that has those words, `…` where others are left out.
fn part(text: &str, from: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.contains(from));
    let start = start.unwrap_or_else(|| panic!("no line has {from:?}:\n{text}"));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let taken: Vec<&str> = lines.iter().skip(start).take(count).copied().collect();
    let least = taken.iter().map(|line| indent(line)).min().unwrap_or(0);
    let mut out = String::new();
    for line in &taken {
        let line = line.get(least..).unwrap_or("");
        let short: String = line.chars().take(118).collect();
        let cut = if short.len() < line.len() { " …" } else { "" };
        let _ = writeln!(out, "{short}{cut}");
    }
    if start + count < lines.len() {
        out.push_str("…\n");
    }
    out
}

/// A text without the numbers of registers, which differ from one LLVM to the next.
fn nameless(ptx: &str) -> String {
    let mut parts = ptx.split("%r");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out.push_str("%r…");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}

fn life() -> String {
    let file = spec::parse("small.yaml", SPEC).unwrap_or_else(|e| panic!("{}", e.report(false)));
    let made = compile(&file.points[0]).unwrap_or_else(|e| panic!("{}", e.report(false)));
    let Compiled {
        plan,
        tile,
        program,
        certificate,
        ptx,
        ..
    } = &made;
    let shown =
        |title: &str, by: &str, text: &str| format!("{title}\n{by}\n\n```text\n{text}```\n\n");
    let proved = serde_json::to_string_pretty(certificate).unwrap();
    let mut out = String::from("\n");
    out += "A user writes this spec.\n\n```yaml\n";
    out += SPEC;
    out += "```\n\n";
    out += &shown(
        "**The plan** has every decision and no code.",
        "Made by `codegen/src/plan`, printed by `tilewright plan small.yaml`:",
        &format!(
            "{}{}",
            part(&plan.to_string(), "plan ", 11),
            part(&plan.to_string(), "copy a.s2r", 2)
        ),
    );
    out += &shown(
        "**Tile IR** says what a CTA does: tiles with names, copies, products, pipes.",
        "Made by `codegen/src/ir/tile/build`, printed by `tilewright ir small.yaml`:",
        &part(&tile.to_string(), "for each k tile", 14),
    );
    out += &shown(
        "**The thread program** says who does it, at which address.",
        "Made by `codegen/src/lower`, printed by `tilewright ir --after lower small.yaml`:",
        &part(&program.to_string(), "mma", 8),
    );
    out += &shown(
        "**The certificate** is what is proved before there is PTX; it goes into the manifest.",
        "Made by `codegen/src/certify`:",
        &part(&proved, "global_accesses", 6),
    );
    out += &shown(
        "**PTX** comes from LLVM, machine instructions from the templates.",
        "Made by `codegen/src/ptx`, printed by `tilewright ptx small.yaml`:",
        &part(&nameless(&ptx.text), "mma.sync", 6),
    );
    let artifact = pack::artifact(&made, &[]).unwrap();
    let entry = serde_json::to_string_pretty(&artifact.kernel.launches).unwrap();
    out += &shown(
        "**The manifest entry** is what the runtime launches by.",
        "Made by `codegen/src/pack`, its types are those of `runtime/bundle`:",
        &part(&entry, "\"grid\"", 5),
    );
    out
}

/// The first sentence of a module's head.
fn head(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(str::trim).take_while(|line| !line.is_empty());
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    let sentence = paragraph
        .split_once(". ")
        .map_or(paragraph.as_str(), |(first, _)| first);
    Some(sentence.trim_end_matches('.').to_owned()).filter(|sentence| !sentence.is_empty())
}

/// Each file and folder of a crate's source, folders two levels deep, with what its head says.
fn folders() -> String {
    let root = made::repository();
    let mut out = String::from("\n| file or folder | what it is |\n|---|---|\n");
    for source in SOURCES {
        let mut rows = alone(&root, source);
        below(&root, source, 2, &mut rows);
        for (folder, head) in rows {
            let _ = writeln!(out, "| `{folder}` | {head} |");
        }
    }
    out + "\n"
}

/// Files of a crate's source that have no folder of their name.
fn alone(root: &Path, source: &str) -> Vec<(String, String)> {
    let files = made::files(&root.join(source), &["rs"]).into_iter();
    let files = files.filter(|file| file.parent() == Some(&root.join(source)));
    let files = files.filter(|file| !file.with_extension("").is_dir());
    let rows = files.filter_map(|file| {
        let name = file.file_name()?.to_str()?;
        let is_root = ["lib.rs", "main.rs"].contains(&name);
        let head = head(&file).filter(|_| !is_root)?;
        Some((format!("{source}/{name}"), head))
    });
    rows.collect()
}

fn below(root: &Path, folder: &str, levels: usize, rows: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(root.join(folder)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    for name in names
        .iter()
        .filter(|name| *name != "tests" && *name != "bin")
    {
        let path = format!("{folder}/{name}");
        let own = root.join(&path).join("mod.rs");
        let beside = root.join(format!("{path}.rs"));
        if let Some(head) = head(&own).or_else(|| head(&beside)) {
            rows.push((path.clone(), head));
        }
        if levels > 1 {
            below(root, &path, levels - 1, rows);
        }
    }
}

#[test]
fn the_parts_that_are_made_are_as_they_are() {
    let mut page = fs::read_to_string(made::repository().join(PAGE)).unwrap();
    for (mark, part) in MARKS.iter().zip([life(), folders()]) {
        let begin = format!("<!-- made by: codegen/tests/suite/architecture.rs: {mark} -->\n");
        let end = format!("<!-- end of {mark} -->");
        let (before, rest) = page
            .split_once(&begin)
            .unwrap_or_else(|| panic!("no {begin}"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
        page = format!("{before}{begin}{part}{end}{after}");
    }
    made::assert_kept(PAGE, &page);
}

/// Rows of all tables: their cells.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

#[test]
fn cells_are_short() {
    let page = fs::read_to_string(made::repository().join(PAGE)).unwrap();
    for cell in rows(&page).flatten() {
        assert!(cell.chars().count() <= CELL, "longer than {CELL}: {cell}");
    }
}

#[test]
fn what_is_changed_somewhere_is_changed_in_files_that_there_are() {
    let page = fs::read_to_string(made::repository().join(PAGE)).unwrap();
    let (_, changes) = page.split_once("\n## Where do I change X?\n").unwrap();
    let changes = changes.split("\n## ").next().unwrap();
    let mut count = 0;
    for row in rows(changes).skip(2) {
        let named = row[1].split('`').skip(1).step_by(2);
        let files: Vec<&str> = named.filter(|name| name.contains('/')).collect();
        assert!(!files.is_empty(), "{row:?} names no file");
        for file in files {
            assert!(
                made::repository().join(file).exists(),
                "{file} of {row:?} is not there"
            );
        }
        count += 1;
    }
    assert!(count >= CHANGES, "{count} rows");
}
