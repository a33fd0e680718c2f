//! How values are combined with what an output holds: in any order, or in a fixed one.

use std::fmt;
use std::sync::Arc;

use tilewright_bundle::Expr;
use tilewright_formula::functions::Fold;
use tilewright_formula::syntax::Combine;

use crate::atoms::model::{Atom, Reduction};
use crate::dtype::DType;
use crate::plan::data::folds::Combination;
use crate::plan::work_tiles::Work;
use crate::spec::keys::model::OperandId;

/// How values are combined with what an output holds.
#[derive(Clone, Debug)]
pub struct Combining {
    /// How two of them become one.
    pub how: Combination,
    /// The output.
    pub operand: OperandId,
    /// Bits in which the indices of lanes differ that have parts of one element.
    pub lanes: i64,
    /// The modes of the tile that values are the same along, of which the first thread's count.
    pub repeats: [bool; 2],
    /// How what warps have comes together in a fixed order; none where any order does.
    pub in_order: Option<InOrder>,
}

/// The fold that does what a sign does; none where nothing is combined.
pub fn fold_of(combine: Combine) -> Option<Fold> {
    match combine {
        Combine::Max => Some(Fold::Max),
        Combine::Min => Some(Fold::Min),
        Combine::Add => Some(Fold::Sum),
        Combine::Set => None,
    }
}

/// What is done in memory to elements of that type, where a fold gives the same in any order.
pub fn in_any_order(fold: Fold, dtype: DType) -> Option<Reduction> {
    match fold {
        Fold::Max => Some(Reduction::Max),
        Fold::Min => Some(Reduction::Min),
        Fold::Sum => (dtype == DType::S32).then_some(Reduction::Add),
        Fold::Mean | Fold::Argmax => None,
    }
}

impl Combining {
    /// What is done in memory to elements of which type; none where they are added in order.
    pub(in crate::plan) fn in_memory(&self) -> Option<(Reduction, DType)> {
        Some((in_any_order(self.how.fold, self.how.dtype)?, self.how.dtype))
    }
}

impl fmt::Display for Combining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.how.op().row().name;
        let lanes = 1 << self.lanes.count_ones();
        match &self.in_order {
            None => write!(f, "{name} of {lanes} lanes and what is there"),
            Some(sums) => {
                let parts = match sums.parts() {
                    1 => "1 warp".to_owned(),
                    parts => format!("{parts} warps"),
                };
                write!(f, "{name} of {lanes} lanes, in order: {parts} of a tile, ")?;
                write!(
                    f,
                    "{TOGETHER} tiles, {TOGETHER} sums, the rest and what is there"
                )
            }
        }
    }
}

/// Bytes of a term, and of a counter.
pub const TERM_BYTES: i64 = 4;
/// Counters of each sum, in front of all terms; they are zero outside of launches.
pub const COUNTERS: i64 = 1 << 17;
/// Terms that one warp adds up at a time, of as many tiles or sums of tiles; what is left behind
/// the second time is added up whole.
pub const TOGETHER: i64 = 32;

/// How terms of one output come together.
#[derive(Clone, Debug)]
pub struct InOrder {
    /// The modes of the tile that the output has elements along.
    pub keeps: [bool; 2],
    /// Those along which values are added up.
    pub folds: [bool; 2],
    /// Which of the outer modes the output has elements along.
    pub outer: Vec<bool>,
    /// The mode of the tile whose chunks threads put together before they hand anything on.
    pub passed: Option<usize>,
    /// Digits of a warp's number in its CTA in which those differ that have parts of the same
    /// elements.
    pub digits: Vec<WarpDigit>,
    /// How CTAs stand that share a tile.
    pub ctas: Ctas,
    /// Puts a part into shared memory: part after part, with one for each element of a tile.
    pub put: Arc<Atom>,
    /// Takes one out of it.
    pub take: Arc<Atom>,
    /// Loads what the output holds.
    pub held: Arc<Atom>,
}

/// CTAs of a cluster that share a tile; each takes a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctas {
    /// How many there are.
    pub count: i64,
    /// What each has of the elements of the tile.
    pub have: Have,
}

/// What CTAs that share a tile have of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Have {
    /// Each has parts of all.
    All,
    /// Each has elements of its own, so many side by side.
    Apart(i64),
    /// They have the same, of which that of the first counts.
    Same,
}

impl Ctas {
    /// Terms that they have of each element of a tile.
    pub fn terms(self) -> i64 {
        match self.have {
            Have::All => self.count,
            Have::Apart(_) | Have::Same => 1,
        }
    }
}

/// A digit of a warp's number in mixed radix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpDigit {
    /// Product of the extents before it.
    pub prefix: i64,
    /// Its values.
    pub extent: i64,
}

impl InOrder {
    /// Parts that warps have of each element of a tile.
    pub fn parts(&self) -> i64 {
        self.digits.iter().map(|digit| digit.extent).product()
    }

    /// Which of the parts of an element is that of the warp of that number.
    pub fn part_of(&self, warp: i64) -> i64 {
        let mut part = 0;
        for digit in self.digits.iter().rev() {
            part = part * digit.extent + warp / digit.prefix % digit.extent;
        }
        part
    }

    /// Whether tiles that differ along that mode have terms of their own.
    pub fn goes(&self, mode: usize) -> bool {
        (self.keeps[mode] || self.folds[mode]) && self.passed != Some(mode)
    }

    /// Elements that a tile has terms of.
    pub fn elements(&self, tile: [i64; 2]) -> i64 {
        let kept = self.keeps.into_iter().zip(tile);
        kept.filter(|(keeps, _)| *keeps)
            .map(|(_, extent)| extent)
            .product()
    }

    /// Factors of the number of tiles along modes that the output has elements along, or along
    /// those that are added up.
    fn tiles(&self, work: &Work, kept: bool) -> Vec<Expr> {
        let own = match kept {
            true => self.keeps,
            false => self.folds,
        };
        let own = [0, 1].map(|mode| own[mode] && self.goes(mode));
        let along = work.dims.iter().zip(own).filter(|(_, own)| *own);
        let along = along.map(|(dim, _)| match dim.extent() {
            1 => Expr::named(dim.mode()),
            extent => Expr::named(dim.mode()).ceil_div(extent),
        });
        let outer = work.outer();
        let outer = outer.iter().zip(&self.outer);
        let outer = outer.filter(|(_, has)| **has == kept);
        let all: Vec<Expr> = along
            .chain(outer.map(|(name, _)| Expr::named(name)))
            .collect();
        match all.is_empty() {
            true => vec![1.into()],
            false => all,
        }
    }

    /// Bytes of its terms.
    pub fn bytes(&self, work: &Work) -> Expr {
        let each = self.ctas.terms() * self.elements(work.tile()) * TERM_BYTES;
        Expr::product([true, false].map(|kept| self.tiles(work, kept)).concat()) * each
    }

    /// Counters of a launch: twice as many as there are first sums, which is enough for the later
    /// ones.
    pub fn counters(&self, work: &Work) -> Expr {
        let [kept, folded] = [true, false].map(|kept| Expr::product(self.tiles(work, kept)));
        kept * folded.ceil_div(TOGETHER) * 2
    }
}
