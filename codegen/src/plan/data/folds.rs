//! How folds are made: by threads, by lanes, by warps.

use std::fmt;
use std::sync::Arc;

use tilewright_formula::functions::{Fold, Op};

use crate::arch::WARP;
use crate::atoms::model::Atom;
use crate::dtype::DType;
use crate::element::Element;

/// How two values become one.
#[derive(Clone, Debug)]
pub struct Combination {
    /// As that fold does.
    pub fold: Fold,
    /// Type of the values.
    pub dtype: DType,
    /// The code.
    pub code: Option<Arc<Element>>,
}

/// How values are folded.
#[derive(Clone, Debug)]
pub struct FoldPlan {
    /// How two of them become one.
    pub how: Combination,
    /// Along which of the tile's modes.
    pub over: usize,
    /// Who has parts of a row.
    pub spread: Spread,
    /// Where in shared memory warps hand values on; none where one warp has all of a row.
    pub scratch: Option<Scratch>,
}

/// Where warps hand values on, in shared memory.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// Bytes.
    pub size_bytes: u32,
    /// Writes a value.
    pub write: Arc<Atom>,
    /// Reads one.
    pub read: Arc<Atom>,
}

/// How the threads stand that have parts of one row: powers of two, both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// From one of them to the next.
    pub apart: i64,
    /// How many there are.
    pub count: i64,
}

impl Spread {
    /// Lanes of a warp.
    const LANES: i64 = WARP as i64;

    /// What the indices of lanes differ in that have parts of one row, bit after bit, the highest
    /// first.
    pub fn lane_masks(self) -> impl Iterator<Item = i64> {
        let ends = self.apart * self.count;
        let masks = (0..).map(move |halvings| (Self::LANES / 2) >> halvings);
        let masks = masks.take_while(|mask| *mask > 0);
        masks.filter(move |mask| *mask >= self.apart && *mask < ends)
    }

    /// Whether a row has parts in several warps.
    pub fn crosses_warps(self) -> bool {
        self.apart * self.count > Self::LANES
    }

    /// Rows that a warp has parts of, each in a lane at least.
    pub fn rows_of_a_warp(self) -> i64 {
        self.apart.min(Self::LANES)
    }

    /// From one warp that has parts of a row to the next.
    pub fn warp_step(self) -> i64 {
        (self.apart / Self::LANES).max(1)
    }

    /// Warps that have parts of a row.
    pub fn warps(self) -> i64 {
        (self.apart * self.count / Self::LANES / self.warp_step()).max(1)
    }
}

impl Combination {
    /// The operation that combines two values.
    pub fn op(&self) -> Op {
        match self.fold {
            Fold::Sum | Fold::Mean => Op::Add,
            Fold::Max | Fold::Argmax => Op::Max,
            Fold::Min => Op::Min,
        }
    }

    /// What folds begin with: combined with it, a value stays what it is.
    pub fn identity(&self) -> f64 {
        match self.op() {
            Op::Max => f64::NEG_INFINITY,
            Op::Min => f64::INFINITY,
            _ => 0.0,
        }
    }
}

impl fmt::Display for FoldPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { apart, count } = self.spread;
        let name = self.how.op().row().name;
        write!(f, "{name}, {count} threads {apart} apart")?;
        match &self.scratch {
            Some(scratch) => {
                write!(f, ", {} bytes of scratch", scratch.size_bytes)
            }
            None => Ok(()),
        }
    }
}
