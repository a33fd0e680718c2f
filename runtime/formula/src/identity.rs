//! The function of a kernel: what it computes, apart from how.
//!
//! In: a checked formula. Out: a text that is equal for kernels that may stand for one another. It
//! has the names of operands, scalars and extents, every type, the accuracy word, what lies over
//! what and the order of packed operands; intermediates are numbered. It has no strides.

use std::fmt::Write;

use crate::formula::{Formula, Source};
use crate::print::statement_text;
use crate::signature::{Accumulation, Axis, ModeExtent, Signature};
use crate::syntax::{Assignment, Tree, parse_what_can_be};

/// The function of a formula.
pub fn function(formula: &Formula) -> String {
    let mut out = signature_text(&formula.signature);
    let number = |name: &str| {
        let at = formula.locals.iter().position(|local| local.name == name);
        at.map_or_else(|| name.to_owned(), |at| format!("%{at}"))
    };
    for (written, statement) in formula.tree.statements.iter().zip(&formula.statements) {
        let mut typed = written.clone();
        if let Source::Local(_) = statement.target {
            typed.annotation = Some(crate::syntax::Word {
                text: statement.dtype.text().to_owned(),
                span: 0..0,
            });
        }
        out += &statement_text(&typed, &number);
        out.push('\n');
    }
    out
}

/// What a signature says, a line each.
pub fn signature_text(signature: &Signature) -> String {
    let mut out = String::new();
    for operand in &signature.operands {
        let axes: Vec<String> = operand.axes.iter().map(Axis::to_string).collect();
        let _ = write!(
            out,
            "{}: {} ({})",
            operand.name,
            operand.dtype,
            axes.join(",")
        );
        if let Some(order) = &operand.packed {
            let _ = write!(out, " packed {order}");
        }
        if let Some(over) = &operand.over {
            let _ = write!(out, " over {over}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    for scalar in &signature.scalars {
        let _ = writeln!(out, "{}: {}", scalar.name, scalar.dtype);
    }
    for mode in &signature.modes {
        let name = &mode.name;
        let _ = match &mode.extent {
            ModeExtent::Constant(extent) => writeln!(out, "{name} = {extent}"),
            ModeExtent::Ragged(ragged) => {
                let (group, by, table) = (&ragged.group, ragged.by.text(), &ragged.table);
                writeln!(out, "{name} in {group} by {by} {table}")
            }
        };
    }
    if signature.accumulation == Accumulation::Fast {
        out += "accumulation: fast\n";
    }
    out
}

/// Words of kernels that have a formula where a spec writes none, and that formula; `{}` is where
/// the type of its sum may stand.
const DEFAULTS: [(&str, &str); 2] = [
    ("copy", "d[m,n] = s[m,n]\n"),
    (
        "gemm",
        "acc[m,n]{} = sum[k] a[m,k] * b[n,k]\nd[m,n] = acc[m,n]\n",
    ),
];

/// Words of kernels that have a default formula.
pub fn default_words() -> impl Iterator<Item = &'static str> {
    DEFAULTS.iter().map(|(word, _)| *word)
}

/// The word of [`default_words`] whose formula this is, whatever the types.
pub fn default_of(formula: &Formula) -> Option<&'static str> {
    let untyped = |tree: &Tree| -> Vec<String> {
        let statements = tree.statements.iter().map(|statement| Assignment {
            annotation: None,
            ..statement.clone()
        });
        statements
            .map(|statement| statement_text(&statement, &str::to_owned))
            .collect()
    };
    let own = untyped(&formula.tree);
    let is_own = |word: &&str| {
        let text = default_text(word, None).unwrap_or_default();
        untyped(&parse_what_can_be(&text).0) == own
    };
    default_words().find(is_own)
}

/// The formula that `gemm` and `copy` have where a spec says none; the type of the first one's sum
/// is the spec's `accumulator`. `None` for every other word.
pub fn default_text(kernel: &str, accumulator: Option<crate::DType>) -> Option<String> {
    let (_, text) = DEFAULTS.iter().find(|(word, _)| *word == kernel)?;
    let ty = accumulator.map_or(String::new(), |dtype| format!(": {dtype}"));
    Some(text.replace("{}", &ty))
}
