//! A tree and a signature to a checked formula.
//!
//! In: what is written. Out: a [`Formula`], or everything that is wrong with it. Each name is
//! assigned once and read only afterwards; a mode that stands only on the right of `=` is folded;
//! every index is proved within its axis, from the extents and from the `where` around it.

use crate::affine::ModeId;
use crate::formula::{Extent, Formula, Local, ModeFacts, ModeSet, Source, Statement};
use crate::problem::{Problem, sorted};
use crate::signature::{ModeExtent, RESERVED, RaggedBy, Signature};
use crate::syntax::{Tree, parse_among};

mod names;
mod outside;
mod index;
mod proof;
mod types;
mod expression;
mod statement;
mod unused;

/// Reads and checks a formula.
///
/// # Errors
/// Every problem of the text and of the signature, in order of their places.
///
/// ```
/// use tilewright_formula::{DType, Operand, Signature, check};
/// let signature = Signature {
///     operands: vec![
///         Operand::new("x", DType::BF16, &["m", "n"]),
///         Operand::new("d", DType::BF16, &["m", "n"]),
///     ],
///     ..Signature::default()
/// };
/// let formula = check("d[m,n] = silu(x[m,n])", &signature).map_err(|_| "refused")?;
/// assert_eq!(formula.statements.len(), 1);
/// let problems = check("d[m,n] = sillu(x[m,n])", &signature).unwrap_err();
/// assert_eq!(problems[0].help.as_deref(), Some("`silu` is one"));
/// # Ok::<(), &str>(())
/// ```
pub fn check(text: &str, signature: &Signature) -> Result<Formula, Vec<Problem>> {
    let mut problems = signature.problems();
    let unsound = !problems.is_empty();
    let operands: Vec<&str> = signature
        .operands
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let (tree, mut unread) = parse_among(text, &operands);
    if operands.iter().any(|name| RESERVED.contains(name)) {
        // A word that names an operand is read as the word.
        unread.retain(|problem| problem.code != "syntax");
    }
    let is_cut = unread.iter().any(|problem| problem.code == "too-long");
    problems.extend(unread);
    if unsound || tree.statements.is_empty() {
        return Err(sorted(problems));
    }
    let mut checker = Checker::new(signature, &tree);
    checker.problems = problems;
    for at in 0..tree.statements.len() {
        checker.statement(&tree, at);
    }
    if !is_cut {
        checker.unused(text, tree.broken.is_empty());
    }
    if !checker.problems.is_empty() {
        return Err(sorted(checker.problems));
    }
    let Checker {
        modes,
        locals,
        statements,
        ..
    } = checker;
    Ok(Formula {
        text: text.to_owned(),
        tree,
        signature: signature.clone(),
        modes,
        locals,
        statements,
    })
}

/// What is known on the way through the statements.
struct Checker<'s> {
    signature: &'s Signature,
    modes: Vec<ModeFacts>,
    locals: Vec<Local>,
    statements: Vec<Statement>,
    problems: Vec<Problem>,
    /// The statement that writes an operand, of the whole text.
    writers: Vec<Option<usize>>,
    /// The statement that is checked.
    at: usize,
    /// Modes that have a coordinate.
    scope: ModeSet,
    /// Modes that the statement folds along somewhere.
    folds: Vec<String>,
    /// What the conditions around say.
    facts: Vec<proof::Fact>,
    /// Names of arguments, inside of a derived function's definition.
    parameters: Option<expression::Parameters>,
    /// Sources that something reads.
    read: Vec<Source>,
    scalars_read: Vec<usize>,
    /// Intermediates whose statement is wrong: what reads them is left alone.
    broken: Vec<String>,
    /// Modes that helps make two of: each inner one has a name of its own.
    split: Vec<String>,
    /// The intermediate that is written, and its indices; empty of an output.
    written: (String, Vec<String>),
}

impl<'s> Checker<'s> {
    fn new(signature: &'s Signature, tree: &Tree) -> Checker<'s> {
        let modes = modes(signature);
        let writer = |name: &String| tree.statements.iter().position(|s| s.target.text == *name);
        let writers = signature.operands.iter().map(|one| writer(&one.name));
        Checker {
            signature,
            writers: writers.collect(),
            modes,
            locals: Vec::new(),
            statements: Vec::new(),
            problems: Vec::new(),
            at: 0,
            scope: 0,
            folds: Vec::new(),
            facts: Vec::new(),
            parameters: None,
            read: Vec::new(),
            scalars_read: Vec::new(),
            broken: tree.broken.clone(),
            split: Vec::new(),
            written: (String::new(), Vec::new()),
        }
    }

    fn mode(&self, name: &str) -> Option<ModeId> {
        self.modes.iter().position(|mode| mode.name == name)
    }

    fn in_scope(&self, mode: ModeId) -> bool {
        self.scope >> mode & 1 == 1
    }

    fn extent(&self, mode: ModeId) -> Extent {
        self.modes[mode].extent
    }

    /// A set of modes with the groups of those that are ragged.
    fn with_groups(&self, set: ModeSet) -> ModeSet {
        let ragged = self.modes.iter().enumerate();
        ragged.fold(set, |all, (at, mode)| match mode.extent {
            Extent::Ragged { group, .. } if set >> at & 1 == 1 => all | 1 << group,
            _ => all,
        })
    }

    /// Modes in an order that puts what a ragged one's coordinate depends on before it.
    fn ordered(&self, modes: impl Iterator<Item = ModeId>) -> Vec<ModeId> {
        let mut order = Vec::new();
        for mode in modes {
            let group = match self.extent(mode) {
                Extent::Ragged { group, by, .. } => Some((group, by)),
                _ => None,
            };
            let ids = matches!(group, Some((_, RaggedBy::Ids)));
            let group = group.map(|(group, _)| group);
            let both = [group.filter(|_| !ids), Some(mode), group.filter(|_| ids)];
            for mode in both.into_iter().flatten() {
                if !order.contains(&mode) {
                    order.push(mode);
                }
            }
        }
        order
    }

    fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }
}

/// The modes of a signature.
fn modes(signature: &Signature) -> Vec<ModeFacts> {
    let names = signature.mode_names();
    let id = |name: &str| names.iter().position(|other| *other == name);
    let extent = |name: &str| {
        let mode = signature.modes.iter().find(|mode| mode.name == name)?;
        Some(match &mode.extent {
            ModeExtent::Constant(extent) => Extent::Constant(*extent),
            ModeExtent::Ragged(ragged) => Extent::Ragged {
                group: id(&ragged.group)?,
                by: ragged.by,
                table: signature.operand(&ragged.table)?,
            },
        })
    };
    let facts = names.iter().map(|name| ModeFacts {
        name: (*name).to_owned(),
        extent: extent(name).unwrap_or(Extent::Named),
    });
    facts.collect()
}
