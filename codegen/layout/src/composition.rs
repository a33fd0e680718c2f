//! Composition, exact: `composition(a, b)` is the layout `r` with `r(i) == a(b(i))`.
//!
//! In: two layouts. Out: a layout that refines the shape of `b`, exactly when there is one;
//! otherwise the smallest counterexample. How it is decided: the stride of each mode of `b` is
//! written in the mixed radix of the coalesced `a`. A mode is linear in `a` until a multiple of it
//! overflows a digit; there it must be split, and the split must divide its extent. When all modes
//! are split, the modes add up if no digit overflows at the far corner. Only strides that cancel
//! one another by accident need a search, which is bounded.

mod search;

use std::cell::Cell;

use crate::error::{Counterexample, Error, Fact, Reason, Result};
use crate::inline::Inline;
use crate::int::{Int, Stride};
use crate::layout::Layout;
use crate::simplify::merged;
use crate::tiler::{Tiler, by_mode};

/// Most points that are looked at when strides cancel one another by accident.
pub const SEARCH_LIMIT: u64 = 1 << 20;

/// The layout `r` that refines the shape of `b` with `r(i) == a(b(i))` for all `i`.
///
/// ```
/// use tilewright_layout::{Layout, composition};
/// let a: Layout = "(4,8):(13,1)".parse()?;
/// let b: Layout = "8:2".parse()?;
/// assert_eq!(composition(&a, &b)?.to_string(), "(2,4):(26,1)");
///
/// // CuTe accepts this pair; no layout has these values.
/// let (a, b): (Layout, Layout) = ("(6,4):(1,100)".parse()?, "4:4".parse()?);
/// let refused = composition(&a, &b).unwrap_err().to_string();
/// assert!(refused.contains("at 3 it must be 200, its modes give 106"), "{refused}");
/// # Ok::<(), tilewright_layout::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotALayout`] with the smallest counterexample; [`Error::Undecided`] when accidental
/// strides exceed [`SEARCH_LIMIT`]; [`Error::Unproven`] when it depends on symbols;
/// [`Error::Domain`] when `b` has negative coordinates that `a` cannot split; [`Error::Overflow`].
pub fn composition<I: Int, D: Stride<I>>(a: &Layout<I, D>, b: &Layout<I>) -> Result<Layout<I, D>> {
    let outer = merged(a, true)?;
    match &*outer {
        [] => b.map_stride(|_| Ok(D::default())),
        [(_, d)] => b.map_stride(|r| d.scaled(r)),
        _ => Composer {
            a,
            b,
            outer: &outer,
            pieces: Inline::new(),
            searched: Cell::new(0),
        }
        .run(),
    }
}

/// [`composition`] by mode: each entry of the tiler applies to one mode of `a`.
///
/// # Errors
/// As [`composition`]; [`Error::Mismatch`] when the tiler names more modes than `a` has.
pub fn composition_by<I: Int, D: Stride<I>>(
    a: &Layout<I, D>,
    tiler: &Tiler<I>,
) -> Result<Layout<I, D>> {
    by_mode(a, tiler, &mut |a, b| composition(a, b))
}

/// A part of a mode of `b` on which `a` is linear.
#[derive(Debug, Clone, Default)]
struct Piece<I, D> {
    leaf: usize,
    size: I,
    step: I,
    digits: Inline<I, 4>,
    value: D,
}

struct Composer<'a, I, D> {
    a: &'a Layout<I, D>,
    b: &'a Layout<I>,
    /// The coalesced left operand, at least two modes.
    outer: &'a [(I, D)],
    pieces: Inline<Piece<I, D>, 4>,
    searched: Cell<u64>,
}

