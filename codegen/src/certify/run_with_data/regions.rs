//! Which elements of a tile an operation takes, of those that a member's threads have.

use std::collections::HashMap;
use std::rc::Rc;

use super::grid::Run;
use crate::error::Error;
use crate::ir::tile::{Kernel, Place, Slice, TileId, WHOLE};
use crate::plan::copies::partition::{self, Partition};
use crate::plan::copies::thread_digits::Part;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxPlace, Hop};
use crate::plan::work_tiles::SUMMED;

/// Threads of a warpgroup, which is a member of a team.
const MEMBER: i64 = crate::arch::WARPGROUP as i64;

/// What is asked of a member's threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    /// A share of a tiled copy, or of its elements in a block.
    Copy(usize, [u32; 2], Option<u32>),
    /// A share of what they hold of a tile in registers.
    Held(TileId, [u32; 2]),
    /// A share of the rows of atoms of accumulators.
    Products(TileId, [u32; 2]),
}

/// Where threads are, the values of each that are asked for, and the extents of the tile.
type Elements = (Part<2>, Vec<[i64; 2]>, [i64; 2]);

/// Elements of tiles, by what was asked.
pub(super) struct Regions<'k> {
    plan: &'k Plan,
    kernel: &'k Kernel,
    known: HashMap<(Asked, u32), Rc<[Run]>>,
    /// Of each tiled copy.
    partitions: Vec<Partition>,
}

impl<'k> Regions<'k> {
    pub fn new(plan: &'k Plan, kernel: &'k Kernel) -> Result<Regions<'k>, String> {
        let partitions = plan.steps.iter().map(partition::of_step);
        let partitions = partitions.collect::<Result<_, _>>();
        Ok(Regions {
            plan,
            kernel,
            known: HashMap::new(),
            partitions: partitions.map_err(|error: Error| error.to_string())?,
        })
    }

    /// Elements that a tiled copy moves: a share of its atoms, those of one block where it has one.
    pub fn of_copy(
        &mut self,
        number: usize,
        share: Slice,
        block: Option<u32>,
        member: u32,
    ) -> Result<Rc<[Run]>, String> {
        let asked = Asked::Copy(number, [share.0, share.1], block);
        self.asked((asked, member), |plan, _, partitions| {
            let step = plan.steps.get(number).zip(partitions.get(number));
            let (step, parts) = step.ok_or_else(|| format!("there is no tiled copy {number}"))?;
            // What lanes hold shows at the registers.
            let (part, each) = match step.hop {
                Hop::R2s | Hop::R2g => (&parts.src, parts.src_values),
                Hop::G2s | Hop::G2r | Hop::G2rLast | Hop::S2r | Hop::S2g => {
                    (&parts.dst, parts.dst_values)
                }
            };
            let mut values = Vec::new();
            for instance in share.of(parts.instances()) {
                let first = parts.dst.values.get(instance * parts.dst_values);
                let first = first.ok_or("a tiled copy of no values")?;
                if block.is_none_or(|block| block_of(plan, step.hop, *first) == Some(block)) {
                    values.extend_from_slice(&part.values[instance * each..(instance + 1) * each]);
                }
            }
            let keeps = step.keeps();
            let shape = [0, 1].map(|at| if keeps[at] { step.tile[at] } else { 1 });
            Ok((part.clone(), values, shape))
        })
    }

    /// Elements that a share of a member's registers of a tile holds.
    pub fn of_registers(
        &mut self,
        tile: TileId,
        share: Slice,
        member: u32,
    ) -> Result<Rc<[Run]>, String> {
        let asked = Asked::Held(tile, [share.0, share.1]);
        self.asked((asked, member), |_, kernel, _| {
            let (part, shape) = held(kernel, tile)?;
            let values = part.values[share.of(part.values.len())].to_vec();
            Ok((part.clone(), values, shape))
        })
    }

    /// Elements of accumulators that a share of a member's products is of.
    pub fn of_products(
        &mut self,
        acc: TileId,
        share: Slice,
        member: u32,
    ) -> Result<Rc<[Run]>, String> {
        if share == WHOLE {
            return self.of_registers(acc, WHOLE, member);
        }
        let asked = Asked::Products(acc, [share.0, share.1]);
        self.asked((asked, member), |plan, kernel, _| {
            let (part, shape) = held(kernel, acc)?;
            let mma = plan.mma.as_ref().ok_or("products without an mma")?;
            let atoms = |mode: usize| {
                let side_by_side = mma.tiled.atom_layout_mnk().mode(mode);
                let side_by_side = side_by_side.and_then(|mode| mode.size().ok()).unwrap_or(1);
                (shape[mode] / (mma.tiled.atom().mnk[mode] * side_by_side)).max(1) as usize
            };
            let (rows, columns) = (atoms(0), atoms(1));
            let each = part.values.len() / (rows * columns);
            let taken = share.of(rows);
            let atoms = part.values.chunks(each.max(1)).enumerate();
            let atoms = atoms.filter(|(number, _)| taken.contains(&(number % rows)));
            let values = atoms.flat_map(|(_, values)| values).copied().collect();
            Ok((part.clone(), values, shape))
        })
    }

    fn asked(
        &mut self,
        key: (Asked, u32),
        find: impl FnOnce(&Plan, &Kernel, &[Partition]) -> Result<Elements, String>,
    ) -> Result<Rc<[Run]>, String> {
        if let Some(runs) = self.known.get(&key) {
            return Ok(runs.clone());
        }
        let (part, values, shape) = find(self.plan, self.kernel, &self.partitions)?;
        let threads = match &self.plan.roles {
            Some(_) => i64::from(key.1) * MEMBER..i64::from(key.1 + 1) * MEMBER,
            None => 0..i64::from(self.plan.threads),
        };
        let runs: Rc<[Run]> = runs(&part, &values, threads, shape)?.into();
        self.known.insert(key, runs.clone());
        Ok(runs)
    }
}

