//! The products of a slot: descriptors and asynchronous warpgroup MMAs.

use std::sync::Arc;

use crate::atoms::model::Atom;
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, and, div, int, mul, rem};
use crate::ir::thread::program::{Arg, Expr, Reg, Stmt};
use crate::ir::tile::{Slice, Start, TileId, View};
use crate::lower::threads::mma::operand_count;
use crate::lower::{Lowering, bug, call};
use crate::plan::data::matrix_descriptor::{Descriptor, Major, UNIT_BYTES};

/// Bits of a shared address that a descriptor holds; those above tell CTAs of a cluster apart.
const ADDRESS_BITS: i64 = 0x3_ffff;

impl Lowering<'_> {
    /// All products of a tile in the slot, or of what threads hold of it, with another in the slot.
    pub(in crate::lower) fn mma_of_slot(
        &mut self,
        acc: &[TileId],
        (a, b): (View, TileId),
        (start, share): (Start, Slice),
    ) -> Result<Vec<Stmt>> {
        let [along_m, along_n] = self.warpgroups()?;
        let consumer = self.part()?;
        let [of_a, of_b] = self.roles_of()?.descriptors.clone();
        let a_low = match (a, &of_a) {
            (View::Smem(a, ..), Some(of_a)) => {
                Some(self.low_word(a, of_a, div(consumer.clone(), int(along_n)))?)
            }
            _ => None,
        };
        let missing = || bug(self.plan, "a factor without a descriptor".to_string());
        let of_b = of_b.ok_or_else(missing)?;
        let b_low = self.low_word(b, &of_b, rem(consumer, int(along_n)))?;
        let accumulate = match start {
            Start::Held => int(1),
            Start::FirstTrip => self.role()?.trip.clone(),
            Start::EveryTrip => int(0),
        };
        let accumulators = self.accumulators(acc)?;
        let first = share.0 as usize * accumulators.len();
        let sums = (first..).zip(accumulators);
        let b = (&of_b, b_low);
        match (a, of_a.zip(a_low)) {
            (_, Some((of_a, low))) => sums
                .map(|(rest, registers)| {
                    let down = rest as i64 * along_m * of_a.row_step_bytes / UNIT_BYTES;
                    let a = (&of_a, add(low.clone(), int(down)));
                    self.mma_of_descriptors(registers, [a, b.clone()], &accumulate)
                })
                .collect(),
            (View::Rmem(a, buffer), None) => {
                let fragments = self.buffer(a, buffer)?;
                let mut out = Vec::new();
                for (rest, registers) in sums {
                    let of_rows = (registers, (fragments.as_slice(), rest));
                    out.extend(self.mma_of_rows(of_rows, b.clone(), &accumulate)?);
                }
                Ok(out)
            }
            _ => Err(bug(self.plan, "products of what is no slot's".to_string())),
        }
    }

    /// The products of a block of rows with columns, both in shared memory.
    fn mma_of_descriptors(
        &self,
        registers: Vec<Reg>,
        [(a, a_low), (b, b_low)]: [(&Descriptor, Expr); 2],
        accumulate: &Expr,
    ) -> Result<Stmt> {
        self.mma_call(|name| {
            Some(match name {
                "d" => Arg::Regs(registers.clone()),
                "a" => Arg::Int(a_low.clone()),
                "b" => Arg::Int(b_low.clone()),
                "accumulate" => Arg::Int(accumulate.clone()),
                "a_high" => Arg::Imm(a.high_word()),
                "b_high" => Arg::Imm(b.high_word()),
                "a_steps" => Arg::Imms(steps(a)),
                "b_steps" => Arg::Imms(steps(b)),
                "a_mn" => Arg::Imm(i64::from(a.major == Major::Mn)),
                "b_mn" => Arg::Imm(i64::from(b.major == Major::Mn)),
                _ => return None,
            })
        })
    }

    /// The products of a block of rows in registers with columns in shared memory, step after step
    /// along k: the registers of a step are those of each block of rows, one after the other.
    fn mma_of_rows(
        &self,
        (registers, (fragments, block)): (Vec<Reg>, (&[Reg], usize)),
        (b, b_low): (&Descriptor, Expr),
        accumulate: &Expr,
    ) -> Result<Vec<Stmt>> {
        let steps = steps(b);
        let atom = self.mma_atom()?;
        let each = operand_count(&atom, "a").unwrap_or(1) as usize;
        let blocks = fragments.len() / each / steps.len().max(1);
        let short = || {
            bug(
                self.plan,
                "fragments are shorter than the mma's".to_string(),
            )
        };
        let calls = steps.into_iter().enumerate().map(|(step, b_step)| {
            let at = (step * blocks + block) * each;
            let a = fragments.get(at..at + each).filter(|_| block < blocks);
            let a = a.ok_or_else(short)?;
            self.mma_call(|name| {
                Some(match name {
                    "d" => Arg::Regs(registers.clone()),
                    "a" => Arg::Regs(a.to_vec()),
                    "b" => Arg::Int(add(b_low.clone(), int(b_step))),
                    "accumulate" if step > 0 => Arg::Int(int(1)),
                    "accumulate" => Arg::Int(accumulate.clone()),
                    "b_high" => Arg::Imm(b.high_word()),
                    _ => return None,
                })
            })
        });
        calls.collect()
    }

    /// A call of the plan's MMA with arguments by the names of its operands.
    fn mma_call(&self, arg: impl Fn(&str) -> Option<Arg>) -> Result<Stmt> {
        let atom = self.mma_atom()?;
        let args = atom.operands.iter().map(|operand| {
            let message = || format!("{} has an operand {}", atom.id, operand.name);
            arg(&operand.name).ok_or_else(|| bug(self.plan, message()))
        });
        let args = args.collect::<Result<_>>()?;
        Ok(call(&atom, args))
    }

    fn mma_atom(&self) -> Result<Arc<Atom>> {
        let mma = self.plan.mma.as_ref().map(|mma| mma.atom.clone());
        mma.ok_or_else(|| bug(self.plan, "no mma".to_string()))
    }

    /// Waits for all products. The accumulators pass through the wait, so that what reads them
    /// stays behind it.
    pub(in crate::lower) fn mma_done(&mut self, acc: &[TileId]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for registers in self.accumulators(acc)? {
            out.extend(self.await_with(0, registers)?);
        }
        Ok(out)
    }

    /// Waits until at most so many groups of products are in flight.
    pub(in crate::lower) fn await_products(&self, groups: u32) -> Result<Vec<Stmt>> {
        self.await_with(groups, Vec::new())
    }

    /// The same; the registers pass through.
    fn await_with(&self, groups: u32, registers: Vec<Reg>) -> Result<Vec<Stmt>> {
        let groups = Arg::Imm(i64::from(groups));
        let args = [("d", Arg::Regs(registers)), ("groups", groups)];
        self.sync((Act::AwaitProducts, Scope::Warpgroup), args)
    }

    /// The accumulators of each MMA of a consumer, along m: of its columns in their order, which
    /// are of one tile after another.
    fn accumulators(&self, acc: &[TileId]) -> Result<Vec<Vec<Reg>>> {
        let tiles = acc.iter().map(|acc| self.buffer(*acc, 0));
        let tiles = tiles.collect::<Result<Vec<_>>>()?;
        let mma = self.plan.mma.as_ref().and_then(|mma| mma.atom.mma.as_ref());
        let all = mma.map_or(1, |facts| facts.mnk[1] / 2) as usize;
        let each = all / tiles.len().max(1);
        let count = tiles.first().map_or(0, Vec::len) / each.max(1);
        let of_mma = |number: usize| {
            let own = |tile: &Vec<Reg>| tile[number * each..(number + 1) * each].to_vec();
            tiles.iter().flat_map(own).collect()
        };
        Ok((0..count).map(of_mma).collect())
    }

    /// Consumers of one tile along m and n.
    fn warpgroups(&self) -> Result<[i64; 2]> {
        let of_a_tile = i64::from(self.roles_of()?.consumers_of_a_tile());
        let mma = self.plan.mma.as_ref().and_then(|mma| mma.atom.mma.as_ref());
        let columns = self.plan.extent(1) * self.plan.planes();
        let wide = mma.map_or(1, |facts| columns / facts.mnk[1]);
        Ok([of_a_tile / wide, wide])
    }

    /// The low word of the descriptor of a consumer's first MMA in the slot.
    fn low_word(&mut self, factor: TileId, descriptor: &Descriptor, number: Expr) -> Result<Expr> {
        let plan = self.plan;
        let tile = self.smem_tile(factor)?;
        let start = add(Expr::Smem, int(i64::from(plan.start_of(tile))));
        let start = add(start, mul(number, int(descriptor.row_step_bytes)));
        let start = and(start, int(ADDRESS_BITS));
        let start = add(div(start, int(UNIT_BYTES)), int(descriptor.low_word()));
        let start = self.builder.hoist("descriptor", start);
        let pipe = self.kernel.pipe_of(factor);
        let pipe = pipe.ok_or_else(|| bug(plan, "a factor in slots of no pipe".to_string()))?;
        let slot = Expr::Var(self.at(pipe)?.slot);
        let each = i64::from(self.slots(pipe)?.each) / UNIT_BYTES;
        Ok(add(start, mul(slot, int(each))))
    }
}

/// What each step along k adds to the low word of the first.
fn steps(descriptor: &Descriptor) -> Vec<i64> {
    let steps = descriptor.k_steps_bytes.iter();
    steps.map(|bytes| bytes / UNIT_BYTES).collect()
}
