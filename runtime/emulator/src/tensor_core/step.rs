//! One element of one instruction's result, exactly as the hardware makes it.

use std::fmt;

use super::element::{Element, Sum};
use super::format::{Class, F16, F32, F64, Format, power_of_two};
use super::fused::{Fused, Summed};
use super::rules::{Making, Rules, Way};
use crate::num::double::fma64;
use crate::num::float::{FloatMods, add32, fma32};
use crate::num::short::Short;

/// The sum of one instruction: `d = c + a[0] b[0] + … + a[k-1] b[k-1]` for one row of A and one
/// column of B.
///
/// ```
/// use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};
/// let rules = Rules::of("sm_90a");
/// let e4m3 = Element::E4m3;
/// // 448 * 448 + 1.5 * 5 + 1000.5, once with 13 bits kept and once on the unit for f16.
/// let (mut a, mut b) = ([0; 32], [0; 32]);
/// (a[0], b[0], a[1], b[1]) = (0x7e, 0x7e, 0x3c, 0x4a);
/// let c = u64::from(1000.5f32.to_bits());
/// let wgmma = Step::new(rules, Way::Wgmma, (e4m3, e4m3), Sum::F32, 32)?;
/// assert_eq!(wgmma.dot(&a, &b, c), u64::from(201_696f32.to_bits()));
/// let mma = Step::new(rules, Way::Mma, (e4m3, e4m3), Sum::F32, 32)?;
/// assert_eq!(mma.dot(&a, &b, c), u64::from(201_712f32.to_bits()));
/// // The exact sum is 201712; a bound for these operands, and one for all like them.
/// assert!(wgmma.bound(&a, &b, c) >= 16.0);
/// assert!(wgmma.limit(448.0 * 448.0, 201_712.0) >= wgmma.bound(&a, &b, c));
/// # Ok::<(), tilewright_emulator::tensor_core::NoStep>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    pub(super) elements: (Element, Element),
    pub(super) sum: Sum,
    pub(super) k: usize,
    pub(super) making: Making,
}

/// There is no such instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {way} of {rules} multiplies {a} by {b} into {sum} with a k of {k}{allowed}")]
pub struct NoStep {
    way: Way,
    rules: &'static str,
    a: Element,
    b: Element,
    sum: Sum,
    k: usize,
    allowed: String,
}

/// One row: ways, elements, sums and values of k that go together (ISA 9.7.14, 9.7.15).
type Shape = (
    &'static [Way],
    &'static [Element],
    &'static [Sum],
    &'static [usize],
);

const INTEGERS: &[Sum] = &[Sum::S32 { saturate: false }, Sum::S32 { saturate: true }];
const FP8: &[Element] = &[Element::E4m3, Element::E5m2];
const BYTES: &[Element] = &[Element::S8, Element::U8];
const NIBBLES: &[Element] = &[Element::S4, Element::U4];

const SHAPES: &[Shape] = &[
    (
        &[Way::Mma],
        &[Element::F16],
        &[Sum::F16, Sum::F32],
        &[4, 8, 16],
    ),
    (
        &[Way::Wmma, Way::Wgmma],
        &[Element::F16],
        &[Sum::F16, Sum::F32],
        &[16],
    ),
    (&[Way::Mma], &[Element::Bf16], &[Sum::F32], &[8, 16]),
    (
        &[Way::Wmma, Way::Wgmma],
        &[Element::Bf16],
        &[Sum::F32],
        &[16],
    ),
    (&[Way::Mma], &[Element::Tf32], &[Sum::F32], &[4, 8]),
    (
        &[Way::Wmma, Way::Wgmma],
        &[Element::Tf32],
        &[Sum::F32],
        &[8],
    ),
    (&[Way::Mma], FP8, &[Sum::F16, Sum::F32], &[16, 32]),
    (&[Way::Wgmma], FP8, &[Sum::F16, Sum::F32], &[32]),
    (&[Way::Mma], &[Element::F64], &[Sum::F64], &[4, 8, 16]),
    (&[Way::Wmma], &[Element::F64], &[Sum::F64], &[4]),
    (&[Way::Mma], BYTES, INTEGERS, &[16, 32]),
    (&[Way::Wmma], BYTES, INTEGERS, &[16]),
    (&[Way::Wgmma], BYTES, INTEGERS, &[32]),
    (&[Way::Mma], NIBBLES, INTEGERS, &[32, 64]),
    // Chains have any length.
    (&[Way::Fma], &[Element::F16], &[Sum::F16, Sum::F32], &[]),
    (
        &[Way::Fma],
        &[Element::Bf16, Element::F32],
        &[Sum::F32],
        &[],
    ),
    (&[Way::Fma], &[Element::F64], &[Sum::F64], &[]),
    (
        &[Way::Fma],
        &[Element::S8, Element::U8, Element::S4, Element::U4],
        INTEGERS,
        &[],
    ),
];

