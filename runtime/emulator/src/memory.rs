//! Device memory: named buffers with red zones and one *defined* bit for every byte.
//!
//! Comes in: allocations of the host. Goes out: addresses to pass as parameters, and the bytes
//! after a run. Buffers lie at least 4 KiB apart, so no small overrun of one is an access to
//! another. Words are relaxed atomics: CTAs on several threads share them without locks, and a
//! racing kernel gets one of the values written, as on a device. Sub-word stores are
//! compare-and-swap loops, so neighbours are kept.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

/// Distance kept between buffers, in bytes.
pub(crate) const RED_ZONE_BYTES: u64 = 4096;
/// The address of the first buffer.
const FIRST_ADDRESS: u64 = 0x0007_0000_0000;
/// The value of bytes that nothing wrote.
pub(crate) const POISON: u8 = 0xCD;

/// Names a buffer of the [`Memory`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub(crate) usize);

/// What a buffer holds before the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Poisoned; loading a byte before a store is `uninit_global`.
    Undefined,
    /// These bytes; a shorter slice leaves the rest undefined.
    Bytes(&'a [u8]),
}

/// An allocation or a host access that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The limit of the memory would be passed.
    #[error("buffer {name} of {bytes} bytes does not fit: {left} bytes are left; raise the limit")]
    Full {
        /// The buffer asked for.
        name: String,
        /// Its size.
        bytes: u64,
        /// What is left below the limit.
        left: u64,
    },
    /// A host access outside the buffer.
    #[error("{bytes} bytes at offset {offset} are outside buffer {name} of {size} bytes")]
    Range {
        /// The buffer.
        name: String,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
        /// Size of the buffer.
        size: u64,
    },
    /// An id that this memory did not make.
    #[error("buffer id {0} is not of this memory")]
    UnknownBuffer(usize),
}

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

    /// Stores host bytes at `offset` and marks them defined.
    fn fill(&self, offset: u64, data: &[u8]) {
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

    fn byte(&self, address: u64) -> (u8, bool) {
        let (value, defined) = self.load(address, 1);
        (value as u8, defined)
    }
}

/// The buffers of a device, made by the host before a launch and read after it.
#[derive(Debug)]
pub struct Memory {
    regions: Vec<Region>,
    next: u64,
    limit: u64,
    used: u64,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new()
    }
}

impl Memory {
    /// An empty memory with a limit of 16 GiB.
    pub fn new() -> Memory {
        Memory::with_limit(16 << 30)
    }

    /// An empty memory in which at most `bytes` can be allocated.
    pub fn with_limit(bytes: u64) -> Memory {
        Memory {
            regions: Vec::new(),
            next: FIRST_ADDRESS,
            limit: bytes,
            used: 0,
        }
    }

    /// Makes a buffer at a multiple of 256 bytes.
    ///
    /// # Errors
    /// [`MemoryError::Full`] when the limit would be passed.
    pub fn alloc(
        &mut self,
        name: &str,
        bytes: u64,
        content: Content<'_>,
    ) -> Result<BufferId, MemoryError> {
        self.alloc_offset(name, bytes, 0, content)
    }

    /// Makes a buffer `offset_bytes` behind a multiple of 256 bytes, to test alignment
    /// assumptions.
    ///
    /// # Errors
    /// [`MemoryError::Full`] when the limit would be passed, [`MemoryError::Range`] when the
    /// content is longer than the buffer.
    pub fn alloc_offset(
        &mut self,
        name: &str,
        bytes: u64,
        offset_bytes: u64,
        content: Content<'_>,
    ) -> Result<BufferId, MemoryError> {
        let left = self.limit - self.used;
        if bytes > left || offset_bytes > left - bytes {
            return Err(MemoryError::Full {
                name: name.to_owned(),
                bytes,
                left,
            });
        }
        if let Content::Bytes(data) = content
            && data.len() as u64 > bytes
        {
            let given = data.len() as u64;
            return Err(MemoryError::Range {
                name: name.to_owned(),
                offset: 0,
                bytes: given,
                size: bytes,
            });
        }
        let base = self.next + offset_bytes;
        self.regions.push(Region::new(name, base, bytes, content));
        self.used += bytes + offset_bytes;
        self.next = (base + bytes + RED_ZONE_BYTES).next_multiple_of(256);
        Ok(BufferId(self.regions.len() - 1))
    }

    /// The device address of a buffer; 0 for an id of another memory.
    pub fn address(&self, id: BufferId) -> u64 {
        self.regions.get(id.0).map_or(0, |region| region.base)
    }

    /// The size of a buffer; 0 for an id of another memory.
    pub fn bytes(&self, id: BufferId) -> u64 {
        self.regions.get(id.0).map_or(0, |region| region.bytes)
    }

    /// The first buffer of that name.
    pub fn buffer(&self, name: &str) -> Option<BufferId> {
        self.regions
            .iter()
            .position(|region| region.name == name)
            .map(BufferId)
    }

    /// The bytes of a buffer; undefined ones read as 0xCD.
    pub fn read(&self, id: BufferId) -> Vec<u8> {
        let Some(region) = self.regions.get(id.0) else {
            return Vec::new();
        };
        let skip = (region.base - region.origin) as usize;
        let mut bytes = Vec::with_capacity(4 * region.words.len());
        for word in &region.words {
            bytes.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        bytes.truncate(skip + region.bytes as usize);
        bytes.drain(..skip);
        bytes
    }

    /// The ranges of bytes of a buffer that neither the host nor a kernel wrote.
    pub fn undefined(&self, id: BufferId) -> Vec<Range<u64>> {
        let Some(region) = self.regions.get(id.0) else {
            return Vec::new();
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for offset in 0..region.bytes {
            if !region.byte(region.base + offset).1 {
                match ranges.last_mut() {
                    Some(last) if last.end == offset => last.end += 1,
                    _ => ranges.push(offset..offset + 1),
                }
            }
        }
        ranges
    }

    /// Stores host bytes into a buffer.
    ///
    /// # Errors
    /// [`MemoryError::Range`] when they do not fit, [`MemoryError::UnknownBuffer`] for a foreign
    /// id.
    pub fn write(&mut self, id: BufferId, offset: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let region = self
            .regions
            .get(id.0)
            .ok_or(MemoryError::UnknownBuffer(id.0))?;
        let count = bytes.len() as u64;
        if offset > region.bytes || count > region.bytes - offset {
            let name = region.name.clone();
            return Err(MemoryError::Range {
                name,
                offset,
                bytes: count,
                size: region.bytes,
            });
        }
        region.fill(offset, bytes);
        Ok(())
    }

    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }
}
