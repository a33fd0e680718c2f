//! How far an instruction reaches, and which registers it reads and writes.
//!
//! For whoever asks whether one execution of an instruction can be told from the next: comes in an
//! instruction that changes nothing but registers, or says by a count of the state when it changed
//! more; goes out what its results depend on.
//!
//! NOTE: a clock here is the warp's own count of instructions (`exec::state::special`).

use super::{BarrierKind, Exec, Fence, MbarrierKind, PREDICATE, PredSrc, Reg, Special, Src};

/// The slot that stands for the carry flags of the threads.
pub(crate) const CARRY: u32 = u32::MAX;

/// The slot that stands for the clocks, another value each time it is read.
pub(crate) const CLOCK: u32 = u32::MAX - 1;

/// How far an instruction reaches, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// It computes registers of each lane from registers of the same lane.
    Registers,
    /// It says where lanes go on, or computes registers in a way that may be a finding.
    Goes,
    /// It computes registers from memory or other lanes, which the race detector may see.
    Reads,
    /// It may change memory; a count of the state says whether it did.
    Counted,
    /// A barrier, an asynchronous operation, an exit: anything else.
    Other,
}

/// The registers that an instruction names, predicates marked by [`PREDICATE`], its guard left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// What its results depend on and nobody sees.
    pub(crate) reads: Vec<u32>,
    /// What can be seen from outside: addresses, values of memory, divisors, operands of other
    /// lanes.
    pub(crate) shows: Vec<u32>,
    pub(crate) writes: Vec<u32>,
}

impl Exec {
    /// How far the instruction reaches.
    pub(crate) fn effect(&self) -> Effect {
        match self {
            Exec::Nop
            | Exec::Alu { .. }
            | Exec::Divide { .. }
            | Exec::Insert { .. }
            | Exec::Carry { .. }
            | Exec::MadCarry { .. }
            | Exec::Convert { .. }
            | Exec::ConvertPack { .. }
            | Exec::ConvertEach { .. }
            | Exec::Setp { .. }
            | Exec::Set { .. }
            | Exec::SetPair { .. }
            | Exec::Select { .. }
            | Exec::Pred { .. }
            | Exec::Pack { .. }
            | Exec::Unpack { .. }
            | Exec::MoveVector { .. }
            | Exec::Video { .. }
            | Exec::Logic(_)
            | Exec::Convey { .. }
            | Exec::IsSpace { .. } => Effect::Registers,
            Exec::Branch { .. }
            | Exec::BranchIndexed { .. }
            | Exec::ActiveMask { .. }
            | Exec::Mapa(_) => Effect::Goes,
            Exec::Load { .. } | Exec::Collective(_) => Effect::Reads,
            Exec::Store { .. } | Exec::Atomic(_) => Effect::Counted,
            Exec::Mbarrier(op) if matches!(op.kind, MbarrierKind::Wait { .. }) => Effect::Counted,
            Exec::Fence(fence) if !matches!(**fence, Fence::TensormapAcquire(_)) => Effect::Counted,
            _ => Effect::Other,
        }
    }

    /// Whether it may block the lanes that execute it, by itself and not with their warp.
    pub(crate) fn may_block(&self) -> bool {
        match self {
            Exec::Barrier(bar) => !bar.aligned && bar.kind != BarrierKind::Arrive,
            Exec::ClusterWait { aligned } => !aligned,
            Exec::Mbarrier(op) => matches!(op.kind, MbarrierKind::Wait { suspends: true, .. }),
            _ => false,
        }
    }

    /// The registers that it names; those of one that reaches further than [`Effect::Counted`] are
    /// not told.
    pub(crate) fn named(&self) -> Named {
        let mut named = Named::default();
        match self.effect() {
            Effect::Registers => named.computes(self),
            Effect::Goes | Effect::Reads | Effect::Counted => named.reaches(self),
            Effect::Other => {}
        }
        named
    }
}

