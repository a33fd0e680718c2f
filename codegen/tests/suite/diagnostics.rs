//! The page of diagnostics is what the generator says today: of each code the shortest example of
//! `ci/data`, its report, and what mends it.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test suite diagnostics` writes the page,
//! docs/diagnostics.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::made::{self, files, repository};
use rayon::prelude::*;
use similar::TextDiff;
use tilewright_codegen::error::{Error, Problem, Violation};
use tilewright_codegen::plan::{self, LIMITS};
use tilewright_codegen::spec::{self, FormKind};

mod codes;
#[path = "../../../runtime/formula/tests/kernel_files/mod.rs"]
mod kernel_files;

const HEAD: &str = "\
Every code that the generator answers with: what raises it, an example with its report, and for most
how the example is mended. `tilewright help CODE` prints the section of a code, without a network.
This page is made of what the generator says of each example.
";
const ALONE: &str = "## Without an example";
/// Codes without an example: this number only shrinks.
const MOST_ALONE: usize = 19;
/// What is to be done about registers that do not suffice.
const SPILLS: &str = "\
\x20 A thread needs more registers than it has: 255 at most, 65536 for all threads on an SM, and
  behind `setmaxnreg` those of a consumer. A thread of a product holds m x n of its tile over its
  threads as accumulators, once for each product or part side by side, and what is read beside
  them. In this order: leave `min_ctas_per_sm`, `threads`, `mma.atoms` and `mma.permutation` out; of
  products use `pipeline: { schedule: cooperative }` in the place of `pingpong`, half of n in
  `cta_tile`, then half of m, then fewer products side by side; of maps and folds
  `scheduler: { passes: many }`, a smaller tile, or two kernels. A refusal that ends in `which
  builds` names values that were tried.
";
/// What runs the blocks of the page.
const RUN: &str = "<!-- run by: codegen/tests/suite/diagnostics.rs -->\n";

/// Longest example that is shown whole, and what is shown of a longer one.
const MOST_LINES: usize = 60;
const FIRST_LINES: usize = 20;

/// Where an example lies, which says what raises its code. Of a code that several raise, the first
/// of these is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Text,
    Warning,
    Plan,
    Unfinished,
    Formula,
}

impl Source {
    const ALL: [Source; 5] = [
        Source::Text,
        Source::Warning,
        Source::Plan,
        Source::Unfinished,
        Source::Formula,
    ];

    fn folder(self) -> &'static str {
        match self {
            Source::Text => "specs_rejected",
            Source::Warning => "specs_warned",
            Source::Plan => "plans_refused",
            Source::Unfinished => "formulas_refused",
            Source::Formula => "formulas_rejected",
        }
    }

    fn raised_by(self) -> &'static str {
        match self {
            Source::Text => "Raised by the text of a spec.",
            Source::Warning => "A warning of `tilewright check`: the spec is taken as it stands.",
            Source::Plan => "Raised by the plan of a spec whose text is good.",
            Source::Unfinished => {
                "Raised by the plan of a spec whose formula no kernel of its form computes yet."
            }
            Source::Formula => "Raised by the formula of a spec: its operands, then the formula.",
        }
    }

    fn language(self) -> &'static str {
        match self {
            Source::Formula => "text",
            _ => "yaml",
        }
    }
}

/// Something of which the generator says a code.
#[derive(Debug)]
struct Example {
    source: Source,
    /// The file without its folders.
    file: String,
    text: String,
    report: String,
    /// The codes, each with its way out.
    codes: BTreeMap<&'static str, String>,
    /// The same without what was wrong.
    mended: Option<String>,
}

/// Every example, with what is said of it now.
fn examples() -> Vec<Example> {
    let of = |source: Source| {
        let folder = repository().join("ci/data").join(source.folder());
        let paths = files(&folder, &["yaml", "formula"]).into_iter();
        paths.map(move |path| (source, path.strip_prefix(&folder).unwrap().to_owned()))
    };
    let all: Vec<(Source, PathBuf)> = Source::ALL.into_iter().flat_map(of).collect();
    let read = |(source, inner): &(Source, PathBuf)| {
        let data = repository().join("ci/data");
        let path = data.join(source.folder()).join(inner);
        let mended = data.join("mended").join(source.folder()).join(inner);
        let (report, codes) = said(*source, &path);
        Example {
            source: *source,
            file: path.file_name().unwrap().to_str().unwrap().to_owned(),
            text: String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            report,
            codes,
            mended: fs::read_to_string(mended).ok(),
        }
    };
    all.par_iter().map(read).collect()
}

