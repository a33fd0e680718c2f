//! Device memory: named buffers with red zones and one *defined* bit for every byte.
//!
//! Comes in: allocations of the host. Goes out: addresses to pass as parameters, and the bytes
//! after a run. Buffers lie at least 4 KiB apart, so no small overrun of one is an access to
//! another. Words are relaxed atomics: CTAs on several threads share them without locks, and a
//! racing kernel gets one of the values written, as on a device. Sub-word stores are
//! compare-and-swap loops, so neighbours are kept.

mod region;

use std::ops::Range;

pub(crate) use region::Region;

/// Distance kept between buffers, in bytes.
pub(crate) const RED_ZONE_BYTES: u64 = 4096;
/// The address of the first buffer.
const FIRST_ADDRESS: u64 = 0x0007_0000_0000;
/// Where buffers lie whose addresses have 32 bits.
const NARROW_START: u64 = 0x1000_0000;
pub(crate) const NARROW_END: u64 = 0x9000_0000;
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

/// The buffers of a device, made by the host before a launch and read after it.
#[derive(Debug)]
pub struct Memory {
    regions: Vec<Region>,
    next: u64,
    /// No byte lies at this address or behind it.
    end: u64,
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
            end: u64::MAX,
            limit: bytes,
            used: 0,
        }
    }

    /// An empty memory of 2 GiB whose addresses have 32 bits, for modules with
    /// `.address_size 32`.
    pub fn narrow() -> Memory {
        Memory {
            next: NARROW_START,
            end: NARROW_END,
            ..Memory::with_limit(NARROW_END - NARROW_START)
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
        let left = (self.limit - self.used).min(self.end.saturating_sub(self.next));
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
        region.content()
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
