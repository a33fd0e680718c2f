//! `mma.sync`: D = A B + C on fragments spread over a warp (ISA 9.7.14.5).
//!
//! One map holds for all element types. With g = lane/4, t = lane%4 and e elements in a register:
//! A register r holds row g + 8 (r mod 2) and columns (r div 2) 4e + t e + i; B register r holds
//! row 4e r + t e + i of column g; C and D register r hold (g + 8 (r div 2), 2t + r mod 2), two
//! of them packed for f16. Tiles of 8 rows have no second row block.
//!
//! Numerics: products are exact and added to an f32 accumulator in ascending k, each sum rounded
//! to nearest. The hardware aligns and truncates in a way that is not documented; on data whose
//! sums are exact both agree.

use super::state::State;
use super::warp::{Flow, Warp};
use crate::inst::{Accumulator, Lanes, Mma, MmaType, Src};
use crate::num::convert::Scalar;
use crate::num::int::sign_extend;
use crate::num::round::{F16, F32, Round, round};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Dense operands of the largest tile.
pub(super) struct Tile<T> {
    a: [T; 16 * 64],
    b: [T; 64 * 8],
    c: [T; 16 * 8],
}

impl<T: Copy + Default> Tile<T> {
    fn new() -> Tile<T> {
        Tile {
            a: [T::default(); 16 * 64],
            b: [T::default(); 64 * 8],
            c: [T::default(); 16 * 8],
        }
    }
}

/// A dense operand that is being filled.
struct Dense<'t> {
    out: &'t mut [f32],
    m: usize,
    k: usize,
}

impl Dense<'_> {
    /// The elements of A's register `r`, which lie side by side in one row.
    #[inline]
    fn put_a(&mut self, lane: usize, r: usize, values: &[f32]) {
        let (row, column) = place_a(self.m, values.len(), lane, r, 0);
        let at = row * self.k + column;
        if let Some(place) = self.out.get_mut(at..at + values.len()) {
            place.copy_from_slice(values);
        }
    }

    /// The elements of B's register `r`, which lie one below the other in one column.
    #[inline]
    fn put_b(&mut self, lane: usize, r: usize, values: &[f32]) {
        let (row, column) = place_b(values.len(), lane, r, 0);
        let places = self.out.iter_mut().skip(8 * row + column).step_by(8);
        for (place, value) in places.zip(values) {
            *place = *value;
        }
    }
}

/// Row and column of element `i` of A's register `r`.
fn place_a(m: usize, e: usize, lane: usize, r: usize, i: usize) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    if m == 8 {
        return (g, r * 4 * e + t * e + i);
    }
    (g + 8 * (r % 2), (r / 2) * 4 * e + t * e + i)
}

/// Row and column of element `i` of B's register `r`.
fn place_b(e: usize, lane: usize, r: usize, i: usize) -> (usize, usize) {
    (r * 4 * e + (lane % 4) * e + i, lane / 4)
}

/// Row and column of C's element `r`; packed registers hold elements 2r and 2r+1.
fn place_c(lane: usize, r: usize) -> (usize, usize) {
    (lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2)
}

impl Warp {
    pub(crate) fn mma(&mut self, st: &mut State<'_>, op: &Mma, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        st.counters.mma_flop += 2 * (op.m * op.n * op.k) as u64;
        match (op.a_type, op.d_type) {
            (MmaType::F64, _) => self.mma_double(st, op, mask),
            (_, Accumulator::S32 { saturate }) => self.mma_integer(st, op, saturate, mask),
            _ => self.mma_single(st, op, mask),
        }
        Flow::Next
    }

    /// Spreads the elements of registers over a dense tile.
    fn spread<T>(
        &mut self,
        st: &State<'_>,
        (registers, ty): (&[Src], MmaType),
        mask: u32,
        mut put: impl FnMut(usize, usize, usize, T),
        convert: impl Fn(u64) -> T,
    ) {
        let bits = ty.bits();
        let each = (32 / bits).max(1);
        let keep = u64::MAX >> (64 - bits);
        for (r, src) in registers.iter().enumerate() {
            let values = self.values(st, src, mask);
            for (lane, value) in values.iter().enumerate() {
                for i in 0..each {
                    put(lane, r, i, convert(value >> (i * bits) & keep));
                }
            }
        }
    }

