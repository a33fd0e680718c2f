//! Bytes with one state each: the memory of a CTA and of a thread.
//!
//! Comes in: offsets. Goes out: values with the worst state of their bytes; `None` out of bounds.

use crate::memory::POISON;

/// State of a byte that nothing wrote.
pub(crate) const UNDEFINED: u8 = 0;

/// State of a byte with a value.
pub(crate) const DEFINED: u8 = 1;

/// State of a byte that an asynchronous copy will write or has written, but nobody waited.
pub(crate) const IN_FLIGHT: u8 = 2;

/// Set on the bytes of an mbarrier object, which only mbarrier operations may write.
pub(crate) const OBJECT: u8 = 4;

/// Bytes with one state each.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) data: Vec<u8>,
    pub(crate) state: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(bytes: usize) -> Bytes {
        Bytes {
            data: vec![POISON; bytes],
            state: vec![UNDEFINED; bytes],
        }
    }

    /// Grows (undefined) or shrinks.
    pub(crate) fn resize(&mut self, bytes: usize) {
        self.data.resize(bytes, POISON);
        self.state.resize(bytes, UNDEFINED);
    }

    /// The data and the states of a range; `None` out of bounds.
    pub(crate) fn range_mut(&mut self, at: usize, bytes: usize) -> Option<(&mut [u8], &mut [u8])> {
        let end = at.checked_add(bytes)?;
        Some((self.data.get_mut(at..end)?, self.state.get_mut(at..end)?))
    }

    /// Sets the state of a range, as far as there are bytes.
    pub(crate) fn mark(&mut self, at: usize, bytes: usize, mark: u8) {
        let end = at.saturating_add(bytes).min(self.state.len());
        if let Some(state) = self.state.get_mut(at.min(end)..end) {
            state.fill(mark);
        }
    }

    /// Loads up to 8 bytes; the worst state of them comes along. `None` out of bounds.
    #[inline]
    pub(crate) fn load(&self, at: usize, bytes: usize) -> Option<(u64, u8)> {
        let data = self.data.get(at..at.checked_add(bytes)?)?;
        let state = self.state.get(at..at + bytes)?;
        if let (Ok(data), Ok(state)) = (<[u8; 4]>::try_from(data), <[u8; 4]>::try_from(state)) {
            let all = u32::from_le_bytes(state);
            return Some((
                u64::from(u32::from_le_bytes(data)),
                worst(&state, all == 0x0101_0101),
            ));
        }
        let mut wide = [0; 8];
        wide.get_mut(..bytes)?.copy_from_slice(data);
        Some((u64::from_le_bytes(wide), worst(state, false)))
    }

    /// Whether up to 8 bytes hold a value, each of them defined and nothing special.
    pub(crate) fn holds(&self, at: usize, bytes: usize, value: u64) -> bool {
        let plain = self.state.get(at..at.saturating_add(bytes));
        let plain = plain.is_some_and(|state| state.iter().all(|state| *state == DEFINED));
        plain && self.load(at, bytes).is_some_and(|(held, _)| held == value)
    }

    /// Stores up to 8 bytes and defines them; what was special about them comes back. `None` out of
    /// bounds.
    #[inline]
    pub(crate) fn store(&mut self, at: usize, bytes: usize, value: u64) -> Option<u8> {
        let data = self.data.get_mut(at..at.checked_add(bytes)?)?;
        let state = self.state.get_mut(at..at + bytes)?;
        let source = value.to_le_bytes();
        let mut in_flight = 0;
        if bytes == 4 {
            data.copy_from_slice(&source[..4]);
            in_flight = state.iter().fold(0, |all, byte| all | byte) & (IN_FLIGHT | OBJECT);
            state.copy_from_slice(&[DEFINED; 4]);
            return Some(in_flight);
        }
        for ((byte, state), source) in data.iter_mut().zip(state).zip(source) {
            *byte = source;
            in_flight |= *state & (IN_FLIGHT | OBJECT);
            *state = DEFINED;
        }
        Some(in_flight)
    }
}

#[inline]
fn worst(state: &[u8], all_defined: bool) -> u8 {
    if all_defined {
        return DEFINED;
    }
    if state.iter().any(|byte| *byte & IN_FLIGHT != 0) {
        IN_FLIGHT
    } else if state.iter().all(|byte| *byte & DEFINED != 0) {
        DEFINED
    } else {
        UNDEFINED
    }
}