/// What threads hold of a tile in registers.
fn held(kernel: &Kernel, id: TileId) -> Result<(&Part<2>, [i64; 2]), String> {
    let tile = kernel.tiles.get(id.0);
    let tile = tile.ok_or_else(|| format!("there is no tile {}", id.0))?;
    match (&tile.place, tile.modes.as_slice()) {
        (Place::Rmem(held), [(_, rows), (_, columns)]) => Ok((&held.tv, [*rows, *columns])),
        _ => Err(format!("{} is no matrix in registers", tile.name)),
    }
}

/// Which block of a copy an element is in: of a store's boxes, or of the k-blocks of a product.
fn block_of(plan: &Plan, hop: Hop, [row, column]: [i64; 2]) -> Option<u32> {
    let store = plan.roles.as_ref().and_then(|roles| roles.store.as_ref());
    match (store, hop) {
        (Some(store), Hop::R2s) => {
            let inside = |place: &BoxPlace| {
                let rest = [row - place.coord[0], column - place.coord[1]];
                (0..2).all(|axis| (0..store.box_extents[axis]).contains(&rest[axis]))
            };
            let number = store.places.iter().position(inside)?;
            u32::try_from(number).ok()
        }
        _ => {
            let k = plan.work.dims.get(SUMMED)?.extent();
            u32::try_from(column / (k / i64::from(plan.k_blocks().max(1)))).ok()
        }
    }
}

/// The elements of some threads, each once, in runs along the rows of a tile.
fn runs(
    part: &Part<2>,
    values: &[[i64; 2]],
    threads: std::ops::Range<i64>,
    [rows, columns]: [i64; 2],
) -> Result<Vec<Run>, String> {
    let mut taken = vec![false; (rows * columns) as usize];
    for thread in threads {
        let [row, column] = part.base(thread);
        for value in values {
            let (row, column) = (row + value[0], column + value[1]);
            if row < 0 || row >= rows || column < 0 || column >= columns {
                return Err(format!(
                    "thread {thread} reaches ({row},{column}) outside ({rows},{columns})"
                ));
            }
            taken[(row * columns + column) as usize] = true;
        }
    }
    let mut runs = Vec::new();
    for (row, line) in taken.chunks(columns.max(1) as usize).enumerate() {
        let mut column = 0;
        for group in line.chunk_by(|one, next| one == next) {
            if group.first() == Some(&true) {
                runs.push(Run {
                    at: [row as i64, column],
                    len: group.len(),
                });
            }
            column += group.len() as i64;
        }
    }
    Ok(runs)
}
