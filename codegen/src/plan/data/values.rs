//! A node of a flow: a tile in registers, and what makes it.

use std::sync::Arc;

use tilewright_formula::{Expr, ExprKind};

use crate::dtype::DType;
use crate::element::{Element, Packing};
use crate::plan::data::combining::Combining;
use crate::plan::data::folds::FoldPlan;
use crate::plan::data::moves::Hop;
use crate::spec::keys::model::OperandId;

/// A tile in registers.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, the only one of the flow.
    pub name: String,
    /// Along which of the tile's two modes it has elements; along the others it has one.
    pub keeps: [bool; 2],
    /// Whether it has elements along the mode that a product sums as well: a factor, which each
    /// trip of the main loop has another tile of.
    pub summed: bool,
    /// Type of its elements.
    pub dtype: DType,
    /// What makes it.
    pub does: Does,
    /// What it is made for.
    pub every: Every,
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
    pub stored: Option<OperandId>,
    /// How it is combined with what that operand holds; none where it takes its place.
    pub combined: Option<usize>,
    /// The node that has the entries of a table: where along an axis of the operand that it is
    /// loaded from, or stored to, its elements lie.
    pub table: Option<usize>,
}

/// What something is made for, each time anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Every {
    /// A trip along k, a group of work, a turn.
    Trip,
    /// A work tile.
    WorkTile,
}

/// How elements of an operand come into shared memory, from where they are loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum Staged {
    /// By asynchronous copies.
    Filled,
    /// Through registers: one by one, with what takes loaded vectors apart, or as they are.
    Turned(Option<Arc<Element>>),
    /// By boxes that the producer loads into the slots of a ring.
    Boxes,
}

/// What makes a tile.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// The elements of that operand.
    Load(OperandId),
    /// A value of the elements of other nodes: its parameters, in order.
    Map(Expr, Vec<usize>),
    /// The sums over trips of the main loop of a product of two factors, by node: that of rows, and
    /// that of columns, of whose planes it is the one of that number.
    Product([usize; 2], usize),
    /// What trips of the main loop carry on: it begins at zero, and each trip gives it a value of
    /// the elements of other nodes and, as the last parameter, of what it is so far.
    Carried(Expr, Vec<usize>),
    /// That node folded along the mode that it keeps and this does not, as the flow's fold of that
    /// number is made.
    Fold(usize, usize),
}

impl Does {
    /// The nodes that it reads when it is made; sums and what is carried are there when the main
    /// loop ends.
    pub fn reads(&self) -> &[usize] {
        match self {
            Does::Load(_) | Does::Product(..) | Does::Carried(..) => &[],
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

    /// Whether vectors of it along the columns are read or written, or folded.
    pub fn minds_columns(&self) -> bool {
        let is_moved = self.moved().is_some() && !self.summed;
        self.combined.is_some() || is_moved && self.keeps[1] || matches!(self.does, Does::Fold(..))
    }

    /// The operand that its elements come from or go to, and the hop into registers or out of them
    /// that they take.
    pub fn moved(&self) -> Option<(OperandId, Hop)> {
        match (&self.does, self.stored) {
            (Does::Load(operand), _) if self.staged.is_some() => Some((*operand, Hop::S2r)),
            (Does::Load(operand), _) => Some((*operand, Hop::G2r)),
            (_, Some(operand)) => Some((operand, Hop::R2g)),
            _ => None,
        }
    }
}

/// The nodes of a kernel, and how its folds are made.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Tiles in registers, in the order in which they are made.
    pub nodes: Vec<Node>,
    /// The folds that nodes refer to.
    pub folds: Vec<FoldPlan>,
    /// How values are combined with what outputs hold, which nodes refer to.
    pub combinings: Vec<Combining>,
    /// Elements of a vector, along the mode that vectors run along.
    pub vector: i64,
    /// The mode that vectors run along.
    pub along: usize,
    /// How it goes along a mode that no tile holds whole.
    pub passes: Option<Passes>,
}

impl Flow {
    /// Whether something is folded along that mode of the tile.
    pub fn has_fold(&self, over: usize) -> bool {
        self.folds.iter().any(|fold| fold.over == over)
    }

    /// Whether a node is a fold along that mode of the tile.
    pub fn is_fold(&self, node: &Node, over: usize) -> bool {
        match node.does {
            Does::Fold(_, number) => self.folds.get(number).is_some_and(|fold| fold.over == over),
            _ => false,
        }
    }

