//! What one thread of a tiled copy or MMA sees, and who holds an element.
//!
//! In: a tiled copy or MMA and a thread, or an element. Out: the share of the thread with its
//! offset, or every (thread, value) that holds the element. Invariant: a view and its parent agree:
//! the share of thread `t` is the parent's partition with its thread mode fixed at `t`.

use crate::copy::{Side, TiledCopy};
use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::inverse::{nullspace, right_inverse};
use crate::layout::Layout;
use crate::mma::{Operand, TiledMma};
use crate::tuple::IntTuple;

/// A thread and one of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder {
    /// Index of the thread.
    pub thread: i64,
    /// Linear index of the value in the thread's share, over all modes but the thread's.
    pub value: i64,
}

/// The MMA as one thread sees it: CuTe's `ThrMMA`.
#[derive(Debug, Clone, Copy)]
pub struct ThrMma<'a> {
    mma: &'a TiledMma,
    thread: i64,
}

/// The copy as one thread sees it: CuTe's `ThrCopy`.
#[derive(Debug, Clone, Copy)]
pub struct ThrCopy<'a> {
    copy: &'a TiledCopy,
    thread: i64,
}

fn check_thread(thread: i64, threads: i64) -> Result<()> {
    if (0..threads).contains(&thread) {
        return Ok(());
    }
    Err(Error::domain(format!(
        "thread {thread} of {threads}: use 0 to {}",
        threads - 1
    )))
}

/// Fixes the thread mode of a partition.
fn share<I: Int, D: Stride<I>>(partition: &Layout<I, D>, thread: i64) -> Result<(Layout<I, D>, D)> {
    let offset = partition.need_mode(0)?.at(I::constant(thread))?;
    Ok((Layout::from_modes(partition.modes().skip(1))?, offset))
}

/// Every (thread, value) of a partition of the compact tensor whose cell is `cell`.
fn holders(partition: &Layout, cell: i64, cells: i64) -> Result<Vec<Holder>> {
    let threads = partition.need_mode(0)?.size()?;
    let holder = |index: i64| Holder {
        thread: index % threads,
        value: index / threads,
    };
    let (inverse, null) = (right_inverse(partition)?, nullspace(partition)?);
    // When all indices are accounted for, modes of stride 0 are the only repetition.
    let all_found = inverse.size()?.try_mul(&null.size()?)? == partition.size()?;
    let mut out: Vec<Holder> = if inverse.size()? == cells && all_found {
        let first = inverse.at(cell)?;
        let same = null.offsets()?;
        same.map(|x| x.try_add(&first).map(holder))
            .collect::<Result<_>>()?
    } else {
        // Cells are missing or held twice without a stride of 0.
        let all = (0..).zip(partition.offsets()?);
        all.filter(|(_, c)| *c == cell)
            .map(|(i, _)| holder(i))
            .collect()
    };
    out.sort_unstable();
    Ok(out)
}

/// The linear index of a coordinate of a tensor, first mode fastest, and the number of cells.
fn cell_of(shape: &IntTuple<i64>, coord: &IntTuple<i64>) -> Result<(Layout, i64, i64)> {
    let cells = Layout::compact(shape.clone())?;
    let (cell, size) = (cells.at_coord(coord)?, cells.size()?);
    if !(0..size).contains(&cell) {
        return Err(Error::domain(format!(
            "element {coord} of a tensor of shape {shape}"
        )));
    }
    Ok((cells, cell, size))
}

impl TiledMma {
    /// The view of thread `thread`.
    ///
    /// # Errors
    /// [`Error::Domain`] for a thread beyond [`TiledMma::thread_count`].
    pub fn thread(&self, thread: i64) -> Result<ThrMma<'_>> {
        check_thread(thread, self.thread_count()?)?;
        Ok(ThrMma { mma: self, thread })
    }

    /// Which threads hold the element `coord` of an operand tensor of shape `shape`, and as which
    /// of their values: more than one where threads share the operand.
    ///
    /// # Errors
    /// [`Error::Domain`] for an element beyond the shape; as [`TiledMma::partition`].
    pub fn holders(
        &self,
        operand: Operand,
        shape: &IntTuple<i64>,
        coord: &IntTuple<i64>,
    ) -> Result<Vec<Holder>> {
        let (cells, cell, size) = cell_of(shape, coord)?;
        holders(&self.partition(operand, &cells)?, cell, size)
    }
}

