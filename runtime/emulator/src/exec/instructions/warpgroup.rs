//! Four warps that multiply together: which products were issued, and their operands.
//!
//! A product belongs to the warpgroup. Its operands are read from shared memory once all four
//! warps have issued it: at once under EARLY, when a warp waits for it under LATE. The race
//! detector sees the reads when the last warp issues it. Each warp adds its quarter of the rows to
//! its own registers when it waits.

use std::ops::Range;
use std::sync::Arc;

use crate::exec::state::{DEFINED, IN_FLIGHT, Operands, Place, SHARED_START, Site, State};
use crate::finding::{FindingId, Space};
use crate::inst::{Exec, Wgmma};
use crate::tensor_core::{Element, Way};
use crate::tensor_map::TensorSwizzle;

/// A matrix descriptor (ISA 9.7.15.5.1.2).
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: TensorSwizzle,
    mn_major: bool,
    /// Bytes by which the swizzle pattern starts behind a multiple of its size.
    pattern: u64,
}

impl Descriptor {
    fn new(bits: u64, mn_major: bool) -> Descriptor {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let swizzle = match bits >> 62 {
            1 => TensorSwizzle::Bytes128,
            2 => TensorSwizzle::Bytes64,
            3 => TensorSwizzle::Bytes32,
            _ => TensorSwizzle::None,
        };
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            swizzle,
            mn_major,
            pattern: (bits >> 49 & 7) << 7,
        }
    }

    /// NOTE: a base offset says where the pattern starts (ISA 9.7.15.5.1.2.2), so its rows count
    /// from there; that an H200 does the same was not measured.
    fn swizzled(&self, at: u64) -> u64 {
        let low = at & 0x7f;
        let line = at.wrapping_sub(self.pattern) & !0x7f;
        let moved = self.swizzle.apply(line | low) & 0x7f;
        at & !0x7f | moved
    }

    /// Bytes of one row of the swizzle pattern.
    fn span(&self) -> u64 {
        16 << self.swizzle as u64
    }

    /// The address of 16 bytes: row `o` of those that follow one another in memory and byte `i`
    /// in it; rows of M or N when K-major, of K when MN-major.
    fn at(&self, o: u64, i: u64) -> u64 {
        let span = self.span();
        let at = match (self.mn_major, self.swizzle == TensorSwizzle::None) {
            (false, true) => self.start + o % 8 * 16 + o / 8 * self.stride + i / 16 * self.leading,
            (true, true) => self.start + o % 8 * 16 + o / 8 * self.leading + i / 16 * self.stride,
            (false, false) => self.start + o % 8 * span + o / 8 * self.stride + i,
            (true, false) => {
                let row = self.start + o % 8 * span + o / 8 * self.stride;
                row + i / span * self.leading + i % span
            }
        };
        self.swizzled(at)
    }
}

/// Bytes of one element.
pub(crate) fn element_bytes(ty: Element) -> usize {
    ty.bits() / 8
}

/// The value of an element; every type is exact in f32.
pub(crate) fn element(ty: Element, bytes: &[u8]) -> f32 {
    match (ty, bytes) {
        (Element::E4m3 | Element::E5m2, &[a]) => ty.narrow(a),
        (_, &[a]) => ty.single(u64::from(a)),
        (_, &[a, b]) => ty.single(u64::from(u16::from_le_bytes([a, b]))),
        (_, &[a, b, c, d]) => ty.single(u64::from(u32::from_le_bytes([a, b, c, d]))),
        _ => 0.0,
    }
}

