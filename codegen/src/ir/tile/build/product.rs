//! The tiles of a product in registers, and the operations on them.

use std::sync::Arc;

use crate::atoms::model::RegType;
use crate::dtype::DType;
use crate::element::{Element, Packing};
use crate::error::Result;
use crate::ir::tile::build::bug;
use crate::ir::tile::build::tiles::Tiles;
use crate::ir::tile::build::values::FlowTiles;
use crate::ir::tile::{Held, Op, Place, Slice, Stage, Start, TileId, View, WHOLE};
use crate::plan::copies::partition;
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::MmaPlan;
use crate::plan::data::moves::Hop;
use crate::plan::data::values::{Does, Flow, Staged};
use crate::plan::instructions::casts::{cast, zero};
use crate::spec::keys::model::{Operand, OperandId};

/// What a product is made of.
pub(super) struct Product<'p> {
    /// The factors that the MMA has from registers: a, then b of each plane; but for those that it
    /// reads in shared memory.
    pub factors: Vec<Factor>,
    /// The accumulators, of each plane.
    pub acc: Vec<TileId>,
    /// What they begin with.
    pub(super) zero: Arc<Element>,
    /// Accumulators of a thread.
    pub values: usize,
    /// What is computed of them before they are stored.
    pub flow: FlowTiles<'p>,
    /// Its factors among the nodes, with their operands: that of rows, and that of columns.
    pub(super) of: [(usize, OperandId); 2],
}

/// One factor of a product, as it comes through registers.
pub(super) struct Factor {
    /// Its operand.
    pub operand: OperandId,
    /// Its tile in global memory.
    pub gmem: View,
    /// Its tile in shared memory.
    pub(super) smem: TileId,
    /// On its way from global to shared memory, where it passes through registers.
    pub(super) passing: Option<TileId>,
    /// As it comes out of shared memory.
    pub loaded: TileId,
    /// As the MMA takes it.
    pub(super) fragment: TileId,
    /// What makes the one of the other, where they differ.
    pub(super) widen: Option<Arc<Element>>,
}

impl Factor {
    /// A buffer of its tile in shared memory, or a block of it.
    pub fn slot(&self, stage: Stage, block: Option<u32>) -> View {
        View::Smem(self.smem, stage, block)
    }

    /// Its registers on its way from global to shared memory.
    pub fn passing(&self, tiles: &Tiles<'_>) -> Result<View> {
        let missing = || bug(tiles.plan(), "a factor that passes no registers");
        Ok(View::Rmem(self.passing.ok_or_else(missing)?, 0))
    }
}

impl<'p> Product<'p> {
    /// Declares the tiles of the plan's product.
    pub fn declare(tiles: &mut Tiles<'p>, mma: &MmaPlan, flow: &'p Flow) -> Result<Product<'p>> {
        let plan = tiles.plan();
        let of = flow.factors();
        let of = of.ok_or_else(|| bug(plan, "a product of nothing"))?;
        let parts = partition::of_mma(plan, mma)?;
        let facts = mma.atom.mma.as_ref();
        let facts = facts.ok_or_else(|| bug(plan, "an mma without facts"))?;
        let [_, a_type, b_type, acc_type] = facts.types;
        let operands = of.map(|(_, operand)| plan.operand(operand));
        let [of_a, of_b] = &parts.factors;
        let mut sides = vec![
            (operands[0], ("a", a_type), of_a),
            (operands[1], ("b", b_type), of_b),
        ];
        let mut reads = facts.smem.into_iter();
        sides.retain(|_| reads.next() == Some(false));
        let factors = declare_factors(tiles, mma, sides)?;
        let output = plan.output().ok_or_else(|| bug(plan, "no output"))?;
        let ty = mma
            .atom
            .register_type("d")
            .ok_or_else(|| bug(plan, "an mma without d"))?;
        let mut hold = |name: &str, dtype: DType, ty: RegType| {
            let held = Held {
                ty,
                tv: parts.sums.clone(),
                buffers: 1,
            };
            tiles.declare(name, dtype, output, Place::Rmem(held))
        };
        let planes = 0..plan.planes() as usize;
        let acc: Vec<TileId> = planes
            .map(|plane| hold(plan.sum_name(plane), acc_type, ty))
            .collect();
        tiles.cut_rows(&acc, mma.waves)?;
        // Of a factor, what the MMA reads of its first plane.
        let read = of.map(|(_, operand)| {
            let own = factors
                .iter()
                .find(|factor: &&Factor| factor.operand == operand);
            own.map_or_else(
                || tiles.smem_of(operand, None),
                |factor| Ok(factor.fragment),
            )
        });
        let [a, b] = read;
        let read = [a?, b?];
        let of_product = |at: usize| match flow.nodes[at].does {
            Does::Product(_, plane) => acc.get(plane).copied(),
            _ => (of.iter().zip(read)).find_map(|((node, _), tile)| (*node == at).then_some(tile)),
        };
        Ok(Product {
            values: parts.sums.values.len(),
            flow: FlowTiles::declare(tiles, flow, &parts.sums, &of_product)?,
            factors,
            of,
            acc,
            zero: Arc::new(zero(Packing {
                dtype: acc_type,
                ty,
            })),
        })
    }
}

