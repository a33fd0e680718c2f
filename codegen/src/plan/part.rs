//! Partitions as plain numbers: a thread's share of a tile is a linear function of digits of its
//! index plus a constant for each value.
//!
//! `Part<2>` gives tile coordinates, `Part<1>` element offsets. Both come from the layout algebra
//! (a partitioned identity tensor, a partitioned shared-memory layout); this form is what address
//! expressions and certificates need.

/// One digit of the thread index in mixed radix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit<const N: usize> {
    /// Product of the extents before this digit.
    pub prefix: i64,
    /// Values of the digit.
    pub extent: i64,
    /// What one step of the digit adds to each component.
    pub strides: [i64; N],
}

/// A partition of a tile among threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<const N: usize> {
    /// Digits of the thread index that matter (extent above 1, some stride not 0).
    pub digits: Vec<Digit<N>>,
    /// What each value adds, first mode fastest.
    pub values: Vec<[i64; N]>,
}

impl<const N: usize> Part<N> {
    /// The same where elements repeat along the coordinates that are not kept: each once.
    pub fn kept(&self, keeps: [bool; N]) -> Part<N> {
        let kept = |of: &[i64; N]| std::array::from_fn(|at| if keeps[at] { of[at] } else { 0 });
        let digits = self.digits.iter().map(|digit| Digit {
            strides: kept(&digit.strides),
            ..*digit
        });
        let digits = digits.filter(|digit| digit.strides != [0; N]);
        let mut values: Vec<[i64; N]> = Vec::new();
        for value in self.values.iter().map(kept) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Part {
            digits: digits.collect(),
            values,
        }
    }

    /// What the thread adds to every value.
    pub fn base(&self, thread: i64) -> [i64; N] {
        let mut sum = [0; N];
        for digit in &self.digits {
            let value = thread / digit.prefix % digit.extent;
            for (total, stride) in sum.iter_mut().zip(digit.strides) {
                *total += value * stride;
            }
        }
        sum
    }
}
