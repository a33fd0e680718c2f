//! Executes one instruction: the table from its decoded form to what does it.

use super::alu::NO_LANES;
use crate::exec::state::{Flow, State, Warp};
use crate::finding::FindingId;
use crate::inst::{Exec, Inst, Lanes, PredOp};
use crate::num::int::{bit_field_insert, truncate};

impl Warp {
    /// Executes an instruction for the lanes of `mask`.
    #[inline]
    pub(crate) fn execute(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) -> Flow {
        match &inst.exec {
            Exec::Alu { f, imm, dst, src } => {
                let mut out = NO_LANES;
                let (mut a, mut b, mut c) = (NO_LANES, NO_LANES, NO_LANES);
                let undefined = self.peek(st, &src[0], mask, &mut a)
                    | self.peek(st, &src[1], mask, &mut b)
                    | self.peek(st, &src[2], mask, &mut c);
                let (a, b, c) = (
                    self.operand(&src[0], &a),
                    self.operand(&src[1], &b),
                    self.operand(&src[2], &c),
                );
                f(a, b, c, &mut out, *imm);
                self.undefined |= undefined;
                self.write(*dst, mask, &out);
                Flow::Next
            }
            Exec::Load {
                access,
                sign_bits,
                dst,
            } => match dst.len() {
                1 => self.load::<1>(st, access, *sign_bits, dst, mask),
                2..=4 => self.load::<4>(st, access, *sign_bits, dst, mask),
                _ => self.load::<8>(st, access, *sign_bits, dst, mask),
            },
            Exec::Store { access, src } => match src.len() {
                1 => self.store::<1>(st, access, src, mask),
                2..=4 => self.store::<4>(st, access, src, mask),
                _ => self.store::<8>(st, access, src, mask),
            },
            Exec::Setp {
                compare,
                imm,
                combine,
                p,
                q,
                src,
                with,
                ..
            } => {
                let (yes, no) = self.compared(st, (*compare, *imm), *combine, src, with, mask);
                self.write_pair(*p, *q, mask, yes, no);
                Flow::Next
            }
            Exec::Branch { target } => Flow::Jump {
                lanes: mask,
                target: *target,
            },
            _ => self.execute_rare(st, inst, mask),
        }
    }

    #[inline(never)]
    fn execute_rare(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) -> Flow {
        match &inst.exec {
            Exec::Nop => Flow::Next,
            Exec::FollowGrid => {
                self.followed |= mask;
                let site = self.site(mask);
                if let Some(race) = st.race.as_mut().filter(|_| st.env.launch.programmatic) {
                    race.grid_waited(site);
                }
                Flow::Next
            }
            Exec::Divide {
                bits,
                signed,
                remainder,
                dst,
                src,
            } => self.divide(st, (*bits, *signed, *remainder), *dst, src, mask),
            Exec::Insert {
                bits,
                dst,
                src,
                pos,
                len,
            } => {
                let [a, b] = self.two(st, src, mask);
                let [pos, len] = self.two(st, &[*pos, *len], mask);
                let field = |i: usize| bit_field_insert(a[i], b[i], pos[i], len[i], *bits);
                self.write(*dst, mask, &std::array::from_fn(field));
                Flow::Next
            }
            Exec::Carry {
                subtract,
                carry_in,
                carry_out,
                bits,
                dst,
                src,
            } => {
                let [a, b] = self.two(st, src, mask);
                let b = if *subtract { b.map(|b| !b) } else { b };
                let ones = if *subtract { u32::MAX } else { 0 };
                let carries = if *carry_in { self.carry } else { ones };
                self.add_carry(&a, &b, carries, *bits, *carry_out, *dst, mask);
                Flow::Next
            }
            Exec::MadCarry {
                f,
                carry_in,
                carry_out,
                bits,
                dst,
                src,
            } => {
                let [a, b] = self.two(st, &[src[0], src[1]], mask);
                let c = self.values(st, &src[2], mask);
                let mut product = NO_LANES;
                f(&a, &b, &NO_LANES, &mut product, *bits);
                let carries = if *carry_in { self.carry } else { 0 };
                self.add_carry(&product, &c, carries, *bits & 0xff, *carry_out, *dst, mask);
                Flow::Next
            }
            Exec::Convert { .. } | Exec::ConvertPack { .. } | Exec::ConvertEach { .. } => {
                self.convert(st, &inst.exec, mask)
            }
            Exec::Set {
                compare,
                imm,
                combine,
                yes,
                dst,
                src,
                with,
            } => {
                let (holds, _) = self.compared(st, (*compare, *imm), *combine, src, with, mask);
                self.write(
                    *dst,
                    mask,
                    &std::array::from_fn(|i| if holds >> i & 1 == 1 { *yes } else { 0 }),
                );
                Flow::Next
            }
            Exec::SetPair { .. } => self.set_pair(st, &inst.exec, mask),
            Exec::Select { dst, src, with } => {
                let [a, b] = self.two(st, src, mask);
                let holds = self.pred(with, mask);
                let pick = |i: usize| if holds >> i & 1 == 1 { a[i] } else { b[i] };
                self.write(*dst, mask, &std::array::from_fn(pick));
                Flow::Next
            }
            Exec::Pred { op, dst, a, b } => {
                let (a, b) = (self.pred(a, mask), self.pred(b, mask));
                let value = match op {
                    PredOp::Move => a,
                    PredOp::Not => !a,
                    PredOp::And => a & b,
                    PredOp::Or => a | b,
                    PredOp::Xor => a ^ b,
                };
                self.write_pred(*dst, mask, value);
                Flow::Next
            }
            Exec::Pack {
                dst,
                part_bits,
                parts,
            } => {
                let mut out = NO_LANES;
                for (index, part) in parts.iter().enumerate() {
                    let values = self.values(st, part, mask);
                    for (out, value) in out.iter_mut().zip(values) {
                        *out |= truncate(value, *part_bits) << (index as u32 * part_bits);
                    }
                }
                self.write(*dst, mask, &out);
                Flow::Next
            }
            Exec::Unpack {
                dst,
                part_bits,
                src,
            } => {
                let values = self.values(st, src, mask);
                for (index, dst) in dst.iter().enumerate() {
                    if let Some(dst) = dst {
                        self.write(*dst, mask, &values.map(|v| v >> (index as u32 * part_bits)));
                    }
                }
                Flow::Next
            }
            Exec::Convey { .. } | Exec::IsSpace { .. } => self.windows(st, &inst.exec, mask),
            Exec::MoveVector { dst, src } => {
                let all: Vec<Lanes> = src.iter().map(|src| self.values(st, src, mask)).collect();
                for (dst, values) in dst.iter().zip(&all) {
                    if let Some(dst) = dst {
                        self.write(*dst, mask, values);
                    }
                }
                Flow::Next
            }
            Exec::Video { video, dst, src } => {
                let [a, b] = self.two(st, &[src[0], src[1]], mask);
                let c = self.values(st, &src[2], mask);
                let apply = |i: usize| video.apply(a[i], b[i], c[i]);
                self.write(*dst, mask, &std::array::from_fn(apply));
                Flow::Next
            }
            Exec::Folded { f, imm, dst, src } => {
                let site = self.site(mask);
                if st.sanitize() {
                    st.report(FindingId::ApproxConstant, site, None, || {
                        "ptxas computes this itself, correctly rounded; the result here is that of \
                         the GPU's unit"
                            .to_owned()
                    });
                }
                let (a, mut out) = (self.values(st, src, mask), NO_LANES);
                f(&a, &NO_LANES, &NO_LANES, &mut out, *imm);
                self.write(*dst, mask, &out);
                Flow::Next
            }
            Exec::Logic(op) => self.logic(st, op, mask),
            Exec::Discard { address } => self.discard(st, address, mask),
            _ => self.execute_other(st, inst, mask),
        }
    }

