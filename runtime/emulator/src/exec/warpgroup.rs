//! Four warps that multiply together: which products were issued, and their operands.
//!
//! A product belongs to the warpgroup. Its operands are read from shared memory once all four
//! warps have issued it: at once under EARLY, when a warp waits for it under LATE. Each warp adds
//! its quarter of the rows to its own registers when it waits.

use std::collections::VecDeque;
use std::sync::Arc;

use super::bytes::{DEFINED, IN_FLIGHT};
use super::env::SHARED_START;
use super::race::ProductClock;
use super::state::{Site, State};
use crate::finding::FindingId;
use crate::inst::{Exec, MmaType, Wgmma};
use crate::num::convert::Scalar;
use crate::tensor_map::TensorSwizzle;

/// The warps of a warpgroup, as bits.
pub(crate) const ALL_WARPS: u8 = 0xf;

/// Dense operands of a product.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    /// 64 rows of k elements; empty when A comes from registers.
    pub(crate) a: Vec<f32>,
    /// k rows of n elements.
    pub(crate) b: Vec<f32>,
}

/// A product that not every warp has taken.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) site: Site,
    /// The descriptors of A and B.
    pub(crate) descriptors: (u64, u64),
    pub(crate) issued: u8,
    pub(crate) taken: u8,
    pub(crate) clock: ProductClock,
    pub(crate) operands: Option<Arc<Operands>>,
}

/// The products of four warps.
#[derive(Debug, Default)]
pub(crate) struct Warpgroup {
    pub(crate) products: VecDeque<Product>,
    /// The number of the first one.
    pub(crate) first: u64,
}

impl Warpgroup {
    pub(crate) fn product(&mut self, number: u64) -> Option<&mut Product> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.products.get_mut(index)
    }

    /// Forgets the products that all warps have taken.
    pub(crate) fn retire(&mut self) {
        while let Some(product) = self.products.front()
            && product.taken == ALL_WARPS
        {
            self.products.pop_front();
            self.first += 1;
        }
    }
}

/// A matrix descriptor (ISA 9.7.15.5.1.2).
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: TensorSwizzle,
    /// Bytes by which the swizzle pattern starts behind a multiple of its size.
    pattern: u64,
}

impl Descriptor {
    fn new(bits: u64) -> Descriptor {
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

    /// The address of 16 bytes: row `r` and byte `kb` along K, K-major.
    fn k_major(&self, r: u64, kb: u64) -> u64 {
        let at = if self.swizzle == TensorSwizzle::None {
            self.start + r % 8 * 16 + r / 8 * self.stride + kb / 16 * self.leading
        } else {
            self.start + r % 8 * self.span() + r / 8 * self.stride + kb
        };
        self.swizzled(at)
    }

    /// The address of 16 bytes: byte `rb` along M or N and row `k`, MN-major.
    fn mn_major(&self, rb: u64, k: u64) -> u64 {
        let at = if self.swizzle == TensorSwizzle::None {
            self.start + k % 8 * 16 + k / 8 * self.leading + rb / 16 * self.stride
        } else {
            let span = self.span();
            self.start + k % 8 * span + k / 8 * self.stride + rb / span * self.leading + rb % span
        };
        self.swizzled(at)
    }
}

/// Bytes of one element.
pub(crate) fn element_bytes(ty: MmaType) -> usize {
    ty.bits() / 8
}

/// The value of an element; every type is exact in f32.
pub(crate) fn element(ty: MmaType, bytes: &[u8]) -> f32 {
    match (ty, bytes) {
        (MmaType::F16, &[a, b]) => half::f16::from_le_bytes([a, b]).to_f32(),
        (MmaType::Bf16, &[a, b]) => half::bf16::from_le_bytes([a, b]).to_f32(),
        (MmaType::Tf32, &[a, b, c, d]) => {
            f32::from_bits(u32::from_le_bytes([a, b, c, d]) & !0x1fff)
        }
        (MmaType::E4m3, &[a]) => Scalar::E4m3.float(u64::from(a)) as f32,
        (MmaType::E5m2, &[a]) => Scalar::E5m2.float(u64::from(a)) as f32,
        (MmaType::S8, &[a]) => f32::from(a as i8),
        (_, &[a]) => f32::from(a),
        _ => 0.0,
    }
}

impl State<'_> {
    /// The bytes of shared memory that a product reads, 16 at a time.
    fn operand_atom(&mut self, site: Site, address: u64) -> [u8; 16] {
        let mut atom = [0; 16];
        let offset = address.wrapping_sub(u64::from(SHARED_START));
        let (mut bad, mut read) = (None, false);
        let Some(part) = self.part_mut(site.rank) else {
            return atom;
        };
        match part.shared.range_mut(offset as usize, 16) {
            None => {
                let location = self.locate(crate::finding::Space::Shared, address);
                self.report(FindingId::OobShared, site, Some(location), || {
                    "a matrix descriptor leads outside shared memory".to_owned()
                });
            }
            Some((data, state)) => {
                atom.copy_from_slice(data);
                read = true;
                if state
                    .iter()
                    .any(|state| *state & (IN_FLIGHT | DEFINED) != DEFINED)
                {
                    bad = Some(state.iter().any(|state| state & IN_FLIGHT != 0));
                }
            }
        }
        if read && self.race.is_some() {
            self.operand_spans.push(((site.rank, offset as u32), 16));
        }
        if let Some(in_flight) = bad {
            self.report_source((site.rank, offset as u32), in_flight, site);
        }
        atom
    }

    /// Rows of one operand, `rows` by k elements; `transposed` gives k rows instead.
    fn operand(
        &mut self,
        site: Site,
        bits: u64,
        (ty, rows, k): (MmaType, usize, usize),
        mn_major: bool,
        transposed: bool,
    ) -> Vec<f32> {
        let descriptor = Descriptor::new(bits);
        let size = element_bytes(ty);
        let each = 16 / size;
        let mut out = vec![0f32; rows * k];
        let mut put = |r: usize, kk: usize, value: f32| {
            let at = if transposed {
                kk * rows + r
            } else {
                r * k + kk
            };
            if let Some(place) = out.get_mut(at) {
                *place = value;
            }
        };
        let (outer, inner) = if mn_major { (k, rows) } else { (rows, k) };
        for o in 0..outer {
            for chunk in 0..inner.div_ceil(each) {
                let byte = 16 * chunk as u64;
                let address = if mn_major {
                    descriptor.mn_major(byte, o as u64)
                } else {
                    descriptor.k_major(o as u64, byte)
                };
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
        out
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
        let clock = std::mem::take(&mut product.clock);
        let env = self.env;
        let Some(Exec::Wgmma(op)) = env.code.get(site.pc as usize).map(|inst| &inst.exec) else {
            return;
        };
        let operands = Arc::new(self.dense(site, op, a, b));
        if let Some(mut race) = self.race.take() {
            let spans = std::mem::take(&mut self.operand_spans);
            race.product_reads(&spans, number, &clock, site);
            self.race = Some(race);
            self.report_conflicts();
        }
        if let Some(group) = self.near.warpgroups.get_mut(group)
            && let Some(product) = group.product(number)
        {
            product.operands = Some(operands);
        }
    }

    fn dense(&mut self, site: Site, op: &Wgmma, a: u64, b: u64) -> Operands {
        let a = match &op.a {
            Ok(_) => Vec::new(),
            Err(_) => self.operand(site, a, (op.a_type, 64, op.k), op.trans_a, false),
        };
        let b = self.operand(site, b, (op.b_type, op.n, op.k), op.trans_b, true);
        Operands { a, b }
    }
}