impl Step {
    /// The sum of an instruction with that `k`.
    ///
    /// # Errors
    /// [`NoStep`] when no instruction has these types and that k, or the architecture lacks it.
    pub fn new(
        rules: &Rules,
        way: Way,
        (a, b): (Element, Element),
        sum: Sum,
        k: usize,
    ) -> Result<Step, NoStep> {
        let rows = SHAPES.iter().filter(|(ways, elements, sums, _)| {
            ways.contains(&way)
                && elements.contains(&a)
                && elements.contains(&b)
                && sums.contains(&sum)
        });
        let lengths: Vec<&[usize]> = rows.map(|row| row.3).collect();
        let fits = lengths
            .iter()
            .any(|all| all.is_empty() && k > 0 || all.contains(&k));
        match rules.making(way, a) {
            Some(making) if fits => Ok(Step {
                elements: (a, b),
                sum,
                k,
                making,
            }),
            _ => Err(NoStep {
                way,
                rules: rules.name(),
                a,
                b,
                sum,
                k,
                allowed: allowed(&lengths),
            }),
        }
    }

    /// The sum of an instruction that is known to exist.
    pub(crate) fn of(
        rules: &Rules,
        way: Way,
        elements: (Element, Element),
        sum: Sum,
        k: usize,
    ) -> Step {
        let making = rules.making(way, elements.0).unwrap_or(Making::Exact);
        Step {
            elements,
            sum,
            k,
            making,
        }
    }

    /// Whether the sum is the architecture's own: neither IEEE nor exact.
    pub(crate) fn is_ruled(&self) -> bool {
        matches!(self.making, Making::Fused(_) | Making::Widened(_))
    }

    /// The formats that products are made of.
    pub(super) fn formats(&self) -> (Format, Format) {
        let format = |element: Element| element.format().unwrap_or(F32);
        match self.making {
            Making::Widened(_) => (F16, F16),
            _ => (format(self.elements.0), format(self.elements.1)),
        }
    }

    /// Products of one instruction.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The types of A and B.
    pub fn elements(&self) -> (Element, Element) {
        self.elements
    }

    /// The type of C and D.
    pub fn sum(&self) -> Sum {
        self.sum
    }

    /// The bits of `d` for the bits of k elements of A and B and of one of C. Elements beyond k
    /// are left out, missing ones are zero.
    pub fn dot(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        self.run(a, b, c).bits
    }

    /// How far [`dot`](Step::dot) may be from the exact value of c plus all products, for these
    /// operands: never exceeded, and reached. Infinite where an operand or the result is infinite
    /// or NaN. Of tf32 words, what is multiplied is what the hardware looks at.
    pub fn bound(&self, a: &[u64], b: &[u64], c: u64) -> f64 {
        self.run(a, b, c).error
    }

    fn run(&self, a: &[u64], b: &[u64], c: u64) -> Summed {
        let at = |all: &[u64], k: usize| all.get(k).copied().unwrap_or(0);
        let pair = |k: usize| (at(a, k), at(b, k));
        match self.making {
            Making::Fused(fused) => self.pieces(fused, &pair, c),
            Making::Widened(fused) => self.widened(fused, &pair, c),
            Making::Chain => self.chain(&pair, c),
            Making::Exact => self.exact(&pair, c),
        }
    }

    fn pieces(&self, fused: Fused, pair: &impl Fn(usize) -> (u64, u64), c: u64) -> Summed {
        let (a_format, b_format) = self.formats();
        let fraction_bits = a_format.fraction_bits + b_format.fraction_bits;
        let parts = |k: usize| {
            let ((a, b), (a_type, b_type)) = (pair(k), self.elements);
            (
                a_format.parts(a_type.word(a)),
                b_format.parts(b_type.word(b)),
            )
        };
        let mut all = Summed {
            bits: c,
            error: 0.0,
        };
        for start in (0..self.k).step_by(fused.terms) {
            let end = self.k.min(start + fused.terms);
            let summed = fused.add(self.sum, fraction_bits, (start..end).map(parts), all.bits);
            all.bits = summed.bits;
            all.error += summed.error;
        }
        all
    }

