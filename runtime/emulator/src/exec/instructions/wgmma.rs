//! `wgmma`: D = A B + D of a warpgroup, its groups, and the registers in flight.
//!
//! Warp w of the group owns rows 16w to 16w+15; `accumulator` says which register holds what.

use super::warpgroup::{element, element_bytes};
use crate::exec::state::{
    ALL_WARPS, Flow, Issued, Operands, Product, ProductClock, State, Status, Wait, Warp,
};
use crate::finding::FindingId;
use crate::inst::{Exec, Inst, Lanes, Src, Wgmma};
use crate::tensor_core::{Sum, Way};

impl Warp {
    fn warpgroup(&self) -> (usize, u8) {
        (self.id as usize / 4, 1 << (self.id % 4))
    }

    /// Marks the registers that an instruction names; finds those in flight.
    pub(crate) fn touch(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) {
        if matches!(inst.exec, Exec::Wgmma(_)) {
            return;
        }
        let (start, count) = inst.operands;
        let slots = st.env.module.operand_slots.get(start as usize..);
        let slots = slots
            .and_then(|slots| slots.get(..count as usize))
            .unwrap_or_default();
        let fences = self.products.fences;
        let mut hit = false;
        for slot in slots {
            if let Some(touched) = self.frame.touched.get_mut(*slot as usize) {
                hit |= *touched == u32::MAX;
                if *touched != u32::MAX {
                    *touched = fences;
                }
            }
        }
        if hit && st.sanitize() {
            let site = self.site(mask);
            st.report(FindingId::WgmmaRegisterInFlight, site, None, || {
                "touches a register of a wgmma that was not waited for".to_owned()
            });
        }
    }

    fn set_touched(&mut self, op: &Wgmma, value: u32) {
        let a = op.a.as_ref().ok().into_iter().flatten();
        let a = a.filter_map(|src| match src {
            Src::Reg(slot) => Some(*slot),
            _ => None,
        });
        for slot in op.d.iter().map(|reg| reg.slot).chain(a) {
            if let Some(touched) = self.frame.touched.get_mut(slot as usize) {
                *touched = value;
            }
        }
    }

    /// Whether a register of D or A was touched since the last fence.
    fn unfenced(&self, op: &Wgmma) -> bool {
        let stale = |slot: u32| {
            let touched = self.frame.touched.get(slot as usize).copied();
            touched.is_some_and(|touched| touched != u32::MAX && touched >= self.products.fences)
        };
        let a = op.a.as_ref().ok().into_iter().flatten();
        let mut a = a.filter_map(|src| match src {
            Src::Reg(slot) => Some(*slot),
            _ => None,
        });
        op.d.iter().any(|reg| stale(reg.slot)) || a.any(stale)
    }

    pub(crate) fn wgmma_fence(&mut self, st: &mut State<'_>, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        self.products.fences += 1;
        Flow::Next
    }

    pub(crate) fn wgmma(&mut self, st: &mut State<'_>, op: &Wgmma, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let site = self.site(mask);
        if self.unfenced(op) && st.sanitize() {
            st.report(FindingId::WgmmaRegisterInFlight, site, None, || {
                "the registers of D or A were touched without wgmma.fence behind it".to_owned()
            });
        }
        let first = mask.trailing_zeros() as usize & 31;
        let b = self.values(st, &op.b, mask)[first];
        let a = match &op.a {
            Ok(_) => 0,
            Err(src) => self.values(st, src, mask)[first],
        };
        let accumulates = self.pred(&op.scale_d, mask) & mask != 0;
        let early = st.is_early();
        let a_registers = match &op.a {
            Ok(sources) if early => {
                let values = sources.iter().map(|src| self.values(st, src, mask));
                Some(values.collect())
            }
            _ => None,
        };
        let (group, warp) = self.warpgroup();
        let number = self.products.count;
        self.products.count += 1;
        self.products.issued.push(Issued {
            number,
            pc: site.pc,
            accumulates,
            a: a_registers,
        });
        self.set_touched(op, u32::MAX);
        st.counters.mma_flop += 2 * (16 * op.n * op.k) as u64;
        self.join_product(st, (group, warp, number), (a, b), mask);
        Flow::Next
    }

