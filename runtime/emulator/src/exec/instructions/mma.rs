//! `mma.sync`: D = A B + C on fragments spread over a warp (ISA 9.7.14.5).
//!
//! One map holds for all element types. With g = lane/4, t = lane%4 and e elements in a register:
//! A register r holds row g + 8 (r mod 2) and columns (r div 2) 4e + t e + i; B register r holds
//! row 4e r + t e + i of column g; C and D register r hold (g + 8 (r div 2), 2t + r mod 2), two
//! of them packed for f16. Tiles of 8 rows have no second row block.
//!
//! What is summed how is [`crate::tensor_core`]'s.

use crate::exec::state::{Flow, State, Tile, Warp};
use crate::inst::{Lanes, Mma, Src};
use crate::num::int::sign_extend;
use crate::tensor_core::{Columns, Element, Step, Sum, Way, double, from_bits, to_bits};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Dense operands of the largest tile.
struct Dense<T> {
    a: [T; 16 * 64],
    b: [T; 64 * 8],
}

impl<T: Copy + Default> Dense<T> {
    fn new() -> Dense<T> {
        Dense {
            a: [T::default(); 16 * 64],
            b: [T::default(); 64 * 8],
        }
    }
}

/// An operand that is being filled.
struct Filling<'t> {
    out: &'t mut [f32],
    m: usize,
    step: &'t Step,
}

