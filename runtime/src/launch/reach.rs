//! Where tensors lie by what their owners say, before anything is read there.
//!
//! In: an address, an offset and the bytes that extents and strides reach. Out: the address of the
//! first element, or why no memory of a process can be meant. Whether memory is really there is
//! known to its owner alone.

/// Bits of the addresses that a process can have, and so GPUs of addresses that they share with it:
/// at most 56 below the kernel's half on x86-64 (Intel SDM volume 1, 3.3.7.1: five levels of page
/// tables), 52 on 64-bit Arm (Arm ARM D8.1.4, FEAT_LVA), half of all elsewhere.
const ADDRESS_BITS: u32 = if cfg!(target_arch = "x86_64") {
    56
} else if cfg!(target_arch = "aarch64") {
    52
} else {
    63
};

/// The address behind the last one that a process can have.
const ADDRESSES_END: u64 = 1 << ADDRESS_BITS;

/// The bits of a pointer that are no part of its address: those of tags, which 64-bit Arm ignores
/// (Arm ARM D8.8, top byte ignore).
const TAG: u64 = if cfg!(target_arch = "aarch64") {
    0xff << 56
} else {
    0
};

/// Why a tensor cannot lie where it is said to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// Elements without memory.
    #[error("has null as its data: give the address of its first element")]
    Null,
    /// Elements where no process has memory.
    #[error(
        "reaches beyond the last address: {bytes} bytes from {data:#x}+{byte_offset}, and \
         addresses end at {ADDRESSES_END:#x}"
    )]
    Beyond {
        /// Where its memory begins.
        data: u64,
        /// Bytes from there to its first element.
        byte_offset: u64,
        /// Bytes from there to behind its last one.
        bytes: u64,
    },
}

/// The address of a tensor's first element, `byte_offset` behind the `data` of which its owner
/// tells; `bytes` are those from there to behind its last element, 0 where it has none.
///
/// ```
/// use tilewright_runtime::{Unreachable, first_element};
/// assert_eq!(first_element(0x1000, 64, 140), Ok(0x1040));
/// assert_eq!(first_element(0, 0, 140), Err(Unreachable::Null));
/// assert!(first_element(u64::MAX - 64, 0, 140).is_err());
/// assert!(first_element((1 << 63) - 140, 0, 140).is_err());
/// assert_eq!(first_element(0, 0, 0), Ok(0));
/// ```
///
/// # Errors
/// What keeps the elements from having addresses.
pub fn first_element(data: u64, byte_offset: u64, bytes: u64) -> Result<u64, Unreachable> {
    if data == 0 && bytes > 0 {
        return Err(Unreachable::Null);
    }
    let beyond = Unreachable::Beyond {
        data,
        byte_offset,
        bytes,
    };
    let address = data.checked_add(byte_offset).ok_or(beyond)?;
    match (address & !TAG).checked_add(bytes) {
        Some(end) if end <= ADDRESSES_END => Ok(address),
        _ => Err(beyond),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_this_process_has_is_reached_and_nothing_behind_the_last_address() {
        let (heap, stack) = (vec![0u8; 140], [0u8; 140]);
        for memory in [heap.as_slice(), &stack] {
            let address = memory.as_ptr().addr() as u64;
            assert_eq!(first_element(address, 0, 140), Ok(address));
            assert_eq!(first_element(address - 8, 8, 140), Ok(address));
        }
        let last = ADDRESSES_END - 140;
        assert_eq!(first_element(last, 0, 140), Ok(last));
        // Bits above the end, whole or in part, and the half of the kernel.
        let beyond = (ADDRESS_BITS..64).map(|bit| ((1 << bit) | 0x1000) & !TAG);
        let beyond = beyond.filter(|address| *address > 0x1000);
        let beyond = beyond.chain([last + 1, (1 << 63) - 140, 1 << 63, u64::MAX - 140, u64::MAX]);
        for address in beyond {
            let error = first_element(address, 0, 140).unwrap_err();
            assert!(matches!(error, Unreachable::Beyond { .. }), "{address:#x}");
        }
        let (bytes, end) = (ADDRESSES_END, u64::MAX);
        assert!(first_element(0x1000, 0, bytes).is_err());
        assert!(first_element(0x1000, end, 4).is_err());
        assert!(first_element(0x1000, 0, end).is_err());
    }
}