    fn execute_other(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) -> Flow {
        match &inst.exec {
            Exec::BranchIndexed { index, targets } => self.branch_indexed(st, index, targets, mask),
            Exec::Call(call) => self.call(st, call, mask),
            Exec::Return => self.ret(st, mask),
            Exec::Exit => self.exit(st, mask),
            Exec::Trap => {
                let site = self.site(mask);
                st.report(FindingId::Trap, site, None, || {
                    "the thread stops the launch".to_owned()
                });
                self.exit(st, mask)
            }
            Exec::Barrier(bar) => self.barrier(st, bar, mask),
            Exec::Collective(collective) => self.collective(st, collective, mask),
            Exec::ActiveMask { dst } => {
                self.write(*dst, mask, &[u64::from(mask); 32]);
                Flow::Next
            }
            Exec::Atomic(atomic) => self.atomic(st, atomic, mask),
            Exec::AsyncCopy(copy) => self.async_copy(st, copy, mask),
            Exec::AsyncCommit => self.async_commit(mask),
            Exec::AsyncWait { pending, all } => self.async_wait(st, *pending, *all, mask),
            Exec::LoadMatrix(moved) => self.load_matrix(st, moved, mask),
            Exec::StoreMatrix(moved) => self.store_matrix(st, moved, mask),
            Exec::MoveMatrix { dst, src } => self.move_matrix(st, *dst, src, mask),
            Exec::Mma(mma) => self.mma(st, mma, mask),
            Exec::LoadFragment(moved) => self.load_fragment(st, moved, mask),
            Exec::StoreFragment(moved) => self.store_fragment(st, moved, mask),
            Exec::Wmma(wmma) => self.wmma(st, wmma, mask),
            _ => self.execute_async(st, inst, mask),
        }
    }

    fn execute_async(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) -> Flow {
        match &inst.exec {
            Exec::Mbarrier(op) => self.mbarrier(st, op, mask),
            Exec::CopyArrive {
                space,
                address,
                no_increment,
            } => self.copy_arrive(st, (*space, address), *no_increment, mask),
            Exec::ClusterArrive { aligned, relaxed } => {
                self.cluster_barrier_arrive(st, (*aligned, *relaxed), mask)
            }
            Exec::ClusterWait { aligned } => self.cluster_barrier_wait(st, *aligned, mask),
            Exec::Mapa(op) => self.map_address(st, op, mask),
            Exec::Bulk(op) => self.bulk(st, op, mask),
            Exec::BulkCommit => self.bulk_commit(mask),
            Exec::BulkWait { pending, read } => self.bulk_wait(st, *pending, *read, mask),
            Exec::Tensor(op) => self.tensor(st, op, mask),
            Exec::MapReplace(op) => self.map_replace(st, op, mask),
            Exec::MapCopy(op) => self.map_copy(st, op, mask),
            Exec::StoreAsync(op) => self.store_async(st, op, mask),
            Exec::Fence(fence) => self.fence(st, fence, mask),
            Exec::SetMaxRegisters { increase, count } => {
                self.set_max_registers(st, *increase, *count, mask)
            }
            Exec::Wgmma(op) => self.wgmma(st, op, mask),
            Exec::WgmmaFence => self.wgmma_fence(st, mask),
            Exec::WgmmaCommit => self.wgmma_commit(st, mask),
            Exec::WgmmaWait { pending } => self.wgmma_wait(st, *pending, mask),
            _ => Flow::Next,
        }
    }
}
