//! Reading and writing the registers of the current frame.

use super::cluster::State;
use super::warp::Warp;
use crate::inst::{Inst, Lanes, PredSrc, Reg, Src};

impl Warp {
    /// The values of a source; constants and special registers are made in `tmp`.
    #[inline]
    pub(crate) fn src<'b>(
        &'b mut self,
        st: &State<'_>,
        src: &Src,
        mask: u32,
        tmp: &'b mut Lanes,
    ) -> &'b Lanes {
        match *src {
            Src::Reg(slot) => {
                let slot = slot as usize;
                if let (Some(regs), Some(defined)) =
                    (self.frame.regs.get(slot), self.frame.defined.get(slot))
                {
                    self.undefined |= mask & !defined;
                    return regs;
                }
            }
            _ => self.constant(st, src, tmp),
        }
        tmp
    }

    /// The values of a source that is no register.
    pub(crate) fn constant(&self, st: &State<'_>, src: &Src, tmp: &mut Lanes) {
        match *src {
            Src::Reg(_) => {}
            Src::Imm(value) => *tmp = [value; 32],
            Src::Moved {
                slot,
                offset,
                width,
            } => {
                let keep = u64::MAX >> (64 - u32::from(width).clamp(1, 64));
                if let Some(values) = self.frame.regs.get(slot as usize) {
                    *tmp = values.map(|value| value.wrapping_add(i64::from(offset) as u64) & keep);
                }
            }
            Src::Shared { var, offset } => {
                let start = st
                    .env
                    .entry
                    .shared_offsets
                    .get(var as usize)
                    .copied()
                    .unwrap_or(0);
                *tmp = [st.near.base + u64::from(start) + u64::from(offset); 32];
            }
            Src::Local(offset) => {
                for (value, base) in tmp.iter_mut().zip(self.frame.local_base) {
                    *value = u64::from(base) + u64::from(offset);
                }
            }
            Src::Special(special) => self.special(st, special, tmp),
        }
    }

    /// A copy of a source's values.
    #[inline]
    pub(crate) fn values(&mut self, st: &State<'_>, src: &Src, mask: u32) -> Lanes {
        let mut tmp = [0; 32];
        *self.src(st, src, mask, &mut tmp)
    }

    /// The lanes in which a predicate holds.
    #[inline]
    pub(crate) fn pred(&mut self, pred: &PredSrc, mask: u32) -> u32 {
        match *pred {
            PredSrc::Const(value) => {
                if value {
                    u32::MAX
                } else {
                    0
                }
            }
            PredSrc::Reg { slot, negate } => {
                let slot = slot as usize;
                let value = self.frame.preds.get(slot).copied().unwrap_or(0);
                let defined = self.frame.preds_defined.get(slot).copied().unwrap_or(0);
                self.undefined |= mask & !defined;
                if negate { !value } else { value }
            }
        }
    }

    /// The lanes for which the guard of an instruction holds.
    #[inline]
    pub(crate) fn guarded(&mut self, inst: &Inst, lanes: u32) -> u32 {
        match inst.guard {
            None => lanes,
            Some(guard) => {
                let source = PredSrc::Reg {
                    slot: guard.slot,
                    negate: guard.negate,
                };
                self.pred(&source, lanes) & lanes
            }
        }
    }

    /// Writes a register in the lanes of `mask`, cut to its width.
    #[inline]
    pub(crate) fn write(&mut self, dst: Reg, mask: u32, values: &Lanes) {
        let slot = dst.slot as usize;
        let keep = u64::MAX >> (64 - dst.width.clamp(1, 64));
        let (Some(regs), Some(defined)) = (
            self.frame.regs.get_mut(slot),
            self.frame.defined.get_mut(slot),
        ) else {
            return;
        };
        *defined |= mask;
        if mask == u32::MAX {
            for (reg, value) in regs.iter_mut().zip(values) {
                *reg = value & keep;
            }
            return;
        }
        for (lane, (reg, value)) in regs.iter_mut().zip(values).enumerate() {
            if mask >> lane & 1 == 1 {
                *reg = value & keep;
            }
        }
    }

    /// Writes a predicate register in the lanes of `mask`.
    #[inline]
    pub(crate) fn write_pred(&mut self, slot: u32, mask: u32, value: u32) {
        let slot = slot as usize;
        if let (Some(pred), Some(defined)) = (
            self.frame.preds.get_mut(slot),
            self.frame.preds_defined.get_mut(slot),
        ) {
            *pred = *pred & !mask | value & mask;
            *defined |= mask;
        }
    }

    /// Fills `tmp` unless the source is a register; returns the lanes in which it is undefined.
    #[inline]
    pub(crate) fn peek(&self, st: &State<'_>, src: &Src, mask: u32, tmp: &mut Lanes) -> u32 {
        match *src {
            Src::Reg(slot) => mask & !self.frame.defined.get(slot as usize).copied().unwrap_or(0),
            Src::Imm(0) => 0,
            _ => {
                self.constant(st, src, tmp);
                0
            }
        }
    }

    #[inline]
    pub(crate) fn operand<'b>(&'b self, src: &Src, tmp: &'b Lanes) -> &'b Lanes {
        match *src {
            Src::Reg(slot) => self.frame.regs.get(slot as usize).unwrap_or(tmp),
            _ => tmp,
        }
    }

    /// Copies of two sources.
    pub(crate) fn two(&mut self, st: &State<'_>, src: &[Src; 2], mask: u32) -> [Lanes; 2] {
        [
            self.values(st, &src[0], mask),
            self.values(st, &src[1], mask),
        ]
    }
}
