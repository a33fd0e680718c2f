//! A node of a flow: a tile in registers, and what makes it.

use std::sync::Arc;

use tilewright_formula::Expr;

use crate::dtype::DType;
use crate::element::{Element, Packing};
use crate::plan::model::Hop;

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
    /// How its elements come into shared memory, where they pass through it when they are loaded.
    pub staged: Option<Staged>,
    /// The operand that it is stored to.
    pub stored: Option<String>,
    /// How it is combined with what that operand holds; none where it takes its place.
    pub combined: Option<usize>,
    /// The node that has the entries of a table: where along an axis of the operand that it is
    /// loaded from, or stored to, its elements lie.
    pub table: Option<usize>,
}

/// How elements of an operand come into shared memory, from where they are loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum Staged {
    /// By asynchronous copies.
    Filled,
    /// Through registers, one by one, with what takes loaded vectors apart.
    Turned(Option<Arc<Element>>),
}

/// What makes a tile.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// The elements of that operand.
    Load(String),
    /// A value of the elements of other nodes: its parameters, in order.
    Map(Expr, Vec<usize>),
    /// The sums of the kernel's product, of the plane of that number.
    Sum(usize),
    /// That node folded along the mode that it keeps and this does not, as the flow's fold of that
    /// number is made.
    Fold(usize, usize),
}

impl Does {
    /// The nodes that it reads.
    pub fn reads(&self) -> &[usize] {
        match self {
            Does::Load(_) | Does::Sum(_) => &[],
            Does::Map(_, from) => from,
            Does::Fold(from, _) => std::slice::from_ref(from),
        }
    }
}

impl Node {
    /// The nodes that must be made before it.
    pub fn reads(&self) -> impl Iterator<Item = usize> + '_ {
        self.does.reads().iter().copied().chain(self.table)
    }

    /// Whether every element of it takes the place of one of an operand.
    pub fn is_result(&self) -> bool {
        self.keeps == [true; 2] && self.stored.is_some() && self.combined.is_none()
    }

    /// The operand that its elements come from or go to, and the hop into registers or out of them
    /// that they take.
    pub fn moved(&self) -> Option<(&str, Hop)> {
        match (&self.does, &self.stored) {
            (Does::Load(name), _) if self.staged.is_some() => Some((name, Hop::S2r)),
            (Does::Load(name), _) => Some((name, Hop::G2r)),
            (_, Some(name)) => Some((name, Hop::R2g)),
            _ => None,
        }
    }
}
