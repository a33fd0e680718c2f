//! What the names of a formula stand for, as a file says it: operands, scalars, modes.
//!
//! Comes in: the tree of a file. Goes out: a signature. What is wrong with an operand is left to
//! the checks of operands; then the signature is not sound, and the formula is only parsed.

use tilewright_formula::{
    Accumulation, Axis, DType, Mode, ModeExtent, Operand, Ragged, RaggedBy, Scalar, Signature,
};

use super::read::describe;
use crate::error::shown;
use crate::spec::words::notation::{self, Strides};
use crate::spec::yaml::nearest::{all_of, suggestion};
use crate::spec::yaml::node::{Entry, Node, Value};
use crate::spec::yaml::problems::Problems;

/// Types of scalars.
pub(in crate::spec) const SCALAR_TYPES: [DType; 4] =
    [DType::F32, DType::F64, DType::S32, DType::U32];

/// A signature, and whether it says all that the file means.
#[derive(Debug)]
pub(in crate::spec) struct ReadSignature {
    /// The signature.
    pub signature: Signature,
    /// Whether everything of it could be read.
    pub sound: bool,
}

/// Reads the signature of a file with a formula.
pub(in crate::spec) fn read(tree: &Node, problems: &mut Problems) -> ReadSignature {
    let mut sound = true;
    let operands = entries(tree, "operands").iter().map(|entry| {
        let operand = operand(entry);
        sound &= operand.is_some();
        // Its axes are known where its type is not.
        operand.unwrap_or_else(|| Operand {
            axes: axes(entry).unwrap_or_default(),
            ..Operand::new(&entry.key, DType::F32, &[])
        })
    });
    let operands = operands.collect();
    let before = problems.list().len();
    let scalars = map(tree, "scalars", problems);
    sound &= problems.list().len() == before;
    let scalars = scalars.iter().map(|entry| scalar(entry, problems));
    let scalars = scalars.collect();
    let before = problems.list().len();
    let modes = map(tree, "modes", problems);
    let modes = modes.iter().filter_map(|entry| mode(entry, problems));
    let modes = modes.collect();
    sound &= problems.list().len() == before;
    ReadSignature {
        signature: Signature {
            operands,
            scalars,
            modes,
            accumulation: accumulation(tree),
        },
        sound,
    }
}

/// How exactly sums are kept.
pub(in crate::spec) fn accumulation(tree: &Node) -> Accumulation {
    match word(tree.find("accumulation")) {
        Some("fast") => Accumulation::Fast,
        _ => Accumulation::Full,
    }
}

fn entries<'n>(tree: &'n Node, map: &str) -> &'n [Entry] {
    match tree.find(map).map(|node| &node.value) {
        Some(Value::Map(entries)) => entries,
        _ => &[],
    }
}

fn word(node: Option<&Node>) -> Option<&str> {
    match &node?.value {
        Value::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// The axes of an operand, where its layout can be read.
fn axes(entry: &Entry) -> Option<Vec<Axis>> {
    let layout = word(entry.value.find("layout"))?;
    let (extents, _) = notation::layout(layout).ok()?;
    let axes = extents.iter();
    axes.map(|extent| Axis::parse(layout.get(extent.at.clone())?))
        .collect()
}

/// An operand, where its type and its layout can be read.
fn operand(entry: &Entry) -> Option<Operand> {
    // A type that kernels have none of was told, and makes no problem of what is computed of it.
    let dtype = crate::dtype::named(word(entry.value.find("dtype"))?)?;
    let layout = word(entry.value.find("layout"))?;
    let (_, strides) = notation::layout(layout).ok()?;
    Some(Operand {
        axes: axes(entry)?,
        // Which order it has is a plan's to say.
        packed: (strides == Strides::Packed).then(String::new),
        over: word(entry.value.find("over")).map(str::to_owned),
        ..Operand::new(&entry.key, dtype, &[])
    })
}

/// The entries of a map that may be left out.
fn map<'n>(tree: &'n Node, key: &str, problems: &mut Problems) -> &'n [Entry] {
    match tree.find(key) {
        Some(node) if !matches!(node.value, Value::Map(_) | Value::Refused) => {
            let message = format!("`{key}` is {}; expected a map", describe(node));
            let entry = match key {
                "scalars" => "alpha: f32",
                _ => "i: 128",
            };
            let help = format!("write `name: value` lines below it, or `{key}: {{ {entry} }}`");
            problems.add("wrong-type", &node.span, message, help);
            &[]
        }
        _ => entries(tree, key),
    }
}

/// A scalar; one whose type is told as a problem stands for an f32 in what follows.
fn scalar(entry: &Entry, problems: &mut Problems) -> Scalar {
    let text = word(Some(&entry.value));
    let found = SCALAR_TYPES
        .into_iter()
        .find(|dtype| Some(dtype.text()) == text);
    if found.is_none() {
        let names = SCALAR_TYPES.map(DType::text);
        let message = format!(
            "`scalars.{}` is {}; types of scalars are {}",
            shown(&entry.key),
            describe(&entry.value),
            all_of(&names)
        );
        let help = suggestion(text.unwrap_or_default(), &names);
        problems.add("scalar-type", &entry.value.span, message, help);
    }
    Scalar {
        name: entry.key.clone(),
        dtype: found.unwrap_or(DType::F32),
    }
}

/// `i: 128`, or a ragged one: `m: { in: g, starts: t }`.
fn mode(entry: &Entry, problems: &mut Problems) -> Option<Mode> {
    let extent = match &entry.value.value {
        Value::Scalar { text, plain: true } => text.parse().ok().map(ModeExtent::Constant),
        Value::Map(_) => ragged(&entry.value).map(ModeExtent::Ragged),
        _ => None,
    };
    let Some(extent) = extent else {
        let is_number = |text: &str| text.bytes().all(|one| one.is_ascii_digit());
        let expected = match &entry.value.value {
            Value::Scalar { text, plain: true } if !text.is_empty() && is_number(text) => {
                format!(
                    "allowed is 1 to {}",
                    tilewright_formula::signature::MAX_EXTENT
                )
            }
            _ => "expected an extent, or where the groups of a ragged mode lie".to_owned(),
        };
        let message = format!(
            "`modes.{}` is {}; {expected}",
            shown(&entry.key),
            describe(&entry.value)
        );
        let help = format!(
            "take `{}` out, so that a launch says its extent; a constant is written as an integer, \
             groups as `{{ in: g, starts: t }}`, `{{ in: g, counts: t }}` or `{{ in: g, ids: t }}`",
            shown(&entry.key)
        );
        problems.add("mode-extent", &entry.value.span, message, help);
        return None;
    };
    Some(Mode {
        name: entry.key.clone(),
        extent,
    })
}

fn ragged(node: &Node) -> Option<Ragged> {
    let Value::Map(entries) = &node.value else {
        return None;
    };
    let by = RaggedBy::ALL
        .into_iter()
        .find(|by| node.entry(by.text()).is_some())?;
    (entries.len() == 2).then_some(())?;
    Some(Ragged {
        group: word(node.find("in"))?.to_owned(),
        by,
        table: word(node.find(by.text()))?.to_owned(),
    })
}
