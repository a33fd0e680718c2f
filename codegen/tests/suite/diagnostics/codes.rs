//! The codes that there are, and what is said of some that no page has an example of.
//!
//! Comes in: the sources of the generator, and specs made up here. Goes out: codes, each with what
//! raises it or with a message.

use std::collections::BTreeMap;
use std::fs;

use tilewright_codegen::error::Error;
use tilewright_codegen::plan::LIMITS;
use tilewright_codegen::ptx::ptxas::{self, PtxasReport};
use tilewright_codegen::spec;

use crate::made::{files, repository};

/// The codes that the sources raise, each with what raises it: those of limits and of the
/// assembler, and the text behind what makes a problem.
pub fn raised() -> BTreeMap<String, &'static str> {
    const MAKERS: [&str; 10] = [
        "violate(",
        "Violation::new(",
        "Problem::new(",
        "Problem::of(",
        ".add(",
        ".add_with(",
        "refuse(",
        "report(",
        "code:",
        "CODE: &str =",
    ];
    const FOLDERS: [(&str, &str); 3] = [
        ("codegen/src/spec", "the text of a spec"),
        ("runtime/formula/src", "the formula of a spec"),
        ("codegen/src/plan", "the plan of a spec"),
    ];
    let mut codes = BTreeMap::new();
    let assembler = of_the_assembler().into_keys();
    codes.extend(assembler.map(|code| (code.to_owned(), "ptxas")));
    let limits = LIMITS.iter().map(|limit| limit.code.to_owned());
    codes.extend(limits.map(|code| (code, FOLDERS[2].1)));
    codes.extend(of_words().into_iter().map(|code| (code, FOLDERS[0].1)));
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    for (folder, by) in FOLDERS {
        for path in files(&repository().join(folder), &["rs"]) {
            if path.ends_with("tests.rs") || path.iter().any(|part| part == "tests") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap();
            for (at, literal) in quoted(text) {
                let before = text[..at].trim_end();
                let made = MAKERS.iter().any(|maker| before.ends_with(maker));
                let bare = literal.trim_matches('-');
                // A word with a hyphen is nothing else in these folders.
                let is_code = bare == literal && (made || bare.contains('-'));
                if is_code && literal.chars().all(is_word) {
                    codes.entry(literal.to_owned()).or_insert(by);
                }
            }
        }
    }
    codes
}

/// The codes of words that a list of words does not have.
fn of_words() -> Vec<String> {
    let words = repository().join("codegen/src/spec/words/vocabulary.rs");
    let text = fs::read_to_string(words).unwrap();
    let lists = text.split("\nwords! {\n").skip(1);
    let code = |list: &str| list.split('"').nth(1).unwrap().to_owned();
    lists
        .map(|list| format!("unknown-{}", code(list)))
        .collect()
}

/// The literals of a source without a blank in them, each with the place of its first quote.
fn quoted(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('"') {
        let rest = &text[at + 1..];
        if let Some(end) = rest.find(['"', ' ', '\n']).filter(|end| *end > 0)
            && rest[end..].starts_with('"')
        {
            found.push((at, &rest[..end]));
        }
    }
    found
}

/// What the assembler's report may be refused for, with the message of one that has all of it.
pub fn of_the_assembler() -> BTreeMap<&'static str, String> {
    let report = PtxasReport {
        registers: 255,
        spill_load_bytes: 16,
        spill_store_bytes: 16,
        stack_bytes: 16,
        warnings: vec!["a line of ptxas with a warning or a code C75xx or C76xx".to_owned()],
        ..PtxasReport::default()
    };
    let all = ptxas::gate(&report).into_iter();
    all.map(|one| (one.code, one.message)).collect()
}

/// What a spec that is too large in some way is refused for: no page has room for it.
pub fn of_sizes() -> BTreeMap<&'static str, String> {
    let key = |at: usize| format!("key_{at}: 0\n");
    let operand = |at: usize| format!("  x{at}: {{ dtype: f32, layout: \"(m,n):(ld{at},1)\" }}\n");
    let all = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let specs = [
        " ".repeat(spec::MAX_SIZE_BYTES + 1),
        format!("kernel: [{}]\n", "0,".repeat(spec::MAX_NODES)),
        format!("kernel: {}\n", "k".repeat(spec::MAX_SCALAR_BYTES + 1)),
        all(200, &key),
        format!(
            "kernel: many\nname: many\narch: sm_80\noperands:\n{}cta_tile: \"(8,8)\"\n\
             compute: |\n{}",
            all(70, &operand),
            all(70, &|at| format!("  y{at}[m,n] = x{at}[m,n]\n")),
        ),
        format!(
            "kernel: long\nname: long\narch: sm_80\noperands:\n{}cta_tile: \"(8,8)\"\n\
             compute: |\n{}",
            operand(0),
            all(1000, &|at| format!("  x{}[m,n] = x{at}[m,n]\n", at + 1)),
        ),
        "kernel: wide\nname: wide\narch: sm_80\noperands:\n  \
         x: { dtype: f32, layout: \"(a,b,c,e,f,g,h,i,j)\" }\n  \
         d: { dtype: f32, layout: \"(a,b,c,e,f,g,h,i,j)\" }\n\
         compute: d[a,b,c,e,f,g,h,i,j] = x[a,b,c,e,f,g,h,i,j]\ncta_tile: { a: 8, j: 8 }\n"
            .to_owned(),
    ];
    let mut told = BTreeMap::new();
    for text in &specs {
        let Err(Error::Spec { problems, .. }) = spec::parse("-", text) else {
            panic!("{} bytes are taken", text.len())
        };
        told.extend(problems.into_iter().map(|one| (one.code, one.message)));
    }
    told
}
