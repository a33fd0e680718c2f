//! Tile IR to thread program: who does what, at which address.
//!
//! Every partition comes from the layout algebra (`crate::plan::copies::partition`); this stage
//! turns its numbers into address expressions, registers and predicates. Loads past an edge give
//! zeros, stores past it do not happen.
//!
//! - `builder`: the program as it grows
//! - `threads`: copies, fragments, MMAs, maps
//! - `reduce`: folds and sums across threads, warps and CTAs
//! - `warps`: who does what in warp-specialized kernels
//! - `work`: the loop over work tiles

mod builder;
pub mod threads;
mod reduce;
mod warps;
mod work;

use std::collections::BTreeMap;

use crate::atoms::model::Atom;
use crate::atoms::sync::SyncFacts;
use crate::error::{Error, Result};
use crate::ir::thread::expr::{add, eq, int, le, long, mul, rem, select, sub};
use crate::ir::thread::program::{Arg, Expr, IntType, Program, Stmt, VarId};
use crate::ir::tile::{Kernel, Op, Place, Start, TileId, View};
use crate::plan::copies::partition::{self, Partition};
use crate::plan::data::arena::Holds;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::SmemTile;
use crate::plan::data::teams::Team;
use crate::plan::work_tiles::{Dim, SUMMED};
use crate::spec::keys::model::Operand;
use std::sync::Arc;

use crate::lower::threads::address::State;
use crate::lower::threads::fragment::Fragment;
use crate::lower::warps::RoleState;
use crate::lower::work::cluster_parts::OfTile;
use crate::plan::work_tiles::spans::Part;
use builder::Builder;

/// Lowers a kernel of that plan.
///
/// # Errors
/// [`Error::Bug`] when the plan's partitions contradict one another.
pub fn lower(plan: &Plan, kernel: &Kernel) -> Result<Program> {
    let mut lowering = Lowering::new(plan, kernel)?;
    let statements = lowering.ops(&kernel.body)?;
    let mut body = lowering.builder.end_section();
    body.extend(statements);
    Ok(lowering.builder.finish(body))
}

struct Lowering<'p> {
    plan: &'p Plan,
    builder: Builder,
    state: State,
    kernel: &'p Kernel,
    /// Of each tiled copy of the plan.
    partitions: Vec<Partition>,
    /// Of each tile in registers.
    fragments: BTreeMap<TileId, Fragment>,
    role_state: Option<RoleState>,
    /// The part of an output tile that is being made, where tiles are cut along k.
    part: Option<Part<Expr>>,
    /// How many parts that tile has, where a cluster makes them.
    parts_of_tile: Option<OfTile>,
    /// Registers of values on their way.
    temps: threads::element::Temps,
    team: Option<Team>,
    /// Number of the tile operation that was begun last.
    last_op: u32,
}

