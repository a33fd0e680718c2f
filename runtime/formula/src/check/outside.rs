//! Indices that are not proved within their axes: what to do about each.
//!
//! In: an index and where it stands. Out: a problem whose help, done as it says, is accepted: a
//! guard has the form that proofs understand, and says no more than is not known already.

use super::Checker;
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
                         and its extent apart, `modes: {{ {found}: {extent} }}`; else guard the \
                         read: `where({guard}, …, 0)`"
                    );
                    guarded(problem, help, &guard, of)
                }
                _ => inside(extent - 1),
            },
            (Axis::Mode(mode), _) => {
                let guard = self.guard(node, index, mode);
                let help = match (&node.kind, self.blocks(index)) {
                    (_, Some(blocks)) => format!(
                        "where `{name}` has an element for each of these, write that mode \
                         `{blocks}` in its layout; else guard the read: `where({guard}, …, 0)`"
                    ),
                    (NodeKind::Name(found), None) => format!(
                        "name the mode `{mode}` `{found}` in its layout if the extents are equal, \
                         else guard the read: `where({guard}, …, 0)`"
                    ),
                    (_, None) => format!("guard the read: `where({guard}, …, 0)`"),
                };
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

    /// The axis that has an element for each block of a mode, where an index is that.
    fn blocks(&self, index: &Index) -> Option<Axis> {
        let Index::Quotient(poly, by) = index else {
            return None;
        };
        let mode = Index::Affine(poly.clone()).bare()?;
        Some(Axis::Quotient(self.modes[mode].name.clone(), *by))
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

/// An expression without its spaces.
fn tight(node: &Node) -> String {
    crate::print::expression(node).replace(' ', "")
}