impl Filling<'_> {
    /// The elements of A's register `r`, which lie side by side in one row.
    #[inline]
    fn put_a(&mut self, lane: usize, r: usize, values: &[f32]) {
        let (row, column) = place_a(self.m, values.len(), lane, r, 0);
        let start = row * self.step.k();
        if values.len() <= 2 {
            let at = start + column;
            if let Some(place) = self.out.get_mut(at..at + values.len()) {
                place.copy_from_slice(values);
            }
            return;
        }
        // Of four, sums may want pairs apart.
        for (i, value) in values.iter().enumerate() {
            if let Some(place) = self.out.get_mut(start + self.step.place(column + i)) {
                *place = *value;
            }
        }
    }

    /// The elements of B's register `r`, which lie one below the other in one column.
    #[inline]
    fn put_b(&mut self, lane: usize, r: usize, values: &[f32]) {
        let (row, column) = place_b(values.len(), lane, r, 0);
        for (i, value) in values.iter().enumerate() {
            let row = match values.len() {
                ..=2 => row + i,
                _ => self.step.place(row + i),
            };
            if let Some(place) = self.out.get_mut(8 * row + column) {
                *place = *value;
            }
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

/// Sums in one register.
fn each(sum: Sum) -> usize {
    if sum == Sum::F16 { 2 } else { 1 }
}

impl Warp {
    pub(crate) fn mma(&mut self, st: &mut State<'_>, op: &Mma, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        st.counters.mma_flop += 2 * (op.m * op.n * op.k) as u64;
        match (op.a_type, op.d_type) {
            (Element::F64, _) => self.mma_double(st, op, mask),
            (_, Sum::S32 { saturate }) => self.mma_integer(st, op, saturate, mask),
            _ => self.mma_single(st, op, mask),
        }
        Flow::Next
    }

    /// Spreads the elements of registers over a dense tile.
    fn spread<T>(
        &mut self,
        st: &State<'_>,
        (registers, ty): (&[Src], Element),
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
        // An accumulator of f32 on either side makes sums of f32.
        let sum = match (op.c_type, op.d_type) {
            (Sum::F16, Sum::F16) => Sum::F16,
            _ => Sum::F32,
        };
        let step = st.step(Way::Mma, (op.a_type, op.b_type), sum, op.k);
        // Clearing a tile costs as much as a product; what is read of it is written first.
        let mut tile = st.tile.take().unwrap_or_else(|| {
            Box::new(Tile {
                a: [0.0; 16 * 32],
                b: Columns::default(),
                c: [0.0; 16 * 8],
            })
        });
        tile.b.resize(op.k, 8);
        let (m, out) = (op.m, &mut tile.a[..]);
        let filling = Filling {
            out,
            m,
            step: &step,
        };
        let operand = (op.a.as_slice(), op.a_type);
        self.spread_one(st, operand, mask, filling, Filling::put_a);
        let filling = Filling {
            out: tile.b.values(),
            m,
            step: &step,
        };
        let operand = (op.b.as_slice(), op.b_type);
        self.spread_one(st, operand, mask, filling, Filling::put_b);
        tile.b.close(&step);
        self.spread_sums(st, op, mask, &mut tile.c);
        let rows = &tile.a[..m * op.k];
        step.add_tile(rows, &tile.b, &mut tile.c[..8 * m]);
        self.write_sums(op, mask, &tile.c);
        st.tile = Some(tile);
    }

    /// Converts the elements of one operand's registers; `put` places those of one register.
    fn spread_one<'t>(
        &mut self,
        st: &State<'_>,
        (registers, ty): (&[Src], Element),
        mask: u32,
        mut filling: Filling<'t>,
        put: impl Fn(&mut Filling<'t>, usize, usize, &[f32]),
    ) {
        for (r, src) in registers.iter().enumerate() {
            let words = self.values(st, src, mask);
            match ty {
                Element::F16 => {
                    let mut halves = [f16::ZERO; 64];
                    for (pair, word) in halves.chunks_exact_mut(2).zip(&words) {
                        pair[0] = f16::from_bits(*word as u16);
                        pair[1] = f16::from_bits((word >> 16) as u16);
                    }
                    let mut singles = [0f32; 64];
                    halves.convert_to_f32_slice(&mut singles);
                    for (lane, pair) in singles.chunks_exact(2).enumerate() {
                        put(&mut filling, lane, r, pair);
                    }
                }
                Element::Bf16 => {
                    for (lane, word) in words.iter().enumerate() {
                        let word = *word as u32;
                        let pair = [word << 16, word & 0xffff_0000].map(f32::from_bits);
                        put(&mut filling, lane, r, &pair);
                    }
                }
                Element::E4m3 | Element::E5m2 => {
                    for (lane, word) in words.iter().enumerate() {
                        let bytes = (*word as u32).to_le_bytes();
                        put(&mut filling, lane, r, &bytes.map(|byte| ty.narrow(byte)));
                    }
                }
                _ => {
                    for (lane, word) in words.iter().enumerate() {
                        put(&mut filling, lane, r, &[ty.single(*word)]);
                    }
                }
            }
        }
    }

    /// C by rows of 8.
    fn spread_sums(&mut self, st: &State<'_>, op: &Mma, mask: u32, sums: &mut [f32; 128]) {
        let each = each(op.c_type);
        for (r, src) in op.c.iter().enumerate() {
            let values = self.values(st, src, mask);
            if op.c_type == Sum::F32 {
                for (lane, value) in values.iter().enumerate() {
                    let (row, column) = place_c(lane, r);
                    sums[8 * row + column] = f32::from_bits(*value as u32);
                }
                continue;
            }
            for (lane, value) in values.iter().enumerate() {
                for half in 0..each {
                    let (row, column) = place_c(lane, each * r + half);
                    sums[8 * row + column] = from_bits(op.c_type, value >> (16 * half));
                }
            }
        }
    }

    fn write_sums(&mut self, op: &Mma, mask: u32, sums: &[f32; 128]) {
        let each = each(op.d_type);
        for (r, dst) in op.d.iter().enumerate() {
            if op.d_type == Sum::F32 {
                let value = |lane: usize| {
                    let (row, column) = place_c(lane, r);
                    to_bits(Sum::F32, sums[8 * row + column])
                };
                self.write(*dst, mask, &std::array::from_fn(value));
                continue;
            }
            let half = |lane: usize, half: usize| {
                let (row, column) = place_c(lane, each * r + half);
                to_bits(op.d_type, sums[8 * row + column]) << (16 * half)
            };
            let value = |lane: usize| (0..each).fold(0, |word, i| word | half(lane, i));
            self.write(*dst, mask, &std::array::from_fn(value));
        }
    }

    fn mma_integer(&mut self, st: &State<'_>, op: &Mma, saturate: bool, mask: u32) {
        let (m, k) = (op.m, op.k);
        let mut tile = Dense::<i32>::new();
        let integer = |ty: Element| {
            move |bits: u64| {
                let signed = matches!(ty, Element::S8 | Element::S4);
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
        let mut tile = Dense::<u64>::new();
        let a = &mut tile.a;
        let put = |lane, r, i, value| {
            let (row, column) = place_a(m, 1, lane, r, i);
            a[row * k + column] = value;
        };
        self.spread(st, (&op.a, Element::F64), mask, put, |bits| bits);
        let b = &mut tile.b;
        let put = |lane, r, i, value| {
            let (row, column) = place_b(1, lane, r, i);
            b[8 * row + column] = value;
        };
        self.spread(st, (&op.b, Element::F64), mask, put, |bits| bits);
        let c: Vec<Lanes> = op.c.iter().map(|src| self.values(st, src, mask)).collect();
        for (r, (c, dst)) in c.iter().zip(&op.d).enumerate() {
            let value = |lane: usize| {
                let (row, column) = place_c(lane, r);
                let add = |sum: u64, kk: usize| {
                    double(tile.a[row * k + kk], tile.b[8 * kk + column], sum)
                };
                (0..k).fold(c[lane], add)
            };
            let out = std::array::from_fn(value);
            self.write(*dst, mask, &out);
        }
    }
}
