//! Matrix-multiply atoms and how a tiled MMA divides tensors among threads.
//!
//! In: an atom (its shape and thread–value layouts), the layout of atoms over (m,n,k),
//! permutations. Out: for a tensor of any stride type,
//! `((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK)))`, or the same with one mode for the thread index.
//! Cell order of an atom: A is `m + M*k`, B is `n + N*k`, C is `m + M*n`.

use crate::basis::Basis;
use crate::composition::composition;
use crate::divide::{logical_divide_by, zipped_divide};
use crate::error::{Error, Result};
use crate::int::{Int, Stride};
use crate::inverse::right_inverse;
use crate::layout::Layout;
use crate::product::tiled_product;
use crate::tiler::Tiler;
use crate::tuple::IntTuple;

/// One matrix-multiply instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MmaAtom {
    /// Extents of the instruction: m, n, k.
    pub mnk: [i64; 3],
    /// Logical thread of the atom → thread index within its group.
    pub thr_id: Layout,
    /// (thread, value) → `m + M*k`.
    pub a_tv: Layout,
    /// (thread, value) → `n + N*k`.
    pub b_tv: Layout,
    /// (thread, value) → `m + M*n`.
    pub c_tv: Layout,
}

/// Which operand of a multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `(M,K)`.
    A,
    /// `(N,K)`.
    B,
    /// `(M,N)`: the accumulator.
    C,
}

impl Operand {
    /// The entries of (m, n, k) that are this operand's rows and columns.
    pub fn modes(self) -> [usize; 2] {
        match self {
            Self::A => [0, 2],
            Self::B => [1, 2],
            Self::C => [0, 1],
        }
    }
}

/// An atom repeated over threads and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiledMma {
    atom: MmaAtom,
    atom_layout_mnk: Layout,
    permutation_mnk: [Tiler; 3],
    /// (ThrV, ThrM, ThrN, ThrK) → thread index.
    threads: Layout,
}

impl TiledMma {
    /// The atom placed on threads by `atom_layout_mnk`, for example `(2,2,1):(1,2,0)`.
    ///
    /// `permutation_mnk` holds a tiler for each of m, n, k that is applied first; `_` stands for
    /// the extent of the atoms side by side, a number for a tile of that extent.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the atom layout has more than three modes or a TV layout is not of
    /// two modes with as many threads as `thr_id`; as [`tiled_product`].
    pub fn new(
        atom: MmaAtom,
        atom_layout_mnk: &Layout,
        permutation_mnk: [Tiler; 3],
    ) -> Result<Self> {
        for (name, tv) in [
            ("a_tv", &atom.a_tv),
            ("b_tv", &atom.b_tv),
            ("c_tv", &atom.c_tv),
        ] {
            let threads = atom.thr_id.size()?;
            if tv.rank() != 2 || tv.need_mode(0)?.size()? != threads {
                return Err(Error::mismatch(format!(
                    "{name} {tv} must be (thread, value) over the {threads} threads of thr_id {}",
                    atom.thr_id
                )));
            }
        }
        let [m, n, k] = atom.mnk;
        for (name, tv, cells) in [
            ("a_tv", &atom.a_tv, m.try_mul(&k)?),
            ("b_tv", &atom.b_tv, n.try_mul(&k)?),
            ("c_tv", &atom.c_tv, m.try_mul(&n)?),
        ] {
            if tv.cosize()? > cells {
                return Err(Error::mismatch(format!(
                    "{name} {tv} reaches cell {}; the atom {m}x{n}x{k} has {cells} cells there",
                    tv.cosize()? - 1
                )));
            }
        }
        let mut modes: Vec<Layout> = atom_layout_mnk.modes().collect();
        if modes.len() > 3 {
            return Err(Error::mismatch(format!(
                "the atom layout {atom_layout_mnk} has {} modes; at most m, n, k are allowed",
                modes.len()
            )));
        }
        modes.resize_with(3, || Layout::from_leaves([]));
        let atom_layout_mnk = Layout::from_modes(modes)?;
        let threads = tiled_product(&atom.thr_id, &Tiler::Layout(atom_layout_mnk.clone()))?;
        Ok(Self {
            atom,
            atom_layout_mnk,
            permutation_mnk,
            threads,
        })
    }

    /// The instruction.
    pub fn atom(&self) -> &MmaAtom {
        &self.atom
    }

    /// The layout of atoms over (m, n, k).
    pub fn atom_layout_mnk(&self) -> &Layout {
        &self.atom_layout_mnk
    }

