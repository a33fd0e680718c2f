//! Between the accumulator registers of a warp and the 16 rows of D that it owns.
//!
//! With g = lane/4 and t = lane%4 register 4j+q of an f32 or s32 accumulator is
//! (g + 8 (q div 2), 8j + 2t + q mod 2); an f16 register 2j+h holds (g + 8h, 8j + 2t) and the
//! next one (ISA 9.7.15.5).

use crate::exec::state::Warp;
use crate::inst::{Lanes, Wgmma};
use crate::tensor_core::{Sum, from_bits, to_bits};

impl Warp {
    fn register(&self, slot: u32) -> Lanes {
        let register = self.frame.regs.get(slot as usize);
        register.copied().unwrap_or([0; 32])
    }

    fn scatter_single(&mut self, op: &Wgmma, sums: &[f32], mask: u32) {
        for (r, reg) in op.d.iter().enumerate() {
            let mut values = [0; 32];
            for (g, values) in values.chunks_exact_mut(4).enumerate() {
                let start = place(op, 4 * g, r, 0);
                let row = sums.iter().skip(start).step_by(2);
                for (value, sum) in values.iter_mut().zip(row) {
                    *value = to_bits(Sum::F32, *sum);
                }
            }
            self.write(*reg, mask, &values);
        }
    }

    /// The values of D, by rows.
    pub(crate) fn gather_d(&self, op: &Wgmma, sums: &mut [f32]) {
        if op.d_type == Sum::F32 {
            for (r, reg) in op.d.iter().enumerate() {
                let values = self.register(reg.slot);
                for (g, values) in values.chunks_exact(4).enumerate() {
                    let start = place(op, 4 * g, r, 0);
                    let row = sums.iter_mut().skip(start).step_by(2);
                    for (sum, value) in row.zip(values) {
                        *sum = f32::from_bits(*value as u32);
                    }
                }
            }
            return;
        }
        for (r, reg) in op.d.iter().enumerate() {
            let values = self.register(reg.slot);
            for (lane, value) in values.iter().enumerate() {
                if op.d_type == Sum::F16 {
                    for half in 0..2 {
                        let at = place(op, lane, r, half);
                        sums[at] = from_bits(Sum::F16, value >> (16 * half));
                    }
                } else {
                    sums[place(op, lane, r, 0)] = f32::from_bits(*value as u32);
                }
            }
        }
    }

    /// Writes D, from rows; integer sums are of one product and still to be added.
    pub(crate) fn scatter_d(&mut self, op: &Wgmma, accumulates: bool, sums: &[f32], mask: u32) {
        if op.d_type == Sum::F32 {
            return self.scatter_single(op, sums, mask);
        }
        for (r, reg) in op.d.iter().enumerate() {
            let old = self.register(reg.slot);
            let value = |lane: usize| match op.d_type {
                Sum::S32 { saturate } => {
                    // The sum of one product is exact in f32.
                    let sum = sums[place(op, lane, r, 0)] as i64;
                    let old = if accumulates {
                        i64::from(old[lane] as u32 as i32)
                    } else {
                        0
                    };
                    let clamped = (old + sum).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
                    u64::from((if saturate { clamped } else { old + sum }) as u32)
                }
                Sum::F16 => {
                    let half = |half: usize| to_bits(Sum::F16, sums[place(op, lane, r, half)]);
                    half(0) | half(1) << 16
                }
                _ => to_bits(op.d_type, sums[place(op, lane, r, 0)]),
            };
            let values = std::array::from_fn(value);
            self.write(*reg, mask, &values);
        }
    }
}

/// The index of an element of D in the warp's 16 rows.
fn place(op: &Wgmma, lane: usize, r: usize, half: usize) -> usize {
    let (g, t) = (lane / 4, lane % 4);
    if op.d_type == Sum::F16 {
        return (g + 8 * (r % 2)) * op.n + 8 * (r / 2) + 2 * t + half;
    }
    let (j, q) = (r / 4, r % 4);
    (g + 8 * (q / 2)) * op.n + 8 * j + 2 * t + q % 2
}
