//! What a kernel computes of the elements of its tile, step after step: tiles in registers, each
//! made once, by a load, a map, a fold or the sums of a product. Where a sum is made of parts, what
//! a part takes is made once a trip of the main loop, which carries the sum on.
//!
//! Comes in: a formula and the two modes of the tile. Goes out: nodes in the order of evaluation,
//! as decisions of a plan hold them; which registers hold what is decided where the steps are.

mod reductions;

use std::collections::HashMap;

use tilewright_formula::affine::ModeId;
use tilewright_formula::form::FoldSite;
use tilewright_formula::functions::Op;
use tilewright_formula::{Expr, ExprKind, Formula, Index, Source, Statement, ValueType};

use crate::dtype::DType;
use crate::plan::data::combining::{Combining, fold_of};
use crate::plan::data::folds::Combination;
use crate::plan::data::values::{Does, Every, Flow, Node};
use crate::spec::Planes;
use crate::spec::keys::model::OperandId;

/// The product that a graph begins with.
pub(in crate::plan) struct ProductSite<'f> {
    /// Its sum.
    pub sum: &'f FoldSite,
    /// The sum of its parts.
    pub parts: Option<&'f FoldSite>,
    /// The operands that it multiplies: that of rows, and that of columns.
    pub factors: [OperandId; 2],
    /// Products side by side.
    pub planes: Option<Planes>,
}

/// What a graph begins with.
pub(in crate::plan) enum Begins<'f> {
    /// What is loaded; whether folds go along the tile's second mode first, for passes along it.
    Loads { second_first: bool },
    /// The sums of a product.
    Product(ProductSite<'f>),
}

/// The nodes of those statements, over a tile of two modes.
pub(in crate::plan) fn of<'f>(
    formula: &'f Formula,
    statements: impl IntoIterator<Item = &'f Statement>,
    modes: [Option<ModeId>; 2],
    begins: Begins<'f>,
) -> Flow {
    let (product, second_first) = match begins {
        Begins::Loads { second_first } => (None, second_first),
        Begins::Product(product) => (Some(product), false),
    };
    let planes = product.as_ref().and_then(|product| product.planes.clone());
    let plane = planes
        .as_ref()
        .and_then(|planes| formula.mode(&planes.mode));
    let mut growing = Growing {
        formula,
        modes,
        parts: product.as_ref().and_then(|product| product.parts.cloned()),
        sum: product.map(|product| (product.sum.clone(), product.factors)),
        plane: plane.map(|mode| (mode, 0)),
        planes: planes.as_ref().map_or(1, |planes| planes.count),
        second_first,
        flow: Flow::default(),
        known: HashMap::new(),
    };
    for statement in statements {
        let along = plane.is_some_and(|mode| statement.loops.contains(&mode));
        let count = planes
            .as_ref()
            .filter(|_| along)
            .map_or(1, |planes| planes.count);
        for number in 0..count {
            growing.plane = plane.map(|mode| (mode, number));
            growing.statement(statement);
        }
    }
    growing.flow
}

struct Growing<'f> {
    formula: &'f Formula,
    modes: [Option<ModeId>; 2],
    /// The product's sum, and what it multiplies.
    sum: Option<(FoldSite, [OperandId; 2])>,
    /// The sum of the parts that the product makes.
    parts: Option<FoldSite>,
    /// The mode that tells planes apart, and the one that is made.
    plane: Option<(ModeId, i64)>,
    /// How many there are.
    planes: i64,
    /// Whether folds go along the tile's second mode first.
    second_first: bool,
    flow: Flow,
    /// Nodes by what they are of, and the plane.
    known: HashMap<(Source, i64), usize>,
}

