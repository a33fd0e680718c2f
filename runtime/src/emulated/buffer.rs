//! Memory of the emulator, which knows what nobody has written yet.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::launch::host;
use crate::launch::info::POISON;
use crate::observe::watch::Watch;

/// Memory of the emulator, with the ranges nobody has written yet.
pub struct EmulatedBuffer {
    content: Arc<Mutex<Content>>,
    bytes: u64,
    /// What the device that it was taken on shares with its clones.
    owner: Arc<Watch>,
}

/// Its bytes, and which of them nobody has written.
#[derive(Debug)]
pub(super) struct Content {
    pub bytes: Vec<u8>,
    pub undefined: Vec<Range<u64>>,
}

impl fmt::Debug for EmulatedBuffer {
    /// Its size: the bytes may be many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = f.debug_struct("EmulatedBuffer");
        told.field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl EmulatedBuffer {
    pub(super) fn new(bytes: u64, owner: &Arc<Watch>) -> Result<EmulatedBuffer, Error> {
        let no_memory = |reason: String| Error::NoMemory { bytes, reason };
        host::check(bytes)?;
        let size = usize::try_from(bytes).map_err(|e| no_memory(e.to_string()))?;
        let mut content = Vec::new();
        content
            .try_reserve_exact(size)
            .map_err(|e| no_memory(e.to_string()))?;
        content.resize(size, POISON);
        let content = Content {
            bytes: content,
            undefined: std::iter::once(0..bytes).collect(),
        };
        Ok(EmulatedBuffer {
            content: Arc::new(Mutex::new(content)),
            bytes,
            owner: owner.clone(),
        })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The same memory, kept by one more owner.
    pub(crate) fn shared(&self) -> EmulatedBuffer {
        EmulatedBuffer {
            content: self.content.clone(),
            bytes: self.bytes,
            owner: self.owner.clone(),
        }
    }

    /// Whether both are the same memory.
    pub(crate) fn is_same(&self, other: &EmulatedBuffer) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }

    /// Whether it was taken on the device of that watch.
    pub(super) fn is_of(&self, device: &Arc<Watch>) -> bool {
        Arc::ptr_eq(&self.owner, device)
    }

    /// The content; a thread that panicked while holding it left whole bytes behind.
    pub(super) fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `content` in; the caller has checked the range.
    pub(crate) fn upload(&self, offset: u64, content: &[u8]) {
        let mut inner = self.lock();
        let range = offset..offset.saturating_add(content.len() as u64);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(place) = inner
            .bytes
            .get_mut(start..start.saturating_add(content.len()))
        {
            place.copy_from_slice(content);
        }
        inner.undefined = subtract(&inner.undefined, &range);
    }

    pub(crate) fn download(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    pub(crate) fn poison(&self) {
        let mut inner = self.lock();
        inner.bytes.fill(POISON);
        inner.undefined = std::iter::once(0..self.bytes).collect();
    }
}

/// `ranges` without `gone`.
fn subtract(ranges: &[Range<u64>], gone: &Range<u64>) -> Vec<Range<u64>> {
    let parts = ranges
        .iter()
        .flat_map(|r| [r.start..r.end.min(gone.start), r.start.max(gone.end)..r.end]);
    parts.filter(|r| r.start < r.end).collect()
}

/// The gaps between sorted `ranges` in `0..bytes`.
pub(super) fn complement(ranges: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    ranges
        .iter()
        .fold(std::iter::once(0..bytes).collect(), |left, r| {
            subtract(&left, r)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_subtracted() {
        let one = |range: Range<u64>| vec![range];
        assert_eq!(subtract(&one(0..10), &(3..5)), vec![0..3, 5..10]);
        assert_eq!(subtract(&[0..4, 6..9], &(2..7)), vec![0..2, 7..9]);
        assert_eq!(subtract(&one(0..4), &(0..4)), vec![]);
        assert_eq!(complement(&[2..3, 5..10], 10), vec![0..2, 3..5]);
    }
}