impl<I: Int, D: Stride<I>> Composer<'_, I, D> {
    fn run(mut self) -> Result<Layout<I, D>> {
        for (leaf, (size, step)) in self.b.leaves().enumerate() {
            self.split(leaf, size.clone(), step.clone())?;
        }
        self.check_sums()?;
        self.build()
    }

    /// The digits of `x` in the radix of the outer layout, and its value.
    fn locate(&self, x: &I) -> Result<(Inline<I, 4>, D)> {
        let (mut digits, mut value) = (Inline::new(), D::default());
        let mut left = x.clone();
        for (i, (n, d)) in self.outer.iter().enumerate() {
            let digit = if i + 1 == self.outer.len() {
                std::mem::take(&mut left)
            } else {
                let (q, r) = left.div_rem(n)?;
                left = q;
                r
            };
            if !digit.is(0) {
                value = value.plus(&d.scaled(&digit)?)?;
            }
            digits.push(digit);
        }
        Ok((digits, value))
    }

    /// Cuts one mode of `b` where its step through `a` changes.
    fn split(&mut self, leaf: usize, mut size: I, mut step: I) -> Result<()> {
        loop {
            if size.is(1) || step.is(0) {
                // No multiple of this step is ever taken; it keeps the value the definition gives
                // it where there is one.
                let value = self.locate(&step).map(|(_, v)| v).unwrap_or_default();
                let digits = self.outer.iter().map(|_| I::default()).collect();
                self.pieces.push(Piece {
                    leaf,
                    size,
                    step: I::default(),
                    digits,
                    value,
                });
                return Ok(());
            }
            if !I::default().le(&step)? {
                return Err(Error::domain(format!(
                    "{} o {}: the stride {step} leads to negative coordinates, which only a layout \
                     of one mode takes",
                    self.a, self.b
                )));
            }
            let (digits, value) = self.locate(&step)?;
            let piece = Piece {
                leaf,
                size: size.clone(),
                step: step.clone(),
                digits,
                value,
            };
            let Some(cut) = self.first_bend(&piece)? else {
                self.pieces.push(piece);
                return Ok(());
            };
            let (rest, remainder) = size.div_rem(&cut)?;
            let next = step.try_mul(&cut)?;
            let bent = piece.value.scaled(&cut)?;
            self.pieces.push(Piece {
                size: cut.clone(),
                ..piece
            });
            if !remainder.is(0) {
                self.check_sums()?;
                let want = self.locate(&next)?.1;
                return Err(self.refuse_leaf(leaf, &size, &cut, &want, &bent)?);
            }
            (size, step) = (rest, next);
        }
    }

    /// The first multiple of a piece's step, below its extent, at which `a` is no longer linear.
    fn first_bend(&self, piece: &Piece<I, D>) -> Result<Option<I>> {
        let mut first: Option<I> = None;
        let bounded = self.outer.len() - 1;
        for ((n, _), digit) in self.outer[..bounded].iter().zip(piece.digits.iter()) {
            if digit.is(0) {
                continue;
            }
            // Within the extent no multiple reaches the radix: no carry, for all symbols.
            let far = piece
                .size
                .try_sub(&I::constant(1))
                .and_then(|x| x.try_mul(digit));
            if let Ok(far) = far
                && far.order(n).is_ok_and(std::cmp::Ordering::is_lt)
            {
                continue;
            }
            let carry = n.ceil_div(digit)?;
            if piece.size.le(&carry)? {
                continue;
            }
            first = match first {
                Some(f) if f.le(&carry)? => Some(f),
                _ => Some(carry),
            };
        }
        let Some(carry) = first else { return Ok(None) };
        if self.locate(&piece.step.try_mul(&carry)?)?.1 != piece.value.scaled(&carry)? {
            return Ok(Some(carry));
        }
        self.search_bend(piece, &carry)
    }

    /// Checks that the modes add up everywhere: no digit overflows at the far corner.
    fn check_sums(&self) -> Result<()> {
        for i in 0..self.outer.len() - 1 {
            let mut sum = I::default();
            for piece in self.pieces.iter().filter(|p| !p.digits[i].is(0)) {
                let far = piece
                    .size
                    .try_sub(&I::constant(1))?
                    .try_mul(&piece.digits[i])?;
                sum = sum.try_add(&far)?;
            }
            let n = &self.outer[i].0;
            if !sum.is(0) && sum.order(n)? != std::cmp::Ordering::Less {
                return self.search_carry();
            }
        }
        Ok(())
    }

    fn refuse(&self, at: i64, want: &D, sum: &D, reason: Reason) -> Error {
        Error::NotALayout(Box::new(Counterexample {
            what: format!("{} o {}", self.a, self.b),
            at,
            want: want.to_string(),
            sum_of_modes: sum.to_string(),
            reason,
        }))
    }

    /// The refusal of a mode whose cut does not divide it; the last piece is the cut one.
    fn refuse_leaf(&self, leaf: usize, size: &I, cut: &I, want: &D, sum: &D) -> Result<Error> {
        let mut at = I::constant(1);
        for piece in self.pieces.iter() {
            at = at.try_mul(&piece.size)?;
        }
        let (Some(at), Some(extent), Some(cut)) = (at.as_i64(), size.as_i64(), cut.as_i64()) else {
            let by = cut.to_string();
            return Ok(Error::Unproven {
                fact: Fact::Quotient {
                    value: size.to_string(),
                    by,
                },
            });
        };
        let reason = Reason::Leaf {
            leaf,
            extent,
            step_changes_at: cut,
        };
        Ok(self.refuse(at, want, sum, reason))
    }

    fn undecided(&self, searched: u64) -> Error {
        Error::Undecided {
            what: format!("{} o {}", self.a, self.b),
            searched,
        }
    }

    fn build(self) -> Result<Layout<I, D>> {
        let (mut shape, mut stride) = (Inline::new(), Inline::new());
        let mut counts: Inline<usize, 8> = self.b.shape.iter().map(|_| 0).collect();
        for piece in self.pieces.iter() {
            counts[piece.leaf] += 1;
            shape.push(piece.size.clone());
            stride.push(piece.value.clone());
        }
        if counts.iter().all(|&n| n == 1) {
            return Ok(Layout {
                profile: self.b.profile.clone(),
                shape,
                stride,
            });
        }
        Layout::from_parts(self.b.profile.split(&counts), shape, stride)
    }
}
