//! Indices that are not proved within their axes: what to do about each.
//!
//! In: an index and where it stands. Out: a problem whose help, done as it says, is accepted. What
//! kernels do comes first: other modes, or an operand of its own. A guard, which formulas allow and
//! kernels do not do yet, has the form that proofs understand, and says no more than is not known
//! already.

use super::Checker;
use crate::affine::{Poly, Symbol};
use crate::formula::Index;
use crate::problem::{Problem, Span, shown};
use crate::signature::Axis;
use crate::syntax::{Node, NodeKind, Word};

/// The code of an index that is not proved within its axis.
pub(super) const OUTSIDE: &str = "index-range";

/// What an index stands in.
pub(super) struct Read<'n> {
    /// What is read or written.
    pub name: &'n Word,
    /// All its indices.
    pub nodes: &'n [Node],
    /// Where it is read, which a guard can stand around; none where it is written.
    pub span: Option<&'n Span>,
}

impl Checker<'_> {
    /// Reports an index that may lie outside of its axis.
    pub(super) fn outside(&mut self, node: &Node, index: &Index, axis: &Axis, of: &Read<'_>) {
        let text = tight(node);
        let name = shown(&of.name.text);
        let message = format!("`{text}` may lie outside of mode `{axis}` of `{name}`");
        let problem = Problem::new(OUTSIDE, &node.span, message);
        let constant = axis
            .mode()
            .and_then(|mode| self.size(self.mode(mode)?).as_constant());
        let inside = |most: i64| problem.clone().help(format!("0 to {most} are inside"));
        let is_number = matches!(node.kind, NodeKind::Integer(_));
        let problem = match (axis, constant) {
            (Axis::Constant(1), _) if of.nodes.len() == 1 => problem.help(one_element(&name)),
            (Axis::Constant(extent), _) if is_number => {
                let most = extent - 1;
                inside(most).edit(&node.span, most.to_string())
            }
            (Axis::Mode(_), Some(extent)) if is_number => {
                let most = extent - 1;
                inside(most).edit(&node.span, most.to_string())
            }
            (Axis::Constant(extent), _) => match &node.kind {
                NodeKind::Name(found) => {
                    let guard = format!("{found} < {extent}");
                    let help = format!(
                        "where `{found}` goes along it, write `{found}` in the layout of `{name}`, \
                         and its extent apart, `modes: {{ {found}: {extent} }}`; {}",
                        allowed(&guard)
                    );
                    guarded(problem, help, &guard, of)
                }
                _ => inside(extent - 1),
            },
            (Axis::Mode(mode), _) => {
                let guard = self.guard(node, index, mode);
                let place = self.own_place(node, index, mode, of);
                let help = format!("{place}; {}", allowed(&guard));
                guarded(problem, help, &guard, of)
            }
            (Axis::Quotient(mode, _), _) => {
                let known = self.mode(mode).is_some_and(|mode| self.in_scope(mode));
                let problem = problem.help(format!("read it at `{axis}`"));
                match known {
                    true => problem.edit(&node.span, axis.to_string()),
                    false => problem,
                }
            }
            (Axis::After(mode), _) => problem.help(format!("read it at `{mode}` or `{mode}+1`")),
        };
        self.report(problem);
    }

    /// How to read what an index means at coordinates of its own, as kernels do.
    fn own_place(&mut self, node: &Node, index: &Index, mode: &str, of: &Read<'_>) -> String {
        const OWN: &str = "kernels read each element at its own coordinates, or where a table of \
                           s32 says: lay out what is read elsewhere in a kernel before";
        let name = shown(&of.name.text);
        if self.signature.operand(&of.name.text).is_none() {
            let is_local = self.locals.iter().any(|one| one.name == of.name.text);
            return match is_local {
                true => of_intermediate(node, mode),
                false => OWN.to_owned(),
            };
        }
        let at = tight(node);
        let own = |name: &str| {
            let read = of.nodes.iter().map(tight);
            let read = read.map(|text| if text == at { mode.to_owned() } else { text });
            format!("{name}[{}]", Vec::from_iter(read).join(","))
        };
        if let Some((whole, by)) = self.blocks(index, mode) {
            let whole = whole.to_owned();
            let (outer, inner) = match index {
                Index::Quotient(..) => (mode.to_owned(), self.inner(&whole)),
                _ => (self.free("g"), mode.to_owned()),
            };
            let parts = match self.folds.contains(&whole) && matches!(index, Index::Quotient(..)) {
                true => format!(
                    "; a product is summed along `{inner}` first, `p[m,n,{outer}] = sum[{inner}] \
                     a[m,{outer},{inner}] * b[n,{outer},{inner}]`, and its parts, scaled, along \
                     `{outer}`, `d[m,n] = sum[{outer}] p[m,n,{outer}] * s[m,{outer}]` (see \
                     `scaled-parts`)"
                ),
                false => String::new(),
            };
            return format!(
                "make two modes of `{whole}` wherever it stands, `{outer},{inner}` with strides \
                 such as `{by},1`, and `modes: {{ {inner}: {by} }}`; then read `{}`{parts}",
                own(&name)
            );
        }
        if let Some(distance) = self.shift(index, mode) {
            let count = distance.unsigned_abs();
            let (side, sign) = match distance > 0 {
                true => ("on", "plus"),
                false => ("back", "minus"),
            };
            let read = own(&self.free(&format!("{name}_{mode}_{sign}{count}")));
            return format!(
                "what lies {count} further {side} is an operand of its own, `{read}`, of which \
                 launches give a view that begins there"
            );
        }
        let names = of.nodes.iter().map(|node| match &node.kind {
            NodeKind::Name(name) => Some(name.as_str()),
            _ => None,
        });
        match names.collect::<Option<Vec<&str>>>() {
            Some(names) if (1..names.len()).all(|at| !names[..at].contains(&names[at])) => format!(
                "{}write the modes of `{name}` as it is read, `({})`, in its layout, each with \
                 the stride that it has; to read it both ways, name it twice among the operands: \
                 a launch may give both one memory",
                self.in_order(&of.name.text, &names),
                names.join(",")
            ),
            _ => OWN.to_owned(),
        }
    }

    /// How an operand is read in the order of its own modes, where it is read by all of them in
    /// another.
    fn in_order(&self, name: &str, read: &[&str]) -> String {
        let operand = (self.signature.operand(name)).and_then(|at| self.signature.operands.get(at));
        let axes = operand.map_or(&[][..], |one| &one.axes);
        let own: Vec<String> = axes.iter().map(Axis::to_string).collect();
        let has_all = own.len() == read.len() && own.iter().all(|one| read.contains(&one.as_str()));
        match has_all {
            true => format!(
                "its own order is `{}[{}]`; to exchange modes, ",
                shown(name),
                own.join(",")
            ),
            false => String::new(),
        }
    }

    /// A name for the inner one of two modes that a mode is made to: another for each mode.
    fn inner(&mut self, whole: &str) -> String {
        const NAMES: [&str; 4] = ["i", "j", "q", "r"];
        let known = self.split.iter().position(|one| one == whole);
        let at = known.unwrap_or_else(|| {
            self.split.push(whole.to_owned());
            self.split.len() - 1
        });
        self.free(NAMES[at % NAMES.len()])
    }

    /// The mode that an index is the quotient or the remainder of, and by what, where the mode of
    /// its axis has no coordinate yet.
    fn blocks(&self, index: &Index, mode: &str) -> Option<(&str, i64)> {
        let (Index::Quotient(poly, by) | Index::Remainder(poly, by)) = index else {
            return None;
        };
        let whole = self.modes.get(Index::Affine(poly.clone()).bare()?)?;
        let is_free = self.mode(mode).is_some_and(|mode| !self.in_scope(mode));
        is_free.then_some((whole.name.as_str(), *by))
    }

    /// How far from its own coordinate along a mode an index lies.
    fn shift(&self, index: &Index, mode: &str) -> Option<i64> {
        let Index::Affine(poly) = index else {
            return None;
        };
        let own = Poly::symbol(Symbol::Mode(self.mode(mode)?));
        poly.plus(&own, -1)?.as_constant()
    }

    /// That name, or one like it where something has it.
    fn free(&self, name: &str) -> String {
        let signature = self.signature;
        let of_operand = signature.operand(name).is_some();
        let taken = of_operand || signature.scalar(name).is_some() || self.mode(name).is_some();
        match taken || self.locals.iter().any(|one| one.name == name) {
            true => self.free_name(name),
            false => name.to_owned(),
        }
    }

    /// The condition under which an index lies inside of a mode: what of it is not known already.
    /// In a value `/` divides numbers, so of a quotient it is said of what is divided.
    fn guard(&self, node: &Node, index: &Index, mode: &str) -> String {
        let text = tight(node);
        let divided = match &node.kind {
            NodeKind::Operation { operands, .. } => operands.first().map(tight),
            _ => None,
        };
        let (from, below, poly) = match (index, divided) {
            (Index::Quotient(poly, by), Some(of)) => {
                let below = format!("{of} < {by}*size({mode})");
                (format!("{of} >= 0"), below, Some(poly))
            }
            (Index::Affine(poly), _) => {
                let below = format!("{text} < size({mode})");
                (format!("{text} >= 0"), below, Some(poly))
            }
            _ => (String::new(), format!("{text} < size({mode})"), None),
        };
        match poly {
            Some(poly) if !self.is_not_negative(poly) => format!("{from} and {below}"),
            _ => below,
        }
    }
}