    /// Enters the warp's part of a product into its warpgroup.
    fn join_product(
        &mut self,
        st: &mut State<'_>,
        (group, warp, number): (usize, u8, u64),
        (a, b): (u64, u64),
        mask: u32,
    ) {
        let site = self.site(mask);
        let Some(warpgroup) = st.near.warpgroups.get_mut(group) else {
            return;
        };
        if warpgroup.product(number).is_none() {
            warpgroup.products.push_back(Product {
                site,
                descriptors: (a, b),
                issued: 0,
                taken: 0,
                clock: ProductClock::default(),
                operands: None,
            });
        }
        let mut differs = false;
        let mut complete = false;
        if let Some(product) = warpgroup.product(number) {
            product.issued |= warp;
            if let Some(race) = &st.race {
                race.issue_product(&mut product.clock, site);
            }
            complete = product.issued == ALL_WARPS;
            differs = product.site.pc != site.pc || product.descriptors != (a, b);
        }
        if differs {
            st.report(FindingId::WarpDivergent, site, None, || {
                "the warps of a warpgroup execute different products".to_owned()
            });
        }
        if complete {
            st.events += 1;
            st.watch_product(group, number);
            if st.is_early() {
                st.read_operands(group, number);
            }
        }
    }

    pub(crate) fn wgmma_commit(&mut self, st: &mut State<'_>, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        self.products.groups.push(self.products.count);
        Flow::Next
    }

    pub(crate) fn wgmma_wait(&mut self, st: &mut State<'_>, pending: u32, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let done = self.products.groups.len().saturating_sub(pending as usize);
        let Some(limit) = done
            .checked_sub(1)
            .and_then(|at| self.products.groups.get(at))
        else {
            return Flow::Next;
        };
        let (limit, group) = (*limit, self.warpgroup().0);
        let wanted = |issued: &&Issued| issued.number < limit;
        let numbers: Vec<u64> = self
            .products
            .issued
            .iter()
            .filter(wanted)
            .map(|issued| issued.number)
            .collect();
        for number in &numbers {
            let product = st.near.warpgroups.get_mut(group);
            let product = product.and_then(|group| group.product(*number));
            if product.is_some_and(|product| product.issued != ALL_WARPS) {
                let (seen, wait) = (st.events, Wait::Warpgroup);
                return Flow::Suspend(Status::Events { seen, wait });
            }
        }
        if let Some(race) = &mut st.race {
            race.products_waited(limit as u32, self.site(mask));
        }
        self.products.groups.drain(..done);
        let split = numbers.len();
        let taken: Vec<Issued> = self.products.issued.drain(..split).collect();
        self.take_products(st, &taken, mask);
        // What is still in flight stays so.
        let env = st.env;
        for issued in &taken {
            if let Some(Exec::Wgmma(op)) = env.code.get(issued.pc as usize).map(|inst| &inst.exec) {
                self.set_touched(op, 0);
            }
        }
        for issued in self.products.issued.clone() {
            if let Some(Exec::Wgmma(op)) = env.code.get(issued.pc as usize).map(|inst| &inst.exec) {
                self.set_touched(op, u32::MAX);
            }
        }
        Flow::Next
    }