    fn widened(&self, fused: Fused, pair: &impl Fn(usize) -> (u64, u64), c: u64) -> Summed {
        let (a_type, b_type) = self.elements;
        let mut all = Summed {
            bits: 0,
            error: 0.0,
        };
        for half in [0, 2] {
            let own = move |k: &usize| k & 2 == half;
            let wide = |k: usize| {
                let (a, b) = pair(k);
                (F16.parts(a_type.widened(a)), F16.parts(b_type.widened(b)))
            };
            // Each half has k / 2 products, in pieces of the unit's k.
            let count = self.k / 2;
            for start in (0..count).step_by(fused.terms) {
                let products = (0..self.k).filter(own).skip(start).take(fused.terms);
                let fraction_bits = 2 * F16.fraction_bits;
                let summed = fused.add(self.sum, fraction_bits, products.map(wide), all.bits);
                all.bits = summed.bits;
                all.error += summed.error;
            }
        }
        let bits = match self.sum {
            Sum::F16 => Short::F16.add(c, all.bits, FloatMods(0)),
            _ => add32(c, all.bits, FloatMods(0)),
        };
        let error = all.error + self.half_unit(bits);
        Summed { bits, error }
    }

    fn chain(&self, pair: &impl Fn(usize) -> (u64, u64), c: u64) -> Summed {
        let mods = FloatMods(0);
        let wide = |ty: Element, bits: u64| match (ty, self.sum) {
            (Element::F16, Sum::F32) => {
                u64::from(half::f16::from_bits(bits as u16).to_f32().to_bits())
            }
            (Element::Bf16, Sum::F32) => bits << 16,
            _ => bits,
        };
        let mut all = Summed {
            bits: c,
            error: 0.0,
        };
        for k in 0..self.k {
            let (a, b) = pair(k);
            let (a, b) = (wide(self.elements.0, a), wide(self.elements.1, b));
            all.bits = match self.sum {
                Sum::F16 => Short::F16.fma(a, b, all.bits, mods),
                Sum::F32 => fma32(a, b, all.bits, mods),
                _ => double(a, b, all.bits),
            };
            all.error += self.half_unit(all.bits);
        }
        // The sum of bounds is rounded itself.
        all.error *= 1.0 + self.k as f64 * f64::EPSILON;
        all
    }

    fn exact(&self, pair: &impl Fn(usize) -> (u64, u64), c: u64) -> Summed {
        let (a_type, b_type) = self.elements;
        let products = (0..self.k).map(pair);
        let products: i64 = products
            .map(|(a, b)| a_type.integer(a) * b_type.integer(b))
            .sum();
        let total = i64::from(c as u32 as i32) + products;
        let fits = total.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        let saturates = self.sum == Sum::S32 { saturate: true };
        Summed {
            bits: u64::from((if saturates { fits } else { total }) as u32),
            error: if fits == total { 0.0 } else { f64::INFINITY },
        }
    }

    /// Half a unit in the last place of a result: what rounding it to nearest may cost.
    fn half_unit(&self, bits: u64) -> f64 {
        let Some(format) = self.sum.format() else {
            return 0.0;
        };
        let parts = format.parts(bits);
        if parts.class != Class::Finite {
            return f64::INFINITY;
        }
        // The power is below f64's own least for subnormal doubles.
        let power = parts.exponent - format.fraction_bits as i32 - 1;
        power_of_two(power.max(-1074))
    }
}

/// One multiply-add of the unit for f64: IEEE, but that the NaN of b, of c or of a goes on, in
/// that order, quiet; where none is, an invalid operation gives the negative one.
pub(crate) fn double(a: u64, b: u64, c: u64) -> u64 {
    let sum = fma64(a, b, c, FloatMods(0));
    if !f64::from_bits(sum).is_nan() {
        return sum;
    }
    let nan = |bits: &u64| F64.parts(*bits).class == Class::Nan;
    let found = [b, c, a].into_iter().find(nan);
    found.map_or(0xfff8 << 48, |found| found | 1 << 51)
}

/// The end of an error's message: which k there are.
fn allowed(lengths: &[&[usize]]) -> String {
    let all: Vec<String> = lengths
        .iter()
        .flat_map(|all| all.iter())
        .map(usize::to_string)
        .collect();
    match all.as_slice() {
        [] => String::new(),
        all => format!("; it is {}", all.join(" or ")),
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Mma => "mma.sync",
            Way::Wmma => "wmma",
            Way::Wgmma => "wgmma",
            Way::Fma => "fma",
        })
    }
}

#[cfg(test)]
mod tests;