    fn mma_single(&mut self, st: &mut State<'_>, op: &Mma, mask: u32) {
        let (m, k) = (op.m, op.k);
        // Clearing a tile costs as much as a product; what is read of it is written first.
        let mut tile = st.tile.take().unwrap_or_else(|| Box::new(Tile::new()));
        self.spread_single(st, op, mask, &mut tile);
        match op.c_type {
            Accumulator::F16 => {
                for (r, src) in op.c.iter().enumerate() {
                    let values = self.values(st, src, mask);
                    for (lane, value) in values.iter().enumerate() {
                        for half in 0..2 {
                            let (row, column) = place_c(lane, 2 * r + half);
                            let bits = f16::from_bits((value >> (16 * half)) as u16);
                            tile.c[8 * row + column] = bits.to_f32();
                        }
                    }
                }
            }
            _ => {
                for (r, src) in op.c.iter().enumerate() {
                    let values = self.values(st, src, mask);
                    for (lane, value) in values.iter().enumerate() {
                        let (row, column) = place_c(lane, r);
                        tile.c[8 * row + column] = f32::from_bits(*value as u32);
                    }
                }
            }
        }
        for (row, c) in tile.c.chunks_exact_mut(8).enumerate().take(m) {
            let mut sums = [0f32; 8];
            sums.copy_from_slice(c);
            let a = &tile.a[row * k..(row + 1) * k];
            for (a, b) in a.iter().zip(tile.b.chunks_exact(8)) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
            c.copy_from_slice(&sums);
        }
        self.write_single(op, mask, &tile.c);
        st.tile = Some(tile);
    }

    /// A and B as f32; every element type is exact in it.
    fn spread_single(&mut self, st: &State<'_>, op: &Mma, mask: u32, tile: &mut Tile<f32>) {
        let (m, k) = (op.m, op.k);
        let dense = Dense {
            out: &mut tile.a,
            m,
            k,
        };
        self.spread_one(
            st,
            (&op.a, op.a_type),
            mask,
            dense,
            |dense, lane, r, values| {
                dense.put_a(lane, r, values);
            },
        );
        let dense = Dense {
            out: &mut tile.b,
            m,
            k,
        };
        self.spread_one(
            st,
            (&op.b, op.b_type),
            mask,
            dense,
            |dense, lane, r, values| {
                dense.put_b(lane, r, values);
            },
        );
    }

