//! Eight numbers at a time, on the widest registers the machine has.
//!
//! The sums are plain loops over arrays of eight. On x86-64 with AVX2 they are compiled for it,
//! and the one operation that Rust's own conversion makes slow, truncation to an integer that is
//! known to be in range, is the instruction itself. Results are the same on every machine.

/// Columns of one panel.
pub(super) const WIDTH: usize = 8;

/// What the machine does with eight numbers.
pub(super) trait Lanes: Copy {
    /// Toward zero; every value is in the range of i32.
    fn truncate(self, values: [f32; WIDTH]) -> [i32; WIDTH];
}

/// Something to be done on registers of some width.
pub(super) trait Work {
    fn run<L: Lanes>(self, lanes: L);
}

/// Any machine.
#[derive(Clone, Copy)]
struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn truncate(self, values: [f32; WIDTH]) -> [i32; WIDTH] {
        values.map(|value| value as i32)
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Lanes, WIDTH, Work};
    use pulp::NullaryFnOnce;
    use pulp::x86::V3;

    #[derive(Clone, Copy)]
    struct Avx2(V3);

    impl Lanes for Avx2 {
        #[inline(always)]
        fn truncate(self, values: [f32; WIDTH]) -> [i32; WIDTH] {
            pulp::cast(self.0.avx._mm256_cvttps_epi32(pulp::cast(values)))
        }
    }

    struct On<W>(V3, W);

    impl<W: Work> NullaryFnOnce for On<W> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            self.1.run(Avx2(self.0));
        }
    }

    /// Does it on AVX2; gives it back where the machine has none.
    pub(super) fn run<W: Work>(work: W) -> Option<W> {
        match V3::try_new() {
            Some(simd) => {
                simd.vectorize(On(simd, work));
                None
            }
            None => Some(work),
        }
    }
}

/// Does it on the widest registers there are.
pub(super) fn widest<W: Work>(work: W) {
    #[cfg(target_arch = "x86_64")]
    let Some(work) = wide::run(work) else {
        return;
    };
    work.run(Portable);
}

#[cfg(test)]
mod tests;
