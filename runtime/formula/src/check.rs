//! A tree and a signature to a checked formula.
//!
//! In: what is written. Out: a [`Formula`], or everything that is wrong with it. Each name is
//! assigned once and read only afterwards; a mode that stands only on the right of `=` is folded;
//! every index is proved within its axis, from the extents and from the `where` around it.

use crate::affine::{ModeId, Poly};
use crate::formula::{Extent, Formula, Local, ModeFacts, ModeSet, Source, Statement};
use crate::problem::{Place, Problem, sorted};
use crate::signature::{ModeExtent, RaggedBy, Signature};
use crate::syntax::{TokenKind, Tree, parse_what_can_be, tokens};

mod expression;
mod index;
mod names;
mod proof;
mod statement;

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
    let (tree, unread) = parse_what_can_be(text);
    problems.extend(unread);
    if unsound || tree.statements.is_empty() {
        return Err(sorted(problems));
    }
    let mut checker = Checker::new(signature, &tree);
    checker.problems = problems;
    for at in 0..tree.statements.len() {
        checker.statement(&tree, at);
    }
    checker.unused(text);
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
    /// Polynomials that are at least zero, of the conditions around.
    facts: Vec<Poly>,
    /// Names of arguments, inside of a derived function's definition.
    parameters: Option<expression::Parameters>,
    /// Sources that something reads.
    read: Vec<Source>,
    scalars_read: Vec<usize>,
    /// Intermediates whose statement is wrong: what reads them is left alone.
    broken: Vec<String>,
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
            facts: Vec::new(),
            parameters: None,
            read: Vec::new(),
            scalars_read: Vec::new(),
            broken: tree.broken.clone(),
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

    /// What has a name and is never used.
    fn unused(&mut self, text: &str) {
        let words = tokens(text).0.into_iter();
        let words = words.filter(|token| token.kind == TokenKind::Name);
        let words: Vec<&str> = words.filter_map(|token| text.get(token.span)).collect();
        // What a wrong statement names is not unused as well.
        let wrong = !self.problems.is_empty();
        let named = |name: &str| wrong && words.contains(&name);
        let signature = self.signature;
        let tables = signature
            .modes
            .iter()
            .filter_map(|mode| match &mode.extent {
                ModeExtent::Ragged(ragged) => signature.operand(&ragged.table),
                ModeExtent::Constant(_) => None,
            });
        let mut read = self.read.clone();
        read.extend(tables.map(Source::Operand));
        let covered = signature.operands.iter().filter_map(|o| o.over.as_deref());
        read.extend(
            covered
                .filter_map(|name| signature.operand(name))
                .map(Source::Operand),
        );
        let mut problems = Vec::new();
        let mut unused = |place: Place, kind: &str, name: &str, help: &str| {
            let message = format!("{kind} `{name}` is never used");
            problems.push(Problem::of("unused", place, message).help(help.to_owned()));
        };
        for (at, operand) in signature.operands.iter().enumerate() {
            let read = read.contains(&Source::Operand(at)) || named(&operand.name);
            let some = self.writers.iter().any(Option::is_some);
            if some && self.writers[at].is_none() && !read {
                unused(
                    Place::Operand(at),
                    "operand",
                    &operand.name,
                    "read it, or take it out",
                );
            }
        }
        for (at, scalar) in signature.scalars.iter().enumerate() {
            if !self.scalars_read.contains(&at) && !named(&scalar.name) {
                unused(
                    Place::Scalar(at),
                    "scalar",
                    &scalar.name,
                    "read it, or take it out",
                );
            }
        }
        for (at, local) in self.locals.iter().enumerate() {
            let uses = words.iter().filter(|word| **word == local.name).count();
            let read = read.contains(&Source::Local(at)) || (wrong && uses > 1);
            if !read {
                let span = self
                    .statements
                    .iter()
                    .find(|s| s.target == Source::Local(at));
                let span = span.map_or(0..0, |statement| statement.span.clone());
                let help = "an output is an operand; read it, or take its statement out";
                unused(
                    Place::Text(span.start, span.end),
                    "intermediate",
                    &local.name,
                    help,
                );
            }
        }
        let writes = |name: &String| signature.operand(name).is_some();
        if self.writers.iter().all(Option::is_none) && !self.broken.iter().any(writes) {
            let names: Vec<String> = signature.operands.iter().map(|o| o.name.clone()).collect();
            let message = "no statement writes an operand".to_owned();
            let help = format!("write one of: {}", names.join(", "));
            problems.push(Problem::new("no-output", &(0..0), message).help(help));
        }
        self.problems.extend(problems);
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
