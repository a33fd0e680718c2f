//! Where tensors lie by what their owners say, before anything is read there.
//!
//! In: an address, an offset and the bytes that extents and strides reach. Out: the address of the
//! first element, or why no memory of a process can be meant. Whether memory is really there is
//! known to its owner alone.

/// The address behind the last one that a process can have: the upper half of 64 bits is the
/// kernel's on every machine that the runtime is made for, and no address of a GPU lies there.
const ADDRESSES_END: u64 = 1 << 63;

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
    match address.checked_add(bytes) {
        Some(end) if end <= ADDRESSES_END => Ok(address),
        _ => Err(beyond),
    }
}