/// The report of a file, and its codes with their ways out.
fn said(source: Source, path: &Path) -> (String, BTreeMap<&'static str, String>) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = || fs::read_to_string(path).unwrap();
    let of_problems = |problems: &[Problem]| {
        let helped = problems.iter();
        let helped = helped.map(|one| (one.code, one.help.clone().unwrap_or_default()));
        helped.collect()
    };
    match source {
        Source::Text => match spec::load(path).unwrap_err() {
            Error::Spec {
                source_text,
                problems,
                ..
            } => {
                let (path, codes) = (name.to_owned(), of_problems(&problems));
                let error = Error::Spec {
                    path,
                    source_text,
                    problems,
                };
                (error.report(false), codes)
            }
            other => panic!("{}", other.report(false)),
        },
        Source::Warning => {
            let file = made::warned(name, &text());
            (file.warned(false), of_problems(&file.warnings))
        }
        Source::Plan | Source::Unfinished => {
            let file = spec::parse(name, &text()).unwrap();
            let error = file.place(plan::plan(&file.points[0]).unwrap_err());
            let report = error.report(false);
            let Error::Plan { violations, .. } = error else {
                panic!("{report}")
            };
            let form = file.spec.problem.form();
            let of = |one: &Violation| (one.code, instead(one.code, form).to_owned());
            (report, violations.iter().map(of).collect())
        }
        Source::Formula => {
            let (signature, formula) = kernel_files::read(&text());
            let problems = tilewright_formula::check(&formula, &signature).unwrap_err();
            let report = tilewright_formula::report(&formula, &problems);
            let helped = problems.into_iter();
            let helped = helped.map(|one| (one.code, one.help.unwrap_or_default()));
            (report, helped.collect())
        }
    }
}

/// What to do where kernels of a form do not do something yet.
fn instead(code: &str, form: FormKind) -> &'static str {
    let limit = LIMITS
        .iter()
        .find(|limit| limit.code == code && limit.forms.contains(&form));
    limit.map_or("", |limit| limit.way_out)
}

/// The shortest example of a code, of those that are named for it if there are any.
fn example<'e>(code: &str, all: &'e [Example]) -> Option<&'e Example> {
    let of_code = all.iter().filter(|one| one.codes.contains_key(code));
    of_code.min_by_key(|one| {
        let stem = one.file.split('.').next().unwrap();
        let named = stem.split("__").next().unwrap().replace('_', "-") == code;
        // A spec says more than a formula by itself, and one that is mended more than another.
        let is_formula = one.source == Source::Formula;
        let is_whole = one.mended.is_some() || one.source == Source::Unfinished;
        (is_formula, !is_whole, !named, one.text.len(), &one.file)
    })
}

/// Text as a page has it: what is unseen is escaped, no line ends in blanks, and of much the
/// beginning is there.
fn shown(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}')
    };
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\r' => {}
            c if hidden(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    let mut page = String::new();
    let cut = lines.len() > MOST_LINES;
    let taken = if cut { FIRST_LINES } else { lines.len() };
    for line in &lines[..taken] {
        page += line;
        page.push('\n');
    }
    if cut {
        writeln!(page, "# … {} lines more", lines.len() - taken).unwrap();
    }
    page
}

/// What is said of a code.
fn section(code: &str, example: &Example) -> String {
    let Example {
        source,
        file,
        text,
        report,
        ..
    } = example;
    let (raised_by, language) = (source.raised_by(), source.language());
    let run = if language == "text" { "" } else { RUN };
    let mut page = format!("\n## `{code}`\n\n{raised_by}\n");
    write!(page, "\n{run}```{language}\n{}```\n", shown(text)).unwrap();
    write!(page, "\nIts report:\n\n```text\n{}```\n", shown(report)).unwrap();
    if let Some(mended) = &example.mended {
        // What an example says of itself is said once.
        let comment = text.lines().take_while(|line| line.starts_with('#'));
        let comment: usize = comment.map(|line| line.len() + 1).sum();
        let own = if mended.starts_with('#') { 0 } else { comment };
        let (text, mended) = (shown(text), shown(&format!("{}{mended}", &text[..own])));
        let diff = TextDiff::from_lines(&text, &mended);
        let diff = diff
            .unified_diff()
            .context_radius(2)
            .header(file, "mended")
            .to_string();
        write!(page, "\nMended:\n\n{RUN}```diff\n{}```\n", shown(&diff)).unwrap();
        return page;
    }
    let way_out = &example.codes[code];
    match source {
        Source::Unfinished => writeln!(
            page,
            "\nInstead: {way_out}. The page on what is not done yet, limits.md, has all of these."
        ),
        _ => writeln!(page, "\nWhat to do: {way_out}."),
    }
    .unwrap();
    page
}

/// The page, with the codes that it shows no example of.
fn page() -> (String, Vec<String>) {
    let examples = examples();
    let raised = codes::raised();
    let shown = examples.iter().flat_map(|one| one.codes.keys().copied());
    let codes: BTreeSet<&str> = raised.keys().map(String::as_str).chain(shown).collect();
    let mut page = HEAD.to_owned();
    let mut alone = Vec::new();
    for code in codes {
        match example(code, &examples) {
            Some(example) => page += &section(code, example),
            None => alone.push(code.to_owned()),
        }
    }
    write!(page, "\n{ALONE}\n\n").unwrap();
    let told: BTreeMap<&str, String> = codes::of_the_assembler()
        .into_iter()
        .chain(codes::of_sizes())
        .collect();
    for code in &alone {
        let (by, message) = (raised[code], told.get(code.as_str()));
        let message = message.map_or(String::new(), |message| format!(", such as: {message}"));
        let more = match ["spill-loads", "spill-stores", "stack"].contains(&code.as_str()) {
            true => format!(".\n{SPILLS}"),
            false => "\n".to_owned(),
        };
        write!(page, "- `{code}`: raised by {by}{message}{more}").unwrap();
    }
    (page, alone)
}

#[test]
fn the_page_is_made_of_the_examples() {
    let (page, alone) = page();
    made::assert_kept("codegen/docs/diagnostics.md", &page);
    assert!(alone.len() <= MOST_ALONE, "{alone:?} have no example");
}