impl Named {
    /// An instruction that computes registers.
    fn computes(&mut self, exec: &Exec) {
        match exec {
            Exec::Alu { dst, src, .. } | Exec::Video { dst, src, .. } => self.to(dst).from(src),
            Exec::Divide { dst, src, .. } => {
                // A divisor of 0 is a finding.
                self.to(dst).from(&src[..1]);
                self.show(&src[1..])
            }
            Exec::Insert {
                dst, src, pos, len, ..
            } => self.to(dst).from(src).from(&[*pos, *len]),
            Exec::Carry {
                carry_in,
                carry_out,
                dst,
                src,
                ..
            } => self.to(dst).from(src).carry(*carry_in, *carry_out),
            Exec::MadCarry {
                carry_in,
                carry_out,
                dst,
                src,
                ..
            } => self.to(dst).from(src).carry(*carry_in, *carry_out),
            Exec::Convert { dst, src, .. }
            | Exec::ConvertEach { dst, src, .. }
            | Exec::Convey { dst, src, .. } => self.to(dst).from(&[*src]),
            Exec::ConvertPack { dst, src, .. } => self.to(dst).from(src),
            Exec::Setp {
                p, q, src, with, ..
            } => self.set_preds([*p, *q]).from(src).when(with),
            Exec::Set { dst, src, with, .. } | Exec::Select { dst, src, with } => {
                self.to(dst).from(src).when(with)
            }
            Exec::SetPair {
                p,
                q,
                dst,
                src,
                with,
                ..
            } => {
                self.set_all(dst.iter().map(|(dst, _)| Some(*dst)));
                self.set_preds([*p, *q]).from(src).when(with)
            }
            Exec::Pred { dst, a, b, .. } => self.set_preds([Some(*dst), None]).when(a).when(b),
            Exec::Pack { dst, parts, .. } => self.to(dst).from(parts),
            Exec::Unpack { dst, src, .. } => self.set_all(dst.iter().copied()).from(&[*src]),
            Exec::MoveVector { dst, src } => self.set_all(dst.iter().copied()).from(src),
            Exec::Logic(op) => {
                self.set_all([op.dst]).set_preds([Some(op.p), None]);
                self.from(&op.src).when(&op.with)
            }
            Exec::IsSpace { dst, src, .. } => self.set_preds([Some(*dst), None]).from(&[*src]),
            _ => self,
        };
    }

    /// An instruction whose operands can be seen.
    fn reaches(&mut self, exec: &Exec) {
        match exec {
            Exec::Load { access, dst, .. } => {
                self.set_all(dst.iter().copied());
                self.show(&[access.address.base])
            }
            Exec::Store { access, src } => self.show(&[access.address.base]).show(src),
            Exec::Atomic(op) => {
                self.set_all(op.dst.iter().copied());
                self.show(&[op.address.base]).show(&op.values);
                self.show(&op.swap)
            }
            Exec::BranchIndexed { index, .. } => self.show(&[*index]),
            Exec::Collective(op) => {
                self.set_all([op.dst]).set_preds([op.dst_pred, None]);
                self.show(&[op.a, op.b, op.c]).show(op.mask.as_slice());
                self.show_pred(&op.pred)
            }
            Exec::ActiveMask { dst } => self.to(dst),
            Exec::Mapa(op) => {
                self.to(&op.dst);
                self.show(&[op.address]).show(op.rank.as_slice())
            }
            Exec::Mbarrier(op) => {
                self.set_all([op.dst]).set_preds([op.dst_pred, None]);
                self.show(&[op.address.base, op.count])
            }
            _ => self,
        };
    }

    fn to(&mut self, dst: &Reg) -> &mut Named {
        self.set_all([Some(*dst)])
    }

    fn set_all(&mut self, dst: impl IntoIterator<Item = Option<Reg>>) -> &mut Named {
        let slots = dst.into_iter().flatten().map(|dst| dst.slot);
        self.writes.extend(slots);
        self
    }

    fn set_preds(&mut self, dst: [Option<u32>; 2]) -> &mut Named {
        let slots = dst.into_iter().flatten().map(|slot| slot | PREDICATE);
        self.writes.extend(slots);
        self
    }

    fn carry(&mut self, carry_in: bool, carry_out: bool) -> &mut Named {
        self.reads.extend(carry_in.then_some(CARRY));
        self.writes.extend(carry_out.then_some(CARRY));
        self
    }

    fn when(&mut self, pred: &PredSrc) -> &mut Named {
        self.reads.extend(pred_slot(pred));
        self
    }

    fn show_pred(&mut self, pred: &PredSrc) -> &mut Named {
        self.shows.extend(pred_slot(pred));
        self
    }

    fn from(&mut self, src: &[Src]) -> &mut Named {
        self.reads.extend(src.iter().filter_map(slot));
        self
    }

    fn show(&mut self, src: &[Src]) -> &mut Named {
        self.shows.extend(src.iter().filter_map(slot));
        self
    }
}

fn slot(src: &Src) -> Option<u32> {
    match src {
        Src::Reg(slot) | Src::Moved { slot, .. } => Some(*slot),
        Src::Special(Special::Clock | Special::Clock64 | Special::Globaltimer) => Some(CLOCK),
        Src::Imm(_) | Src::Special(_) | Src::Shared { .. } | Src::Local(_) => None,
    }
}

fn pred_slot(pred: &PredSrc) -> Option<u32> {
    match pred {
        PredSrc::Reg { slot, .. } => Some(slot | PREDICATE),
        PredSrc::Const(_) => None,
    }
}
