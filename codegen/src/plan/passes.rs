//! Passes: how a kernel goes along a mode that it folds and no tile holds whole.
//!
//! The tile is a chunk of that mode. A fold goes on from chunk to chunk and is known behind the
//! pass that makes it; what needs its result along the mode comes in a later pass, which makes all
//! of it again that it needs, from the loads on. Folds that wait for the same ones share a pass.
//! What is loaded again is the same: outputs overlap no other operand.

use crate::plan::flow::{Does, Flow};

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
    /// Whether a node's values are added up chunk by chunk: in a fixed order, to elements that each
    /// chunk has of its own.
    pub fn adds_up(&self, flow: &Flow, node: usize) -> bool {
        let sums = flow.combined_by(node);
        let sums = sums.and_then(|(_, combining)| combining.in_order.as_ref());
        sums.is_some_and(|sums| sums.keeps[self.over])
    }
}

/// The passes of a flow whose folds are along that mode alone; every other one goes back from the
/// end where they alternate.
pub(super) fn of(flow: &Flow, over: usize, alternate: bool) -> Passes {
    let nodes = &flow.nodes;
    let all = 0..nodes.len();
    let is_fold = |at: usize| matches!(nodes[at].does, Does::Fold(..));
    // The passes that must be over before a node is known.
    let mut known: Vec<usize> = Vec::new();
    for at in all.clone() {
        let needs = nodes[at].reads().map(|from| known[from]);
        known.push(needs.max().unwrap_or(0) + usize::from(is_fold(at)));
    }
    // Folds and what is stored of every chunk ask for all else.
    let made = |at: usize| known[at] - usize::from(is_fold(at));
    let is_end = |at: usize| is_fold(at) || nodes[at].keeps[over] && nodes[at].stored.is_some();
    let count = all.clone().filter(|at| is_end(*at)).map(|at| made(at) + 1);
    let count = count.max().unwrap_or(0);
    let of_pass = |pass: usize| {
        let mut wanted: Vec<bool> = (all.clone())
            .map(|at| is_end(at) && made(at) == pass)
            .collect();
        for at in all.clone().rev() {
            for from in nodes[at].reads() {
                wanted[from] |= wanted[at] && nodes[from].keeps[over];
            }
        }
        Pass {
            order: match alternate && pass % 2 == 1 {
                true => Order::Down,
                false => Order::Up,
            },
            made: all.clone().filter(|at| wanted[*at]).collect(),
        }
    };
    let of_once = |pass: usize| {
        let once = |at: &usize| !nodes[*at].keeps[over] && known[*at] == pass;
        all.clone().filter(once).collect()
    };
    Passes {
        over,
        passes: (0..count).map(of_pass).collect(),
        once: (0..=count).map(of_once).collect(),
    }
}