    /// Multiplies what the warp waited for.
    fn take_products(&mut self, st: &mut State<'_>, taken: &[Issued], mask: u32) {
        let (group, warp) = self.warpgroup();
        // Sums stay rows from product to product of one D.
        let mut held: Option<(&Wgmma, Vec<f32>)> = None;
        for issued in taken {
            st.read_operands(group, issued.number);
            let Some(warpgroup) = st.near.warpgroups.get_mut(group) else {
                continue;
            };
            let Some(product) = warpgroup.product(issued.number) else {
                continue;
            };
            product.taken |= warp;
            let operands = product.operands.clone();
            warpgroup.retire();
            let env = st.env;
            if let (Some(operands), Some(Exec::Wgmma(op))) = (
                operands,
                env.code.get(issued.pc as usize).map(|inst| &inst.exec),
            ) {
                let kept = held.take_if(|(old, _)| same_rows(old, op));
                self.put_back(held.take(), mask);
                let kept = kept.map(|(_, sums)| sums);
                let sums = self.multiply(st, op, issued, &operands, (kept, mask));
                if is_integer(op) {
                    self.scatter_d(op, issued.accumulates, &sums, mask);
                } else {
                    held = Some((op, sums));
                }
            }
        }
        self.put_back(held, mask);
    }

    /// The 16 rows of A that this warp owns.
    fn rows_of_a(
        &mut self,
        st: &State<'_>,
        op: &Wgmma,
        issued: &Issued,
        operands: &Operands,
        mask: u32,
    ) -> Vec<f32> {
        let k = op.k;
        let Ok(sources) = &op.a else {
            let first = 16 * (self.id as usize % 4) * k;
            let rows = operands.a.get(first..first + 16 * k);
            return rows.unwrap_or_default().to_vec();
        };
        let values: Vec<Lanes> = match &issued.a {
            Some(values) => values.clone(),
            None => sources
                .iter()
                .map(|src| self.values(st, src, mask))
                .collect(),
        };
        let size = element_bytes(op.a_type);
        let each = 4 / size;
        let mut rows = vec![0f32; 16 * k];
        for (r, values) in values.iter().enumerate() {
            for (lane, value) in values.iter().enumerate() {
                let bytes = (*value as u32).to_le_bytes();
                for (i, bytes) in bytes.chunks_exact(size).enumerate() {
                    let row = lane / 4 + 8 * (r % 2);
                    let column = (r / 2) * 4 * each + (lane % 4) * each + i;
                    if let Some(place) = rows.get_mut(row * k + column) {
                        *place = element(op.a_type, bytes);
                    }
                }
            }
        }
        rows
    }

    /// The rows of A B + D; those of D are read unless they were kept.
    fn multiply(
        &mut self,
        st: &mut State<'_>,
        op: &Wgmma,
        issued: &Issued,
        operands: &Operands,
        (kept, mask): (Option<Vec<f32>>, u32),
    ) -> Vec<f32> {
        let mut a = self.rows_of_a(st, op, issued, operands, mask);
        if op.negate_a != op.negate_b {
            for value in &mut a {
                *value = -*value;
            }
        }
        let sums = kept.filter(|_| issued.accumulates);
        let mut sums = sums.unwrap_or_else(|| {
            let mut sums = vec![0f32; 16 * op.n];
            if issued.accumulates && !is_integer(op) {
                self.gather_d(op, &mut sums);
            }
            sums
        });
        let step = st.step(Way::Wgmma, (op.a_type, op.b_type), op.d_type, op.k);
        step.add_tile(&a, &operands.b, &mut sums);
        sums
    }

    fn put_back(&mut self, held: Option<(&Wgmma, Vec<f32>)>, mask: u32) {
        if let Some((op, sums)) = held {
            self.scatter_d(op, false, &sums, mask);
        }
    }
}

/// Whether sums are integers, which are added to D when it is written.
fn is_integer(op: &Wgmma) -> bool {
    matches!(op.d_type, Sum::S32 { .. })
}

/// Whether two products add to the same rows of one type of float.
fn same_rows(a: &Wgmma, b: &Wgmma) -> bool {
    !is_integer(b) && (a.n, a.d_type, &a.d) == (b.n, b.d_type, &b.d)
}
