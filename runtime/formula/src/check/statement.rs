//! Statements: what they write, where, and over which modes.

use super::Checker;
use super::names::Wanted;
use super::outside::Read;
use super::types::widen_literals;
use crate::affine::{ModeId, Poly, Symbol};
use crate::dtype::DType;
use crate::formula::{Expr, Extent, Index, Local, ModeSet, Source, Statement, ValueType};
use crate::number::Kind;
use crate::problem::{Problem, shown};
use crate::signature::{Axis, RESERVED, RaggedBy, is_name};
use crate::syntax::{Assignment, Combine, Node, NodeKind, Tree};

/// What to do where a statement writes to a name of something else.
const RENAME: &str = "give it another name, and read that, or take the statement out";

impl Checker<'_> {
    /// Checks one statement; what it writes is known to those behind it.
    pub(super) fn statement(&mut self, tree: &Tree, at: usize) {
        let Some(written) = tree.statements.get(at) else {
            return;
        };
        self.at = at;
        self.facts.clear();
        self.folds.clear();
        folds_of(&written.value, &mut self.folds);
        let before = self.problems.len();
        let statement = self.checked(written);
        // A mode that is nowhere folded is one problem.
        let mut modes = Vec::new();
        let mut rest = self.problems.split_off(before);
        rest.retain(|one| {
            let known = |known: &String| known.starts_with(&one.message);
            let again = one.code == "mode-not-folded" && modes.iter().any(known);
            modes.push(one.message.clone());
            !again
        });
        self.problems.extend(rest);
        self.scope = 0;
        match statement {
            Some(statement) => self.statements.push(statement),
            None => {
                self.broken.push(written.target.text.clone());
                if self.problems.is_empty() {
                    let message = "this statement cannot be read";
                    self.report(Problem::new("syntax", &written.span, message));
                }
            }
        }
    }

    fn checked(&mut self, written: &Assignment) -> Option<Statement> {
        let operand = self.target(written)?;
        let annotation = match &written.annotation {
            Some(word) => Some(self.element_type(word)?),
            None => None,
        };
        self.annotated(written, operand, annotation)?;
        let left = self.left(written, operand);
        self.written = match operand {
            Some(_) => Default::default(),
            None => {
                let indices = written.indices.iter().map(crate::print::expression);
                (written.target.text.clone(), indices.collect())
            }
        };
        let marked = left.as_ref().map_or(0, |left| {
            left.iter()
                .fold(0, |set, index| set | index.free(&self.modes))
        });
        let left_modes = self.with_groups(marked);
        // Of a wrong left side, every mode counts as there: what is wrong with it was said.
        self.scope = match (&left, written.combine) {
            (Some(_), Combine::Set) => left_modes,
            _ => ModeSet::MAX,
        };
        let mut value = self.expr(&written.value, annotation)?;
        let left = left?;
        let dtype = self.stored(written, operand, annotation, &value)?;
        widen_literals(&mut value, ValueType::of(dtype));
        let in_order = left.iter().flat_map(|index| {
            let free = index.free(&self.modes);
            index
                .bare()
                .into_iter()
                .chain((0..self.modes.len()).filter(move |m| free >> m & 1 == 1))
        });
        let loops = self.ordered(in_order);
        let folded = self.with_groups(value.free) & !left_modes;
        let folded = self.ordered((0..self.modes.len()).filter(|m| folded >> m & 1 == 1));
        let folded = folded
            .into_iter()
            .filter(|mode| !loops.contains(mode))
            .collect();
        let target = match operand {
            Some(at) => Source::Operand(at),
            None => {
                self.locals.push(Local {
                    name: written.target.text.clone(),
                    dtype,
                    modes: left.iter().filter_map(Index::bare).collect(),
                    statement: self.statements.len(),
                });
                Source::Local(self.locals.len() - 1)
            }
        };
        Some(Statement {
            target,
            left,
            combine: written.combine,
            dtype,
            loops,
            folded,
            value,
            span: written.span.clone(),
        })
    }

    /// The operand that is written; `None` inside where it is a new intermediate.
    #[allow(clippy::option_option)] // Neither, an intermediate, an operand.
    fn target(&mut self, written: &Assignment) -> Option<Option<usize>> {
        let (name, span) = (&written.target.text, &written.target.span);
        let text = shown(name);
        let operand = self.signature.operand(name);
        let twice = match operand {
            Some(at) => self.writers[at].is_some_and(|first| first < self.at),
            None => self.locals.iter().any(|one| one.name == *name) || self.broken.contains(name),
        };
        let problem = if twice {
            let message = format!("`{text}` is written twice");
            let help = "keep one of the two; to go on with the first, give it a name of its own, \
                        and read that in the second";
            Some(Problem::new("written-twice", span, message).help(help))
        } else if operand.is_some() {
            None
        } else if self.signature.scalar(name).is_some() || self.mode(name).is_some() {
            let message = format!("`{text}` is a scalar or a mode, which is not written");
            Some(Problem::new("written-name", span, message).help(RENAME))
        } else if RESERVED.contains(&name.as_str()) {
            let message = format!("`{text}` is a word of the notation");
            Some(Problem::new("written-name", span, message).help(RENAME))
        } else if !is_name(name) {
            let message = format!("`{text}` is too long for a name");
            Some(Problem::new("written-name", span, message).help("64 letters are allowed"))
        } else if written.combine != Combine::Set {
            let sign = written.combine.text();
            let message = format!("`{sign}` combines with what an output held; `{text}` is none");
            let problem = Problem::new("combine", &written.sign, message);
            let outputs = self.signature.operands.iter().map(|one| one.name.as_str());
            let help = match crate::problem::nearest(name, outputs) {
                Some(near) => format!("`{near}` is an operand"),
                None => "write `=` and a fold".to_owned(),
            };
            Some(problem.help(help))
        } else {
            None
        };
        let sound = problem.is_none();
        self.problems.extend(problem);
        sound.then_some(operand)
    }

    fn annotated(
        &mut self,
        written: &Assignment,
        operand: Option<usize>,
        annotation: Option<DType>,
    ) -> Option<()> {
        let (Some(word), Some(at), Some(_)) = (&written.annotation, operand, annotation) else {
            return Some(());
        };
        let own = self.signature.operands[at].dtype;
        let name = shown(&written.target.text);
        let message = format!("the type of operand `{name}` is {own}, and stands there");
        let help = "take the annotation out; a sum of another type is an intermediate of its own";
        self.report(Problem::new("annotation", &word.span, message).help(help));
        None
    }

    /// Where a statement writes.
    fn left(&mut self, written: &Assignment, operand: Option<usize>) -> Option<Vec<Index>> {
        let axes: Vec<Axis> = match operand {
            Some(at) => self.signature.operands[at].axes.clone(),
            None => {
                let axis = |node: &Node| match &node.kind {
                    NodeKind::Name(mode) => Axis::Mode(mode.clone()),
                    _ => Axis::Constant(1),
                };
                written.indices.iter().map(axis).collect()
            }
        };
        if axes.len() != written.indices.len() {
            let spelled: Vec<String> = axes.iter().map(Axis::to_string).collect();
            let (found, name) = (written.indices.len(), shown(&written.target.text));
            let noun = if axes.len() == 1 { "index" } else { "indices" };
            let message = format!("`{name}` takes {} {noun}; {found} given", axes.len());
            let single = axes.iter().all(|axis| axis.to_string() == "1");
            let help = match axes.len() {
                0 => format!("it is written `{name}` alone"),
                _ if single => format!(
                    "it has one element: give it the layout `()`, and it is written `{name}` alone"
                ),
                _ => format!("its modes are `{name}[{}]`", spelled.join(",")),
            };
            let span = written.target.span.start..written.sign.start;
            let problem = Problem::new("index-count", &span, message).help(help);
            self.report(match axes.len() {
                0 => problem.edit(&span, format!("{name} ")),
                _ => problem.edit(&span, format!("{name}[{}] ", spelled.join(","))),
            });
            return None;
        }
        let mut modes = Vec::new();
        let indices: Vec<Option<Index>> = written
            .indices
            .iter()
            .zip(&axes)
            .map(|(node, axis)| {
                let index = self.left_index(node, axis, operand.is_some(), &mut modes)?;
                Some(self.counted_from_start(index, axis, &axes))
            })
            .collect();
        let indices: Option<Vec<Index>> = indices.into_iter().collect();
        let indices = indices?;
        self.ragged_left(written, &modes, &axes)?;
        Some(indices)
    }

    /// Whether an output's axis is written from end to end along a mode.
    fn is_whole(&self, axis: &Axis, mode: ModeId) -> bool {
        match axis {
            Axis::Mode(own) => {
                let own = self.mode(own);
                let constant = |mode| match self.extent(mode) {
                    Extent::Constant(extent) => Some(extent),
                    _ => None,
                };
                own == Some(mode)
                    || own
                        .and_then(constant)
                        .is_some_and(|own| constant(mode) == Some(own))
            }
            Axis::Constant(extent) => self.extent(mode) == Extent::Constant(*extent),
            Axis::Quotient(..) | Axis::After(_) => false,
        }
    }

    fn left_index(
        &mut self,
        node: &Node,
        axis: &Axis,
        is_operand: bool,
        modes: &mut Vec<ModeId>,
    ) -> Option<Index> {
        let mode = match &node.kind {
            NodeKind::Name(name) => self.mode(name),
            NodeKind::Element { indices, .. } if is_operand => {
                for inner in indices {
                    if let NodeKind::Name(name) = &inner.kind {
                        modes.extend(self.mode(name));
                    }
                }
                self.scope = modes.iter().fold(0, |set, mode| set | 1 << mode);
                let name = crate::syntax::Word {
                    text: String::new(),
                    span: node.span.clone(),
                };
                let written = Read {
                    name: &name,
                    nodes: indices,
                    span: None,
                };
                return self.index(node, axis, &written);
            }
            _ => None,
        };
        let Some(mode) = mode else {
            let problem = match &node.kind {
                NodeKind::Name(name) => self.unknown(name, &node.span, Wanted::Mode),
                _ => {
                    let message = "the left side takes modes, each by itself";
                    let help = "write every element: a part is chosen on the right, by `where`; \
                                an output may be written at an element of a table, `d[rows[m],n]`";
                    Problem::new("left-index", &node.span, message).help(help)
                }
            };
            self.report(problem);
            return None;
        };
        let name = self.modes[mode].name.clone();
        if modes.contains(&mode) {
            let message = format!("mode `{name}` stands twice on the left");
            let help = "only the diagonal would be written: choose it on the right, by `where`";
            self.report(Problem::new("mode-twice", &node.span, message).help(help));
            return None;
        }
        modes.push(mode);
        let whole = self.is_whole(axis, mode);
        if !whole {
            let message = format!("mode `{axis}` of the output is written along `{name}`");
            let help = match axis {
                Axis::Mode(own) => format!("write it along `{own}`, or name it `{name}` there"),
                _ => "outputs are written along whole modes: split the mode in two, `(i,g)`"
                    .to_owned(),
            };
            let problem = Problem::new("left-mode", &node.span, message).help(help);
            self.report(match axis {
                Axis::Mode(own) => problem.edit(&node.span, own),
                _ => problem,
            });
            return None;
        }
        Some(Index::Affine(Poly::symbol(Symbol::Mode(mode))))
    }

    /// Whether the groups of ragged modes are on the left, or follow.
    fn ragged_left(&mut self, written: &Assignment, modes: &[ModeId], axes: &[Axis]) -> Option<()> {
        let mut sound = true;
        for mode in modes {
            let Extent::Ragged { group, by, .. } = self.extent(*mode) else {
                continue;
            };
            let has_group = modes.contains(&group)
                || axes
                    .iter()
                    .any(|axis| axis.mode() == Some(&self.modes[group].name));
            let wrong = match by {
                RaggedBy::Counts => !has_group,
                RaggedBy::Starts => false,
                RaggedBy::Ids => has_group,
            };
            if wrong {
                let (name, group) = (&self.modes[*mode].name, &self.modes[group].name);
                let message = format!("mode `{name}` is ragged in `{group}` by {}", by.text());
                let help = match by {
                    RaggedBy::Ids => format!("`{group}` follows from it: leave it out"),
                    _ => format!("write `{group}` on the left too"),
                };
                let span = written.target.span.start..written.sign.start;
                self.report(Problem::new("ragged-left", &span, message).help(help));
                sound = false;
            }
        }
        sound.then_some(())
    }

    /// The type that is stored.
    fn stored(
        &mut self,
        written: &Assignment,
        operand: Option<usize>,
        annotation: Option<DType>,
        value: &Expr,
    ) -> Option<DType> {
        let own = operand.map(|at| self.signature.operands[at].dtype);
        let asked = own.or(annotation).or(value.ty.dtype());
        let name = shown(&written.target.text);
        let Some(dtype) = asked.filter(|_| value.ty != ValueType::Bool) else {
            let message = format!("a condition is written to `{name}`");
            let help = "write numbers: `where(condition, 1, 0)`";
            self.report(Problem::new("type", &value.span, message).help(help));
            return None;
        };
        let raw = |ty| matches!(ty, ValueType::Raw(_));
        let copies = raw(value.ty) || Kind::of(dtype) == Kind::Raw;
        if copies && (value.ty != ValueType::Raw(dtype) || written.combine != Combine::Set) {
            let ty = value.ty.text();
            let message = format!("{ty} is written to `{name}`, which holds {dtype}");
            let help = "such elements are copied by `=`, to the same dtype";
            self.report(Problem::new("type", &value.span, message).help(help));
            return None;
        }
        Some(dtype)
    }
}

/// The modes that an expression folds along.
fn folds_of(node: &Node, found: &mut Vec<String>) {
    if let NodeKind::Fold { modes, .. } = &node.kind {
        found.extend(modes.iter().map(|mode| mode.text.clone()));
    }
    let parts = node.kind.children().iter();
    parts.for_each(|part| folds_of(part, found));
}
