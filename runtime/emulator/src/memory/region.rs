//! One piece of device memory: words, and which of their bytes are defined.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use super::{Content, POISON};

/// A contiguous piece of device memory.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) name: String,
    /// First valid address.
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    /// Address of the first word, at most `base` and a multiple of 4.
    origin: u64,
    words: Vec<AtomicU32>,
    /// One byte for each word; bit i says that byte i of the word is defined.
    defined: Vec<AtomicU8>,
}

impl Region {
    pub(crate) fn new(name: &str, base: u64, bytes: u64, content: Content<'_>) -> Region {
        let origin = base & !3;
        let count = usize::try_from((bytes + (base - origin)).div_ceil(4)).unwrap_or(usize::MAX);
        let mut words = Vec::with_capacity(count);
        let mut defined = Vec::with_capacity(count);
        words.resize_with(count, || AtomicU32::new(u32::from_le_bytes([POISON; 4])));
        defined.resize_with(count, || AtomicU8::new(0));
        let region = Region {
            name: name.to_owned(),
            base,
            bytes,
            origin,
            words,
            defined,
        };
        if let Content::Bytes(data) = content {
            region.fill(0, data);
        }
        region
    }

    /// All bytes; undefined ones hold [`POISON`].
    pub(super) fn content(&self) -> Vec<u8> {
        let skip = (self.base - self.origin) as usize;
        let mut bytes = Vec::with_capacity(4 * self.words.len());
        for word in &self.words {
            bytes.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        bytes.truncate(skip + self.bytes as usize);
        bytes.drain(..skip);
        bytes
    }

    /// Stores host bytes at `offset` and marks them defined.
    pub(super) fn fill(&self, offset: u64, data: &[u8]) {
        let mut address = self.base + offset;
        let mut rest = data;
        while !rest.is_empty() {
            if address.is_multiple_of(4) && rest.len() >= 4 {
                let (head, tail) = rest.split_at(4);
                let word = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
                self.store(address, 4, u64::from(word));
                (address, rest) = (address + 4, tail);
            } else {
                self.store(address, 1, u64::from(rest[0]));
                (address, rest) = (address + 1, &rest[1..]);
            }
        }
    }

    /// Whether `size` bytes at `address` lie inside.
    #[inline]
    pub(crate) fn contains(&self, address: u64, size: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        offset <= self.bytes && size <= self.bytes - offset
    }

    #[inline]
    fn word(&self, index: usize) -> (u32, u8) {
        match (self.words.get(index), self.defined.get(index)) {
            (Some(word), Some(bits)) => (word.load(Relaxed), bits.load(Relaxed)),
            _ => (0, 0),
        }
    }

    /// Loads 1, 2, 4 or 8 naturally aligned bytes that [`Region::contains`]; says whether all are
    /// defined.
    #[inline]
    pub(crate) fn load(&self, address: u64, size: u32) -> (u64, bool) {
        let offset = address.wrapping_sub(self.origin) as usize;
        let index = offset / 4;
        match size {
            4 => {
                let (word, bits) = self.word(index);
                (u64::from(word), bits == 15)
            }
            8 => {
                let ((low, a), (high, b)) = (self.word(index), self.word(index + 1));
                (u64::from(low) | u64::from(high) << 32, a & b == 15)
            }
            _ => {
                let (word, bits) = self.word(index);
                let shift = offset % 4;
                let mask = (1u32 << size) - 1;
                let value = (word >> (8 * shift)) & ((1u32 << (8 * size)) - 1);
                (u64::from(value), (u32::from(bits) >> shift) & mask == mask)
            }
        }
    }

    #[inline]
    fn set_word(&self, index: usize, value: u32) {
        if let (Some(word), Some(bits)) = (self.words.get(index), self.defined.get(index)) {
            word.store(value, Relaxed);
            bits.store(15, Relaxed);
        }
    }

    /// Stores 1, 2, 4 or 8 naturally aligned bytes that [`Region::contains`].
    #[inline]
    pub(crate) fn store(&self, address: u64, size: u32, value: u64) {
        let offset = address.wrapping_sub(self.origin) as usize;
        let index = offset / 4;
        match size {
            4 => self.set_word(index, value as u32),
            8 => {
                self.set_word(index, value as u32);
                self.set_word(index + 1, (value >> 32) as u32);
            }
            _ => {
                let shift = offset % 4;
                let mask = ((1u32 << (8 * size)) - 1) << (8 * shift);
                let bits = (((1u32 << size) - 1) << shift) as u8;
                if let (Some(word), Some(known)) = (self.words.get(index), self.defined.get(index))
                {
                    let new = (value as u32) << (8 * shift) & mask;
                    let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | new));
                    if known.load(Relaxed) & bits != bits {
                        known.fetch_or(bits, Relaxed);
                    }
                }
            }
        }
    }

    /// Reads bytes that [`Region::contains`]; says whether all are defined.
    pub(crate) fn read(&self, address: u64, data: &mut [u8]) -> bool {
        let mut all = true;
        let mut at = address;
        for part in data.chunks_mut(4) {
            if part.len() == 4 && at.is_multiple_of(4) {
                let (value, defined) = self.load(at, 4);
                part.copy_from_slice(&(value as u32).to_le_bytes());
                all &= defined;
            } else {
                for (index, byte) in part.iter_mut().enumerate() {
                    let (value, defined) = self.byte(at + index as u64);
                    *byte = value;
                    all &= defined;
                }
            }
            at += part.len() as u64;
        }
        all
    }

    /// Makes bytes that [`Region::contains`] undefined; whole words, for the range is aligned.
    pub(crate) fn discard(&self, address: u64, bytes: u64) {
        let first = (address.wrapping_sub(self.origin) / 4) as usize;
        let last = first + (bytes / 4) as usize;
        if let Some(known) = self.defined.get(first..last) {
            known.iter().for_each(|bits| bits.store(0, Relaxed));
        }
    }

    /// Writes bytes that [`Region::contains`].
    pub(crate) fn write(&self, address: u64, data: &[u8]) {
        self.fill(address - self.base, data);
    }

    pub(super) fn byte(&self, address: u64) -> (u8, bool) {
        let (value, defined) = self.load(address, 1);
        (value as u8, defined)
    }
}
