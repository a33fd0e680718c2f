//! Operations as atoms do them: constants computed, cheaper ones in place of others, recipes, sums
//! of products.

use std::collections::HashMap;

use tilewright_formula::syntax::{self, NodeKind};

use super::graph::{Graph, Held, Node, NodeId};
use super::meaning;
use super::recipes::{Of, RECIPES};
use crate::atoms::arithmetic::{Does, NumberType};

/// How deep recipes may stand in one another.
const MAX_RECIPES: usize = 8;

impl Graph<'_> {
    /// An operation on numbers of that type; none where no atom and no recipe does it.
    pub(super) fn apply(
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
    pub(super) fn recipes(
        &mut self,
        of: Of,
        ty: NumberType,
        from: &[NodeId],
        depth: usize,
    ) -> Option<NodeId> {
        let mut recipes = RECIPES.iter().filter(|one| (one.of, one.ty) == (of, ty));
        recipes.find_map(|one| self.recipe(one.text, ty, from, depth))
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
                let [scale, inverse] = factors(self.constant_of(b)?, ty)?;
                let a = match scale {
                    1.0 => a,
                    scale => {
                        let scale = self.constant(scale, ty);
                        self.apply(Does::Mul, ty, vec![a, scale], depth)?
                    }
                };
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
            let (node, held) = (self.node(id).clone(), self.held(id));
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

/// What a quotient by the constant may be multiplied by instead, a power of two first: f32 allows a
/// quotient four roundoffs, of which the rounded inverse and the product make two; f64 one. The
/// power of two brings constants of an inverse outside the normal range into it.
fn factors(by: f64, ty: NumberType) -> Option<[f64; 2]> {
    if ty == NumberType::F64 {
        let exact = by.to_bits() << 12 == 0 && by.is_normal() && (1.0 / by).is_normal();
        return exact.then(|| [1.0, 1.0 / by]);
    }
    let scale = match by.abs() {
        size if size == 0.0 || !size.is_finite() => 1.0,
        size if size < f64::from(f32::MIN_POSITIVE) => 64f64.exp2(),
        size if size > f64::from(f32::MAX) / 4.0 => (-64f64).exp2(),
        _ => 1.0,
    };
    Some([scale, 1.0 / (by * scale)])
}
