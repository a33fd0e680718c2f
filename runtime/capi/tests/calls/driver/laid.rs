//! Memory of the caller's: exactly as large as it says, so that a sanitizer sees each access beyond
//! it, and aligned or not.

use std::mem::MaybeUninit;

/// Largest struct that the library looks into.
const MOST_STRUCT_BYTES: u64 = 4096;
/// What stands where nothing was written.
const UNTOUCHED: u8 = 0x55;
/// Bytes behind a result.
const BEHIND: usize = 16;

/// Values that a call reads.
pub struct Laid {
    bytes: Vec<u8>,
    shift: usize,
}

impl Laid {
    /// Values, one byte off their alignment if so wanted.
    pub fn of<T: Copy>(values: &[T], is_odd: bool) -> Laid {
        let shift = usize::from(is_odd);
        let mut bytes = vec![0; shift + size_of_val(values)];
        // SAFETY: there is room for as many bytes behind the shift.
        unsafe {
            let to = bytes.as_mut_ptr().add(shift);
            std::ptr::copy_nonoverlapping(values.as_ptr().cast(), to, size_of_val(values));
        }
        Laid { bytes, shift }
    }

    /// A struct that says of itself that it has `size` bytes, and has them, if a library may look
    /// at them; those behind what is known are `beyond`.
    pub fn sized<T: Copy>(value: &T, size: u64, beyond: u8) -> Laid {
        let mut laid = Laid::of(std::slice::from_ref(value), false);
        let head = size_of::<u64>();
        let has = if size > MOST_STRUCT_BYTES {
            head
        } else {
            head.max(size as usize)
        };
        laid.bytes.resize(has, beyond);
        laid.bytes[..head].copy_from_slice(&size.to_ne_bytes());
        laid.bytes.shrink_to_fit();
        laid
    }

    pub fn at<T>(&self) -> *const T {
        self.bytes[self.shift..].as_ptr().cast()
    }
}

/// A place for a result.
pub struct Room {
    bytes: Vec<u8>,
    size: usize,
}

impl Room {
    /// For a struct that says it has `size` bytes.
    pub fn sized(size: u64) -> Room {
        let head = size_of::<u64>();
        let has = if size > MOST_STRUCT_BYTES {
            head
        } else {
            head.max(size as usize)
        };
        let mut room = Room::of(has);
        room.bytes[..head].copy_from_slice(&size.to_ne_bytes());
        room
    }

    /// For so many bytes.
    pub fn of(size: usize) -> Room {
        let bytes = vec![UNTOUCHED; size + BEHIND];
        Room { bytes, size }
    }

    pub fn at<T>(&mut self) -> *mut T {
        self.bytes.as_mut_ptr().cast()
    }

    /// The bytes of the result. Nothing behind them was written, nor, if nothing was to be filled,
    /// behind the first `head` of them.
    pub fn result(&self, is_filled: bool, head: usize) -> &[u8] {
        let kept = if is_filled { self.size } else { head };
        assert!(self.bytes[kept..].iter().all(|byte| *byte == UNTOUCHED));
        &self.bytes[..self.size]
    }
}

/// A struct of the interface with nothing set: of numbers and pointers.
pub fn zeroed<T: Copy>() -> T {
    // SAFETY: zeros are a value of every struct of the interface.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