    /// The factors of a product by node, with their operands: that of rows, and that of columns.
    pub fn factors(&self) -> Option<[(usize, OperandId); 2]> {
        let mut nodes = self.nodes.iter();
        let factors = nodes.find_map(|node| match node.does {
            Does::Product(factors, _) => Some(factors),
            _ => None,
        })?;
        let [a, b] = factors.map(|at| match self.nodes.get(at)?.does {
            Does::Load(operand) => Some((at, operand)),
            _ => None,
        });
        Some([a?, b?])
    }

    /// What trips of the main loop carry on, with what a trip reads for it.
    pub fn carried(&self) -> Option<(usize, &[usize])> {
        let mut nodes = self.nodes.iter().enumerate();
        nodes.find_map(|(at, node)| match &node.does {
            Does::Carried(_, from) => Some((at, from.as_slice())),
            _ => None,
        })
    }

    /// The nodes that trips read and that are made before the main loop, by number.
    pub fn before_trips(&self) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        let carried = self.carried().map(|(_, from)| from);
        for from in carried.into_iter().flatten() {
            needed[*from] = true;
        }
        for at in (0..self.nodes.len()).rev() {
            for from in self.nodes[at]
                .reads()
                .filter(|_| needed[at])
                .collect::<Vec<_>>()
            {
                needed[from] = true;
            }
        }
        let nodes = needed.iter_mut().zip(&self.nodes);
        for (needed, node) in nodes {
            *needed &= node.every == Every::WorkTile;
        }
        needed
    }
}

impl Flow {
    /// Whether it stores the sums of a product, rounded to the output's type or as they are, and
    /// does nothing else.
    pub fn stores_bare_sums(&self) -> bool {
        let is_bare = |node: &Node| match &node.does {
            Does::Product(..) => true,
            Does::Map(value, _) => matches!(value.kind, ExprKind::Parameter(_)),
            Does::Load(_) => node.summed,
            Does::Carried(..) | Does::Fold(..) => false,
        };
        self.combinings.is_empty() && self.nodes.iter().all(is_bare)
    }

    /// Elements that a thread has side by side along a mode of the tile.
    pub fn together(&self, mode: usize) -> i64 {
        match mode == self.along {
            true => self.vector,
            false => 1,
        }
    }
}

impl Flow {
    /// How a node is combined with what its operand holds, and the number of that.
    pub fn combined_by(&self, node: usize) -> Option<(usize, &Combining)> {
        let number = self.nodes.get(node)?.combined?;
        Some((number, self.combinings.get(number)?))
    }
}

/// In which order a pass goes along the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first one on; the rest comes last.
    Up,
    /// The rest first, then from the last whole one back.
    Down,
}

/// One way along the chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Which chunks come first.
    pub order: Order,
    /// The nodes that are made of every chunk, in order. Folds are among them, whose values so far
    /// go from chunk to chunk.
    pub made: Vec<usize>,
}

/// What is made when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// The mode, of the tile's two.
    pub over: usize,
    /// The passes, in order.
    pub passes: Vec<Pass>,
    /// The nodes that are made once: those before each pass, then those behind the last.
    pub once: Vec<Vec<usize>>,
}

impl Passes {
    /// Whether a pass makes what it makes of a chunk a few elements at a time: all but what is
    /// loaded first, where something is loaded late.
    pub fn by_shares(&self, flow: &Flow, pass: &Pass) -> bool {
        let is_fold = |at: &usize| matches!(flow.nodes[*at].does, Does::Fold(..));
        self.over == flow.along
            && pass.made.iter().any(|at| flow.nodes[*at].late)
            && !pass.made.iter().any(is_fold)
    }
}

impl Passes {
    /// Whether a node is a fold that goes on from chunk to chunk.
    pub fn carries(&self, flow: &Flow, node: &Node) -> bool {
        flow.is_fold(node, self.over)
    }

    /// Whether a node's values are added up chunk by chunk: in a fixed order, to elements that each
    /// chunk has of its own.
    pub fn adds_up(&self, flow: &Flow, node: usize) -> bool {
        let sums = flow.combined_by(node);
        let sums = sums.and_then(|(_, combining)| combining.in_order.as_ref());
        sums.is_some_and(|sums| sums.keeps[self.over])
    }
}