    /// The permutations of m, n, k.
    pub fn permutation_mnk(&self) -> &[Tiler; 3] {
        &self.permutation_mnk
    }

    /// (ThrV, ThrM, ThrN, ThrK) → thread index.
    pub fn thr_layout_vmnk(&self) -> &Layout {
        &self.threads
    }

    /// Number of threads.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn thread_count(&self) -> Result<i64> {
        self.threads.size()
    }

    /// The extents that one pass of all threads covers, permutations included.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn tile_mnk(&self) -> Result<[i64; 3]> {
        let mut tile = [0; 3];
        for (i, (t, tiler)) in tile.iter_mut().zip(&self.permutation_mnk).enumerate() {
            *t = match tiler {
                Tiler::Keep => self.side_by_side(i)?,
                tiler => tiler_size(tiler)?,
            };
        }
        Ok(tile)
    }

    /// The extent of the atoms side by side along mode `i` of (m, n, k).
    fn side_by_side(&self, i: usize) -> Result<i64> {
        self.atom.mnk[i].try_mul(&self.grid(i)?)
    }

    /// Number of atoms side by side along mode `i` of (m, n, k).
    fn grid(&self, i: usize) -> Result<i64> {
        self.atom_layout_mnk.need_mode(i)?.size()
    }

    /// `((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,…)))` of a tensor whose first two modes are the
    /// operand's; for B read N for M, for C read N for K. Further modes go to the rest.
    ///
    /// # Errors
    /// [`Error::Indivisible`] when the tile does not divide a mode; [`Error::Mismatch`] for a
    /// tensor of fewer than two modes; as [`zipped_divide`] and [`composition`].
    pub fn thrfrg<I: Int, D: Stride<I>>(
        &self,
        operand: Operand,
        tensor: &Layout<I, D>,
    ) -> Result<Layout<I, D>> {
        let [x, y] = operand.modes();
        if tensor.rank() < 2 {
            return Err(Error::mismatch(format!(
                "operand {operand:?} {tensor} needs two modes"
            )));
        }
        let tile = self.tile_mnk()?;
        for (mode, i) in [(0, x), (1, y)] {
            check_divides(operand, mode, &tensor.need_mode(mode)?, tile[i])?;
            check_divides(
                operand,
                mode,
                &Layout::single(tile[i], 1)?,
                self.side_by_side(i)?,
            )?;
        }
        let permutation = Tiler::Modes(vec![
            lift(&self.permutation(x, tile[x])?)?,
            lift(&self.permutation(y, tile[y])?)?,
        ]);
        let permuted = logical_divide_by(tensor, &permutation)?;
        let atom = constants(&[self.atom.mnk[x], self.atom.mnk[y]])?;
        let atoms = zipped_divide(&permuted, &Tiler::tile(&atom)?)?;
        let tv = match operand {
            Operand::A => &self.atom.a_tv,
            Operand::B => &self.atom.b_tv,
            Operand::C => &self.atom.c_tv,
        };
        let cells = composition(&atoms.need_mode(0)?, &lift_layout(tv)?)?;
        let grid = constants(&[self.grid(x)?, self.grid(y)?])?;
        let rest = zipped_divide(&atoms.need_mode(1)?, &Tiler::tile(&grid)?)?;
        Layout::from_modes([
            Layout::from_modes([cells.need_mode(0)?, rest.need_mode(0)?])?,
            Layout::from_modes([cells.need_mode(1)?, rest.need_mode(1)?])?,
        ])
    }

    fn permutation(&self, i: usize, extent: i64) -> Result<Tiler> {
        match &self.permutation_mnk[i] {
            Tiler::Keep => Layout::single(extent, 1).map(Tiler::Layout),
            tiler => Ok(tiler.clone()),
        }
    }

    /// [`TiledMma::thrfrg`] of A: `(M,K,…)`.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`].
    pub fn thrfrg_a<I: Int, D: Stride<I>>(&self, tensor: &Layout<I, D>) -> Result<Layout<I, D>> {
        self.thrfrg(Operand::A, tensor)
    }

    /// [`TiledMma::thrfrg`] of B: `(N,K,…)`.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`].
    pub fn thrfrg_b<I: Int, D: Stride<I>>(&self, tensor: &Layout<I, D>) -> Result<Layout<I, D>> {
        self.thrfrg(Operand::B, tensor)
    }

    /// [`TiledMma::thrfrg`] of C: `(M,N,…)`.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`].
    pub fn thrfrg_c<I: Int, D: Stride<I>>(&self, tensor: &Layout<I, D>) -> Result<Layout<I, D>> {
        self.thrfrg(Operand::C, tensor)
    }

    /// `(thread, FrgV, RestM, RestK, …)`: the share of every thread, its index first.
    ///
    /// Threads that hold the same cells, such as the warps along n for A, meet stride 0.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`]; [`Error::Domain`] when thread indices have gaps.
    pub fn partition<I: Int, D: Stride<I>>(
        &self,
        operand: Operand,
        tensor: &Layout<I, D>,
    ) -> Result<Layout<I, D>> {
        let shares = self.thrfrg(operand, tensor)?;
        let (threads, values) = (shares.need_mode(0)?, shares.need_mode(1)?);
        let grid = threads.need_mode(1)?;
        let mut vmnk = vec![threads.need_mode(0)?];
        for i in 0..3 {
            vmnk.push(match operand.modes().iter().position(|&mode| mode == i) {
                Some(at) => grid.need_mode(at)?,
                None => Layout::single(I::constant(self.grid(i)?), D::default())?,
            });
        }
        let place = right_inverse(&self.threads)?;
        if place.size()? != self.threads.size()? {
            return Err(Error::domain(format!(
                "the thread indices {} have gaps: the atom layout must fill the groups of {}",
                self.threads, self.atom.thr_id
            )));
        }
        let thread = composition(&Layout::from_modes(vmnk)?, &lift_layout(&place)?)?;
        let rest = values.need_mode(1)?;
        let head = [thread, values.need_mode(0)?];
        Layout::from_modes(head.into_iter().chain(rest.modes()))
    }

    /// (thread, FrgV, RestM, RestK) → (m, k) within the tile.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn tv(&self, operand: Operand) -> Result<Layout<i64, Basis<i64>>> {
        self.partition(operand, &Layout::identity(self.tile(operand)?)?)
    }

    /// (thread, value) → coordinates (m, k) of the A tile.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn tv_a(&self) -> Result<Layout<i64, Basis<i64>>> {
        self.tv(Operand::A)
    }

    /// (thread, value) → coordinates (n, k) of the B tile.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn tv_b(&self) -> Result<Layout<i64, Basis<i64>>> {
        self.tv(Operand::B)
    }

    /// (thread, value) → coordinates (m, n) of the C tile.
    ///
    /// # Errors
    /// As [`TiledMma::partition`].
    pub fn tv_c(&self) -> Result<Layout<i64, Basis<i64>>> {
        self.tv(Operand::C)
    }

    /// The tile shape of an operand.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn tile(&self, operand: Operand) -> Result<IntTuple<i64>> {
        let tile = self.tile_mnk()?;
        Ok(IntTuple::flat(operand.modes().map(|i| tile[i])))
    }
}

