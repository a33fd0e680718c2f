//! Troubles of expressions, told: the text with a caret, and a refusal's counterexample in words.
//!
//! In: a [`Trouble`] and the text it is about. Out: a diagnostic for a reader, JSON for a program.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value as Json, json};
use tilewright_layout::{Counterexample, Error, Layout, Reason};

use super::eval::{Refusal, Trouble};
use super::value::{Tensor, Value};

/// Columns a diagnostic is laid out for, whatever the terminal.
const WIDTH_COLUMNS: usize = 100;

/// The diagnostic for a reader.
pub fn report(text: &str, trouble: &Trouble) -> String {
    let (span, message, notes) = match trouble {
        Trouble::Form(malformed) => (&malformed.span, malformed.message.clone(), Vec::new()),
        Trouble::Refused(refusal) => (
            &refusal.span,
            format!("{}: {}", refusal.function, headline(&refusal.error)),
            explanation(refusal),
        ),
    };
    let label = match trouble {
        Trouble::Form(_) => "here",
        Trouble::Refused(_) => "this call",
    };
    render(text, span, &message, label, &notes)
}

/// The diagnostic for a program.
pub fn json(trouble: &Trouble) -> Json {
    match trouble {
        Trouble::Form(malformed) => json!({ "error": {
            "kind": "form",
            "message": malformed.message,
            "begin": malformed.span.start,
            "end": malformed.span.end,
        }}),
        Trouble::Refused(refusal) => {
            let mut fields = json!({
                "kind": kind(&refusal.error),
                "function": refusal.function,
                "message": refusal.error.to_string(),
                "words": explanation(refusal),
                "begin": refusal.span.start,
                "end": refusal.span.end,
            });
            if let Error::NotALayout(found) = &refusal.error {
                fields["counterexample"] = json!({
                    "at": found.at,
                    "want": found.want,
                    "sum_of_modes": found.sum_of_modes,
                });
            }
            json!({ "error": fields })
        }
    }
}

fn render(text: &str, span: &Range<usize>, message: &str, label: &str, notes: &[String]) -> String {
    // A caret needs a character to stand under; at the end of the text it stands behind it.
    let end = span.end.clamp(span.start, text.len());
    let snippet = Snippet::source(text).line_start(1).annotation(
        AnnotationKind::Primary
            .span(span.start.min(end)..end)
            .label(label),
    );
    let mut group = Group::with_title(Level::ERROR.primary_title(message)).element(snippet);
    for note in notes {
        group = group.element(Level::NOTE.message(note));
    }
    let renderer = Renderer::plain()
        .term_width(WIDTH_COLUMNS)
        .decor_style(DecorStyle::Ascii);
    renderer.render(&[group])
}

/// The name of an error's kind, for programs.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Parse { .. } => "form",
        Error::Overflow { .. } => "overflow",
        Error::Mismatch { .. } => "mismatch",
        Error::Domain { .. } => "domain",
        Error::Indivisible { .. } => "indivisible",
        Error::NotALayout(_) => "not_a_layout",
        Error::Undecided { .. } => "undecided",
        Error::Unproven { .. } => "unproven",
        _ => "unsupported",
    }
}

fn headline(error: &Error) -> String {
    match error {
        Error::NotALayout(found) => format!("{} is no layout", found.what),
        other => other.to_string(),
    }
}

/// The counterexample, told step by step.
pub fn explanation(refusal: &Refusal) -> Vec<String> {
    let Error::NotALayout(found) = &refusal.error else {
        return Vec::new();
    };
    let operands = match &refusal.arguments[..] {
        [
            Value::Tensor(Tensor::Plain(a)),
            Value::Tensor(Tensor::Plain(b)),
        ] if refusal.function == "composition" => Some((a, b)),
        _ => None,
    };
    let mut words = vec![place(found, operands)];
    words.push(match found.reason {
        Reason::Carry => format!(
            "the modes found so far add up to {} there: taken together they carry from one digit \
             of the left layout into the next, which strides cannot express",
            found.sum_of_modes
        ),
        Reason::Leaf {
            leaf,
            extent,
            step_changes_at,
        } => format!(
            "its modes give {} there: leaf {leaf} of the right layout changes its step after \
             {step_changes_at} of {extent} places, and {step_changes_at} does not divide {extent}",
            found.sum_of_modes
        ),
        Reason::Shared { first, second } => format!(
            "the indices {first} and {second} share one offset, so nothing can tell them apart \
             again"
        ),
        Reason::Overlap { first, second } => format!(
            "the translations by {first} and by {second} hold one offset in common, and nothing \
             but {second} reaches the offset {second} itself"
        ),
        _ => format!(
            "every choice of extents and strides that is right up to there gives {} instead",
            found.sum_of_modes
        ),
    });
    words
}

/// Where it fails, with the coordinate and both values when the operands are known.
fn place(found: &Counterexample, operands: Option<(&Layout, &Layout)>) -> String {
    let Counterexample { at, want, .. } = found;
    let through = operands.and_then(|(a, b)| {
        let middle = b.at(*at).ok()?;
        let (there, digits) = (b.coord(at).ok()?, a.coord(&middle).ok()?);
        Some(format!(
            "at index {at}, coordinate {there} of the right layout, its value is {middle}; the \
             left layout splits {middle} into {digits} and maps it to {want}"
        ))
    });
    through.unwrap_or_else(|| format!("at index {at} the value has to be {want}"))
}
