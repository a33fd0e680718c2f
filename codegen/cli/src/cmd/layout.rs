//! `layout`: the algebra evaluated, drawn, explained and checked.
//!
//! In: an expression or a file of conformance rows. Out: its value or picture on stdout; a refusal
//! of the algebra is a negative verdict, an expression of the wrong form is wrong usage.

use serde::Serialize;
use serde_json::json;
use tilewright_bundle::read_plain_text;

use super::help;
use crate::args::layout as args;
use crate::atoms::Catalogue;
use crate::outcome::{Failure, Outcome, Verdict};
use crate::terminal::{self, BAD, FAINT, STRONG};
use tilewright_layout_cli::eval::{self, Trouble};
use tilewright_layout_cli::show::banks::Access;
use tilewright_layout_cli::show::{draw, latex, svg, table};
use tilewright_layout_cli::{explain, functions, vectors, words};

/// Runs the subcommand that was asked for.
pub fn run(args: &args::Layout) -> Outcome {
    match args {
        args::Layout::Eval(args) => evaluate(args),
        args::Layout::Show(args) => show(args),
        args::Layout::Explain(args) => explain_call(&args.expression),
        args::Layout::Vectors(args) => check_vectors(args),
        args::Layout::Help(args) => help::below("layout", &args.words),
    }
}

fn evaluate(args: &args::Eval) -> Outcome {
    if args.list {
        return list(args.json);
    }
    let Some(text) = &args.expression else {
        return Err(Failure::could_not_run("an expression is missing"));
    };
    let facts = eval::facts(&args.given).map_err(Failure::CouldNotRun)?;
    match eval::evaluate_given(text, facts, &Catalogue) {
        Ok(found) => {
            let assumed: Vec<String> = found.assumed.iter().map(ToString::to_string).collect();
            if args.json {
                let mut fields = found.value.json();
                fields["assumed"] = json!(assumed);
                terminal::print_json(&fields)?;
            } else {
                terminal::print_line(&found.value.to_string())?;
                for fact in assumed {
                    terminal::print_line(&terminal::paint(FAINT, format_args!("if {fact}")))?;
                }
            }
            Ok(Verdict::Good)
        }
        Err(trouble) => fail(text, &trouble, args.json),
    }
}

/// Tells a trouble: a refusal is a verdict, wrong form is wrong usage.
fn fail(text: &str, trouble: &Trouble, json: bool) -> Outcome {
    if json {
        terminal::print_json(&words::json(trouble))?;
    }
    let report = words::report(text, trouble);
    Err(match trouble {
        Trouble::Refused(_) => Failure::Rejected(report),
        Trouble::Form(_) => {
            // The head of the report is the same word that complaints begin with.
            let report = report.strip_prefix("error: ").unwrap_or(&report);
            Failure::CouldNotRun(report.to_owned())
        }
    })
}

fn show(args: &args::Show) -> Outcome {
    let text = match args.tile {
        Some([rows, columns]) => format!("coords_of({}, ({rows},{columns}))", args.expression),
        None => args.expression.clone(),
    };
    let value = match eval::evaluate(&text, &Catalogue) {
        Ok(found) => found.value,
        Err(trouble) => return fail(&text, &trouble, args.format == args::Format::Json),
    };
    let access = Access {
        elem_bytes: args.elem_bytes,
        access_bytes: args.access_bytes,
    };
    let picture = draw::picture(&value, access).map_err(Failure::CouldNotRun)?;
    match args.format {
        args::Format::Text => terminal::print(&table::render(&picture))?,
        args::Format::Svg => terminal::print(&svg::render(&picture))?,
        args::Format::Latex => terminal::print(&latex::render(&picture))?,
        args::Format::Json => terminal::print_json(&picture)?,
    }
    Ok(Verdict::Good)
}

/// A refusal is explained like an answer, and is a negative verdict all the same.
fn explain_call(text: &str) -> Outcome {
    let form = |trouble| fail(text, &trouble, false);
    if let Some(all) = eval::written_composed(text) {
        terminal::print(&explain::walk_composed(&all))?;
        return Ok(Verdict::Good);
    }
    let called = match eval::outermost_call(text, &Catalogue) {
        Ok(called) => called,
        Err(trouble) => return form(trouble),
    };
    let walk = |outcome| explain::walk(called.function, &called.arguments, outcome);
    match eval::evaluate(text, &Catalogue) {
        Ok(found) => {
            terminal::print(&walk(Ok(&found.value)))?;
            Ok(Verdict::Good)
        }
        Err(Trouble::Refused(refusal)) => {
            let mut told = words::explanation(&refusal);
            if told.is_empty() {
                told.push(refusal.error.to_string());
            }
            terminal::print(&walk(Err(&told)))?;
            Ok(Verdict::Negative)
        }
        Err(trouble) => form(trouble),
    }
}

/// What the listing says of a function.
#[derive(Debug, Serialize)]
struct Listed {
    chapter: &'static str,
    name: &'static str,
    signature: &'static str,
    about: &'static str,
}

fn list(json: bool) -> Outcome {
    if json {
        let all = functions::CHAPTERS.iter().flat_map(|chapter| {
            chapter.functions.iter().map(|function| Listed {
                chapter: chapter.title,
                name: function.name(),
                signature: function.signature,
                about: function.about,
            })
        });
        terminal::print_json(&all.collect::<Vec<_>>())?;
        return Ok(Verdict::Good);
    }
    let mut text = String::new();
    for chapter in &functions::CHAPTERS {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!(
            "{gap}{}\n",
            terminal::paint(STRONG, chapter.title)
        ));
        for function in chapter.functions {
            let about = terminal::paint(FAINT, function.about);
            text.push_str(&format!("  {}\n      {about}\n", function.signature));
        }
    }
    terminal::print(&text)?;
    Ok(Verdict::Good)
}

/// Longest file of vectors.
const MOST_VECTOR_BYTES: u64 = 256 << 20;

/// A row that is not met.
#[derive(Debug, Serialize)]
struct Failed {
    line: usize,
    why: String,
    row: String,
}

fn check_vectors(args: &args::Vectors) -> Outcome {
    let text = read_plain_text(&args.file, MOST_VECTOR_BYTES)
        .map_err(|error| Failure::io(args.file.display(), &error))?;
    let (mut passed, mut failed) = (0usize, Vec::new());
    for (index, row) in text.lines().enumerate() {
        if row.trim().is_empty() {
            continue;
        }
        match vectors::judge_line(row) {
            Ok(()) => passed += 1,
            Err(why) => failed.push(Failed {
                line: index + 1,
                why,
                row: row.to_owned(),
            }),
        }
    }
    let closing = format!("{passed} passed, {} failed", failed.len());
    if args.json {
        terminal::print_json(&json!({
            "passed": passed,
            "failed": failed.len(),
            "failures": failed,
        }))?;
        terminal::diagnose(&closing);
    } else {
        for Failed { line, why, row } in &failed {
            let head = terminal::paint(BAD, "FAIL");
            terminal::print_line(&format!("{head} line {line}: {why}\n     {row}"))?;
        }
        terminal::print_line(&closing)?;
    }
    Ok(Verdict::from_good(failed.is_empty()))
}
