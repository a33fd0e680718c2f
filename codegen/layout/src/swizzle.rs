//! Swizzles: XOR of one bit field of an offset onto another.
//!
//! In: `Sw<bits,base,shift>`. Out: a permutation of offsets that is its own inverse. Invariant:
//! the two bit fields do not overlap and lie within 62 bits.

use std::fmt;

use crate::error::{Error, Result};

/// `Sw<bits,base,shift>`: with a positive shift, bits `[base+shift, base+shift+bits)` are XOR-ed
/// onto bits `[base, base+bits)`; a negative shift works the other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u8,
    base: u8,
    shift: i8,
}

impl Swizzle {
    /// The swizzle that changes nothing.
    pub const NONE: Self = Self {
        bits: 0,
        base: 0,
        shift: 0,
    };

    /// `Sw<bits,base,shift>`.
    ///
    /// # Errors
    /// [`Error::Domain`] when the shift is smaller than the bits, so that the fields overlap, or
    /// the fields leave 62 bits.
    pub fn new(bits: i64, base: i64, shift: i64) -> Result<Self> {
        let text = format!("Sw<{bits},{base},{shift}>");
        if !(0..=62).contains(&bits) || !(0..=62).contains(&base) || !(-62..=62).contains(&shift) {
            return Err(Error::domain(format!(
                "{text}: every field lies within 62 bits"
            )));
        }
        if shift.abs() < bits {
            return Err(Error::domain(format!(
                "{text}: the shift {shift} is smaller than the {bits} bits, so the fields overlap: \
                 use a shift of at least {bits}"
            )));
        }
        if bits + base + shift.abs() > 62 {
            return Err(Error::domain(format!(
                "{text}: its fields end at bit {}; at most 62 is allowed",
                bits + base + shift.abs()
            )));
        }
        Ok(Self {
            bits: bits as u8,
            base: base as u8,
            shift: shift as i8,
        })
    }

    /// Number of bits in a field.
    pub fn bits(&self) -> u32 {
        u32::from(self.bits)
    }

    /// Lowest bit of the lower field.
    pub fn base(&self) -> u32 {
        u32::from(self.base)
    }

    /// Distance of the two fields; negative when the lower one is XOR-ed onto the upper one.
    pub fn shift(&self) -> i32 {
        i32::from(self.shift)
    }

    /// Whether it changes nothing.
    pub fn is_none(&self) -> bool {
        self.bits == 0
    }

    /// The bits that are read.
    pub fn source_mask(&self) -> i64 {
        self.field() << (self.base() + self.shift().max(0) as u32)
    }

    /// The bits that are changed.
    pub fn target_mask(&self) -> i64 {
        self.field() << (self.base() + (-self.shift()).max(0) as u32)
    }

    fn field(&self) -> i64 {
        (1 << self.bits) - 1
    }

    /// The swizzled offset. A negative offset is taken as its two's complement bits.
    pub fn apply(&self, offset: i64) -> i64 {
        let source = offset & self.source_mask();
        if self.shift >= 0 {
            offset ^ (source >> self.shift)
        } else {
            offset ^ (source << -self.shift)
        }
    }

    /// The swizzle on elements `2^log2` times larger: bits below the new element vanish.
    pub fn upcast(&self, log2: u32) -> Self {
        let lost = log2.saturating_sub(self.base()).min(self.bits());
        if lost == self.bits() {
            return Self::NONE;
        }
        let base = self.base().saturating_sub(log2);
        Self {
            bits: (self.bits() - lost) as u8,
            base: base as u8,
            ..*self
        }
    }

    /// The swizzle on elements `2^log2` times smaller.
    ///
    /// # Errors
    /// [`Error::Domain`] when the fields leave 62 bits.
    pub fn downcast(&self, log2: u32) -> Result<Self> {
        if self.is_none() {
            return Ok(*self);
        }
        let base = i64::from(self.base()) + i64::from(log2);
        Self::new(self.bits.into(), base, self.shift.into())
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}
