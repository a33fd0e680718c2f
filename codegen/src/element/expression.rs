//! Expressions of formulas as nodes of the graph: types, casts, derived functions.

use tilewright_formula::number::{Kind, stored};
use tilewright_formula::{Expr, ExprKind, ValueType};

use super::graph::{Graph, Held, Node, NodeId, dtype_of};
use super::recipes::{Of, RECIPES};
use crate::atoms::arithmetic::{Does, NumberType};
use crate::dtype::DType;

impl Graph<'_> {
    /// An expression, cast to a type that elements are stored in.
    pub(super) fn stored(&mut self, value: &Expr, to: DType) -> Option<NodeId> {
        // What was stored in that type is of it, whether or not anything is computed of it here.
        if let ExprKind::Parameter(at) = value.kind
            && self.packing(at).is_some_and(|packing| packing.dtype == to)
        {
            return Some(self.add(Node::Input(at), held_as(to)));
        }
        let value = self.expr(value, &[], 0)?;
        self.narrowed(value, to)
    }

    fn expr(&mut self, expr: &Expr, arguments: &[NodeId], depth: usize) -> Option<NodeId> {
        match &expr.kind {
            ExprKind::Integer(value) => {
                let ty = number(expr.ty)?;
                Some(self.constant(*value as f64, ty))
            }
            ExprKind::Real(value) => {
                let ty = number(expr.ty)?;
                Some(self.constant(*value, ty))
            }
            ExprKind::Coordinate(mode) => Some(self.leaf(Node::Coordinate(*mode), expr.ty)),
            ExprKind::Size(mode) => Some(self.leaf(Node::Size(*mode), expr.ty)),
            ExprKind::Scalar(at) => Some(self.leaf(Node::Scalar(*at), expr.ty)),
            ExprKind::Parameter(at) if depth == 0 => self.input(*at),
            ExprKind::Parameter(at) => arguments.get(*at).copied(),
            ExprKind::Apply { op, arguments: of } => {
                let of = self.all(of, arguments, depth)?;
                let ty = self.operated(expr.ty, &of)?;
                let converted = of.into_iter().map(|one| self.number_as(one, ty));
                let converted = converted.collect::<Option<Vec<_>>>()?;
                let does = Does::of(*op);
                match self.apply(does, ty, converted, 0) {
                    Some(id) => Some(id),
                    None => self.refuse(&format!("{} of {}", op.row().name, ty.name())),
                }
            }
            ExprKind::Call {
                function,
                arguments: of,
                inside,
            } => {
                let of = self.all(of, arguments, depth)?;
                match self.function(function.name, expr.ty, &of) {
                    Some(id) => Some(id),
                    None => self.expr(inside, &of, depth + 1),
                }
            }
            ExprKind::Cast { to, value } => {
                let value = self.expr(value, arguments, depth)?;
                self.cast(value, *to)
            }
            ExprKind::Read { .. } | ExprKind::Fold { .. } => {
                self.refuse("what is read or folded within an element's expression")
            }
        }
    }

    /// A derived function by a recipe of its own.
    fn function(&mut self, name: &'static str, ty: ValueType, of: &[NodeId]) -> Option<NodeId> {
        let (ty, of_name) = (number(ty)?, Of::Function(name));
        RECIPES
            .iter()
            .find(|one| (one.of, one.ty) == (of_name, ty))?;
        if of.iter().all(|&one| self.constant_of(one).is_some()) {
            return None;
        }
        let of = of.iter().map(|&one| self.number_as(one, ty));
        let of = of.collect::<Option<Vec<_>>>()?;
        self.recipes(of_name, ty, &of, 1)
    }

    fn all(&mut self, of: &[Expr], arguments: &[NodeId], depth: usize) -> Option<Vec<NodeId>> {
        let all: Vec<_> = of
            .iter()
            .map(|one| self.expr(one, arguments, depth))
            .collect();
        all.into_iter().collect()
    }

    fn leaf(&mut self, node: Node, ty: ValueType) -> NodeId {
        let ty = number(ty).unwrap_or(NumberType::S32);
        self.add(node, Held::Number(ty))
    }

    /// An input's element as reading gives it.
    fn input(&mut self, at: usize) -> Option<NodeId> {
        let Some(dtype) = self.packing(at).map(|packing| packing.dtype) else {
            return self.refuse(&format!("an input {at}"));
        };
        let held = held_as(dtype);
        let node = self.add(Node::Input(at), held);
        self.widened(node)
    }

    /// The number that a stored element is; of raw elements the element.
    fn widened(&mut self, id: NodeId) -> Option<NodeId> {
        let Held::Stored(dtype) = self.held(id) else {
            return Some(id);
        };
        let ty = ValueType::of(dtype);
        match (number(ty), ty.dtype()) {
            (Some(number), Some(to)) => self.convert(dtype, to, id, Held::Number(number)),
            _ => Some(id),
        }
    }

    fn convert(&mut self, from: DType, to: DType, of: NodeId, held: Held) -> Option<NodeId> {
        if self.converts(from, to).next().is_none() {
            return self.refuse(&format!("{to} of {from}"));
        }
        Some(self.add(Node::Convert(from, to, of), held))
    }

    /// Type of the numbers that an operation takes.
    fn operated(&self, result: ValueType, of: &[NodeId]) -> Option<NumberType> {
        let types = of.iter().filter_map(|&one| match self.held(one) {
            Held::Number(NumberType::S32) => Some(ValueType::S32),
            Held::Number(NumberType::F32) => Some(ValueType::F32),
            Held::Number(NumberType::F64) => Some(ValueType::F64),
            _ => None,
        });
        match (result, types.reduce(ValueType::joined)) {
            (ValueType::Bool, Some(joined)) => number(joined),
            (ValueType::Bool, None) => Some(NumberType::Bool),
            _ => number(result),
        }
    }

    /// A number as one of that type; conditions stay.
    fn number_as(&mut self, id: NodeId, ty: NumberType) -> Option<NodeId> {
        let Held::Number(own) = self.held(id) else {
            return self.refuse("arithmetic of raw elements");
        };
        if own == ty || own == NumberType::Bool {
            return Some(id);
        }
        if let Some(value) = self.constant_of(id) {
            return Some(self.constant(value, ty));
        }
        self.convert(dtype_of(own), dtype_of(ty), id, Held::Number(ty))
    }

    /// A value as an element type holds it, widened again.
    fn cast(&mut self, id: NodeId, to: DType) -> Option<NodeId> {
        if let (Some(value), Some(ty)) = (self.constant_of(id), number(ValueType::of(to))) {
            let value = stored(to, value);
            return Some(self.constant(value, ty));
        }
        if let Kind::Integer(range) = Kind::of(to) {
            let value = self.number_as(id, NumberType::S32)?;
            if to == DType::S32 {
                return Some(value);
            }
            let [least, most] = range.map(|end| self.constant(end as f64, NumberType::S32));
            let up = self.apply(Does::Max, NumberType::S32, vec![value, least], 0)?;
            return self.apply(Does::Min, NumberType::S32, vec![up, most], 0);
        }
        let narrow = self.narrowed(id, to)?;
        self.widened(narrow)
    }

    /// A value as it is stored in a type, rounded once.
    fn narrowed(&mut self, id: NodeId, to: DType) -> Option<NodeId> {
        let own = match self.held(id) {
            Held::Stored(dtype) if dtype == to => return Some(id),
            Held::Stored(dtype) => return self.refuse(&format!("{to} of {dtype}")),
            Held::Number(NumberType::Bool) => {
                return self.refuse(&format!("{to} of a condition"));
            }
            Held::Number(own) => own,
        };
        // An element of that type is one already, though registers hold it as a wider number.
        if let Node::Input(at) = *self.node(id)
            && self.packing(at).is_some_and(|packing| packing.dtype == to)
        {
            return Some(id);
        }
        if let Node::Convert(from, _, of) = *self.node(id)
            && from == to
            && self.held(of) == Held::Stored(to)
        {
            return Some(of);
        }
        match (held_as(to), Kind::of(to)) {
            (Held::Number(ty), _) if dtype_of(ty) == to => self.number_as(id, ty),
            (held, Kind::Integer(_)) => {
                let whole = self.number_as(id, NumberType::S32)?;
                self.convert(DType::S32, to, whole, held)
            }
            (held, _) => {
                let single = match own {
                    NumberType::F32 => id,
                    _ => {
                        let double = self.number_as(id, NumberType::F64)?;
                        self.apply(Does::Odd, NumberType::F64, vec![double], 0)?
                    }
                };
                self.convert(DType::F32, to, single, held)
            }
        }
    }
}

/// How elements of a type are held in registers: as numbers where they are such.
fn held_as(dtype: DType) -> Held {
    match dtype {
        DType::F32 | DType::TF32 => Held::Number(NumberType::F32),
        DType::F64 => Held::Number(NumberType::F64),
        DType::S32 => Held::Number(NumberType::S32),
        other => Held::Stored(other),
    }
}

fn number(ty: ValueType) -> Option<NumberType> {
    Some(match ty {
        ValueType::S32 => NumberType::S32,
        ValueType::F32 => NumberType::F32,
        ValueType::F64 => NumberType::F64,
        ValueType::Bool => NumberType::Bool,
        ValueType::Raw(_) => return None,
    })
}
