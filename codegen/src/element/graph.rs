//! The operations of an element as a graph, equal ones once.
//!
//! Comes in: an expression. Goes out: nodes that atoms of the architecture compute; what no atom
//! does is a recipe's, what is constant is computed here.

use std::collections::HashMap;
use std::sync::Arc;

use tilewright_formula::functions::PRIMITIVES;
use tilewright_formula::number::Kind;
use tilewright_formula::syntax::{self, NodeKind};
use tilewright_formula::{Expr, ExprKind, ValueType};

use super::recipes::{Of, RECIPES};
use super::{Packing, meaning};
use crate::arch::Arch;
use crate::atoms::Catalogue;
use crate::atoms::arithmetic::{Does, NumberType};
use crate::atoms::model::{Atom, ConvertFacts};
use crate::dtype::DType;

/// A node: the number of its row.
pub(super) type NodeId = usize;

/// What a node's value is held as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Held {
    /// A number, in a register of its own.
    Number(NumberType),
    /// An element, as it is stored.
    Stored(DType),
}

/// How a node's value is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// An input's element.
    Input(usize),
    /// The bits of an f64.
    Constant(u64),
    Scalar(usize),
    Coordinate(usize),
    Size(usize),
    Convert(DType, DType, NodeId),
    /// Of numbers of that type.
    Apply(Does, NumberType, Vec<NodeId>),
}

/// Operations of one element, each behind those that it needs.
pub(super) struct Graph<'c> {
    catalogue: &'c Catalogue,
    arch: Arch,
    inputs: &'c [Packing],
    nodes: Vec<(Node, Held)>,
    index: HashMap<(Node, Held), NodeId>,
    problems: Vec<String>,
}

/// How deep recipes may stand in one another.
const MAX_RECIPES: usize = 8;

