//! Text forms inside scalars: `(128,128,64)`, `(m,k):(lda,1)`. The layout crate reads them; this
//! adds the place of each entry, so that a problem points at `ldb` and not at the whole layout.
//!
//! Comes in: the text of one scalar. Goes out: its entries, each with its byte range, or the place
//! that does not fit.

use std::ops::Range;

use tilewright_layout::{Error, IntTuple, Layout, Sym};

/// What does not fit, and where in the text.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::spec) struct Misfit {
    /// Byte range in the text.
    pub at: Range<usize>,
    /// What is expected and what is there.
    pub message: String,
}

/// One entry of a flat tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::spec) struct Entry {
    /// Its value; a name or an expression of names where it is no constant.
    pub value: Sym,
    /// Byte range in the text.
    pub at: Range<usize>,
}

/// Reads a tuple without nesting: `(128,128,64)`.
pub(in crate::spec) fn tuple(text: &str) -> Result<Vec<Entry>, Misfit> {
    short(text)?;
    let tuple: IntTuple<Sym> = text.parse().map_err(|error| misfit(text, &error))?;
    entries(text, 0, &tuple)
}

/// The word that leaves an operand's order in memory to the plan.
pub(in crate::spec) const PACKED: &str = "packed";

/// What a layout says of strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::spec) enum Strides {
    /// One for each extent.
    Written(Vec<Entry>),
    /// `(m,n)`: elements lie one behind the other, those along the last extent first.
    Contiguous,
    /// `(n,k):packed`: the order in memory is the plan's.
    Packed,
}

/// Most bytes of a layout or a tuple.
const MOST_BYTES: usize = 1024;

/// Refuses what is no line that anybody writes.
fn short(text: &str) -> Result<(), Misfit> {
    let bytes = text.len();
    let message = format!("{bytes} bytes; at most {MOST_BYTES} are accepted");
    let misfit = || Misfit {
        at: 0..bytes,
        message,
    };
    (bytes <= MOST_BYTES).then_some(()).ok_or_else(misfit)
}

/// Reads a layout without nesting, extents and strides: `(m,k):(lda,1)`, `(m,k)`, `(n,k):packed`.
pub(in crate::spec) fn layout(text: &str) -> Result<(Vec<Entry>, Strides), Misfit> {
    short(text)?;
    match text.split_once(':').map(|(a, b)| (a, b.trim())) {
        Some((extents, PACKED)) => return Ok((tuple(extents)?, Strides::Packed)),
        None => return Ok((tuple(text)?, Strides::Contiguous)),
        Some(_) => {}
    }
    let layout: Layout<Sym> = text.parse().map_err(|error| misfit(text, &error))?;
    let colon = text.find(':').unwrap_or(text.len());
    let (extents, strides) = text.split_at(colon);
    let strides = strides.get(1..).unwrap_or_default();
    Ok((
        entries(extents, 0, &layout.shape())?,
        Strides::Written(entries(strides, colon + 1, &layout.stride())?),
    ))
}

fn entries(text: &str, offset: usize, tuple: &IntTuple<Sym>) -> Result<Vec<Entry>, Misfit> {
    if tuple.depth() > 1 {
        let leaves = tuple.leaves();
        let leaves: Vec<String> = leaves.iter().map(ToString::to_string).collect();
        let message = format!(
            "nested tuples are not used here: {} are a mode each, one after another, and the \
             formula has all of them",
            leaves.join(", ")
        );
        return Err(Misfit {
            at: offset..offset + text.len(),
            message,
        });
    }
    let places = places(text);
    let whole = 0..text.len();
    let place = |i: usize| {
        places
            .get(i)
            .filter(|_| places.len() == tuple.leaves().len())
            .unwrap_or(&whole)
    };
    let entry = |(i, value): (usize, &Sym)| {
        let at = place(i);
        Entry {
            value: value.clone(),
            at: at.start + offset..at.end + offset,
        }
    };
    Ok(tuple.leaves().iter().enumerate().map(entry).collect())
}

/// Byte ranges of what stands between the outer parentheses and commas, without blanks around it.
fn places(text: &str) -> Vec<Range<usize>> {
    let mut out = vec![];
    let mut at = 0;
    for piece in text.split(['(', ')', ',']) {
        let word = piece.trim();
        let start = at + (piece.len() - piece.trim_start().len());
        if !word.is_empty() {
            out.push(start..start + word.len());
        }
        at += piece.len() + 1;
    }
    out
}

fn misfit(text: &str, error: &Error) -> Misfit {
    match error {
        Error::Parse { at, message } => {
            let start = text.floor_char_boundary(*at);
            let length = text
                .get(start..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
            Misfit {
                at: start..start + length,
                message: message.clone(),
            }
        }
        other => Misfit {
            at: 0..text.len(),
            message: other.to_string(),
        },
    }
}
