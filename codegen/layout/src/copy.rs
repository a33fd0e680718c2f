//! Copy atoms and how a tiled copy divides tensors among threads.
//!
//! In: an atom (which thread holds which element, at the source, at the destination, and in the
//! reference both are written in), and the (thread, value) layout of a tile. Out: for a tensor of
//! any stride type, `(thread, (atom values, more values), RestM, RestN, …)`.

use crate::basis::Basis;
use crate::composition::composition;
use crate::divide::zipped_divide;
use crate::edit::zip_modes;
use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::inverse::right_inverse;
use crate::layout::Layout;
use crate::mma::{Operand, TiledMma, lift, lift_layout, tiler_size};
use crate::product::{logical_product, raked_product};
use crate::recast::upcast;
use crate::simplify::coalesce;
use crate::tiler::Tiler;
use crate::tuple::IntTuple;

/// One copy instruction; its layouts count elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyAtom {
    /// Logical thread of the atom → thread index within its group.
    pub thr_id: Layout,
    /// (thread, value) → element, as the source is read.
    pub src_tv: Layout,
    /// (thread, value) → element, as the destination is written.
    pub dst_tv: Layout,
    /// (thread, value) → element, the one of the two that the tiled copy is described in.
    pub ref_tv: Layout,
}

impl CopyAtom {
    /// The atom whose layouts count bits, for elements of `elem_bits`.
    ///
    /// # Errors
    /// [`Error::Indivisible`] when an element does not fit the pieces the atom moves.
    pub fn from_bits(
        thr_id: Layout,
        src_bits: &Layout,
        dst_bits: &Layout,
        ref_bits: &Layout,
        elem_bits: i64,
    ) -> Result<Self> {
        let in_elems = |bits: &Layout| {
            let elems = upcast(bits, &elem_bits)?;
            // An element wider than a thread's piece would put several threads on one element.
            let (before, after) = (bits.need_mode(0)?.size()?, elems.need_mode(0)?.size()?);
            if after != before {
                return Err(Error::Indivisible {
                    what: format!("the bits of a thread in {bits}"),
                    size: bits.need_mode(1)?.size()?.to_string(),
                    by: elem_bits.to_string(),
                });
            }
            Ok(elems)
        };
        let (src_tv, dst_tv) = (in_elems(src_bits)?, in_elems(dst_bits)?);
        let ref_tv = in_elems(ref_bits)?;
        Ok(Self {
            thr_id,
            src_tv,
            dst_tv,
            ref_tv,
        })
    }

    /// The atom of one thread that moves `elems` consecutive elements.
    ///
    /// # Errors
    /// [`Error::Domain`] when `elems` is below 1.
    pub fn vector(elems: i64) -> Result<Self> {
        let tv = Layout::flat(&[1, elems], &[0, 1])?;
        let thr_id = Layout::single(1, 0)?;
        Ok(Self {
            thr_id,
            src_tv: tv.clone(),
            dst_tv: tv.clone(),
            ref_tv: tv,
        })
    }
}

/// Which side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where elements are read.
    Source,
    /// Where elements are written.
    Destination,
}

/// A copy atom repeated over the threads and values of a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiledCopy {
    atom: CopyAtom,
    tv: Layout,
    tiler: Tiler,
}

/// The copy in which `thr_layout` says where threads lie and `val_layout` what each of them holds
/// side by side: threads `(4,8):(8,1)` with values `(1,8)` copy a 4×64 tile.
///
/// # Errors
/// [`Error::Domain`] when threads and values do not cover their tile exactly; as
/// [`TiledCopy::new`].
pub fn make_tiled_copy(
    atom: CopyAtom,
    thr_layout: &Layout,
    val_layout: &Layout,
) -> Result<TiledCopy> {
    let cells = raked_product(thr_layout, val_layout)?;
    let (threads, values) = (thr_layout.size()?, val_layout.size()?);
    let inverse = right_inverse(&cells)?;
    if inverse.size()? != cells.size()? {
        return Err(Error::domain(format!(
            "threads {thr_layout} and values {val_layout} must number the cells of their tile \
             0 to {} without gaps",
            cells.size()? - 1
        )));
    }
    let tv = composition(
        &inverse,
        &Layout::compact(IntTuple::flat([threads, values]))?,
    )?;
    let extents: Vec<i64> = cells.modes().map(|m| m.size()).collect::<Result<_>>()?;
    TiledCopy::new(atom, tv, Tiler::tile(&extents)?)
}