fn check_divides<I: Int, D: Stride<I>>(
    operand: Operand,
    mode: usize,
    layout: &Layout<I, D>,
    tile: i64,
) -> Result<()> {
    let size = layout.size()?;
    let (_, rest) = size.div_rem(&I::constant(tile))?;
    if rest.is(0) {
        return Ok(());
    }
    Err(Error::Indivisible {
        what: format!("mode {mode} of operand {operand:?}"),
        size: size.to_string(),
        by: tile.to_string(),
    })
}

/// The number of cells a tiler picks.
pub(crate) fn tiler_size(tiler: &Tiler) -> Result<i64> {
    match tiler {
        Tiler::Keep => Ok(1),
        Tiler::Layout(l) => l.size(),
        Tiler::Modes(m) => m.iter().try_fold(1i64, |p, t| p.try_mul(&tiler_size(t)?)),
    }
}

fn constants<I: Int>(values: &[i64]) -> Result<Vec<I>> {
    Ok(values.iter().map(|&v| I::constant(v)).collect())
}

/// A tile layout over the integer of the tensor.
pub(crate) fn lift_layout<I: Int>(layout: &Layout) -> Result<Layout<I>> {
    layout.map(|&x| Ok(I::constant(x)))
}

/// A tiler over the integer of the tensor.
pub(crate) fn lift<I: Int>(tiler: &Tiler) -> Result<Tiler<I>> {
    Ok(match tiler {
        Tiler::Keep => Tiler::Keep,
        Tiler::Layout(l) => Tiler::Layout(lift_layout(l)?),
        Tiler::Modes(m) => Tiler::Modes(m.iter().map(lift).collect::<Result<_>>()?),
    })
}
