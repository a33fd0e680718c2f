//! What a kernel computes of the elements of its tile, step after step: tiles in registers, each
//! made once, by a load, a map, a fold or the sums of a product.
//!
//! Comes in: a formula and the two modes of the tile. Goes out: nodes in the order of evaluation,
//! as decisions of a plan hold them; which registers hold what is decided where the steps are.

use std::collections::HashMap;
use std::sync::Arc;

use tilewright_formula::affine::ModeId;
use tilewright_formula::form::FoldSite;
use tilewright_formula::functions::{Fold, Op};
use tilewright_formula::{Expr, ExprKind, Formula, Source, Statement, ValueType};

use crate::dtype::DType;
use crate::element::{Element, Packing};
use crate::plan::fold::{FoldPlan, Spread};
use crate::plan::model::Hop;
use crate::plan::passes::Passes;

/// The nodes of a kernel, and how its folds are made.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Tiles in registers, in the order in which they are made.
    pub nodes: Vec<Node>,
    /// The folds that nodes refer to.
    pub folds: Vec<FoldPlan>,
    /// Elements of a vector, along the mode that vectors run along.
    pub vector: i64,
    /// The mode that vectors run along.
    pub along: usize,
    /// How it goes along a mode that no tile holds whole.
    pub passes: Option<Passes>,
}

/// A tile in registers.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, the only one of the flow.
    pub name: String,
    /// Along which of the tile's modes it has elements; along the others it has one.
    pub keeps: [bool; 2],
    /// Type of its elements.
    pub dtype: DType,
    /// What makes it.
    pub does: Does,
    /// How registers hold it: where whole vectors are moved, and where single elements are.
    pub held: [Option<Packing>; 2],
    /// What is computed where it is a map, on both ways.
    pub element: [Option<Arc<Element>>; 2],
    /// Whether it is loaded where it is needed first, for want of registers; other loads come
    /// before all else.
    pub late: bool,
    /// The operand that it is stored to.
    pub stored: Option<String>,
}

impl Does {
    /// The nodes that it reads.
    pub fn reads(&self) -> &[usize] {
        match self {
            Does::Load(_) | Does::Sum => &[],
            Does::Map(_, from) => from,
            Does::Fold(from, _) => std::slice::from_ref(from),
        }
    }
}

impl Node {
    /// The operand that its elements come from or go to, and the hop between global memory and
    /// registers that they take.
    pub fn moved(&self) -> Option<(&str, Hop)> {
        match (&self.does, &self.stored) {
            (Does::Load(name), _) => Some((name, Hop::G2r)),
            (_, Some(name)) => Some((name, Hop::R2g)),
            _ => None,
        }
    }
}

/// What makes a tile.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// The elements of that operand.
    Load(String),
    /// A value of the elements of other nodes: its parameters, in order.
    Map(Expr, Vec<usize>),
    /// The sums of the kernel's product.
    Sum,
    /// That node folded along the mode that it keeps and this does not, as the flow's fold of that
    /// number is made.
    Fold(usize, usize),
}

/// The nodes of those statements, over a tile of two modes; the fold there is a product's.
pub(super) fn of<'f>(
    formula: &'f Formula,
    statements: impl IntoIterator<Item = &'f Statement>,
    modes: [Option<ModeId>; 2],
    sum: Option<&FoldSite>,
) -> Flow {
    let mut growing = Growing {
        formula,
        modes,
        sum: sum.cloned(),
        flow: Flow::default(),
        known: HashMap::new(),
    };
    for statement in statements {
        growing.statement(statement);
    }
    growing.flow
}

struct Growing<'f> {
    formula: &'f Formula,
    modes: [Option<ModeId>; 2],
    sum: Option<FoldSite>,
    flow: Flow,
    known: HashMap<Source, usize>,
}

