//! Packed operands: from a caller's elements to the order that a kernel takes.

use std::ffi::{c_char, c_void};

use tilewright_runtime::{Error, pack, packed_bytes};

use crate::failure::{Failure, Why};
use crate::foreign::{place, put, read_text};
use crate::guard::call_on;
use crate::open::{Opened, tw_runtime};
use crate::problem::{self, TW_MAX_NAME_BYTES, tw_problem};
use crate::status::tw_status;

/// Puts a packed operand into the order that its kernel takes it in, and so does every other kernel
/// of the same function. `elements` are `bytes` of memory of the host: all elements without gaps,
/// last axis innermost, of the extents that the problem gives. What a launch takes is written to
/// `packed`, memory of the host of `capacity` bytes; `needed` gets how many it takes, and may be
/// null. With a capacity of 0 nothing is read or written but that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_pack(
    runtime: *const tw_runtime,
    kernel: usize,
    operand: *const c_char,
    problem: *const tw_problem,
    elements: *const c_void,
    bytes: usize,
    packed: *mut c_void,
    capacity: usize,
    needed: *mut usize,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        // SAFETY: the caller says that text and problem are there.
        let (operand, request) = unsafe {
            let request = problem::read(problem, opened.home())?;
            (read_text(operand, TW_MAX_NAME_BYTES, "operand")?, request)
        };
        let (kernel, _) = opened.kernel(kernel)?;
        let told = |error| match error {
            Error::Request(text) => Failure::arguments(vec![Why::of("operand", operand, text)]),
            other => other.into(),
        };
        let takes = packed_bytes(kernel, operand, &request.given).map_err(told)?;
        let tell = || {
            if !needed.is_null() {
                // SAFETY: the place is not null.
                unsafe { put(needed, usize::try_from(takes).unwrap_or(usize::MAX)) };
            }
        };
        if capacity == 0 {
            tell();
            return Ok(());
        }
        place(elements.cast_mut(), "elements")?;
        place(packed, "packed")?;
        if takes > capacity as u64 || bytes > isize::MAX as usize {
            return Err(Failure::sized(format!(
                "packed has room for {capacity} bytes; `{operand}` of {} takes {takes}",
                kernel.id
            )));
        }
        // SAFETY: the caller says that so many bytes are there; they are only read, until the copy.
        let dense = unsafe { std::slice::from_raw_parts(elements.cast::<u8>(), bytes) };
        let made = pack(kernel, operand, &request.given, dense).map_err(told)?;
        // SAFETY: there is room for as many bytes, and what is copied is ours.
        unsafe { std::ptr::copy_nonoverlapping(made.as_ptr(), packed.cast(), made.len()) };
        tell();
        Ok(())
    })
}
