//! What comes over the boundary: text, arrays and structs of the caller's, read once, and places
//! for results.
//!
//! Pointers may be misaligned, and structs larger or smaller than ours. What cannot be known is
//! whether memory is there: that is the caller's promise.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

use crate::failure::{Failure, Why};

/// A struct of the interface: C's layout, made of numbers and pointers.
///
/// # Safety
/// Every pattern of bits is a value, zeros among them.
pub unsafe trait Plain: Copy {}

/// A struct whose first field is its size, so that it may grow at its end.
///
/// # Safety
/// The first field is a `usize` of C's layout.
pub unsafe trait Growable: Plain {
    /// Its name in the header.
    const NAME: &'static str;
    /// Bytes that it had in the first version of the interface.
    const LEAST_BYTES: usize;
}

/// Larger structs are garbage.
const MOST_STRUCT_BYTES: usize = 4096;

/// The size that a struct says it has.
///
/// # Safety
/// The pointer is null or points to a struct of that kind.
unsafe fn size_of_struct<T: Growable>(from: *const T, what: &str) -> Result<usize, Failure> {
    if from.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: the size is the first field, and the struct is there.
    let size = unsafe { from.cast::<usize>().read_unaligned() };
    let (least, most) = (T::LEAST_BYTES, MOST_STRUCT_BYTES);
    if !(least..=most).contains(&size) {
        return Err(Failure::sized(format!(
            "the struct_size of {what} is {size}; {least} to {most} is allowed: set it to \
             sizeof({})",
            T::NAME
        )));
    }
    Ok(size)
}

/// A struct of the caller's, which may be of an older or a newer interface than ours.
///
/// # Safety
/// The pointer is null or points to as many bytes as the struct says.
pub unsafe fn read_struct<T: Growable>(from: *const T, what: &str) -> Result<T, Failure> {
    // SAFETY: the caller's promise is the callee's.
    let size = unsafe { size_of_struct(from, what) }?;
    let known = size.min(size_of::<T>());
    // SAFETY: the struct has `size` bytes.
    let beyond = (known..size).any(|at| unsafe { from.cast::<u8>().add(at).read() } != 0);
    if beyond {
        return Err(Failure::sized(format!(
            "{what} has {size} bytes, of which this library knows {known}, and those behind are \
             not 0: the program was made for a newer library"
        )));
    }
    let mut read = MaybeUninit::<T>::zeroed();
    // SAFETY: both have `known` bytes; they do not overlap, as one is of this function.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), read.as_mut_ptr().cast(), known) };
    // SAFETY: every pattern of bits is a value: see `Plain`.
    Ok(unsafe { read.assume_init() })
}

/// Fills a struct of the caller's, but for its size; what it has beyond ours becomes 0.
///
/// # Safety
/// The pointer is null or points to as many bytes as the struct says.
pub unsafe fn write_struct<T: Growable>(to: *mut T, what: &str, value: &T) -> Result<(), Failure> {
    // SAFETY: the caller's promise is the callee's.
    let size = unsafe { size_of_struct(to, what) }?;
    let (known, head) = (size.min(size_of::<T>()), size_of::<usize>());
    let from = std::ptr::from_ref(value).cast::<u8>();
    let to = to.cast::<u8>();
    // SAFETY: both have `known` bytes, no fewer than the size's own; the caller's struct is not
    // ours.
    unsafe { std::ptr::copy_nonoverlapping(from.add(head), to.add(head), known - head) };
    // SAFETY: the struct has `size` bytes.
    unsafe { to.add(known).write_bytes(0, size - known) };
    Ok(())
}

/// A struct of zeros and null pointers, to be filled.
pub fn zeroed<T: Plain>() -> T {
    // SAFETY: zeros are a value: see `Plain`.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// An array of the caller's.
///
/// # Safety
/// The pointer is null or points to `count` elements.
pub unsafe fn read_array<T: Plain>(
    from: *const T,
    count: usize,
    most: usize,
    what: &str,
) -> Result<Vec<T>, Why> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > most {
        let text = format!("{what} has {count} elements; at most {most} are allowed");
        return Err(Why::of("count", what, text).with(format!("0 to {most}"), count));
    }
    if from.is_null() {
        let text = format!("{what} is null, and its count is {count}");
        return Err(Why::of("null", what, text));
    }
    // SAFETY: the elements are there; each is read by itself, wherever it lies.
    Ok((0..count)
        .map(|at| unsafe { from.add(at).read_unaligned() })
        .collect())
}

/// Text of the caller's of at most `most` bytes.
///
/// # Safety
/// The pointer is null or points to text that ends with 0, and the text stays for `'a`.
pub unsafe fn read_text<'a>(from: *const c_char, most: usize, what: &str) -> Result<&'a str, Why> {
    if from.is_null() {
        return Err(Why::of("null", what, format!("{what} is null")));
    }
    // SAFETY: nothing is read beyond the 0 that ends the text.
    let length = (0..=most).find(|at| unsafe { from.add(*at).read() } == 0);
    let Some(length) = length else {
        let text = format!("{what} has no end within {most} bytes");
        return Err(Why::of("length", what, text).with(format!("at most {most}"), "more"));
    };
    // SAFETY: the bytes before the 0 are there, and stay.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) };
    std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("byte {} of {what} is not UTF-8", error.valid_up_to());
        Why::of("utf8", what, text)
    })
}

/// Refuses a place for a result that is null.
pub fn place<T>(to: *mut T, what: &str) -> Result<(), Failure> {
    match to.is_null() {
        true => Err(Failure::null(what)),
        false => Ok(()),
    }
}

/// Puts a result into its place.
///
/// # Safety
/// The pointer points to room for a value.
pub unsafe fn put<T: Plain>(to: *mut T, value: T) {
    // SAFETY: the room is there, aligned or not.
    unsafe { to.write_unaligned(value) };
}

/// Text for C; what stands behind a 0 in it is left out.
pub fn c_text(text: &str) -> CString {
    let shown = text.split('\0').next().unwrap_or_default();
    CString::new(shown).unwrap_or_default()
}

/// Text for C that people read: of characters that move a terminal's cursor, or that cannot be
/// seen, those that end lines alone stay as they are.
pub fn shown_text(text: &str) -> CString {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_unseen = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}');
        match (c.is_control() && c != '\n') || is_unseen {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    c_text(&shown)
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for usize {}
// SAFETY: as above.
unsafe impl Plain for i64 {}
// SAFETY: as above.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl<T> Plain for *const T {}
// SAFETY: as above.
unsafe impl<T> Plain for *mut T {}

#[cfg(test)]
mod tests;
