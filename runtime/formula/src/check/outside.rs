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
            (Axis::Constant(extent), _) => inside(extent - 1),
            (Axis::Mode(mode), _) => {
                let guard = self.guard(node, index, mode);
                let help = match &node.kind {
                    NodeKind::Name(found) => format!(
                        "name the mode `{mode}` `{found}` in its layout if the extents are equal, \
                         else guard the read: `where({guard}, …, 0)`"
                    ),
                    _ => format!("guard the read: `where({guard}, …, 0)`"),
                };
                let read = Node {
                    kind: NodeKind::Element {
                        name: of.name.clone(),
                        indices: of.nodes.to_vec(),
                    },
                    span: node.span.clone(),
                };
                let guarded = format!("where({guard}, {}, 0)", crate::print::expression(&read));
                match of.span {
                    Some(span) => problem.help(help).edit(span, guarded),
                    None => problem.help(help),
                }
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

/// An expression without its spaces.
fn tight(node: &Node) -> String {
    crate::print::expression(node).replace(' ', "")
}
