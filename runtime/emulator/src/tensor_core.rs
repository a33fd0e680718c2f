//! What the tensor cores compute, to the bit.
//!
//! An instruction such as `mma.sync` or `wgmma` sums k products and an accumulator for each element
//! of its result. NVIDIA documents neither the order nor the rounding. The rules here were read
//! off an H200: they give its bits on hundreds of millions of outputs, for every shape and type of
//! sm_90, with NaN, infinities, subnormals and the signs of zero. [`Rules`] says for each
//! architecture whether its rules are proved so or only taken from what is published.
//!
//! # One alignment
//!
//! Products and accumulator are aligned all at once; there is no order and no grouping.
//!
//! 1. Significands are multiplied exactly. A product has the sum of its operands' exponents and is
//!    not renormalised, be it 2 or larger or, of subnormal operands, below 1.
//! 2. E is the largest exponent of the terms that are not zero, and at least 7 below that of the
//!    least normal number of the accumulator's format.
//! 3. Each term is cut toward zero to a multiple of 2^(E-F); nothing remembers what was cut. F is
//!    25 on Hopper, and 13 for fp8's wgmma.
//! 4. The sum of what is left is exact and rounded once: an f32 toward zero (to 13 bits of fraction
//!    for fp8's wgmma), an f16 to nearest even. Beyond the largest number it is infinite, and a
//!    result of zero is +0.
//! 5. A NaN, infinity times zero, or infinities of both signs give NaN, all ones but for the sign;
//!    else an infinite operand gives its infinity. A finite product is never infinite.
//!
//! Pieces of k that an architecture takes one after the other, fp8 on a unit for f16 and f64 are
//! rows of [`Rules`].
//!
//! # Examples
//!
//! Products are not cut before they are summed: 1 + 2^-11 + 2^-25 is above the tie of f16.
//!
//! ```
//! use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};
//! let (f16, rules) = (Element::F16, Rules::of("sm_90a"));
//! let half = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
//! let power = |n: i32| half(2f32.powi(n));
//! let (a, b) = ([power(0), power(-14)], [power(-11), power(-11)]);
//! let into_f16 = Step::new(rules, Way::Mma, (f16, f16), Sum::F16, 16)?;
//! assert_eq!(into_f16.dot(&a, &b, 0x3c00), 0x3c01);
//! let into_f32 = Step::new(rules, Way::Mma, (f16, f16), Sum::F32, 16)?;
//! assert_eq!(into_f32.dot(&a, &b, 0x3f80_0000), 0x3f80_1000);
//! # Ok::<(), tilewright_emulator::tensor_core::NoStep>(())
//! ```
//!
//! The least exponent shows in bf16: with E at -133 the unit is 2^-158, and 2^-160 is cut away.
//!
//! ```
//! use tilewright_emulator::tensor_core::{Element, Rules, Step, Sum, Way};
//! let (bf16, rules) = (Element::Bf16, Rules::of("sm_90a"));
//! let power = |n: i32| u64::from(2f32.powi(n).to_bits() >> 16);
//! let step = Step::new(rules, Way::Mma, (bf16, bf16), Sum::F32, 16)?;
//! let a = [power(-74), power(-80) | bf16.sign()];
//! assert_eq!(step.dot(&a, &[power(-75), power(-80)], 0), 1);
//! assert_eq!(step.dot(&a, &[power(-75), power(-78)], 0), 0);
//! # Ok::<(), tilewright_emulator::tensor_core::NoStep>(())
//! ```

mod format;
mod element;
mod fused;
mod rules;
mod step;
mod tile;
mod bound;

pub use bound::Precision;
pub use element::{Element, Sum};
pub use rules::{Rules, Way};
pub(crate) use step::double;
pub use step::{NoStep, Step};
pub(crate) use tile::{Columns, from_bits, to_bits};