impl Growing<'_> {
    fn statement(&mut self, statement: &Statement) {
        let formula = self.formula;
        let mut from = Vec::new();
        let value = self.over_nodes(&statement.value, &mut from);
        let mut name = formula.name(statement.target).to_owned();
        let keeps = self.keeps(statement.loops.iter().chain(&statement.folded).copied());
        let plane = match self.plane {
            Some((mode, number)) if statement.loops.contains(&mode) => {
                name = Planes::name(formula, &name, number);
                number
            }
            _ => 0,
        };
        // What parts share is not made before the main loop where each part may be another.
        let of_parts = statement.loops.iter().any(|mode| self.is_of_parts(*mode));
        let every = match of_parts {
            true => Every::Trip,
            false => Every::WorkTile,
        };
        let (value, dtype, stored) = match statement.target {
            Source::Operand(at) => (value, formula.dtype(statement.target), Some(OperandId(at))),
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
            self.known.insert((statement.target, plane), *node);
            return;
        }
        let table = self.table(&statement.left);
        // Sums that are stored as they are leave from where they are made.
        if let (ExprKind::Parameter(_), [node], None, None) = (
            &value.kind,
            from.as_slice(),
            fold_of(statement.combine),
            table,
        ) && let Node {
            does: Does::Product(..),
            every: Every::WorkTile,
            stored: own,
            ..
        } = &mut self.flow.nodes[*node]
            && own.is_none()
            && (self.flow.nodes[*node].dtype, self.flow.nodes[*node].keeps) == (dtype, keeps)
        {
            self.flow.nodes[*node].stored = stored;
            self.known.insert((statement.target, plane), *node);
            return;
        }
        let at = self.push(name, keeps, dtype, (Does::Map(value, from), every));
        self.flow.nodes[at].stored = stored;
        self.flow.nodes[at].combined = self.combining(statement, dtype);
        self.flow.nodes[at].table = table;
        self.known.insert((statement.target, plane), at);
    }

    /// How a statement combines values of that type with what its output holds.
    fn combining(&mut self, statement: &Statement, dtype: DType) -> Option<usize> {
        let fold = fold_of(statement.combine)?;
        let Source::Operand(output) = statement.target else {
            return None;
        };
        self.flow.combinings.push(Combining {
            how: Combination {
                fold,
                dtype,
                code: None,
            },
            operand: OperandId(output),
            lanes: 0,
            repeats: [false; 2],
            in_order: None,
        });
        Some(self.flow.combinings.len() - 1)
    }

    /// Which of the tile's modes are among those.
    fn keeps(&self, modes: impl Iterator<Item = ModeId> + Clone) -> [bool; 2] {
        self.modes
            .map(|mode| mode.is_some_and(|mode| modes.clone().any(|one| one == mode)))
    }

    /// Whether a mode is that of the parts of a sum.
    fn is_of_parts(&self, mode: ModeId) -> bool {
        let mut parts = self.parts.iter().flat_map(|parts| &parts.modes);
        parts.any(|one| *one == mode)
    }

    fn push(
        &mut self,
        name: String,
        keeps: [bool; 2],
        dtype: DType,
        (does, every): (Does, Every),
    ) -> usize {
        self.flow.nodes.push(Node {
            name,
            keeps,
            summed: false,
            dtype,
            does,
            every,
            held: [None; 2],
            element: [None, None],
            late: false,
            staged: None,
            stored: None,
            combined: None,
            table: None,
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
            ExprKind::Read { source, indices } => match self.source(*source, indices) {
                Some(node) => parameter(from, node),
                None => expr.kind.clone(),
            },
            ExprKind::Coordinate(mode) => match self.plane {
                Some((plane, number)) if plane == *mode => ExprKind::Integer(number),
                _ => expr.kind.clone(),
            },
            ExprKind::Size(mode) if self.plane.is_some_and(|(plane, _)| plane == *mode) => {
                ExprKind::Integer(self.planes)
            }
            ExprKind::Fold {
                fold,
                modes,
                dtype,
                body,
            } => {
                let is = |site: &FoldSite| site.span == expr.span;
                if self.parts.as_ref().is_some_and(is) {
                    let node = self.carried(expr, body, *dtype);
                    return Expr {
                        kind: parameter(from, node),
                        ..expr.clone()
                    };
                }
                let sum = self.sum.as_ref().filter(|(site, _)| is(site));
                let Some((_, factors)) = sum.cloned() else {
                    return self.fold(expr, (*fold, modes, *dtype), body, from);
                };
                let plane = self.plane.map_or(0, |(_, number)| number as usize);
                let alone = self.sum_name(expr);
                let name = match self.plane {
                    Some((_, number)) => Planes::name(self.formula, alone, number),
                    None => alone.to_owned(),
                };
                let (name, every) = match self.parts {
                    Some(_) => (self.own_name("part"), Every::Trip),
                    None => (name, Every::WorkTile),
                };
                let does = Does::Product(self.factors(factors), plane);
                let node = self.push(name, [true; 2], *dtype, (does, every));
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

    /// The nodes of a product's factors, which all planes share.
    fn factors(&mut self, [a, b]: [OperandId; 2]) -> [usize; 2] {
        [(a, [true, false]), (b, [false, true])].map(|(operand, keeps)| {
            let is = |node: &Node| node.summed && node.does == Does::Load(operand);
            if let Some(known) = self.flow.nodes.iter().position(is) {
                return known;
            }
            let source = Source::Operand(operand.0);
            let name = self.formula.name(source).to_owned();
            let does = (Does::Load(operand), Every::Trip);
            let at = self.push(name, keeps, self.formula.dtype(source), does);
            self.flow.nodes[at].summed = true;
            at
        })
    }

    /// The node of the sum of parts, each of which has that value.
    fn carried(&mut self, sum: &Expr, part: &Expr, dtype: DType) -> usize {
        let mut from = Vec::new();
        let part = self.over_nodes(part, &mut from);
        let so_far = Expr {
            kind: ExprKind::Parameter(from.len()),
            ..sum.clone()
        };
        let next = Expr {
            kind: ExprKind::Apply {
                op: Op::Add,
                arguments: vec![so_far, part],
            },
            ..sum.clone()
        };
        let name = self.sum_name(sum).to_owned();
        let does = Does::Carried(next, from);
        self.push(name, [true; 2], dtype, (does, Every::WorkTile))
    }

    /// A name that nothing of the formula has.
    fn own_name(&self, wanted: &str) -> String {
        let formula = self.formula;
        let operands = formula.signature.operands.iter().map(|one| &one.name);
        let locals = formula.locals.iter().map(|one| &one.name);
        let known: Vec<&String> = operands.chain(locals).collect();
        let mut name = wanted.to_owned();
        while known.contains(&&name) {
            name.push('_');
        }
        name
    }

    /// The node of an operand's or an intermediate's elements at that place, the only one that it
    /// is read at in a plane; none of an intermediate that nothing has made.
    fn source(&mut self, source: Source, indices: &[Index]) -> Option<usize> {
        let plane = self.plane_of(source, indices);
        if let Some(known) = self.known.get(&(source, plane)) {
            return Some(*known);
        }
        let Source::Operand(operand) = source else {
            return None;
        };
        let formula = self.formula;
        let table = self.table(indices);
        let name = formula.name(source).to_owned();
        let free = indices.iter().map(|index| index.free(&formula.modes));
        let free = free.fold(0, |all, modes| all | modes);
        let keeps = self.keeps((0..64).filter(|mode| free >> mode & 1 == 1));
        let dtype = formula.dtype(source);
        let of_parts = (0..64).any(|mode| free >> mode & 1 == 1 && self.is_of_parts(mode));
        let every = match of_parts {
            true => Every::Trip,
            false => Every::WorkTile,
        };
        let does = Does::Load(OperandId(operand));
        let at = self.push(name, keeps, dtype, (does, every));
        self.flow.nodes[at].table = table;
        self.known.insert((source, plane), at);
        Some(at)
    }

    /// What sums are called: as intermediates are that are sums and nothing else, but not as one
    /// that is more.
    fn sum_name(&self, sum: &Expr) -> &'static str {
        const NAME: &str = "acc";
        let formula = self.formula;
        let more = |one: &Statement| {
            matches!(one.target, Source::Local(_))
                && formula.name(one.target) == NAME
                && one.value.span != sum.span
        };
        match formula.statements.iter().any(more) {
            true => "sum",
            false => NAME,
        }
    }

    /// The node of the entries that say where along an axis elements lie.
    fn table(&mut self, indices: &[Index]) -> Option<usize> {
        let (operand, at) = indices.iter().find_map(|index| match index {
            Index::Table { operand, indices } => Some((*operand, indices)),
            _ => None,
        })?;
        self.source(Source::Operand(operand), at)
    }

    /// The plane of an intermediate that is read at those indices; 0 of what has none.
    fn plane_of(&self, source: Source, indices: &[Index]) -> i64 {
        let (Source::Local(local), Some((mode, number))) = (source, self.plane) else {
            return 0;
        };
        let modes = &self.formula.locals[local].modes;
        let index = modes.iter().position(|one| *one == mode);
        match index.and_then(|at| indices.get(at)) {
            Some(Index::Affine(poly)) => poly.as_constant().unwrap_or(number),
            _ => 0,
        }
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
