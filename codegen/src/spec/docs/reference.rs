//! The reference page of specs, from the table of keys.
//!
//! Comes in: nothing. Goes out: Markdown, a table for the file and one for each map in it, which
//! `docs/spec.md` of this crate holds and a test makes anew.

use std::fmt::Write;

use crate::arch::ARCHES;
use crate::atoms::model::{MmaFacts, Space};
use crate::dtype::DTYPES;
use crate::spec::kernel::forms::FormKind;
use crate::spec::keys::atoms::{self, Job, Known};
use crate::spec::keys::key::{Key, Kind, OPERAND};
use crate::spec::keys::model::Spec;
use crate::spec::keys::signature::SCALAR_TYPES;
use crate::spec::keys::swizzle::BYTE_NAMES;
use crate::spec::words::vocabulary::{List, Word};

/// Every key of a spec with what it may be, its default and its meaning, as Markdown.
///
/// ```
/// let page = tilewright_codegen::spec::reference();
/// assert!(page.contains("| `cta_tile` |"));
/// ```
pub fn reference() -> String {
    let mut page = Page {
        text: HEAD.to_owned(),
        lists: Vec::new(),
    };
    page.table("The file", "", Spec::KEYS);
    page.table("`operands.<name>`", "operands.<name>.", OPERAND);
    let maps = Spec::KEYS.iter().filter_map(|key| match key.kind {
        Kind::Paths(hops) => Some((format!("{}.<operand>", key.name), hops)),
        Kind::Record(keys) => Some((key.name.to_owned(), keys)),
        _ => None,
    });
    for (path, keys) in maps {
        page.table(&format!("`{path}`"), &format!("{path}."), keys);
    }
    page.words();
    page.atoms();
    page.text
}

/// What stands before the tables.
const HEAD: &str = "\
Every key of a spec, from the table that reads them (`tilewright schema` has the same for editors).
Keys with the default `auto` may be left to the plan, which says what it chose (`tilewright plan`);
those with a `t` may be varied by `tune`, as `tune: { pipeline.stages: [2, 3] }`. Formulas are those
of the page on notation in `tilewright-formula`. A hop of `copy.<operand>` that is written, be it as
`auto`, is one that the operand takes: `g2s: auto` has it go through shared memory, by an
instruction of the plan's choice. Where none is written, the plan chooses the way too.
Tables of atoms have the name of CuTe's operation where the record of an atom has one: it is the one
without cache hints, and CuTe has names for others as well.
";

/// The page as far as it is written.
struct Page {
    text: String,
    /// Lists of words that tables name, each with its path.
    lists: Vec<(String, &'static List)>,
}

impl Page {
    fn table(&mut self, title: &str, prefix: &str, keys: &[Key]) {
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            "\n# {title}\n\n| key | value | default | | of | meaning |\n|---|---|---|---|---|---|\n"
        );
        for key in keys {
            if let Kind::Word(list) = key.kind {
                self.lists.push((format!("{prefix}{}", key.name), list));
            }
            let tuned = if key.tunable { "t" } else { "" };
            let _ = writeln!(
                self.text,
                "| `{}` | {} | {} | {tuned} | {} | {} |",
                key.name,
                value(key.kind),
                default(key),
                kernels(key),
                key.doc.replace('|', "\\|")
            );
        }
    }

    fn words(&mut self) {
        for (path, list) in std::mem::take(&mut self.lists) {
            let _ = write!(self.text, "\n# Words of `{path}`\n\n");
            for word in list.words.iter().filter(|word| word.refused.is_none()) {
                let meaning = word.doc.trim();
                let _ = writeln!(self.text, "- `{}`: {meaning}", spelled(word));
            }
        }
    }
}

/// The jobs of atoms that specs name, and the keys that name them.
const JOBS: [(Job, &str); 5] = [
    (Job::Multiply, "`mma.atom`"),
    (Job::Move(Space::Gmem, Space::Smem), "`g2s`"),
    (Job::Move(Space::Smem, Space::Rmem), "`s2r`"),
    (Job::Move(Space::Gmem, Space::Rmem), "`g2r` and `g2r_last`"),
    (Job::Move(Space::Rmem, Space::Smem), "`r2s`"),
];
/// Those of the ways out.
const OUT: [(Job, &str); 2] = [
    (Job::Move(Space::Smem, Space::Gmem), "`s2g`"),
    (Job::Move(Space::Rmem, Space::Gmem), "`r2g`"),
];

