//! Shared memory of a CTA: what lies where.

/// What a place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Slots of the pipe of that number, each with a tile of every operand that comes through it;
    /// where warps have no roles the stages are those of the only pipe.
    Slots(usize),
    /// Staging buffers of results: a set for each tile that a CTA has at a time.
    Staging,
    /// Barriers that say which slots of that pipe are full.
    Full(usize),
    /// Barriers that say which are empty.
    Empty(usize),
    /// Barriers of consumers that take turns at the tensor cores.
    Turns,
    /// Sums of a part of a tile, which another CTA of the cluster adds to its own.
    Partials,
    /// What warps hand on of the fold of that number.
    Fold(usize),
    /// What warps have of the sums in a fixed order of that number: a set for each tile that a CTA
    /// has at a time.
    Sums(usize),
}

/// Bytes in a row with one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What for.
    pub holds: Holds,
    /// First byte.
    pub at: u32,
    /// How many slots, sets or barriers there are.
    pub count: u32,
    /// Bytes of each.
    pub each: u32,
}

impl Place {
    /// First byte of the slot, set or barrier of that number.
    pub fn of(&self, number: u32) -> u32 {
        self.at.saturating_add(number.saturating_mul(self.each))
    }

    /// The byte behind the last.
    pub fn end(&self) -> u32 {
        self.of(self.count)
    }
}

/// Every place, one behind another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arena(Vec<Place>);

impl Arena {
    /// Places so many of so many bytes behind all that is there; nothing where there are none.
    pub(in crate::plan) fn put(&mut self, holds: Holds, count: u32, each: u32) {
        let at = self.bytes();
        if count > 0 && each > 0 {
            self.0.push(Place {
                holds,
                at,
                count,
                each,
            });
        }
    }

    /// All places, in the order of their bytes.
    pub fn places(&self) -> &[Place] {
        &self.0
    }

    /// The place of that.
    pub fn find(&self, holds: Holds) -> Option<&Place> {
        self.0.iter().find(|place| place.holds == holds)
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u32 {
        self.0.last().map_or(0, Place::end)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Holds};

    #[test]
    fn places_lie_one_behind_another() {
        let mut arena = Arena::default();
        arena.put(Holds::Slots(0), 3, 1024);
        arena.put(Holds::Staging, 0, 512);
        arena.put(Holds::Full(0), 3, 8);
        arena.put(Holds::Sums(1), 2, 100);
        let places: Vec<_> = arena.places().iter().collect();
        let spans = places.iter().map(|place| (place.at, place.end()));
        assert_eq!(
            spans.collect::<Vec<_>>(),
            [(0, 3072), (3072, 3096), (3096, 3296)]
        );
        assert_eq!(
            arena.find(Holds::Full(0)).map(|place| place.of(2)),
            Some(3088)
        );
        assert_eq!(arena.find(Holds::Staging), None);
        assert_eq!(arena.bytes(), 3296);
    }

    #[test]
    fn what_is_too_large_ends_at_the_largest_byte() {
        let mut arena = Arena::default();
        arena.put(Holds::Slots(0), 4, u32::MAX / 2);
        arena.put(Holds::Staging, 1, 1024);
        assert_eq!(arena.bytes(), u32::MAX);
    }
}
