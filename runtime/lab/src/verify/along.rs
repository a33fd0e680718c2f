//! Rows of an operand: where each of its elements lies in one, and which row that is.
//!
//! In: the extents of its axes, last innermost, and which of them rows go along. Out: of each
//! element, by its place in memory without gaps, its place in its row and the row's number.

/// The axes of an operand, first to last: the extent of each, and whether rows go along it.
#[derive(Debug, Clone)]
pub(super) struct Along(Vec<(usize, bool)>);

/// Where an element lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Which row.
    pub row: usize,
    /// Where in it.
    pub place: usize,
    /// Of how many.
    pub places: usize,
}

impl Along {
    pub fn new(shape: &[i64], is_along: Vec<bool>) -> Along {
        let extents = shape.iter().map(|one| usize::try_from(*one).unwrap_or(0));
        Along(extents.zip(is_along).collect())
    }

    /// Where the element of a number lies.
    pub fn place(&self, element: usize) -> Place {
        let (mut rest, mut row, mut rows_before, mut place, mut places) = (element, 0, 1, 0, 1);
        for (extent, along) in self.0.iter().rev() {
            let here = rest % extent.max(&1);
            rest /= extent.max(&1);
            let (number, count) = match along {
                true => (&mut place, &mut places),
                false => (&mut row, &mut rows_before),
            };
            *number += here * *count;
            *count *= extent;
        }
        Place { row, place, places }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_along_any_axes() {
        let along = Along::new(&[2, 3, 4], vec![true, false, true]);
        let places: Vec<Place> = (0..24).map(|at| along.place(at)).collect();
        assert!(places.iter().all(|one| one.places == 8));
        let found = |at: usize| (places[at].row, places[at].place);
        assert_eq!([0, 5, 11, 23].map(found), [(0, 0), (1, 1), (2, 3), (2, 7)]);
    }
}