impl Page {
    /// Every atom that a spec may name, by the key that names it: of the catalogue those that some
    /// plan takes.
    fn atoms(&mut self) {
        for (job, keys) in JOBS.iter().chain(&OUT) {
            let _ = write!(
                self.text,
                "\n# Atoms of {keys}\n\n| atom | CuTe's name | needs |\n|---|---|---|\n"
            );
            let taken = |known: &Known| known.job == *job && is_taken(known);
            for known in atoms::atoms().filter(taken) {
                let cute = known.atom.cute.as_ref();
                let cute = cute.map_or(String::new(), |name| format!("`{name}`"));
                let _ = writeln!(
                    self.text,
                    "| `{}` | {cute} | {} |",
                    known.id,
                    known.atom.needs()
                );
            }
        }
    }
}

/// Whether kernels have a use for it. None stores from shared memory but by boxes of two or three
/// modes that take the place of what is there, nor loads boxes of one or five modes.
fn is_taken(known: &Known) -> bool {
    // Products are accumulated in no type of 16 bits.
    let of_sixteen_bits = |mma: &MmaFacts| mma.types[0].bits() < 32;
    let Some(copy) = &known.atom.copy else {
        return !known.atom.mma.as_ref().is_some_and(of_sixteen_bits);
    };
    let rank = copy.tensor.map(|tensor| tensor.rank);
    match known.job {
        Job::Move(Space::Smem, Space::Gmem) => copy.reduce.is_none() && matches!(rank, Some(2 | 3)),
        Job::Move(Space::Gmem, Space::Smem) => !matches!(rank, Some(1 | 5)),
        _ => true,
    }
}

/// A word, with the counts that it takes.
fn spelled(word: &Word) -> String {
    let Some(counts) = word.count else {
        return word.name.to_owned();
    };
    let (name, most) = (word.name, counts.most);
    let kind = if counts.powers_of_two {
        "a power of two"
    } else {
        "a number"
    };
    format!("{name}_N` with {kind} up to `{most}")
}

fn default(key: &Key) -> &'static str {
    match (key.required, key.auto) {
        (true, _) if key.of_default => "must be written, but beside `compute`",
        (true, _) => "must be written",
        (_, true) if matches!(key.kind, Kind::CopyAtom { .. }) => "left out",
        (_, true) => "`auto`",
        _ => "",
    }
}

/// The kernels whose specs have a key.
fn kernels(key: &Key) -> &'static str {
    match (key.forms, key.of_default) {
        ([FormKind::Rows], _) => "maps and folds",
        (forms, _) if !forms.contains(&FormKind::Rows) => "products",
        (_, true) => "default formulas",
        _ => "all",
    }
}

/// What may be written.
fn value(kind: Kind) -> String {
    let code = |words: &mut dyn Iterator<Item = &'static str>| {
        let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
        words.join(" ")
    };
    match kind {
        Kind::Kernel => "a word: one with a default formula, any beside `compute`".into(),
        Kind::Name | Kind::Other => "a name".into(),
        Kind::Arch => code(&mut ARCHES.iter().map(|arch| arch.name)),
        Kind::DType => code(&mut DTYPES.iter().map(|dtype| dtype.text())),
        Kind::Layout => "a layout, or `shape:packed`".into(),
        Kind::Tile => "`(128,128,64)`, or `{ m: 128, n: 128, k: 64 }`".into(),
        Kind::Triple { most } => format!("`(x,y,z)`, of at most {most} in all"),
        Kind::Int { least, most, step } => {
            let steps = match step {
                1 => String::new(),
                step => format!(", a multiple of {step}"),
            };
            format!("{least} to {most}{steps}")
        }
        Kind::MmaAtom => "an MMA atom's id".into(),
        Kind::CopyAtom { from, to } => format!("the id of an atom from {from} to {to}"),
        Kind::Swizzle => format!(
            "`none` {} `Sw<B,M,S>`",
            code(&mut BYTE_NAMES.iter().map(|(name, _)| *name))
        ),
        Kind::Word(_) => "a word, below".into(),
        Kind::Compute => "a formula, a statement a line".into(),
        Kind::Scalars => format!(
            "a map from name to type: {}",
            code(&mut SCALAR_TYPES.iter().map(|dtype| dtype.text()))
        ),
        Kind::Modes => "a map from mode to extent, or to where its groups lie".into(),
        Kind::Record(_) | Kind::Way { .. } => "a map, below".into(),
        Kind::Operands | Kind::Paths(_) => "a map by operand, below".into(),
        Kind::Swizzles => "a map by operand".into(),
        Kind::Tune => "a map from dotted path to a list of values, or a list of such maps".into(),
    }
}
