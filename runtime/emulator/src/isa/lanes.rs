//! Lane loops: what an instruction does to the values of a warp's lanes, and the instructions that
//! are one of them.
//!
//! Loops work on zero-extended 64-bit values. `imm` holds the operand width in its low byte; a
//! destination is cut to its type's width when it is written, so additions and products need no
//! width at all.

use super::decoder::Decoder;
use super::operands::Decoded;
use crate::inst::{Exec, LaneFn, Src};
use crate::num::int::{sign_extend, truncate};
use crate::types::Ty;

/// A lane loop from an expression over `a`, `b`, `c` and the modifier word.
macro_rules! lanes {
    (|$a:ident, $b:ident, $c:ident, $m:ident| $e:expr) => {
        |x: &Lanes, y: &Lanes, z: &Lanes, d: &mut Lanes, $m: u32| {
            let _ = $m;
            for (((d, &$a), &$b), &$c) in d.iter_mut().zip(x).zip(y).zip(z) {
                let _ = ($a, $b, $c);
                *d = $e;
            }
        }
    };
}
pub(super) use lanes;

pub(super) const ZERO: Src = Src::Imm(0);

impl Decoder<'_, '_> {
    /// An instruction `d, a` of one type.
    pub(super) fn unary(&self, f: LaneFn, ty: Ty, imm: u32) -> Decoded<Exec> {
        self.count(2, 2)?;
        Ok(Exec::Alu {
            f,
            imm,
            dst: self.dst(0, ty.bits())?,
            src: [self.src(1, ty)?, ZERO, ZERO],
        })
    }

    /// An instruction `d, a, b` of one type.
    pub(super) fn binary(&self, f: LaneFn, ty: Ty, imm: u32) -> Decoded<Exec> {
        self.count(3, 3)?;
        let src = [self.src(1, ty)?, self.src(2, ty)?, ZERO];
        Ok(Exec::Alu {
            f,
            imm,
            dst: self.dst(0, ty.bits())?,
            src,
        })
    }

    /// An instruction `d, a, b, c` of one type.
    pub(super) fn ternary(&self, f: LaneFn, ty: Ty, imm: u32) -> Decoded<Exec> {
        self.count(4, 4)?;
        let src = [self.src(1, ty)?, self.src(2, ty)?, self.src(3, ty)?];
        Ok(Exec::Alu {
            f,
            imm,
            dst: self.dst(0, ty.bits())?,
            src,
        })
    }

    /// An instruction `d, a, b, c` whose sources have types of their own.
    pub(super) fn mixed(&self, f: LaneFn, to: Ty, from: [Ty; 3], imm: u32) -> Decoded<Exec> {
        self.count(4, 4)?;
        let src = [
            self.src(1, from[0])?,
            self.src(2, from[1])?,
            self.src(3, from[2])?,
        ];
        Ok(Exec::Alu {
            f,
            imm,
            dst: self.dst(0, to.bits())?,
            src,
        })
    }
}

/// Width in the low byte, signedness above it.
pub(super) fn width(ty: Ty) -> u32 {
    ty.bits() | u32::from(ty.is_signed()) << 8
}

#[inline]
pub(super) fn bits(m: u32) -> u32 {
    m & 0xff
}

#[inline]
pub(super) fn signed(m: u32) -> bool {
    m & 0x100 != 0
}

#[inline]
pub(super) fn extend(value: u64, m: u32) -> u64 {
    if signed(m) {
        sign_extend(value, bits(m))
    } else {
        truncate(value, bits(m))
    }
}
