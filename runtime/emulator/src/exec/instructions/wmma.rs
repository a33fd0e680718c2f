//! `wmma`: fragments to and from memory, and D = A B + C of whole warps (ISA 9.7.14.4).

use crate::exec::state::{Flow, State, Warp};
use crate::inst::{Access, Fragment, FragmentMove, Lanes, Order, Src, Wmma};
use crate::tensor_core::{Columns, Step, Sum, Way, from_bits, to_bits};

/// The part of a register that is one element.
fn part(fragment: &Fragment, word: u64, i: usize) -> u64 {
    word >> (i * fragment.bits) & u64::MAX >> (64 - fragment.bits)
}

impl FragmentMove {
    /// The access to one element of each lane.
    fn access(&self) -> Access {
        Access {
            space: self.space,
            address: self.address,
            order: Order::default(),
            bytes: self.fragment.bits as u32 / 8,
            count: 1,
        }
    }

    /// The addresses of element `i` of a register.
    fn addresses(&self, bases: &Lanes, strides: &Lanes, register: usize, i: usize) -> Lanes {
        let bytes = self.fragment.bits as u64 / 8;
        std::array::from_fn(|lane| {
            let (row, column) = self.fragment.place(register, i, lane);
            let (outer, inner) = match self.column_major {
                true => (column, row),
                false => (row, column),
            };
            let stride = u64::from(strides[lane] as u32);
            let index = stride.wrapping_mul(outer as u64).wrapping_add(inner as u64);
            bases[lane].wrapping_add(index.wrapping_mul(bytes))
        })
    }
}

impl Warp {
    pub(crate) fn load_fragment(
        &mut self,
        st: &mut State<'_>,
        op: &FragmentMove,
        mask: u32,
    ) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let bases = self.addresses(st, &op.address, mask);
        let strides = self.values(st, &op.stride, mask);
        let (fragment, access) = (&op.fragment, op.access());
        let mut words = Vec::with_capacity(fragment.distinct());
        for register in 0..fragment.distinct() {
            let mut word: Lanes = [0; 32];
            for i in 0..fragment.each() {
                let addresses = op.addresses(&bases, &strides, register, i);
                let [values] = self.load_at::<1>(st, &access, (&addresses, mask));
                for (word, value) in word.iter_mut().zip(values) {
                    *word |= value << (i * fragment.bits);
                }
            }
            words.push(word);
        }
        for (dst, word) in op.dst.iter().zip(words.iter().cycle()) {
            self.write(*dst, mask, word);
        }
        Flow::Next
    }

    pub(crate) fn store_fragment(
        &mut self,
        st: &mut State<'_>,
        op: &FragmentMove,
        mask: u32,
    ) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let bases = self.addresses(st, &op.address, mask);
        let strides = self.values(st, &op.stride, mask);
        let (fragment, access) = (&op.fragment, op.access());
        for (register, src) in op.src.iter().enumerate() {
            let words = self.values(st, src, mask);
            for i in 0..fragment.each() {
                let addresses = op.addresses(&bases, &strides, register, i);
                let values = words.map(|word| part(fragment, word, i));
                self.store_at::<1>(st, &access, &[values], (&addresses, mask));
            }
        }
        Flow::Next
    }

    /// The elements of a fragment, by rows.
    fn elements(
        &mut self,
        st: &State<'_>,
        fragment: &Fragment,
        registers: &[Src],
        mask: u32,
    ) -> Vec<u64> {
        let mut out = vec![0; fragment.rows * fragment.columns];
        for (register, src) in registers.iter().enumerate().take(fragment.distinct()) {
            let words = self.values(st, src, mask);
            for (lane, word) in words.iter().enumerate() {
                for i in 0..fragment.each() {
                    let (row, column) = fragment.place(register, i, lane);
                    if let Some(place) = out.get_mut(row * fragment.columns + column) {
                        *place = part(fragment, *word, i);
                    }
                }
            }
        }
        out
    }

    pub(crate) fn wmma(&mut self, st: &mut State<'_>, op: &Wmma, mask: u32) -> Flow {
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let [a, b, c, d] = &op.fragments;
        st.counters.mma_flop += 2 * (d.rows * d.columns * op.k) as u64;
        // An accumulator of f32 on either side makes sums of f32.
        let sum = match (op.c_type, op.d_type) {
            (Sum::F16, Sum::F32) => Sum::F32,
            (c_type, _) => c_type,
        };
        let step = st.step(Way::Wmma, (op.a_type, op.b_type), sum, op.k);
        let a = self.elements(st, a, &op.a, mask);
        let b = self.elements(st, b, &op.b, mask);
        let c = self.elements(st, c, &op.c, mask);
        let sums = match step.is_ruled() {
            true => floats(&step, op, (&a, &b, &c)),
            false => others(&step, (&a, &b, &c)),
        };
        for (register, dst) in op.d.iter().enumerate() {
            let value = |lane: usize| {
                (0..d.each()).fold(0, |word, i| {
                    let (row, column) = d.place(register, i, lane);
                    let bits = sums.get(row * d.columns + column).copied();
                    word | bits.unwrap_or(0) << (i * d.bits)
                })
            };
            self.write(*dst, mask, &std::array::from_fn(value));
        }
        Flow::Next
    }
}

/// Sums by the architecture's rules.
fn floats(step: &Step, op: &Wmma, (a, b, c): (&[u64], &[u64], &[u64])) -> Vec<u64> {
    let rows: Vec<f32> = a.iter().map(|bits| op.a_type.single(*bits)).collect();
    let mut columns = Columns::default();
    let n = op.fragments[3].columns;
    columns.resize(op.k, n);
    for (index, bits) in b.iter().enumerate() {
        columns.put(index / n, index % n, op.b_type.single(*bits));
    }
    columns.close(step);
    let mut sums: Vec<f32> = c.iter().map(|bits| from_bits(op.c_type, *bits)).collect();
    step.add_tile(&rows, &columns, &mut sums);
    sums.iter().map(|sum| to_bits(op.d_type, *sum)).collect()
}

/// Sums of f64 and of integers, one after the other.
fn others(step: &Step, (a, b, c): (&[u64], &[u64], &[u64])) -> Vec<u64> {
    let k = step.k().max(1);
    let n = b.len() / k;
    let element = |(index, c): (usize, &u64)| {
        let row = a.get(index / n * k..).unwrap_or_default();
        let column: Vec<u64> = b.iter().skip(index % n).step_by(n).copied().collect();
        step.dot(row, &column, *c)
    };
    c.iter().enumerate().map(element).collect()
}
