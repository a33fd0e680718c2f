//! The reference page of the notation, from the tables.
//!
//! In: the tables of functions, folds and element types. Out: Markdown; a test keeps the file in
//! `docs` equal to it.

use std::fmt::Write;

use crate::dtype::DType;
use crate::formula::ValueType;
use crate::functions::{DERIVED, FOLDS, Notation, PRIMITIVES, Primitive, Slack};
use crate::identity::default_text;
use crate::number::Kind;
use crate::signature::{MAX_AXES, MAX_MODES, RESERVED};
use crate::syntax::{MAX_DEPTH, MAX_STATEMENTS, MAX_TEXT};

const HEAD: &str = "# The notation of formulas

A formula says what a kernel computes: `compute:` of a spec, and the same text in a manifest.

```
acc[m,n] = sum[k] a[m,k] * b[n,k]     # a product, one intermediate
y[m,n] = silu(alpha * acc[m,n] + bias[n])
amax max= abs(y[m,n])                 # combined with what the output held
d[m,n] = y[m,n] * scale
```

- A statement ends at `;` or at the line's end unless a parenthesis is open; `#` begins a comment.
- Each name is written once and read only afterwards. What is an operand is read or written; every
  other name on the left is an intermediate, of the type of its value or of `name[m,n]: f32 = …`.
- Modes are named by the operands' layouts. A mode on the left alone broadcasts; one on the right
  alone is folded: `sum[k] …`. With `max=`, `+=` and `min=` it is folded by that operation. A bare
  mode in a value is its coordinate, `size(n)` its extent.
- Kernels combine values with `max=`, `+=` and `min=` in an order that does not depend on which of
  their parts run first: the same problem and kernel give the same bits, launch after launch.
- A fold's body reaches as far as it can: to the comma or parenthesis that closes what the fold
  stands in, or to the statement's end. Its mode hides an outer one of that name. So
  `sum[k] a[m,k]*b[n,k] + bias[n]` adds the bias once for each k, which is warned of;
  `(sum[k] a[m,k]*b[n,k]) + bias[n]` adds it once.
- Operands and intermediates may have names of functions and folds: `x[m,n] - mean[m]` reads an
  operand `mean`, `mean[n] x[m,n]` folds. `max[n] -x[m,n]`, where `max` is an operand too, is a
  difference: write `max[n] (-x[m,n])`.
- An index is affine in modes, a quotient or remainder of that by a constant (`k/128`, `j%64`), or
  an element of an integer input (`s[rows[m],n]`). It is proved within its axis, else a `where`
  around it says where it is; what is not chosen is not read. An element of a table that is beyond
  an axis reads 0 and writes nothing.
- Reading widens exactly. An operation on two integers is s32 and wraps around, else f64 where one
  side is, else f32. `/` in a value is never integer division.
- Writing to an operand casts to its type, and reading it later gives what was stored. Casts round
  to nearest even, those to `ue8m0` up; those to integers and to floats of 8 bits and fewer
  saturate, those to `f16` and `bf16` overflow to infinity; NaN becomes 0 in integers.
";