impl Product<'_> {
    /// How its factors come into shared memory.
    pub fn staged(&self) -> Option<&Staged> {
        let [(first, _), _] = self.of;
        self.flow.staged(first)
    }

    /// Sets the accumulators to zero.
    pub fn clear(&self) -> impl Iterator<Item = Op> + '_ {
        self.acc.iter().map(|acc| Op::Map {
            to: View::Rmem(*acc, 0),
            from: Vec::new(),
            element: self.zero.clone(),
            share: WHOLE,
        })
    }

    /// The only tile of what a work tile's trips add up: accumulators, or the sums of parts.
    pub fn total(&self) -> Option<TileId> {
        self.flow.carried().or_else(|| self.acc.first().copied())
    }

    /// Widens the fragments of a buffer to the MMA's types, where they are stored narrower.
    pub fn widen(&self, buffer: u32) -> impl Iterator<Item = Op> + '_ {
        let widens =
            |factor: &Factor| Some((factor.fragment, factor.loaded, factor.widen.clone()?));
        let factors = self.factors.iter().filter_map(widens);
        factors.map(move |(fragment, loaded, element)| Op::Map {
            to: View::Rmem(fragment, buffer),
            from: vec![View::Rmem(loaded, buffer)],
            element,
            share: WHOLE,
        })
    }

    /// Multiplies the fragments of a buffer, or a share of the atoms, plane after plane.
    pub fn multiply(&self, buffer: u32, share: Slice) -> impl Iterator<Item = Op> + '_ {
        let fragment = move |factor: &Factor| View::Rmem(factor.fragment, buffer);
        let (a, planes) = match self.factors.split_first() {
            Some((a, planes)) => (Some(fragment(a)), planes),
            None => (None, &[][..]),
        };
        let planes = self.acc.iter().zip(planes);
        planes.filter_map(move |(acc, b)| {
            Some(Op::Mma {
                acc: vec![*acc],
                a: a?,
                b: fragment(b),
                start: Start::Held,
                share,
            })
        })
    }

    /// What adds up, in a fixed order, what threads have of results.
    pub fn add_up(&self, tiles: &Tiles<'_>) -> Result<Option<Op>> {
        self.flow.add_up(tiles, |_| true)
    }
}

/// A factor, what the MMA calls it and takes it for, and who holds what of it.
type Side<'s> = (&'s Operand, (&'static str, DType), &'s Part<2>);

/// Factors that the MMA has from registers, each of every plane. What is on its way comes before
/// the fragments.
fn declare_factors(
    tiles: &mut Tiles<'_>,
    mma: &MmaPlan,
    sides: Vec<Side<'_>>,
) -> Result<Vec<Factor>> {
    let plan = tiles.plan();
    let (mut planned, mut factors) = (Vec::new(), Vec::new());
    for (operand, value, tv) in sides {
        for plane in plan.planes_of(operand) {
            let passing = passing(tiles, operand, plane)?;
            planned.push((operand, plane, value, tv, passing));
        }
    }
    for (operand, plane, value, tv, passing) in planned {
        let name = plan.tile_name(operand.id, plane);
        let (loaded, fragment, widen) = fragments(tiles, mma, (operand, &name), value, tv)?;
        factors.push(Factor {
            operand: operand.id,
            gmem: tiles.gmem_of(operand.id, plane)?,
            smem: tiles.smem_of(operand.id, plane)?,
            passing,
            loaded,
            fragment,
            widen,
        });
    }
    Ok(factors)
}

/// What passes through registers on its way into shared memory, of that plane where each has its
/// own tile.
fn passing(tiles: &mut Tiles<'_>, operand: &Operand, plane: Option<i64>) -> Result<Option<TileId>> {
    let plan = tiles.plan();
    if plan.step(operand.id, Hop::G2r).is_none() {
        return Ok(None);
    }
    let name = format!("{}_stage", plan.tile_name(operand.id, plane));
    let loaded = tiles.loaded(&name, operand.id, Hop::G2r, false)?;
    Ok(Some(loaded.tile()))
}

/// The fragments of a factor's tile of that name: as they come out of shared memory, as the MMA
/// takes them, and what makes the one of the other, where they differ.
fn fragments(
    tiles: &mut Tiles<'_>,
    mma: &MmaPlan,
    (operand, name): (&Operand, &str),
    (letter, dtype): (&str, DType),
    tv: &Part<2>,
) -> Result<(TileId, TileId, Option<Arc<Element>>)> {
    let plan = tiles.plan();
    let missing = || bug(plan, &format!("an mma without {letter}"));
    let ty = mma.atom.register_type(letter).ok_or_else(missing)?;
    let buffers = match plan.k_blocks() {
        2.. if plan.stages > 1 => 2,
        _ => 1,
    };
    let block = plan.k_block(mma)?;
    let modes: Vec<_> = (operand.axes.iter().map(|axis| axis.mode.clone()))
        .zip(plan.tile_of(operand))
        .enumerate()
        .map(|(axis, (mode, extent))| (mode, if axis == 1 { block } else { extent }))
        .collect();
    let mut hold = |name: &str, dtype: DType, ty: RegType| {
        let held = Held {
            ty,
            tv: tv.clone(),
            buffers,
        };
        tiles.add(name, dtype, modes.clone(), Place::Rmem(held))
    };
    let raw = format!("{name}_raw");
    let stored = (mma.widen.as_ref()).map(|_| hold(&raw, operand.dtype, RegType::B16));
    let fragment = hold(name, dtype, ty);
    let held = |dtype: DType, ty: RegType| Packing { dtype, ty };
    let types = [held(operand.dtype, RegType::B16), held(dtype, ty)];
    let widen = (mma.widen.as_ref()).map(|atom| Arc::new(cast(atom, types)));
    Ok((stored.unwrap_or(fragment), fragment, widen))
}