impl State<'_> {
    /// The bytes of shared memory that a product reads, 16 at a time.
    fn operand_atom(&mut self, site: Site, address: u64) -> [u8; 16] {
        let mut atom = [0; 16];
        let offset = address.wrapping_sub(u64::from(SHARED_START));
        let mut bad = None;
        let Some(part) = self.part_mut(site.rank) else {
            return atom;
        };
        match part.shared.range_mut(offset as usize, 16) {
            None => {
                let location = self.locate(Space::Shared, address);
                self.report(FindingId::OobShared, site, Some(location), || {
                    "a matrix descriptor leads outside shared memory".to_owned()
                });
            }
            Some((data, state)) => {
                atom.copy_from_slice(data);
                if state
                    .iter()
                    .any(|state| *state & (IN_FLIGHT | DEFINED) != DEFINED)
                {
                    bad = Some(state.iter().any(|state| state & IN_FLIGHT != 0));
                }
            }
        }
        if let Some(in_flight) = bad {
            self.report_source((site.rank, offset as u32), in_flight, site);
        }
        atom
    }

    /// Gives `put` each element of one operand of `rows` by k elements, with its row and k.
    fn operand(
        &mut self,
        site: Site,
        bits: u64,
        (ty, rows, k): (Element, usize, usize),
        mn_major: bool,
        mut put: impl FnMut(usize, usize, f32),
    ) {
        let descriptor = Descriptor::new(bits, mn_major);
        let size = element_bytes(ty);
        let each = 16 / size;
        let (outer, inner) = if mn_major { (k, rows) } else { (rows, k) };
        for o in 0..outer {
            for chunk in 0..inner.div_ceil(each) {
                let address = descriptor.at(o as u64, 16 * chunk as u64);
                let atom = self.operand_atom(site, address);
                for (index, bytes) in atom.chunks_exact(size).enumerate() {
                    let i = chunk * each + index;
                    let (r, kk) = if mn_major { (i, o) } else { (o, i) };
                    if r < rows && kk < k {
                        put(r, kk, element(ty, bytes));
                    }
                }
            }
        }
    }

    /// Reads the operands of a product, unless that was done.
    pub(crate) fn read_operands(&mut self, group: usize, number: u64) {
        let Some(product) = self
            .near
            .warpgroups
            .get_mut(group)
            .and_then(|group| group.product(number))
        else {
            return;
        };
        if product.operands.is_some() {
            return;
        }
        let (site, (a, b)) = (product.site, product.descriptors);
        let env = self.env;
        let Some(Exec::Wgmma(op)) = env.code.get(site.pc as usize).map(|inst| &inst.exec) else {
            return;
        };
        let operands = Arc::new(self.dense(site, op, a, b));
        if let Some(group) = self.near.warpgroups.get_mut(group)
            && let Some(product) = group.product(number)
        {
            product.operands = Some(operands);
        }
    }

    fn dense(&mut self, site: Site, op: &Wgmma, a: u64, b: u64) -> Operands {
        let (n, k) = (op.n, op.k);
        let step = self.step(Way::Wgmma, (op.a_type, op.b_type), op.d_type, k);
        let mut operands = Operands::default();
        if op.a.is_err() {
            operands.a = vec![0.0; 64 * k];
            let out = &mut operands.a;
            self.operand(site, a, (op.a_type, 64, k), op.trans_a, |row, kk, value| {
                if let Some(place) = out.get_mut(row * k + kk) {
                    *place = value;
                }
            });
        }
        let columns = &mut operands.b;
        columns.resize(k, n);
        self.operand(
            site,
            b,
            (op.b_type, n, k),
            op.trans_b,
            |column, kk, value| {
                columns.put(kk, column, value);
            },
        );
        columns.close(&step);
        operands
    }

    /// Shows the operands of a product that all warps issued to the race detector.
    pub(crate) fn watch_product(&mut self, group: usize, number: u64) {
        let Some(mut race) = self.race.take() else {
            return;
        };
        let product = self.near.warpgroups.get_mut(group);
        if let Some(product) = product.and_then(|group| group.product(number)) {
            let (site, (a, b)) = (product.site, product.descriptors);
            let inst = self.env.code.get(site.pc as usize);
            if let Some(Exec::Wgmma(op)) = inst.map(|inst| &inst.exec) {
                let clock = &product.clock;
                for warp in (0..4).filter(|_| op.a.is_err()) {
                    let rows = 16 * warp as usize..16 * (warp as usize + 1);
                    let spans = operand_spans(a, (op.a_type, rows, op.k), op.trans_a, site.rank);
                    race.product_reads((&spans, Some(warp)), number, clock, site);
                }
                let spans = operand_spans(b, (op.b_type, 0..op.n, op.k), op.trans_b, site.rank);
                race.product_reads((&spans, None), number, clock, site);
            }
        }
        self.race = Some(race);
        self.report_conflicts();
    }
}

/// The shared bytes of some rows of an operand, joined where they follow one another.
fn operand_spans(
    bits: u64,
    (ty, rows, k): (Element, Range<usize>, usize),
    mn_major: bool,
    rank: u32,
) -> Vec<(Place, u32)> {
    let mut spans: Vec<(Place, u32)> = Vec::new();
    let descriptor = Descriptor::new(bits, mn_major);
    let (outer, inner) = if mn_major { (0..k, rows) } else { (rows, 0..k) };
    let byte = |element: usize| (element * element_bytes(ty)) as u64;
    for o in outer {
        for i in (byte(inner.start)..byte(inner.end)).step_by(16) {
            let offset = descriptor.at(o as u64, i);
            let offset = offset.wrapping_sub(u64::from(SHARED_START)) as u32;
            match spans.last_mut() {
                Some(((_, start), length)) if start.wrapping_add(*length) == offset => {
                    *length += 16
                }
                _ => spans.push(((rank, offset), 16)),
            }
        }
    }
    spans
}
