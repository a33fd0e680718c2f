//! `help`: a subcommand's `--help`, the section of a diagnostic or of a finding of the emulator,
//! the keys of a spec or the notation of formulas, all of it or one word, on stdout.
//!
//! Invariant: it asks nothing of a network or a file; pages are part of the command.

mod text;

use clap::Command;
use tilewright_emulator::FindingId;
use tilewright_formula::page as notation;

use crate::args::Help;
use crate::guidance;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::terminal;

/// Least likeness of a word that may have been meant.
const LIKE: f64 = 0.8;
/// The word that stands for the page on specs.
const SPEC: &str = "spec";
/// The word that stands for the page on formulas.
const FORMULA: &str = "formula";

/// Prints what there is on the words.
pub fn run(args: &Help) -> Outcome {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    told(&words)
}

/// Prints the help of a subcommand below another one, or of that one.
pub fn below(command: &str, words: &[String]) -> Outcome {
    let below = words.iter().map(String::as_str);
    told(&[command].into_iter().chain(below).collect::<Vec<&str>>())
}

fn told(words: &[&str]) -> Outcome {
    if is_subcommand(&guidance::command(), words) {
        return of_subcommand(words);
    }
    let page = match *words {
        [FORMULA] => Some(notation::markdown()),
        [word] => match FindingId::parse(word) {
            Some(id) => Some(id.section()),
            None => match notation::explain(word) {
                Some(said) => Some(said),
                None => page(word)?,
            },
        },
        _ => None,
    };
    let Some(page) = page else {
        return Err(unknown(&words.join(" ")));
    };
    terminal::print(&text::of_markdown(&page))?;
    Ok(Verdict::Good)
}

/// Whether words lead to a subcommand; none lead to the command itself.
fn is_subcommand(command: &Command, words: &[&str]) -> bool {
    match words {
        [] => true,
        [word, rest @ ..] => command
            .find_subcommand(word)
            .is_some_and(|found| is_subcommand(found, rest)),
    }
}

/// Prints what clap does for the words with `--help` behind them.
fn of_subcommand(words: &[&str]) -> Outcome {
    let typed = ["tilewright"].iter().chain(words).chain(&["--help"]);
    match guidance::command().try_get_matches_from(typed) {
        Err(help) if !help.use_stderr() => {
            terminal::print(&help.render().ansi().to_string())?;
            Ok(Verdict::Good)
        }
        // It takes whatever is typed, where there is no generator.
        _ => Err(no_page(&words.join(" "))),
    }
}

/// What there is on a word: the page on specs, or the section of a diagnostic and what the page on
/// specs says of a key.
#[cfg(feature = "codegen")]
fn page(word: &str) -> Result<Option<String>, Failure> {
    use tilewright_codegen::guide;
    Ok(match word {
        SPEC => Some(guide::SPEC.to_owned()),
        word => {
            let code = guide::explain_code(word).map(str::to_owned);
            let both: Vec<String> = code.into_iter().chain(guide::explain_key(word)).collect();
            (!both.is_empty()).then(|| both.join("\n"))
        }
    })
}

/// Without the generator there is none: words in the form of a code may be one.
#[cfg(not(feature = "codegen"))]
fn page(word: &str) -> Result<Option<String>, Failure> {
    match word == SPEC || word.contains('-') {
        true => Err(no_page(word)),
        false => Ok(None),
    }
}

/// What is said where the generator is needed for a page.
fn no_page(word: &str) -> Failure {
    Failure::CouldNotRun(format!(
        "what there is on `{}` comes with the generator, for which the command needs LLVM, and \
         this build of it has none: ci/setup.sh installs LLVM, and `cargo install --path \
         codegen/cli` then builds one that does",
        terminal::plain(word)
    ))
}

/// The failure of words that nothing is known of.
fn unknown(words: &str) -> Failure {
    let way_out = match nearest(words) {
        Some(known) => format!("did you mean `tilewright help {known}`?"),
        None => "`tilewright help` lists the subcommands, and `tilewright check` tells codes \
                 behind `error`"
            .to_owned(),
    };
    let words = terminal::plain(words);
    Failure::CouldNotRun(format!(
        "`{words}` is no subcommand, no code of a diagnostic, no finding of the emulator, no \
         function of formulas, no key of a spec, and neither `{FORMULA}` nor `{SPEC}`: {way_out}"
    ))
}

/// The subcommand or code that looks most like a word, if one comes near.
fn nearest(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let score = |known: &String| strsim::jaro_winkler(&word, known);
    let best = known().into_iter().rev();
    let best = best.max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(&best) > LIKE).then_some(best)
}

/// Every word that there is something on.
fn known() -> Vec<String> {
    let command = guidance::command();
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    let names = shown.map(|one| one.get_name().to_owned());
    let findings = FindingId::ALL.iter().map(|id| id.as_str().to_owned());
    let formulas = [FORMULA].into_iter().chain(notation::names());
    let all = names.chain(of_the_generator()).chain(findings);
    all.chain(formulas.map(str::to_owned)).collect()
}

/// The words of pages that the generator has.
#[cfg(feature = "codegen")]
fn of_the_generator() -> impl Iterator<Item = String> {
    let codes = tilewright_codegen::guide::codes();
    [SPEC].into_iter().chain(codes).map(str::to_owned)
}

/// There are none without it.
#[cfg(not(feature = "codegen"))]
fn of_the_generator() -> impl Iterator<Item = String> {
    std::iter::empty()
}