impl Growing<'_> {
    fn statement(&mut self, statement: &Statement) {
        let formula = self.formula;
        let mut from = Vec::new();
        let value = self.over_nodes(&statement.value, &mut from);
        let name = formula.name(statement.target).to_owned();
        let keeps = self.keeps(statement.loops.iter().copied());
        let (value, dtype, stored) = match statement.target {
            Source::Operand(_) => (value, formula.dtype(statement.target), Some(name.clone())),
            Source::Local(local) => {
                let dtype = formula.locals[local].dtype;
                let (value, dtype) = as_held(value, dtype);
                (value, dtype, None)
            }
        };
        // Another name of what is there is no tile of its own.
        if let (ExprKind::Parameter(_), [node], None) = (&value.kind, from.as_slice(), &stored)
            && (self.flow.nodes[*node].dtype, self.flow.nodes[*node].keeps) == (dtype, keeps)
        {
            self.known.insert(statement.target, *node);
            return;
        }
        let at = self.push(name, keeps, dtype, Does::Map(value, from));
        self.flow.nodes[at].stored = stored;
        self.known.insert(statement.target, at);
    }

    /// Which of the tile's modes are among those.
    fn keeps(&self, modes: impl Iterator<Item = ModeId> + Clone) -> [bool; 2] {
        self.modes
            .map(|mode| mode.is_some_and(|mode| modes.clone().any(|one| one == mode)))
    }

    fn push(&mut self, name: String, keeps: [bool; 2], dtype: DType, does: Does) -> usize {
        self.flow.nodes.push(Node {
            name,
            keeps,
            dtype,
            does,
            held: [None; 2],
            element: [None, None],
            late: false,
            stored: None,
        });
        self.flow.nodes.len() - 1
    }

    /// The expression over nodes: what it reads and folds becomes a parameter.
    fn over_nodes(&mut self, expr: &Expr, from: &mut Vec<usize>) -> Expr {
        let mut list = |this: &mut Self, arguments: &[Expr]| -> Vec<Expr> {
            let arguments = arguments.iter();
            arguments.map(|one| this.over_nodes(one, from)).collect()
        };
        let kind = match &expr.kind {
            ExprKind::Read { source, .. } => {
                let node = self.source(*source);
                parameter(from, node)
            }
            ExprKind::Fold {
                fold,
                modes,
                dtype,
                body,
            } => {
                let is_sum = self.sum.as_ref().is_some_and(|sum| sum.span == expr.span);
                if !is_sum {
                    return self.fold(expr, (*fold, modes, *dtype), body, from);
                }
                let node = self.push("acc".into(), [true; 2], *dtype, Does::Sum);
                parameter(from, node)
            }
            ExprKind::Apply { op, arguments } => ExprKind::Apply {
                op: *op,
                arguments: list(self, arguments),
            },
            ExprKind::Call {
                function,
                arguments,
                inside,
            } => ExprKind::Call {
                function,
                arguments: list(self, arguments),
                inside: inside.clone(),
            },
            ExprKind::Cast { to, value } => ExprKind::Cast {
                to: *to,
                value: Box::new(self.over_nodes(value, from)),
            },
            other => other.clone(),
        };
        Expr {
            kind,
            ..expr.clone()
        }
    }

    /// The node of an operand's or an intermediate's elements.
    fn source(&mut self, source: Source) -> usize {
        if let Some(known) = self.known.get(&source) {
            return *known;
        }
        let formula = self.formula;
        let name = formula.name(source).to_owned();
        let keeps = self.keeps(formula.axis_modes(source).into_iter().flatten());
        let dtype = formula.dtype(source);
        let at = self.push(name.clone(), keeps, dtype, Does::Load(name));
        self.known.insert(source, at);
        at
    }

    /// A fold: of a mean, the sum over the number of values.
    fn fold(
        &mut self,
        expr: &Expr,
        (fold, modes, dtype): (Fold, &[ModeId], DType),
        body: &Expr,
        from: &mut Vec<usize>,
    ) -> Expr {
        let mut of = Vec::new();
        let value = self.over_nodes(body, &mut of);
        let mut keeps = self.keeps((0..64).filter(|mode| body.free >> mode & 1 == 1));
        for mode in modes {
            if let Some(at) = self.modes.iter().position(|one| *one == Some(*mode)) {
                keeps[at] = true;
            }
        }
        let ty = body.ty.joined(ValueType::of(dtype));
        let dtype = ty.dtype().unwrap_or(dtype);
        let number = self.flow.folds.len();
        let name = |what: &str| format!("{what}_{number}");
        let mut at = match (&value.kind, of.as_slice()) {
            // What is there already is folded as it is.
            (ExprKind::Parameter(_), [node])
                if self.flow.nodes[*node].dtype == dtype
                    && self.flow.nodes[*node].keeps == keeps =>
            {
                *node
            }
            _ => self.push(name("body"), keeps, dtype, Does::Map(value, of)),
        };
        for mode in modes {
            let Some(over) = self.modes.iter().position(|one| *one == Some(*mode)) else {
                continue;
            };
            at = match fold {
                Fold::Argmax => self.index_of_largest(expr, at, (over, *mode)),
                _ => self.along(at, (fold, over)),
            };
        }
        let result = |kind: ExprKind, ty: ValueType| Expr {
            kind,
            ty,
            ..expr.clone()
        };
        if fold == Fold::Argmax {
            return result(parameter(from, at), expr.ty);
        }
        let total = result(parameter(from, at), ty);
        if fold != Fold::Mean {
            return total;
        }
        let size = |mode: &ModeId| result(ExprKind::Size(*mode), ValueType::S32);
        modes.iter().fold(total, |value, mode| {
            let arguments = vec![value, size(mode)];
            let op = Op::Div;
            result(ExprKind::Apply { op, arguments }, expr.ty)
        })
    }

    /// The fold of a node along one of the tile's modes.
    fn along(&mut self, at: usize, (fold, over): (Fold, usize)) -> usize {
        let Node {
            mut keeps, dtype, ..
        } = self.flow.nodes[at];
        let number = self.flow.folds.len();
        self.flow.folds.push(FoldPlan {
            fold,
            over,
            dtype,
            combine: None,
            spread: Spread { apart: 1, count: 1 },
            scratch: None,
        });
        keeps[over] = false;
        let name = format!("{}_{number}", fold.name());
        self.push(name, keeps, dtype, Does::Fold(at, number))
    }

    /// The smallest index of the largest of a node's values: the least coordinate of those that are
    /// as large. The largest is NaN where one is, and then the index is of the first NaN.
    fn index_of_largest(&mut self, expr: &Expr, at: usize, (over, mode): (usize, ModeId)) -> usize {
        let Node { keeps, dtype, .. } = self.flow.nodes[at];
        let largest = self.along(at, (Fold::Max, over));
        let new = |kind: ExprKind, ty: ValueType| Expr {
            kind,
            ty,
            ..expr.clone()
        };
        let value = |parameter: usize| new(ExprKind::Parameter(parameter), ValueType::of(dtype));
        let apply = |op: Op, arguments: Vec<Expr>, ty: ValueType| {
            new(ExprKind::Apply { op, arguments }, ty)
        };
        let mut is_largest = apply(Op::Eq, vec![value(0), value(1)], ValueType::Bool);
        if ValueType::of(dtype) != ValueType::S32 {
            let is_nan = apply(Op::Ne, vec![value(0), value(0)], ValueType::Bool);
            is_largest = apply(Op::Or, vec![is_largest, is_nan], ValueType::Bool);
        }
        let place = new(ExprKind::Coordinate(mode), ValueType::S32);
        let none = new(ExprKind::Integer(i64::from(i32::MAX)), ValueType::S32);
        let index = apply(Op::Where, vec![is_largest, place, none], ValueType::S32);
        let name = format!("places_{}", self.flow.folds.len());
        let places = self.push(name, keeps, DType::S32, Does::Map(index, vec![at, largest]));
        self.along(places, (Fold::Min, over))
    }
}

/// The parameter that a node is, among those that a map reads.
fn parameter(from: &mut Vec<usize>, node: usize) -> ExprKind {
    let at = from.iter().position(|one| *one == node);
    ExprKind::Parameter(at.unwrap_or_else(|| {
        from.push(node);
        from.len() - 1
    }))
}

/// A value of an intermediate: registers hold it as its operations give it, rounded to its type.
fn as_held(value: Expr, dtype: DType) -> (Expr, DType) {
    let whole = ValueType::of(dtype).dtype().unwrap_or(dtype);
    if whole == dtype {
        return (value, dtype);
    }
    let cast = Expr {
        ty: ValueType::of(dtype),
        free: value.free,
        span: value.span.clone(),
        kind: ExprKind::Cast {
            to: dtype,
            value: Box::new(value),
        },
    };
    (cast, whole)
}
