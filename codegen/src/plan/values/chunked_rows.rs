//! Passes: how a kernel goes along a mode that it folds and no tile holds whole.
//!
//! The tile is a chunk of that mode. A fold along it goes on from chunk to chunk and is known
//! behind the pass that makes it; what needs its result along the mode comes in a later pass, which
//! makes all of it again that it needs, from the loads on. Folds that wait for the same ones share
//! a pass. What is loaded again is the same: outputs overlap no other operand. A fold along the
//! tile's other mode, which a tile holds whole, is a step like any other.

use crate::plan::data::values::{Flow, Order, Pass, Passes};

/// The passes of a flow along that mode; every other one goes back from the end where they
/// alternate.
pub(in crate::plan) fn of(flow: &Flow, over: usize, alternate: bool) -> Passes {
    let nodes = &flow.nodes;
    let all = 0..nodes.len();
    let is_fold = |at: usize| flow.is_fold(&nodes[at], over);
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
