//! Which sums the tensor cores of an architecture make of which elements.
//!
//! One row says how an instruction of some way sums products of some elements; the first row that
//! holds them is the one. Rows of sm_90 are what an H200 wrote. The others are what is published
//! on those architectures (arXiv 2511.10909, tables of MMA-Sim): pieces of k and bits kept; zeros,
//! the least exponent and the order of pieces are taken to be Hopper's. They are not measured here.

use super::element::Element;
use super::fused::Fused;

/// The way an instruction multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// `mma.sync`.
    Mma,
    /// `wmma.mma`.
    Wmma,
    /// `wgmma.mma_async`.
    Wgmma,
    /// No tensor core: a chain of `fma.rn` in ascending k, or of integer multiply-adds.
    Fma,
}

/// How an instruction sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Making {
    /// Pieces of k one after the other, each one alignment with the accumulator.
    Fused(Fused),
    /// fp8 on a unit for f16: the k whose remainder by 4 is 0 or 1 from zero, those of 2 or 3 on
    /// top, and c by an IEEE addition to nearest.
    Widened(Fused),
    /// A chain of IEEE multiply-adds to nearest, in ascending k.
    Chain,
    /// Integers.
    Exact,
}

/// One row.
type Row = (&'static [Way], &'static [Element], Making);

/// The arithmetic of an architecture's tensor cores.
///
/// ```
/// use tilewright_emulator::tensor_core::Rules;
/// assert!(Rules::of("sm_90a").proved());
/// assert_eq!(Rules::of("sm_86").name(), "sm_80");
/// assert!(!Rules::of("sm_86").proved());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    name: &'static str,
    /// The architecture from which on they hold.
    from: u32,
    proved: bool,
    rows: &'static [Row],
}

const TENSOR: &[Way] = &[Way::Mma, Way::Wmma, Way::Wgmma];
const SYNC: &[Way] = &[Way::Mma, Way::Wmma];
const HALF: &[Element] = &[Element::F16, Element::Bf16];
const TF32: &[Element] = &[Element::Tf32];
const FP8: &[Element] = &[Element::E4m3, Element::E5m2];

/// A piece of k with so many bits kept, of an f32 result all.
const fn fused(terms: usize, kept_bits: i32) -> Fused {
    Fused {
        terms,
        kept_bits,
        f32_bits: 23,
    }
}

/// fp8 with 13 bits kept and 13 in an f32 result.
const fn short(terms: usize) -> Fused {
    Fused {
        terms,
        kept_bits: 13,
        f32_bits: 13,
    }
}

/// What no architecture does in its own way, and what only one has.
const PLAIN: &[Row] = &[
    (&[Way::Wgmma], HALF, Making::Fused(fused(16, 25))),
    (&[Way::Wgmma], TF32, Making::Fused(fused(8, 25))),
    (&[Way::Wgmma], FP8, Making::Fused(short(32))),
    (
        &[Way::Fma],
        &[Element::F16, Element::Bf16, Element::F32, Element::F64],
        Making::Chain,
    ),
    (TENSOR, &[Element::F64], Making::Chain),
    (
        &[Way::Mma, Way::Wmma, Way::Wgmma, Way::Fma],
        &[Element::S8, Element::U8, Element::S4, Element::U4],
        Making::Exact,
    ),
];

/// In ascending order of architectures.
const ALL: &[Rules] = &[
    Rules {
        name: "sm_70",
        from: 70,
        proved: false,
        rows: &[
            (SYNC, HALF, Making::Fused(fused(4, 23))),
            (SYNC, TF32, Making::Fused(fused(4, 23))),
            (SYNC, FP8, Making::Widened(fused(4, 23))),
        ],
    },
    Rules {
        name: "sm_75",
        from: 75,
        proved: false,
        rows: &[
            (SYNC, HALF, Making::Fused(fused(8, 24))),
            (SYNC, TF32, Making::Fused(fused(4, 24))),
            (SYNC, FP8, Making::Widened(fused(8, 24))),
        ],
    },
    Rules {
        name: "sm_80",
        from: 80,
        proved: false,
        rows: &[
            (SYNC, HALF, Making::Fused(fused(8, 24))),
            (SYNC, TF32, Making::Fused(fused(4, 24))),
            (SYNC, FP8, Making::Widened(fused(8, 24))),
        ],
    },
    Rules {
        name: "sm_89",
        from: 89,
        proved: false,
        rows: &[
            (SYNC, HALF, Making::Fused(fused(8, 24))),
            (SYNC, TF32, Making::Fused(fused(4, 24))),
            (SYNC, FP8, Making::Fused(short(16))),
        ],
    },
    Rules {
        name: "sm_90",
        from: 90,
        proved: true,
        rows: &[
            (SYNC, HALF, Making::Fused(fused(16, 25))),
            (&[Way::Mma], TF32, Making::Fused(fused(8, 25))),
            // NOTE: ptxas makes two HMMA.1684 of wmma's k of 8 (H200).
            (&[Way::Wmma], TF32, Making::Fused(fused(4, 25))),
            // NOTE: ptxas makes F2FP and HMMA of fp8's mma.sync (H200); wgmma has it natively.
            (SYNC, FP8, Making::Widened(fused(16, 25))),
        ],
    },
    Rules {
        name: "sm_100",
        from: 100,
        proved: false,
        rows: &[
            (SYNC, HALF, Making::Fused(fused(16, 25))),
            (SYNC, TF32, Making::Fused(fused(8, 25))),
            (SYNC, FP8, Making::Fused(fused(32, 25))),
        ],
    },
];

impl Rules {
    /// The rules of a target such as `sm_90a`: those of the nearest architecture at or below it.
    pub fn of(target: &str) -> &'static Rules {
        let digits = target.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        let number: u32 = digits[..end].parse().unwrap_or(0);
        let known = ALL.iter().rev().find(|rules| rules.from <= number);
        known.unwrap_or(&ALL[0])
    }

    /// All there are, in ascending order of architectures.
    pub fn all() -> &'static [Rules] {
        ALL
    }

    /// The architecture they are of.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether they equal the hardware to the bit, else they are a model from public sources.
    pub fn proved(&self) -> bool {
        self.proved
    }

    pub(super) fn making(&self, way: Way, element: Element) -> Option<Making> {
        let mut rows = self.rows.iter().chain(PLAIN);
        rows.find(|(ways, elements, _)| ways.contains(&way) && elements.contains(&element))
            .map(|(_, _, making)| *making)
    }
}

impl PartialEq for Rules {
    /// Names are unique.
    fn eq(&self, other: &Rules) -> bool {
        self.name == other.name
    }
}

impl Eq for Rules {}