impl ThrMma<'_> {
    /// `(FrgV, RestM, RestK, …)` of this thread, and its offset.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn partition<I: Int, D: Stride<I>>(
        &self,
        operand: Operand,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        share(&self.mma.partition(operand, tensor)?, self.thread)
    }

    /// `(FrgV, RestM, RestK, …)` of A.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn partition_a<I: Int, D: Stride<I>>(
        &self,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        self.partition(Operand::A, tensor)
    }

    /// `(FrgV, RestN, RestK, …)` of B.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn partition_b<I: Int, D: Stride<I>>(
        &self,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        self.partition(Operand::B, tensor)
    }

    /// `(FrgV, RestM, RestN, …)` of C.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn partition_c<I: Int, D: Stride<I>>(
        &self,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        self.partition(Operand::C, tensor)
    }

    /// The compact register layout of this thread's share of `tensor`: CuTe's
    /// `partition_fragment`.
    ///
    /// # Errors
    /// As [`TiledMma::partition`]; as [`Layout::compact`].
    pub fn fragment<I: Int, D: Stride<I>>(
        &self,
        operand: Operand,
        tensor: &Layout<I, D>,
    ) -> Result<Layout<I>> {
        Layout::compact(self.partition(operand, tensor)?.0.shape())
    }
}

impl TiledCopy {
    /// The view of thread `thread`.
    ///
    /// # Errors
    /// [`Error::Domain`] for a thread beyond [`TiledCopy::thread_count`].
    pub fn thread(&self, thread: i64) -> Result<ThrCopy<'_>> {
        check_thread(thread, self.thread_count()?)?;
        Ok(ThrCopy { copy: self, thread })
    }

    /// Which threads move the element `coord` of a tensor of shape `shape` on one side of the copy,
    /// and as which of their values.
    ///
    /// # Errors
    /// [`Error::Domain`] for an element beyond the shape; as [`TiledCopy::partition`].
    pub fn holders(
        &self,
        side: Side,
        shape: &IntTuple<i64>,
        coord: &IntTuple<i64>,
    ) -> Result<Vec<Holder>> {
        let (cells, cell, size) = cell_of(shape, coord)?;
        holders(&self.partition(side, &cells)?, cell, size)
    }
}

impl ThrCopy<'_> {
    /// `((atom values, more values), RestM, RestN, …)` of this thread on one side, and its offset.
    ///
    /// # Errors
    /// As [`TiledCopy::partition`].
    pub fn partition<I: Int, D: Stride<I>>(
        &self,
        side: Side,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        share(&self.copy.partition(side, tensor)?, self.thread)
    }

    /// The share of a source tensor.
    ///
    /// # Errors
    /// As [`TiledCopy::partition`].
    pub fn partition_s<I: Int, D: Stride<I>>(
        &self,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        self.partition(Side::Source, tensor)
    }

    /// The share of a destination tensor.
    ///
    /// # Errors
    /// As [`TiledCopy::partition`].
    pub fn partition_d<I: Int, D: Stride<I>>(
        &self,
        tensor: &Layout<I, D>,
    ) -> Result<(Layout<I, D>, D)> {
        self.partition(Side::Destination, tensor)
    }

    /// [`TiledCopy::retile`]: the same for every thread.
    ///
    /// # Errors
    /// As [`TiledCopy::retile`].
    pub fn retile<I: Int, D: Stride<I>>(&self, fragment: &Layout<I, D>) -> Result<Layout<I, D>> {
        self.copy.retile(fragment)
    }
}