impl<'p> Lowering<'p> {
    fn new(plan: &'p Plan, kernel: &'p Kernel) -> Result<Lowering<'p>> {
        let mut builder = Builder::new(plan);
        let state = start_state(&mut builder, plan);
        let partitions = plan.steps.iter().map(partition::of_step);
        let mut lowering = Lowering {
            plan,
            builder,
            state,
            kernel,
            partitions: partitions.collect::<Result<_>>()?,
            fragments: BTreeMap::new(),
            role_state: None,
            part: None,
            parts_of_tile: None,
            temps: threads::element::Temps::default(),
            team: None,
            last_op: 0,
        };
        lowering.declare_fragments();
        Ok(lowering)
    }

    fn ops(&mut self, ops: &[Op]) -> Result<Vec<Stmt>> {
        let mut statements = Vec::new();
        for op in ops {
            self.last_op = self.builder.next_op(self.last_op);
            let number = self.last_op;
            let lowered = self.op(op)?;
            self.builder.resume_op(number);
            if !lowered.is_empty() {
                statements.push(Stmt::From(number));
                statements.extend(lowered);
            }
        }
        Ok(statements)
    }

    fn op(&mut self, op: &Op) -> Result<Vec<Stmt>> {
        Ok(match op {
            Op::ForEachWorkTile(body) => self.for_each_work_tile(body)?,
            Op::Copy {
                from,
                to,
                by,
                bounds,
                share,
            } => self.copy(*by, [*from, *to], *bounds, *share)?,
            Op::Map {
                to,
                from,
                element,
                share,
            } => self.map_tile(*to, from, element, *share)?,
            Op::Fold {
                to,
                from,
                by,
                bounds,
                share,
            } => self.fold([*from, *to], *by, (*bounds, *share))?,
            Op::Accumulate {
                to,
                from,
                by,
                bounds,
            } => self.accumulate(*to, *from, *by, *bounds)?,
            Op::Combine {
                to,
                from,
                held,
                by,
                how,
                bounds,
                share,
            } => self.combine_with(*to, [*from, *held], (*by, *how), (*bounds, *share))?,
            Op::AddUp(sums) => self.add_up(sums)?,
            Op::ForEachChunk(order, whole, rest) => self.for_each_chunk(*order, whole, rest)?,
            Op::Mma {
                acc,
                a,
                b,
                start,
                share,
            } => match (a, b, start) {
                (_, View::Smem(b, ..), _) => self.mma_of_slot(acc, (*a, *b), (*start, *share))?,
                (_, _, Start::Held) => match acc[..] {
                    [acc] => self.mma(acc, [*a, *b], *share)?,
                    _ => {
                        let message = "products of registers have accumulators of one tile";
                        return Err(bug(self.plan, message.to_string()));
                    }
                },
                (_, _, Start::FirstTrip | Start::EveryTrip) => {
                    let message = "products of registers begin at what accumulators hold";
                    return Err(bug(self.plan, message.to_string()));
                }
            },
            Op::Sync(sync) => self.synchronize(*sync)?,
            Op::NextTile => self.next_tile()?,
            Op::ForEachKTile(body) => vec![self.for_each_k_tile(body)?],
            Op::IfInside(inside, edge) => {
                let [then, otherwise] = match self.role_state {
                    Some(_) => [self.branch(inside)?, self.branch(edge)?],
                    None => [self.ops_inside(inside)?, self.ops(edge)?],
                };
                vec![Stmt::If {
                    cond: self.inside()?,
                    then,
                    otherwise,
                }]
            }
            Op::IfVectors(whole, edge) => {
                let (then, otherwise) = (self.ops(whole)?, self.ops(edge)?);
                vec![Stmt::If {
                    cond: self.ends_with_a_vector()?,
                    then,
                    otherwise,
                }]
            }
            of_roles => self.role_op(of_roles)?,
        })
    }

    /// One call of the plan's atom that does this, with arguments by the names of its operands.
    fn sync<const N: usize>(
        &self,
        facts: impl Into<SyncFacts>,
        args: [(&str, Arg); N],
    ) -> Result<Vec<Stmt>> {
        let facts = facts.into();
        let atom = self.plan.sync.get(&facts);
        let atom =
            atom.ok_or_else(|| bug(self.plan, format!("no atom that {facts} is planned")))?;
        let args = atom.operands.iter().map(|operand| {
            let given = args.iter().find(|(name, _)| *name == operand.name);
            let given = given.map(|(_, arg)| arg.clone());
            given.ok_or_else(|| {
                let message = format!("{} has an operand {}", atom.id, operand.name);
                bug(self.plan, message)
            })
        });
        Ok(vec![call(atom, args.collect::<Result<_>>()?)])
    }

    fn for_each_k_tile(&mut self, body: &[Op]) -> Result<Stmt> {
        let tiles = self.trips()?;
        let var = self.builder.var("k_tile", IntType::I32, false);
        self.set_trip(Expr::Var(var));
        let body = match self.kernel.work.part() {
            // What is reckoned of the part that a trip is at is reckoned in the trip.
            Some(_) => {
                let first = self.state.clone();
                let part = self.k_tile()?;
                self.state.outer.pop();
                self.state.outer.push(part);
                let body = self.branch(body)?;
                self.state = first;
                body
            }
            None => self.ops(body)?,
        };
        self.set_trip(int(0));
        Ok(Stmt::For {
            var,
            from: int(0),
            to: tiles,
            step: int(1),
            body,
        })
    }

    fn next_tile(&mut self) -> Result<Vec<Stmt>> {
        let step = self.tile_k()?;
        let State {
            k_start, k_left, ..
        } = self.state;
        let statements = vec![
            Stmt::Assign(k_start, add(Expr::Var(k_start), long(step))),
            Stmt::Assign(k_left, sub(Expr::Var(k_left), int(step))),
        ];
        Ok(statements)
    }

    fn next_buffer(&self, state: VarId) -> Stmt {
        let stages = self.plan.arena.find(Holds::Slots(0));
        let stage = stages.map_or(0, |stages| i64::from(stages.each));
        let last = stage * (i64::from(self.plan.stages) - 1);
        let next = add(Expr::Var(state), int(stage));
        Stmt::Assign(state, select(le(int(last), Expr::Var(state)), int(0), next))
    }

    /// Whether the CTA's whole output tile is inside the output.
    fn inside(&mut self) -> Result<Expr> {
        let mut inside = None;
        for (mode, tile) in self.state.tile.clone().into_iter().enumerate() {
            let extent = self.plan.extent(mode);
            // A tile begins inside; chunks have their own edges.
            if extent == 1 || self.plan.work.chunked() == Some(mode) {
                continue;
            }
            let end = self.extent(mode)?;
            let start = self.builder.hoist("start", mul(tile, int(extent)));
            let rest = self.builder.hoist("rest", sub(end, start));
            let fits = le(int(extent), rest);
            inside = Some(match inside {
                None => fits,
                Some(other) => crate::ir::thread::expr::and(other, fits),
            });
        }
        Ok(inside.unwrap_or(Expr::Int(1, IntType::I1)))
    }

    /// Whether the problem ends where vectors do.
    fn ends_with_a_vector(&mut self) -> Result<Expr> {
        let flow = self.plan.flow.as_ref();
        let flow = flow.ok_or_else(|| bug(self.plan, "no vectors are planned".to_string()))?;
        let extent = self.extent(flow.along)?;
        let rest = self.builder.hoist("cut", rem(extent, int(flow.vector)));
        Ok(eq(rest, int(0)))
    }

    /// Type of the registers that hold a tile.
    fn file_type(&self, tile: TileId) -> Result<crate::atoms::model::RegType> {
        let fragment = self.fragment(tile)?;
        Ok(self.builder.file_type(fragment.file))
    }

    fn tile_k(&self) -> Result<i64> {
        let tile = self.plan.work.dims.get(SUMMED).map(Dim::extent);
        tile.ok_or_else(|| bug(self.plan, "the tile has no k".to_string()))
    }

    /// The problem's extent along a mode of the tile.
    fn extent(&self, mode: usize) -> Result<Expr> {
        let name = self.plan.mode(mode);
        // A tile has one element along a mode that there is none of.
        if name.is_none() {
            return Ok(int(1));
        }
        let param = name.and_then(|name| self.builder.param(name));
        param.map(Expr::Param).ok_or_else(|| {
            bug(
                self.plan,
                format!("no parameter for the extent of mode {mode}"),
            )
        })
    }

    /// The problem's extent along an outer mode.
    fn outer_extent(&self, number: usize) -> Result<Expr> {
        let at_one = self.kernel.work.at_one();
        let param = at_one.get(number).and_then(|name| self.builder.param(name));
        param.map(Expr::Param).ok_or_else(|| {
            let message = format!("no parameter for the extent of outer mode {number}");
            bug(self.plan, message)
        })
    }

    fn fragment(&self, tile: TileId) -> Result<&Fragment> {
        let fragment = self.fragments.get(&tile);
        fragment.ok_or_else(|| bug(self.plan, format!("tile {} is not in registers", tile.0)))
    }

    /// What the plan says of a tile in shared memory.
    fn smem_tile(&self, tile: TileId) -> Result<&'p SmemTile> {
        let place = self.kernel.tiles.get(tile.0).map(|tile| &tile.place);
        let planned = match place {
            Some(Place::Smem(number)) => self.plan.smem.get(*number),
            _ => None,
        };
        planned.ok_or_else(|| {
            bug(
                self.plan,
                format!("tile {} is not in shared memory", tile.0),
            )
        })
    }

    /// The operand that a tile in global memory is of, and the plane where each has its own.
    fn operand_of(&self, tile: TileId) -> Result<(&'p Operand, Option<i64>)> {
        let place = self.kernel.tiles.get(tile.0).map(|tile| &tile.place);
        let operand = match place {
            Some(Place::Gmem(number, plane)) => Some((self.plan.operand(*number), *plane)),
            _ => None,
        };
        operand.ok_or_else(|| {
            bug(
                self.plan,
                format!("tile {} is not in global memory", tile.0),
            )
        })
    }
}

fn call(atom: &Arc<Atom>, args: Vec<Arg>) -> Stmt {
    Stmt::Atom {
        atom: atom.clone(),
        args,
    }
}

fn bug(plan: &Plan, message: String) -> Error {
    Error::bug("lower", &plan.id, message, plan)
}

/// Declares the state; the first raster says which output tile the CTA makes.
fn start_state(builder: &mut Builder, plan: &Plan) -> State {
    let summed = plan.mode(SUMMED).and_then(|name| builder.param(name));
    let k = summed.map_or(int(0), Expr::Param);
    State {
        tile: [int(0), int(0)],
        outer: Vec::new(),
        inside: [false; 2],
        k_start: builder.state("k_start", IntType::I64, long(0)),
        k_left: builder.state("k_left", IntType::I32, k),
        read: builder.state("stage_read", IntType::I32, int(0)),
        write: builder.state("stage_write", IntType::I32, int(0)),
    }
}
