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

    /// The first `together` values along a coordinate, and the extent that they are of, where all
    /// others lie at their places a number of those extents behind; nothing where they do not.
    pub fn first(&self, along: usize, together: i64) -> Option<(Part<N>, i64)> {
        let places = self.places(along);
        let together = usize::try_from(together).ok()?;
        let extent = *places.get(together)?;
        let is_first = |place: i64| place < extent;
        let repeat = places
            .iter()
            .all(|place| places.contains(&(place % extent)));
        let few = places.iter().filter(|place| is_first(**place)).count() == together;
        let values = self.values.iter().copied();
        let values = values.filter(|value| is_first(value[along]));
        let first = Part {
            digits: self.digits.clone(),
            values: values.collect(),
        };
        (repeat && few).then_some((first, extent))
    }

    /// Where values lie along a coordinate, each place once, in order.
    pub fn places(&self, along: usize) -> Vec<i64> {
        let mut places: Vec<i64> = self.values.iter().map(|value| value[along]).collect();
        places.sort_unstable();
        places.dedup();
        places
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