impl<'c> Graph<'c> {
    pub(super) fn new(catalogue: &'c Catalogue, arch: Arch, inputs: &'c [Packing]) -> Graph<'c> {
        Graph {
            catalogue,
            arch,
            inputs,
            nodes: Vec::new(),
            index: HashMap::new(),
            problems: Vec::new(),
        }
    }

    /// What cannot be computed, each once.
    pub(super) fn problems(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.problems);
        all.dedup();
        all
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id].0
    }

    pub(super) fn held(&self, id: NodeId) -> Held {
        self.nodes[id].1
    }

    pub(super) fn packing(&self, input: usize) -> Packing {
        self.inputs[input]
    }

    pub(super) fn arch(&self) -> Arch {
        self.arch
    }

    /// The atom that does this to numbers of that type, as exactly as formulas want it.
    pub(super) fn arithmetic(&self, does: Does, ty: NumberType) -> Option<&'c Arc<Atom>> {
        let row = PRIMITIVES.iter().find(|row| Does::of(row.op) == does);
        let slack = row.map(|row| match ty {
            NumberType::F64 => &row.f64,
            _ => &row.f32,
        });
        let mut atoms = self.catalogue.iter();
        atoms.find(|atom| {
            let facts = atom.arithmetic.as_ref();
            atom.runs_on(self.arch)
                && facts.is_some_and(|facts| {
                    (facts.does, facts.ty) == (does, ty)
                        && slack.is_none_or(|slack| facts.error.within(slack))
                })
        })
    }

    /// The atoms that convert elements so.
    pub(super) fn converts(&self, from: DType, to: DType) -> impl Iterator<Item = &'c Arc<Atom>> {
        let arch = self.arch;
        let wanted = move |facts: &ConvertFacts| (facts.from, facts.to) == (from, to);
        let atoms = self.catalogue.iter();
        atoms.filter(move |atom| atom.runs_on(arch) && atom.convert.as_ref().is_some_and(wanted))
    }

    fn add(&mut self, node: Node, held: Held) -> NodeId {
        let key = (node, held);
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        self.nodes.push(key.clone());
        self.index.insert(key, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn constant(&mut self, value: f64, ty: NumberType) -> NodeId {
        let bits = meaning::rounded(value, ty).to_bits();
        self.add(Node::Constant(bits), Held::Number(ty))
    }

    pub(super) fn constant_of(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    fn refuse<T>(&mut self, what: &str) -> Option<T> {
        let arch = self.arch;
        self.problems
            .push(format!("{what} is not generated for {arch}"));
        None
    }

    /// An expression, cast to a type that elements are stored in.
    pub(super) fn stored(&mut self, value: &Expr, to: DType) -> Option<NodeId> {
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
        let Some(dtype) = self.inputs.get(at).map(|packing| packing.dtype) else {
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
            let value = tilewright_formula::number::stored(to, value);
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

    /// An operation on numbers of that type; none where no atom and no recipe does it.
    fn apply(
        &mut self,
        does: Does,
        ty: NumberType,
        of: Vec<NodeId>,
        depth: usize,
    ) -> Option<NodeId> {
        let constants: Option<Vec<f64>> = of.iter().map(|&one| self.constant_of(one)).collect();
        if let Some(constants) = constants {
            let value = meaning::of(does, ty, &constants);
            return Some(self.constant(value, does.gives(ty)));
        }
        if let Some(id) = self.simplified(does, ty, &of, depth) {
            return Some(id);
        }
        if self.arithmetic(does, ty).is_some() {
            let held = Held::Number(does.gives(ty));
            return Some(self.add(Node::Apply(does, ty, of), held));
        }
        if depth == MAX_RECIPES {
            return None;
        }
        self.recipes(Of::Operation(does), ty, &of, depth + 1)
    }

    /// The first recipe that atoms of the architecture make.
    fn recipes(&mut self, of: Of, ty: NumberType, from: &[NodeId], depth: usize) -> Option<NodeId> {
        let mut recipes = RECIPES.iter().filter(|one| (one.of, one.ty) == (of, ty));
        recipes.find_map(|one| self.recipe(one.text, ty, from, depth))
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

    /// The same by a cheaper operation that is no less exact than formulas want it.
    fn simplified(
        &mut self,
        does: Does,
        ty: NumberType,
        of: &[NodeId],
        depth: usize,
    ) -> Option<NodeId> {
        let float = matches!(ty, NumberType::F32 | NumberType::F64);
        match (does, of) {
            (Does::Floor | Does::Round, &[whole]) if ty == NumberType::S32 => Some(whole),
            (Does::Div, &[a, b]) if float => {
                if self.constant_of(a) == Some(1.0) && self.arithmetic(Does::Rcp, ty).is_some() {
                    return self.apply(Does::Rcp, ty, vec![b], depth);
                }
                let inverse = inverse(self.constant_of(b)?, ty)?;
                let inverse = self.constant(inverse, ty);
                self.apply(Does::Mul, ty, vec![a, inverse], depth)
            }
            (Does::Mul, &[a, b]) if float => {
                let (a, by) = match (self.constant_of(a), self.constant_of(b)) {
                    (Some(by), None) => (b, by),
                    (None, Some(by)) => (a, by),
                    _ => return None,
                };
                if by == 1.0 {
                    return Some(a);
                }
                if let Node::Apply(Does::Neg, _, negated) = self.node(a) {
                    let a = negated[0];
                    let by = self.constant(-by, ty);
                    return self.apply(Does::Mul, ty, vec![a, by], depth);
                }
                // One order of the factors, so that equal products are one.
                (self.constant_of(of[0]).is_some()).then(|| {
                    let by = self.constant(by, ty);
                    self.add(Node::Apply(does, ty, vec![a, by]), Held::Number(ty))
                })
            }
            _ => None,
        }
    }

    fn recipe(
        &mut self,
        text: &str,
        ty: NumberType,
        of: &[NodeId],
        depth: usize,
    ) -> Option<NodeId> {
        let tree = syntax::parse(text).ok()?;
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut known: HashMap<String, NodeId> =
            names.into_iter().zip(of.iter().copied()).collect();
        let mut last = None;
        for statement in &tree.statements {
            let id = self.written(&statement.value, ty, &known, depth)?;
            known.insert(statement.target.text.clone(), id);
            last = Some(id);
        }
        last
    }

    /// An expression of a recipe.
    fn written(
        &mut self,
        node: &syntax::Node,
        ty: NumberType,
        known: &HashMap<String, NodeId>,
        depth: usize,
    ) -> Option<NodeId> {
        let (does, of) = match &node.kind {
            NodeKind::Integer(value) => return Some(self.constant(*value as f64, ty)),
            NodeKind::Real(value) => return Some(self.constant(*value, ty)),
            NodeKind::Name(name) => return known.get(name).copied(),
            NodeKind::Call { name, arguments } => (Does::named(&name.text)?, arguments),
            NodeKind::Operation { op, operands } => (Does::of(*op), operands),
            NodeKind::Element { .. } | NodeKind::Fold { .. } => return None,
        };
        let of = of.iter().map(|one| self.written(one, ty, known, depth));
        let of = of.collect::<Option<Vec<_>>>()?;
        let last = of.last().map(|&one| self.held(one));
        match last {
            Some(Held::Number(own)) => self.apply(does, own, of, depth),
            _ => None,
        }
    }

    /// The graph with products that only a sum reads as part of it. Such a sum is rounded once.
    pub(super) fn fused(&mut self, root: NodeId) -> NodeId {
        let uses = self.uses(root);
        let mut to: Vec<NodeId> = Vec::with_capacity(root + 1);
        for id in 0..=root {
            let (node, held) = self.nodes[id].clone();
            let new = match node {
                _ if uses[id] == 0 => id,
                Node::Apply(does, ty, of) => match self.product(does, ty, &of, &uses) {
                    Some(([a, b], c, signs)) => {
                        let [a, b, c] = [to[a], to[b], to[c]];
                        self.fused_sum(ty, [a, b, c], signs).unwrap_or(id)
                    }
                    None => {
                        let of = of.iter().map(|&one| to[one]).collect();
                        self.add(Node::Apply(does, ty, of), held)
                    }
                },
                Node::Convert(from, by, of) => self.add(Node::Convert(from, by, to[of]), held),
                other => self.add(other, held),
            };
            to.push(new);
        }
        to[root]
    }

    /// How often each node is read.
    fn uses(&self, root: NodeId) -> Vec<u32> {
        let mut uses = vec![0; root + 1];
        uses[root] = 1;
        for id in (0..=root).rev() {
            if uses[id] == 0 {
                continue;
            }
            match self.node(id) {
                Node::Apply(_, _, of) => of.iter().for_each(|&one| uses[one] += 1),
                Node::Convert(_, _, of) => uses[*of] += 1,
                _ => {}
            }
        }
        uses
    }

    /// Factors, summand, and whether product and summand are taken negative.
    fn product(
        &self,
        does: Does,
        ty: NumberType,
        of: &[NodeId],
        uses: &[u32],
    ) -> Option<([NodeId; 2], NodeId, [bool; 2])> {
        let (Does::Add | Does::Sub, &[left, right]) = (does, of) else {
            return None;
        };
        self.arithmetic(Does::Fma, ty)?;
        let factors = |id: NodeId| match self.node(id) {
            Node::Apply(Does::Mul, _, of) if uses[id] == 1 => Some([of[0], of[1]]),
            _ => None,
        };
        let minus = does == Does::Sub;
        match (factors(left), factors(right)) {
            (Some(pair), _) => Some((pair, right, [false, minus])),
            (None, Some(pair)) => Some((pair, left, [minus, false])),
            (None, None) => None,
        }
    }

    fn fused_sum(
        &mut self,
        ty: NumberType,
        [a, b, c]: [NodeId; 3],
        [product, summand]: [bool; 2],
    ) -> Option<NodeId> {
        let b = match product {
            true => self.apply(Does::Neg, ty, vec![b], 0)?,
            false => b,
        };
        let c = match summand {
            true => self.apply(Does::Neg, ty, vec![c], 0)?,
            false => c,
        };
        self.apply(Does::Fma, ty, vec![a, b, c], 0)
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

/// The element type of numbers.
pub(super) fn dtype_of(ty: NumberType) -> DType {
    match ty {
        NumberType::S32 | NumberType::Bool => DType::S32,
        NumberType::F32 => DType::F32,
        NumberType::F64 => DType::F64,
    }
}

/// What a quotient by the constant may be multiplied by instead: f32 allows a quotient four
/// roundoffs, of which the rounded inverse and the product make two; f64 one.
fn inverse(by: f64, ty: NumberType) -> Option<f64> {
    let exact = by.to_bits() << 12 == 0;
    let normal = |value: f64| match ty {
        NumberType::F32 => (value as f32).is_normal(),
        _ => value.is_normal(),
    };
    let fits = normal(by) && normal(1.0 / by) && (exact || ty == NumberType::F32);
    fits.then(|| 1.0 / by)
}
