//! Where elements are read and written: indices, proved within their axes.

use super::Checker;
use super::names::Wanted;
use super::outside::{OUTSIDE, Read, one_element};
use crate::affine::{ModeId, Poly, Symbol};
use crate::formula::{Extent, Index, Source, ValueType};
use crate::functions::Op;
use crate::number::Kind;
use crate::problem::{Problem, Span, shown};
use crate::signature::{Axis, RaggedBy};
use crate::syntax::{Node, NodeKind, Word};

/// What indices may be.
const ALLOWED: &str = "an index is affine in modes (`2*m + 1`), a quotient or remainder of that \
                       by a constant (`k/128`, `j%64`), or an element of an integer input (`t[m]`)";

impl Checker<'_> {
    /// The polynomial that a node is, without a report of why it is none.
    pub(super) fn poly(&self, node: &Node) -> Result<Poly, ()> {
        let two = |operands: &[Node]| match operands {
            [a, b] => Ok((self.poly(a)?, self.poly(b)?)),
            _ => Err(()),
        };
        match &node.kind {
            NodeKind::Integer(value) => Ok(Poly::constant(*value)),
            NodeKind::Name(name) => self.symbol(name).ok_or(()),
            NodeKind::Call { name, arguments } if name.text == "size" => match &arguments[..] {
                [
                    Node {
                        kind: NodeKind::Name(mode),
                        ..
                    },
                ] => self.mode(mode).map(|mode| self.size(mode)).ok_or(()),
                _ => Err(()),
            },
            NodeKind::Operation { op, operands } => match (op, &operands[..]) {
                (Op::Neg, [a]) => Poly::default().plus(&self.poly(a)?, -1).ok_or(()),
                (Op::Add | Op::Sub, _) => {
                    let (a, b) = two(operands)?;
                    a.plus(&b, if *op == Op::Add { 1 } else { -1 }).ok_or(())
                }
                (Op::Mul, _) => {
                    let (a, b) = two(operands)?;
                    a.times(&b).ok_or(())
                }
                _ => Err(()),
            },
            _ => Err(()),
        }
    }

    /// A name inside an index: a mode that has a coordinate, or an integer scalar.
    fn symbol(&self, name: &str) -> Option<Poly> {
        if let Some(mode) = self.mode(name).filter(|mode| self.in_scope(*mode)) {
            return Some(Poly::symbol(Symbol::Mode(mode)));
        }
        let scalar = self.signature.scalar(name)?;
        let dtype = self.signature.scalars[scalar].dtype;
        let integer = ValueType::of(dtype) == ValueType::S32;
        integer.then(|| Poly::symbol(Symbol::Scalar(scalar)))
    }

    /// An index into an axis.
    pub(super) fn index(&mut self, node: &Node, axis: &Axis, of: &Read<'_>) -> Option<Index> {
        let known = self.problems.len();
        let Some(index) = self.plain_index(node) else {
            self.own_mode(known, node, axis);
            return None;
        };
        let used = match &index {
            Index::Affine(poly) | Index::Quotient(poly, _) | Index::Remainder(poly, _) => poly,
            Index::Table { .. } => return Some(index),
        };
        for symbol in used.symbols() {
            if let Symbol::Scalar(scalar) = symbol {
                self.scalars_read.push(scalar);
            }
        }
        if !used.is_affine() {
            self.not_an_index(node);
            return None;
        }
        if !self.within(&index, axis) {
            self.outside(node, &index, axis, of);
            return None;
        }
        Some(index)
    }

    /// Proposes an axis's own mode where problems from that number on say that a name is none.
    fn own_mode(&mut self, known: usize, node: &Node, axis: &Axis) {
        let (NodeKind::Name(_), Axis::Mode(mode)) = (&node.kind, axis) else {
            return;
        };
        let found = self.problems.iter_mut().skip(known);
        let mut unlike = found.filter(|one| one.code == "unknown-name" && one.edit.is_none());
        if let Some(problem) = unlike.next() {
            let help = format!("the mode there is `{mode}`");
            *problem = problem.clone().help(help).edit(&node.span, mode);
        }
    }

    /// An index, wherever it points.
    fn plain_index(&mut self, node: &Node) -> Option<Index> {
        match &node.kind {
            NodeKind::Element { name, indices } => self.table(name, indices, &node.span),
            NodeKind::Operation {
                op: op @ (Op::Div | Op::Rem),
                operands,
            } => {
                let [of, by] = &operands[..] else { return None };
                let by = self.poly(by).ok().and_then(|by| by.as_constant());
                let of = self.poly(of);
                let (Ok(of), Some(by)) = (of, by.filter(|by| *by > 0)) else {
                    self.not_an_index(node);
                    return None;
                };
                Some(match (of.as_constant(), op) {
                    (Some(of), Op::Div) => Index::Affine(Poly::constant(of.div_euclid(by))),
                    (Some(of), _) => Index::Affine(Poly::constant(of.rem_euclid(by))),
                    (None, Op::Div) => Index::Quotient(of, by),
                    (None, _) => Index::Remainder(of, by),
                })
            }
            _ => match self.poly(node) {
                Ok(poly) => Some(Index::Affine(poly)),
                Err(()) => {
                    self.not_an_index(node);
                    None
                }
            },
        }
    }

    /// Reports why a node is no index: a name in it that is unknown or open, else its form.
    fn not_an_index(&mut self, node: &Node) {
        let mut problems = Vec::new();
        self.open_names(node, &mut problems);
        if problems.is_empty() {
            let message = "this is no index".to_owned();
            problems.push(Problem::new("index-form", &node.span, message).help(ALLOWED));
        }
        self.problems.extend(problems);
    }

    fn open_names(&self, node: &Node, problems: &mut Vec<Problem>) {
        if let NodeKind::Name(name) = &node.kind {
            match self.mode(name) {
                Some(mode) if !self.in_scope(mode) => {
                    problems.push(self.unbound(mode, &node.span));
                }
                None if self.symbol(name).is_none() => {
                    let known = self.signature.scalar(name).is_some();
                    if known {
                        let message = format!("scalar `{}` is no integer", shown(name));
                        let problem = Problem::new("index-form", &node.span, message);
                        problems.push(problem.help("integer scalars have the dtype s32"));
                    } else {
                        problems.push(self.unknown(name, &node.span, Wanted::Mode));
                    }
                }
                _ => {}
            }
        }
        if !matches!(node.kind, NodeKind::Call { .. }) {
            let parts = node.kind.children().iter();
            parts.for_each(|part| self.open_names(part, problems));
        }
    }

    fn table(&mut self, name: &Word, indices: &[Node], span: &Span) -> Option<Index> {
        let Some(operand) = self.signature.operand(&name.text) else {
            let problem = match self.locals.iter().any(|one| one.name == name.text) {
                true => {
                    let message = format!("`{}` is computed here", shown(&name.text));
                    let help = "an index is looked up in an input, not in what a statement makes: \
                                compute it in a kernel before, or use `where`";
                    Problem::new("index-table", &name.span, message).help(help)
                }
                false => self.unknown(&name.text, &name.span, Wanted::Value),
            };
            self.report(problem);
            return None;
        };
        let dtype = self.signature.operands[operand].dtype;
        let integers = matches!(Kind::of(dtype), Kind::Integer(_));
        if self.writers[operand].is_some() || !integers {
            let message = match integers {
                true => format!("table `{}` is written here", shown(&name.text)),
                false => format!("table `{}` holds {dtype}", shown(&name.text)),
            };
            let help = "tables are inputs of an integer type, such as s32";
            self.report(Problem::new("index-table", &name.span, message).help(help));
            return None;
        }
        self.read.push(Source::Operand(operand));
        if let Some(inner) = indices
            .iter()
            .find(|one| matches!(one.kind, NodeKind::Element { .. }))
        {
            let message = "a table is looked up with a table".to_owned();
            self.report(Problem::new("index-form", &inner.span, message).help(ALLOWED));
            return None;
        }
        let known = self.problems.len();
        let indices = self.indices(Source::Operand(operand), name, indices, span);
        // A guard does not stand inside an index.
        let inside = self.problems.iter_mut().skip(known);
        inside
            .filter(|one| one.code == OUTSIDE)
            .for_each(|one| one.edit = None);
        let indices = indices?;
        Some(Index::Table { operand, indices })
    }

    /// Indices of all axes; those of ragged modes with where their group starts.
    pub(super) fn indices(
        &mut self,
        source: Source,
        name: &Word,
        nodes: &[Node],
        span: &Span,
    ) -> Option<Vec<Index>> {
        let axes: Vec<Axis> = match source {
            Source::Operand(at) => self.signature.operands[at].axes.clone(),
            Source::Local(at) => {
                let modes = self.locals[at].modes.iter();
                let axis = |mode: &ModeId| Axis::Mode(self.modes[*mode].name.clone());
                modes.map(axis).collect()
            }
        };
        if axes.len() != nodes.len() {
            let spelled: Vec<String> = axes.iter().map(Axis::to_string).collect();
            let (found, wanted, name) = (nodes.len(), axes.len(), shown(&name.text));
            let noun = if wanted == 1 { "index" } else { "indices" };
            let message = format!("`{name}` takes {wanted} {noun}; {found} given");
            let is_one = axes == [Axis::Constant(1)];
            let help = match wanted {
                0 => format!("it is written `{name}` alone"),
                _ if is_one => one_element(&name),
                _ => format!("its modes are `{name}[{}]`", spelled.join(",")),
            };
            let problem = Problem::new("index-count", span, message).help(help);
            self.report(match wanted {
                0 => problem,
                _ if is_one => problem,
                _ => problem.edit(span, format!("{name}[{}]", spelled.join(","))),
            });
            return None;
        }
        let read = Read {
            name,
            nodes,
            span: Some(span),
        };
        let indices: Vec<Option<Index>> = nodes
            .iter()
            .zip(&axes)
            .map(|(node, axis)| {
                let index = self.index(node, axis, &read)?;
                Some(self.counted_from_start(index, axis, &axes))
            })
            .collect();
        indices.into_iter().collect()
    }

    /// An index that counts from the start of its group, where groups stand end to end.
    pub(super) fn counted_from_start(&self, index: Index, axis: &Axis, axes: &[Axis]) -> Index {
        let Axis::Mode(name) = axis else {
            return index;
        };
        let (Some(mode), Index::Affine(poly)) = (self.mode(name), &index) else {
            return index;
        };
        let Extent::Ragged {
            group,
            by: RaggedBy::Starts,
            ..
        } = self.extent(mode)
        else {
            return index;
        };
        let carries = axes
            .iter()
            .any(|axis| axis.mode() == Some(&self.modes[group].name));
        if carries || index.bare() != Some(mode) {
            return index;
        }
        let start = poly.plus(&Poly::symbol(Symbol::Start(mode)), 1);
        start.map_or(index, Index::Affine)
    }

    /// Whether an index is proved within an axis.
    fn within(&self, index: &Index, axis: &Axis) -> bool {
        let minus = |a: &Poly, b: i64| a.plus(&Poly::constant(b), -1);
        let extent = match axis {
            Axis::Constant(extent) => Some(Poly::constant(*extent)),
            Axis::Mode(name) => self.mode(name).and_then(|mode| {
                if index.bare() == Some(mode) {
                    return None;
                }
                Some(self.size(mode))
            }),
            Axis::After(name) => {
                let size = self.mode(name).map(|mode| self.size(mode));
                size.and_then(|size| size.plus(&Poly::constant(1), 1))
            }
            Axis::Quotient(..) => return self.within_quotient(index, axis),
        };
        let Some(extent) = extent else {
            // The coordinate of the mode itself.
            return true;
        };
        let below = |poly: &Poly, by: i64| {
            let most = Poly::default()
                .plus(&extent, by)
                .and_then(|most| minus(&most, 1));
            let rest = most.and_then(|most| most.plus(poly, -1));
            self.is_not_negative(poly) && rest.is_some_and(|rest| self.is_not_negative(&rest))
        };
        match index {
            Index::Affine(poly) => below(poly, 1),
            Index::Quotient(poly, by) => below(poly, *by),
            Index::Remainder(poly, by) => {
                let room = extent.plus(&Poly::constant(*by), -1);
                room.is_some_and(|room| self.is_not_negative(&room))
                    || below(poly, 1)
                    || self.is_below((poly, *by), &extent)
            }
            Index::Table { .. } => true,
        }
    }

    /// Whether an index is the quotient that an axis is made for, or a constant that is always
    /// there.
    fn within_quotient(&self, index: &Index, axis: &Axis) -> bool {
        let Axis::Quotient(name, by) = axis else {
            return false;
        };
        let Some(mode) = self.mode(name) else {
            return false;
        };
        match index {
            Index::Quotient(poly, divisor) => {
                let whole = self.within(&Index::Affine(poly.clone()), &Axis::Mode(name.clone()));
                divisor % by == 0 && whole
            }
            Index::Affine(poly) => poly.as_constant() == Some(0) && self.in_scope(mode),
            _ => false,
        }
    }
}