/// The copy whose values are those of an operand of an MMA, for example `ldmatrix` before it.
///
/// # Errors
/// As [`TiledMma::partition`] and [`TiledCopy::new`].
pub fn make_tiled_copy_for(atom: CopyAtom, mma: &TiledMma, operand: Operand) -> Result<TiledCopy> {
    let tile = mma.tile(operand)?;
    let shares = mma.partition(operand, &Layout::compact(tile.clone())?)?;
    let values = Layout::from_modes(shares.modes().skip(1))?;
    let tv = Layout::from_modes([shares.need_mode(0)?, values])?;
    TiledCopy::new(atom, tv, Tiler::by_shape(&tile)?)
}

/// [`make_tiled_copy_for`] the A operand.
///
/// # Errors
/// As [`make_tiled_copy_for`].
pub fn make_tiled_copy_a(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy> {
    make_tiled_copy_for(atom, mma, Operand::A)
}

/// [`make_tiled_copy_for`] the B operand.
///
/// # Errors
/// As [`make_tiled_copy_for`].
pub fn make_tiled_copy_b(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy> {
    make_tiled_copy_for(atom, mma, Operand::B)
}

/// [`make_tiled_copy_for`] the accumulator.
///
/// # Errors
/// As [`make_tiled_copy_for`].
pub fn make_tiled_copy_c(atom: CopyAtom, mma: &TiledMma) -> Result<TiledCopy> {
    make_tiled_copy_for(atom, mma, Operand::C)
}

impl TiledCopy {
    /// The copy with (thread, value) → cell of the tile that `tiler` picks.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `tv` is not of two modes; [`Error::Indivisible`] when the atom's
    /// threads or values do not divide them.
    pub fn new(atom: CopyAtom, tv: Layout, tiler: Tiler) -> Result<Self> {
        if tv.rank() != 2 {
            return Err(Error::mismatch(format!(
                "{tv} must be (thread, value): two modes"
            )));
        }
        for (i, what) in [(0, "the threads of a tiled copy"), (1, "its values")] {
            let (size, by) = (tv.need_mode(i)?.size()?, atom.ref_tv.need_mode(i)?.size()?);
            if size % by != 0 {
                let (size, by) = (size.to_string(), by.to_string());
                return Err(Error::Indivisible {
                    what: what.into(),
                    size,
                    by,
                });
            }
        }
        let copy = Self { atom, tv, tiler };
        let cells = copy
            .tile_shape()?
            .leaves()
            .iter()
            .try_fold(1i64, |p, s| p.try_mul(s))?;
        if copy.tv.cosize()? > cells {
            return Err(Error::mismatch(format!(
                "{} reaches cell {}; the tile {} has {cells} cells",
                copy.tv,
                copy.tv.cosize()? - 1,
                copy.tiler
            )));
        }
        Ok(copy)
    }

    /// The instruction.
    pub fn atom(&self) -> &CopyAtom {
        &self.atom
    }

    /// (thread, value) → cell of the tile, first mode fastest.
    pub fn tv(&self) -> &Layout {
        &self.tv
    }

    /// What picks the tile.
    pub fn tiler(&self) -> &Tiler {
        &self.tiler
    }

    /// Number of threads.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn thread_count(&self) -> Result<i64> {
        self.tv.need_mode(0)?.size()
    }

    /// Extents of the tile, one for each mode.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn tile_shape(&self) -> Result<IntTuple<i64>> {
        let extents: Vec<i64> = match &self.tiler {
            Tiler::Modes(modes) => modes.iter().map(tiler_size).collect::<Result<_>>()?,
            tiler => vec![tiler_size(tiler)?],
        };
        Ok(IntTuple::flat(extents))
    }

    /// ((thread), (atom values, more values)) → cell of the tile, as one side sees it.
    ///
    /// # Errors
    /// As [`composition`].
    pub fn tv_of(&self, side: Side) -> Result<Layout> {
        let atom_tv = match side {
            Side::Source => &self.atom.src_tv,
            Side::Destination => &self.atom.dst_tv,
        };
        let reference = &self.atom.ref_tv;
        let to_reference = composition(&right_inverse(reference)?, atom_tv)?;
        let sizes = [
            reference.need_mode(0)?.size()?,
            reference.need_mode(1)?.size()?,
        ];
        let atoms = zipped_divide(&self.tv, &Tiler::tile(&sizes)?)?;
        let cells = composition(&atoms.need_mode(0)?, &to_reference)?;
        let pairs = zip_modes(&Layout::from_modes([cells, atoms.need_mode(1)?])?)?;
        let values = pairs.need_mode(1)?;
        let values = Layout::from_modes([
            coalesce(&values.need_mode(0)?)?,
            coalesce(&values.need_mode(1)?)?,
        ])?;
        Layout::from_modes([coalesce(&pairs.need_mode(0)?)?, values])
    }

    /// `(thread, (atom values, more values), RestM, RestN, …)` of a source tensor.
    ///
    /// # Errors
    /// As [`TiledCopy::partition`].
    pub fn partition_s<I: Int, D: Stride<I>>(&self, tensor: &Layout<I, D>) -> Result<Layout<I, D>> {
        self.partition(Side::Source, tensor)
    }

    /// `(thread, (atom values, more values), RestM, RestN, …)` of a destination tensor.
    ///
    /// # Errors
    /// As [`TiledCopy::partition`].
    pub fn partition_d<I: Int, D: Stride<I>>(&self, tensor: &Layout<I, D>) -> Result<Layout<I, D>> {
        self.partition(Side::Destination, tensor)
    }

    /// The share of every thread, its index first, as one side of the copy sees it.
    ///
    /// # Errors
    /// [`Error::Indivisible`] when the tile does not divide a mode of the tensor; as
    /// [`zipped_divide`] and [`composition`].
    pub fn partition<I: Int, D: Stride<I>>(
        &self,
        side: Side,
        tensor: &Layout<I, D>,
    ) -> Result<Layout<I, D>> {
        for (i, (tile, mode)) in self
            .tile_shape()?
            .leaves()
            .iter()
            .zip(tensor.modes())
            .enumerate()
        {
            let size = mode.size()?;
            if !size.div_rem(&I::constant(*tile))?.1.is(0) {
                let what = format!("mode {i} of {tensor} by a tiled copy");
                let (size, by) = (size.to_string(), tile.to_string());
                return Err(Error::Indivisible { what, size, by });
            }
        }
        let tiles = zipped_divide(tensor, &lift(&self.tiler)?)?;
        let shares = composition(&tiles.need_mode(0)?, &lift_layout(&self.tv_of(side)?)?)?;
        let rest = tiles.need_mode(1)?;
        let head = [shares.need_mode(0)?, shares.need_mode(1)?];
        Layout::from_modes(head.into_iter().chain(rest.modes()))
    }

    /// (thread, (atom values, more values)) → coordinates in the tile, as one side sees it.
    ///
    /// # Errors
    /// As [`TiledCopy::partition`].
    pub fn coords_of(&self, side: Side) -> Result<Layout<i64, Basis<i64>>> {
        let tile = composition(&Layout::identity(self.tile_shape()?)?, &self.tv_of(side)?)?;
        Ok(tile)
    }

    /// The fragment of one thread, `(V, M, N, …)` as an MMA holds it, as the values of this copy:
    /// `((atom values, more values), RestM, RestN, …)`.
    ///
    /// The first `V` values of the copy's TV layout must be the first mode of the fragment, which
    /// holds for a copy made by [`make_tiled_copy_for`] the same MMA and operand.
    ///
    /// # Errors
    /// [`Error::Indivisible`] when fragment and copy do not fit; as [`zipped_divide`].
    pub fn retile<I: Int, D: Stride<I>>(&self, fragment: &Layout<I, D>) -> Result<Layout<I, D>> {
        let first = fragment.need_mode(0)?.size()?;
        let Some(v) = first.as_i64() else {
            return Err(Error::domain(format!(
                "a fragment of {first} values: use a constant"
            )));
        };
        // (m,n) → block of V values that holds the cell.
        let cells = Layout::compact(self.tile_shape()?)?;
        let owner = composition(&right_inverse(&self.tv)?, &cells)?;
        let blocks = upcast(&owner, &self.thread_count()?.try_mul(&v)?)?;
        let order = logical_product(&Layout::single(v, 1)?, &right_inverse(&blocks)?)?;
        let atom_values = self.atom.ref_tv.need_mode(1)?.size()?;
        let values = zipped_divide(&order, &Tiler::Layout(Layout::single(atom_values, 1)?))?;
        let mut tile = vec![first];
        for mode in blocks.modes() {
            tile.push(I::constant(mode.size()?));
        }
        let tiles = zipped_divide(fragment, &Tiler::tile(&tile)?)?;
        let values = composition(&tiles.need_mode(0)?, &lift_layout(&values)?)?;
        let rest = tiles.need_mode(1)?;
        Layout::from_modes(std::iter::once(values).chain(rest.modes().skip(1)))
    }
}