/// The page.
pub fn markdown() -> String {
    let mut out = HEAD.to_owned();
    out += "\n## Operators\n\nThe tighter an operator binds, the higher it stands.\n\n";
    out += "| operator | gives | error in f32 |\n|---|---|---|\n";
    for row in PRIMITIVES
        .iter()
        .filter(|row| row.notation != Notation::Call)
    {
        let form = match row.notation {
            Notation::Prefix if row.name == "not" => "`not x`".to_owned(),
            Notation::Prefix => format!("`{}x`", row.name),
            _ => format!("`x {} y`", row.name),
        };
        let _ = writeln!(out, "| {form} | {} | {} |", row.doc, error(&row.f32));
    }
    out += "\n## Functions\n\n| function | gives | error in f32 |\n|---|---|---|\n";
    for row in PRIMITIVES
        .iter()
        .filter(|row| row.notation == Notation::Call)
    {
        let call = format!("{}({})", row.name, arguments(row));
        let _ = writeln!(out, "| `{call}` | {} | {} |", row.doc, error(&row.f32));
    }
    out += "\nErrors are what a kernel may add to the rounding of its arguments: `u` is 2^-24, `r` \
            the result, `x` the argument. They are relative unless a number stands alone; \
            what `exp` gives below 2^-126 may come out as 0, and so what is made of it.\n";
    out += "\n## Derived functions\n\n| function | is | |\n|---|---|---|\n";
    for row in DERIVED {
        let parameters = row.parameters.join(", ");
        let (name, definition, doc) = (row.name, row.definition, row.doc);
        let _ = writeln!(out, "| `{name}({parameters})` | `{definition}` | {doc} |");
    }
    out += "\n## Folds\n\n| fold | gives |\n|---|---|\n";
    for row in FOLDS {
        let _ = writeln!(out, "| `{}[n] x[n]` | {} |", row.name, row.doc);
    }
    out += "\n## Element types\n\nEach that is read as numbers is a cast as well: `bf16(x)`.\n\n";
    out += "| type | bits | read as |\n|---|---|---|\n";
    for dtype in DType::ALL {
        let ty = match ValueType::of(*dtype) {
            ValueType::Raw(_) => "copied only",
            ty => ty.text(),
        };
        let cast = Kind::of(*dtype);
        let range = match cast {
            Kind::Integer([least, most]) => format!(", {least} to {most}"),
            _ => String::new(),
        };
        let _ = writeln!(out, "| `{dtype}` | {} | {ty}{range} |", dtype.bits());
    }
    out += "\n## Default formulas\n\n`kernel: gemm` and `kernel: copy` need no `compute`:\n\n```\n";
    for kernel in ["gemm", "copy"] {
        out += &default_text(kernel, None).unwrap_or_default();
    }
    out += "```\n\n## Limits\n\n";
    let _ = writeln!(
        out,
        "At most {MAX_TEXT} bytes, {MAX_STATEMENTS} statements, {MAX_DEPTH} levels of operations, \
         {MAX_MODES} modes, {MAX_AXES} of them of one operand. Words that name nothing else: {}.",
        RESERVED.join(", ")
    );
    out
}

/// What the page says of a function, a fold or an element type of that name: its row, below the
/// head of its table. `None` for what is none.
///
/// ```
/// use tilewright_formula::page::explain;
/// assert!(explain("silu").is_some_and(|said| said.contains("sigmoid linear unit")));
/// assert!(explain("argmax").is_some() && explain("bf16").is_some() && explain("if").is_none());
/// ```
pub fn explain(name: &str) -> Option<String> {
    let page = markdown();
    let rows = ["(", "[", "`"].map(|end| format!("| `{name}{end}"));
    let is_row = |line: &&str| rows.iter().any(|row| line.starts_with(row));
    page.split("\n## ").skip(1).find_map(|section| {
        let row = section.lines().find(is_row)?;
        let head = section.lines().filter(|line| line.starts_with('|'));
        let head = Vec::from_iter(head.take(2));
        Some(format!("# `{name}`\n\n{}\n{row}\n", head.join("\n")))
    })
}

/// The names that [`explain`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let calls = PRIMITIVES.iter();
    let calls = calls.filter(|row| row.notation == Notation::Call);
    let calls = calls.map(|row| row.name);
    let folds = FOLDS.iter().map(|row| row.name);
    let types = DType::ALL.iter().map(|dtype| dtype.text());
    let derived = DERIVED.iter().map(|row| row.name);
    calls.chain(derived).chain(folds).chain(types)
}

fn arguments(row: &Primitive) -> &'static str {
    match row.arity {
        1 => "x",
        2 => "x, y",
        _ => "condition, x, y",
    }
}

/// An error in words.
fn error(slack: &Slack) -> String {
    let mut parts = Vec::new();
    if slack.roundoffs > 0.0 {
        parts.push(format!("{}·u", slack.roundoffs));
    }
    if slack.by_argument > 0.0 {
        parts.push(format!("{}·u·abs(x)", slack.by_argument));
    }
    let itself = slack.absolute.iter().map(|[within, absolute]| {
        let to = match within.is_finite() {
            // No further than it holds.
            true => format!(" to abs(x) = {}", (within * 1e3).floor() / 1e3),
            false => String::new(),
        };
        format!("{absolute:.3e} itself{to}")
    });
    let itself: Vec<String> = itself.collect();
    if !itself.is_empty() {
        parts.push(itself.join(", "));
    }
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(" + ")
}