/// How an intermediate is read elsewhere than at its own modes.
fn of_intermediate(node: &Node, mode: &str) -> String {
    const ELSEWHERE: &str = "store it, and read it in a kernel behind this one";
    match &node.kind {
        NodeKind::Integer(at) => {
            let extent = at.saturating_add(1);
            format!(
                "where `{mode}` has {extent} coordinates in every launch, say so, \
                 `modes: {{ {mode}: {extent} }}`; else {ELSEWHERE}"
            )
        }
        _ => format!("an intermediate is read at its own modes: {ELSEWHERE}"),
    }
}

/// What formulas allow around a read that may lie outside, and what kernels make of it.
fn allowed(guard: &str) -> String {
    format!("formulas allow a guard, `where({guard}, …, 0)`, but kernels do not read so yet")
}

/// The problem with that help, and with the guard around what is read for its edit.
fn guarded(problem: Problem, help: String, guard: &str, of: &Read<'_>) -> Problem {
    let problem = problem.help(help);
    let Some(span) = of.span else {
        return problem;
    };
    let kind = NodeKind::Element {
        name: of.name.clone(),
        indices: of.nodes.to_vec(),
    };
    let read = Node {
        kind,
        span: span.clone(),
    };
    let text = format!("where({guard}, {}, 0)", crate::print::expression(&read));
    problem.edit(span, text)
}

/// How an operand of one element is written and read.
pub(super) fn one_element(name: &str) -> String {
    format!("one element has no mode: its layout is `()`, and it is read as `{name}`")
}

/// An expression without its spaces.
fn tight(node: &Node) -> String {
    crate::print::expression(node).replace(' ', "")
}
