//! What the warps of a tile have of elements that are added up: in shared memory, part after part,
//! and put together there in the order of the warps.

use super::elements::{Lanes, moved};
use super::{LANES, Summing, in_order, only_if};
use crate::atoms::model::{RegType, Space};
use crate::atoms::sync::{Act, Scope};
use crate::error::Result;
use crate::ir::thread::expr::{add, and, div, eq, int, long, lt, mul, rem, widen};
use crate::ir::thread::program::{Address, Arg, Base, Expr, Reg, Stmt};
use crate::ir::tile::View;
use crate::lower::reduce::atomics::lane_masks;
use crate::lower::reduce::fold::Folding;
use crate::lower::{Lowering, bug};
use crate::plan::data::combining::{Combining, Have, TERM_BYTES};
use crate::plan::data::moves::Step;

impl<'p> Lowering<'p> {
    /// What a warp has of elements to its place among the parts of its tile, each known by its
    /// coordinates there.
    pub(in crate::lower) fn hand_parts(
        &mut self,
        (combining, step): (&'p Combining, &'p Step),
        held: View,
        parts: &[([i64; 2], Reg)],
    ) -> Result<Vec<Stmt>> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let sums = in_order(self.plan, combining)?;
        let scope = self.builder.begin_scope();
        let warp = self.warp_of_cta();
        let mut part = int(0);
        let mut each = 1;
        for digit in &sums.digits {
            let own = rem(div(warp.clone(), int(digit.prefix)), int(digit.extent));
            part = add(part, mul(own, int(each)));
            each *= digit.extent;
        }
        let kept = sums.keeps.iter().position(|keeps| *keeps);
        let element = match kept {
            Some(mode) => {
                let digits = self.fragment(held.tile())?.digits().to_vec();
                self.builder.thread_sum("coord", &digits, mode)
            }
            None => int(0),
        };
        let place = add(mul(part, int(self.elements(sums))), element);
        let place = self.builder.hoist("place", place);
        let mut writes = Vec::new();
        for (value, register) in parts {
            let behind = kept.map_or(0, |mode| value[mode]);
            let address = self.part_at(combining, place.clone(), behind)?;
            writes.push(moved(&sums.put, &address, *register));
        }
        let alone = self.alone(step, &[[0; 2]])?;
        let mut out = self.builder.end_scope(scope);
        match alone {
            Some(alone) => out.push(only_if(alone, writes)),
            None => out.extend(writes),
        }
        Ok(out)
    }

    /// What threads still hold, lane by lane, to the place of their warp's parts.
    pub(super) fn hand_on_held(
        &mut self,
        combining: &'p Combining,
        step: &'p Step,
        held: View,
    ) -> Result<Vec<Stmt>> {
        let elements = self.fragment(held.tile())?.values().to_vec();
        let parts = elements
            .iter()
            .map(|element| Ok((*element, self.single(held.tile(), *element)?)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let ty = self.file_type(held.tile())?;
        let file = self.builder.file("other", ty, 1);
        let mut folding = Folding {
            how: &combining.how,
            spare: vec![Reg { file, index: 0 }],
            out: Vec::new(),
        };
        let results: Vec<Reg> = parts.iter().map(|(_, register)| *register).collect();
        self.across_lanes(&mut folding, lane_masks(combining.lanes), &results)?;
        let mut out = folding.out;
        out.extend(self.hand_parts((combining, step), held, &parts)?);
        Ok(out)
    }

    /// The parts that warps have of the elements of a tile, put together in their order: its terms.
    pub(super) fn store_terms(&mut self, summing: &Summing<'p>) -> Result<Vec<Stmt>> {
        let (sums, threads) = (summing.sums, self.threads_of_cta());
        let parts = sums.parts() as usize;
        let file = self.builder.file("part", RegType::F32, 2 * parts + 1);
        let mut registers = (0..).map(|index| Reg { file, index });
        let sum = registers.next().unwrap_or(Reg { file, index: 0 });
        let read: Vec<Reg> = registers.by_ref().take(parts).collect();
        let mut folding = Folding {
            how: &summing.combining.how,
            spare: registers.take(parts).collect(),
            out: Vec::new(),
        };
        let own = self.thread_of_cta();
        let rank = self.rank_of_cta();
        let lanes = Lanes {
            elements: threads,
            shares: 1,
            own,
            share: int(0),
        };
        let tile = add(
            mul(summing.block.clone(), summing.tiles.clone()),
            summing.tile.clone(),
        );
        let place = match sums.ctas.terms() {
            1 => tile,
            terms => add(mul(tile, long(terms)), widen(rank.clone())),
        };
        let place = self.builder.hoist("place", place);
        self.for_elements(summing, &lanes, |this, element, inside| {
            let mut out = Vec::new();
            for (part, register) in (0..).zip(&read) {
                let address =
                    this.part_at(summing.combining, element.clone(), part * summing.elements)?;
                out.push(moved(&sums.take, &address, *register));
            }
            let whole = match read.as_slice() {
                [alone] => *alone,
                several => {
                    this.tree(&mut folding, several, sum)?;
                    sum
                }
            };
            out.append(&mut folding.out);
            let address = this.term(summing, place.clone(), element.clone(), 0)?;
            out.extend(this.term_to(address, whole)?);
            let mut cond = lt(place.clone(), summing.places.clone());
            let own = match sums.ctas.have {
                Have::All => None,
                Have::Apart(apart) => Some(rem(div(element, int(apart)), int(sums.ctas.count))),
                Have::Same => Some(int(0)),
            };
            let is_own = own.map(|own| eq(own, rank.clone()));
            for more in [is_own, summing.is_tile.clone(), inside]
                .into_iter()
                .flatten()
            {
                cond = and(cond, more);
            }
            Ok(vec![only_if(cond, out)])
        })
    }

    /// The address of a part in shared memory: of that element, so many behind it.
    fn part_at(&self, of: &Combining, element: Expr, behind: i64) -> Result<Address> {
        let sets = self.plan.place_of(of);
        let sets = sets.ok_or_else(|| bug(self.plan, "sums have no place".to_string()))?;
        let mut offset = mul(element, int(TERM_BYTES));
        if sets.count > 1 {
            let set = self.role()?.warpgroup.clone();
            offset = add(offset, mul(set, int(i64::from(sets.each))));
        }
        Ok(Address {
            space: Space::Smem,
            base: Base::Smem,
            offset,
            imm: i64::from(sets.at) + behind * TERM_BYTES,
            coords: Vec::new(),
        })
    }

    /// Threads of a CTA that share out a tile, by themselves or with those of other CTAs.
    pub(super) fn threads_of_cta(&self) -> i64 {
        i64::from(self.plan.threads / self.plan.work.shared_by.max(1))
    }

    fn thread_of_cta(&mut self) -> Expr {
        let tid = self.builder.tid();
        match self.plan.work.shared_by {
            0 | 1 => tid,
            _ => self
                .builder
                .hoist("here", rem(tid, int(self.threads_of_cta()))),
        }
    }

    pub(super) fn warp_of_cta(&mut self) -> Expr {
        let own = self.thread_of_cta();
        self.builder.hoist("warp", div(own, int(LANES)))
    }

    /// Which of the CTAs that share a tile this one is.
    fn rank_of_cta(&mut self) -> Expr {
        let tid = self.builder.tid();
        match self.plan.work.shared_by {
            0 | 1 => int(0),
            _ => self
                .builder
                .hoist("rank", div(tid, int(self.threads_of_cta()))),
        }
    }

    /// All threads of the CTA that share out a tile meet.
    pub(super) fn tile_meets(&self) -> Result<Vec<Stmt>> {
        let Some(roles) = &self.plan.roles else {
            return self.sync((Act::Meet, Scope::Cta), []);
        };
        match roles.consumers_of_a_tile() {
            1 => self.warpgroup_meets(),
            // The warpgroups meet by themselves at the barriers before it.
            _ => {
                let id = Arg::Int(int(i64::from(roles.consumers()) + 1));
                let threads = Arg::Imm(i64::from(self.plan.threads));
                self.sync(
                    (Act::Meet, Scope::Warps),
                    [("id", id), ("threads", threads)],
                )
            }
        }
    }
}