    /// Converts the elements of one operand's registers; `put` places those of one register.
    fn spread_one(
        &mut self,
        st: &State<'_>,
        (registers, ty): (&[Src], MmaType),
        mask: u32,
        mut dense: Dense<'_>,
        put: impl Fn(&mut Dense<'_>, usize, usize, &[f32]),
    ) {
        for (r, src) in registers.iter().enumerate() {
            let words = self.values(st, src, mask);
            match ty {
                MmaType::F16 => {
                    let mut halves = [f16::ZERO; 64];
                    for (pair, word) in halves.chunks_exact_mut(2).zip(&words) {
                        pair[0] = f16::from_bits(*word as u16);
                        pair[1] = f16::from_bits((word >> 16) as u16);
                    }
                    let mut singles = [0f32; 64];
                    halves.convert_to_f32_slice(&mut singles);
                    for (lane, pair) in singles.chunks_exact(2).enumerate() {
                        put(&mut dense, lane, r, pair);
                    }
                }
                MmaType::Bf16 => {
                    for (lane, word) in words.iter().enumerate() {
                        let word = *word as u32;
                        let pair = [word << 16, word & 0xffff_0000].map(f32::from_bits);
                        put(&mut dense, lane, r, &pair);
                    }
                }
                MmaType::Tf32 => {
                    for (lane, word) in words.iter().enumerate() {
                        // The low 13 bits of a tf32 operand are not looked at.
                        put(
                            &mut dense,
                            lane,
                            r,
                            &[f32::from_bits(*word as u32 & !0x1fff)],
                        );
                    }
                }
                _ => {
                    let kind = if ty == MmaType::E4m3 {
                        Scalar::E4m3
                    } else {
                        Scalar::E5m2
                    };
                    for (lane, word) in words.iter().enumerate() {
                        let bytes = (*word as u32).to_le_bytes();
                        let values = bytes.map(|byte| kind.float(u64::from(byte)) as f32);
                        put(&mut dense, lane, r, &values);
                    }
                }
            }
        }
    }

    fn write_single(&mut self, op: &Mma, mask: u32, c: &[f32; 128]) {
        let packed = op.d_type == Accumulator::F16;
        for (r, dst) in op.d.iter().enumerate() {
            let value = |lane: usize| {
                if packed {
                    let half = |half: usize| {
                        let (row, column) = place_c(lane, 2 * r + half);
                        u64::from(round(
                            f64::from(c[8 * row + column]),
                            F16,
                            Round::Nearest,
                            false,
                        ))
                    };
                    return half(0) | half(1) << 16;
                }
                let (row, column) = place_c(lane, r);
                let sum = c[8 * row + column];
                u64::from(if sum.is_nan() { F32.nan } else { sum.to_bits() })
            };
            self.write(*dst, mask, &std::array::from_fn(value));
        }
    }

    fn mma_integer(&mut self, st: &State<'_>, op: &Mma, saturate: bool, mask: u32) {
        let (m, k) = (op.m, op.k);
        let mut tile = Tile::<i32>::new();
        let integer = |ty: MmaType| {
            move |bits: u64| {
                let signed = matches!(ty, MmaType::S8 | MmaType::S4);
                (if signed {
                    sign_extend(bits, ty.bits() as u32)
                } else {
                    bits
                }) as i32
            }
        };
        let (ea, eb) = (32 / op.a_type.bits(), 32 / op.b_type.bits());
        let a = &mut tile.a;
        let put = |lane, r, i, value| {
            let (row, column) = place_a(m, ea, lane, r, i);
            a[row * k + column] = value;
        };
        self.spread(st, (&op.a, op.a_type), mask, put, integer(op.a_type));
        let b = &mut tile.b;
        let put = |lane, r, i, value| {
            let (row, column) = place_b(eb, lane, r, i);
            b[8 * row + column] = value;
        };
        self.spread(st, (&op.b, op.b_type), mask, put, integer(op.b_type));
        for (r, (src, dst)) in op.c.iter().zip(&op.d).enumerate() {
            let c: Lanes = self.values(st, src, mask);
            let value = |lane: usize| {
                let (row, column) = place_c(lane, r);
                let product = |kk: usize| {
                    i64::from(tile.a[row * k + kk]) * i64::from(tile.b[8 * kk + column])
                };
                let sum = i64::from(c[lane] as u32 as i32) + (0..k).map(product).sum::<i64>();
                let clamped = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
                u64::from((if saturate { clamped } else { sum }) as u32)
            };
            let out = std::array::from_fn(value);
            self.write(*dst, mask, &out);
        }
    }

    fn mma_double(&mut self, st: &State<'_>, op: &Mma, mask: u32) {
        let (m, k) = (op.m, op.k);
        let mut tile = Tile::<f64>::new();
        let a = &mut tile.a;
        let put = |lane, r, i, value| {
            let (row, column) = place_a(m, 1, lane, r, i);
            a[row * k + column] = value;
        };
        self.spread(st, (&op.a, MmaType::F64), mask, put, f64::from_bits);
        let b = &mut tile.b;
        let put = |lane, r, i, value| {
            let (row, column) = place_b(1, lane, r, i);
            b[8 * row + column] = value;
        };
        self.spread(st, (&op.b, MmaType::F64), mask, put, f64::from_bits);
        let c: Vec<Lanes> = op.c.iter().map(|src| self.values(st, src, mask)).collect();
        for (r, (c, dst)) in c.iter().zip(&op.d).enumerate() {
            let value = |lane: usize| {
                let (row, column) = place_c(lane, r);
                let start = f64::from_bits(c[lane]);
                let add = |sum: f64, kk: usize| {
                    tile.a[row * k + kk].mul_add(tile.b[8 * kk + column], sum)
                };
                (0..k).fold(start, add).to_bits()
            };
            let out = std::array::from_fn(value);
            self.write(*dst, mask, &out);
        }
    }
}
