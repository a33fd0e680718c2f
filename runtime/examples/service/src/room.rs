//! How many bytes of strangers the service holds at a time, counted before they are taken. There
//! are two such rooms: one of bodies that come, wait and are worked on, and of answers that go; and
//! one of weights and of what products with them take.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is counted together: a permit stands for so many bytes, and whatever takes some takes a
/// whole one at least.
const UNIT_BYTES: usize = 1024;

/// Room for bytes, which whoever holds some takes a part of.
#[derive(Debug, Clone)]
pub struct Room {
    units: Arc<Semaphore>,
    most_bytes: usize,
}

impl Room {
    /// Room for so many bytes.
    pub fn new(most_bytes: usize) -> Room {
        let units = (most_bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS);
        Room {
            units: Arc::new(Semaphore::new(units)),
            most_bytes,
        }
    }

    /// How many bytes it has room for.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Bytes that are held.
    pub fn held_bytes(&self) -> usize {
        let free = self.units.available_permits() * UNIT_BYTES;
        self.most_bytes.saturating_sub(free)
    }

    /// A part of it, of no bytes yet.
    pub fn part(&self) -> Part {
        Part {
            units: self.units.clone(),
            taken: None,
        }
    }
}

/// A part of the room, given back with the value.
#[derive(Debug)]
pub struct Part {
    units: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Part {
    /// Takes as much as so many bytes need; `false` when the room is full.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let has = self
            .taken
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(UNIT_BYTES).saturating_sub(has);
        let Ok(more) = u32::try_from(more) else {
            return false;
        };
        let Ok(more) = self.units.clone().try_acquire_many_owned(more) else {
            return false;
        };
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            none => *none = Some(more),
        }
        true
    }

    /// Bytes that take this part of the room.
    pub fn keep(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Kept { bytes, _part: self })
    }
}

/// Bytes with their part of the room.
struct Kept {
    bytes: Vec<u8>,
    _part: Part,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_until_the_last_of_it_is_gone() {
        let room = Room::new(4096);
        let mut part = room.part();
        assert!(part.grow(1025) && room.held_bytes() == 2048);
        let first = part.keep(vec![1; 1025]);
        let mut part = room.part();
        assert!(!part.grow(2049) && room.held_bytes() == 2048);
        assert!(part.grow(1) && part.grow(1024) && room.held_bytes() == 3072);
        assert!(part.grow(2048) && !part.grow(2049) && room.held_bytes() == 4096);
        drop(part);
        let slice = first.slice(7..9);
        drop(first);
        assert_eq!(room.held_bytes(), 2048);
        drop(slice);
        assert_eq!(room.held_bytes(), 0);
    }
}
