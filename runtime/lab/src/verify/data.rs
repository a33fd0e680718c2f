//! Random inputs: what they hold, and what makes the elements of a factor.

use tilewright_bundle::DType;

/// What kind of values the inputs hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// Small integers: every order of summation is exact.
    Integers,
    /// Standard normal values, rounded to the operand's type.
    Normals,
    /// Magnitudes of normal values: the products of a sum have one sign.
    OneSigned,
    /// Normal values, half of whose products cancel the others but for a few units in the last
    /// place.
    Cancelling,
    /// Exponents over the whole range of the type, subnormals, zeros of both signs, sparse and full
    /// fractions, cancellation; most sums stay finite.
    Wide,
    /// Normal values, and in some rows NaN of any payload, infinities, the largest and the smallest
    /// numbers.
    Special,
    /// Normal values; of what is folded by order the last element of some rows is the largest or
    /// the smallest.
    Ends,
    /// Normal values; of what is no product one element of some rows is NaN or an infinity.
    Nonfinite,
    /// Of what is no product: exponents anywhere in the range of their type, beside moderate
    /// magnitudes, and integers of any bits; of what is folded by order some rows are nothing but
    /// the identity of the fold.
    Far,
}

impl Data {
    /// Every kind that products have.
    pub const ALL: [Data; 6] = [
        Data::Integers,
        Data::Normals,
        Data::OneSigned,
        Data::Cancelling,
        Data::Wide,
        Data::Special,
    ];

    /// What takes turns where nothing is asked for; of what is no product far numbers have some of
    /// the turns of integers. Seeds draw what they do for as many turns as these.
    pub(super) const MIXED: [Data; 8] = [
        Data::Integers,
        Data::Normals,
        Data::Integers,
        Data::Ends,
        Data::Integers,
        Data::Nonfinite,
        Data::Integers,
        Data::Nonfinite,
    ];

    /// The spelling in reports.
    pub const fn text(self) -> &'static str {
        match self {
            Data::Integers => "integers",
            Data::Normals => "normals",
            Data::OneSigned => "onesigned",
            Data::Cancelling => "cancelling",
            Data::Wide => "wide",
            Data::Special => "special",
            Data::Ends => "ends",
            Data::Nonfinite => "nonfinite",
            Data::Far => "far",
        }
    }

    /// The kind spelled `text`.
    pub fn from_text(text: &str) -> Option<Data> {
        let others = [Data::Ends, Data::Nonfinite, Data::Far];
        let mut all = Data::ALL.into_iter().chain(others);
        all.find(|data| data.text() == text)
    }

    /// Whether no number is far larger than others, and no result far smaller than what it is made
    /// of: errors are a small part of results then.
    pub const fn is_usual(self) -> bool {
        matches!(
            self,
            Data::Integers | Data::Normals | Data::OneSigned | Data::Ends
        )
    }

    /// Whether sums may leave the range of their type.
    pub const fn may_overflow(self) -> bool {
        matches!(self, Data::Wide | Data::Special)
    }
}

/// A factor of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

/// What makes the elements of one factor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    pub dtype: DType,
    pub data: Data,
    pub side: Side,
    pub rows: usize,
    pub k: usize,
    /// Largest exponent that a product should have, so that sums stay finite.
    pub top: i32,
    /// The seed of the problem, the same for both factors.
    pub seed: u64,
}

/// Integers whose products add up exactly in f32 for every k up to a million.
pub(super) fn small(dtype: DType) -> std::ops::RangeInclusive<i32> {
    match dtype {
        DType::U4 | DType::U8 | DType::U16 | DType::U32 => 0..=3,
        _ => -3..=3,
    }
}
