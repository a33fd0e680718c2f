//! The operations of an element as a graph, equal ones once.
//!
//! Comes in: nodes one by one. Goes out: their numbers, each behind those that it needs, and the
//! atoms that compute them.

use std::collections::HashMap;
use std::sync::Arc;

use tilewright_formula::functions::PRIMITIVES;

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

    pub(super) fn packing(&self, input: usize) -> Option<Packing> {
        self.inputs.get(input).copied()
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

    pub(super) fn add(&mut self, node: Node, held: Held) -> NodeId {
        let key = (node, held);
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        self.nodes.push(key.clone());
        self.index.insert(key, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    pub(super) fn constant(&mut self, value: f64, ty: NumberType) -> NodeId {
        let bits = meaning::rounded(value, ty).to_bits();
        self.add(Node::Constant(bits), Held::Number(ty))
    }

    pub(super) fn constant_of(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    pub(super) fn refuse<T>(&mut self, what: &str) -> Option<T> {
        let arch = self.arch;
        self.problems
            .push(format!("{what} is not generated for {arch}"));
        None
    }
}

/// The element type of numbers.
pub(super) fn dtype_of(ty: NumberType) -> DType {
    match ty {
        NumberType::S32 | NumberType::Bool => DType::S32,
        NumberType::F32 => DType::F32,
        NumberType::F64 => DType::F64,
    }
}
