//! The last failure of a thread as an object: a status, a message, and each reason.

use std::ffi::{CString, c_char, c_void};

use crate::failure::{Failure, Why};
use crate::foreign::{Growable, Plain, shown_text, write_struct, zeroed};
use crate::guard::{call, call_on};
use crate::handles::{self, Kind, Object};
use crate::status::{TW_ERROR_HANDLE, tw_status};

/// Why a call did nothing. Freed by `tw_error_free`.
pub struct tw_error {
    _opaque: [u8; 0],
}

/// One reason of an error. Texts live as long as the error; those that the reason does not have are
/// null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_reason {
    /// `sizeof(tw_reason)`, set by the caller.
    pub struct_size: usize,
    /// A word for counting: `alignment`, `dtype`, `null`.
    pub kind: *const c_char,
    /// The whole reason as a sentence.
    pub text: *const c_char,
    /// The operand, extent, scalar or argument at fault.
    pub operand: *const c_char,
    /// What is needed.
    pub needed: *const c_char,
    /// What is there.
    pub has: *const c_char,
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_reason {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_reason {
    const NAME: &'static str = "tw_reason";
    const LEAST_BYTES: usize = 48;
}

/// A failure in C's text.
struct Told {
    status: tw_status,
    message: CString,
    reasons: Vec<ToldReason>,
}

struct ToldReason {
    kind: CString,
    text: CString,
    parts: [Option<CString>; 3],
}

impl Object for Told {
    const KIND: Kind = Kind::Error;
}

impl From<Failure> for Told {
    fn from(failure: Failure) -> Told {
        let reason = |Why { kind, text, parts }: Why| ToldReason {
            kind: shown_text(kind),
            text: shown_text(&text),
            parts: [parts.name, parts.needs, parts.has].map(|part| part.map(|p| shown_text(&p))),
        };
        Told {
            status: failure.status,
            message: shown_text(&failure.message),
            reasons: failure.reasons.into_iter().map(reason).collect(),
        }
    }
}

/// Takes the last failure of a call on this thread: free it with `tw_error_free`. Null when there
/// was none since the last time. A call that succeeds leaves it as it is.
#[unsafe(no_mangle)]
pub extern "C" fn tw_last_error() -> *mut tw_error {
    let mut given: *mut c_void = std::ptr::null_mut();
    let Some(failure) = Failure::take() else {
        return given.cast();
    };
    call(|| {
        given = handles::give(Told::from(failure))?;
        Ok(())
    });
    given.cast()
}

/// The status that the failed call answered; `TW_ERROR_HANDLE` when `error` is none.
#[unsafe(no_mangle)]
pub extern "C" fn tw_error_status(error: *const tw_error) -> tw_status {
    match handles::get::<Told>(error.cast()) {
        Ok(told) => told.object.status,
        Err(_) => TW_ERROR_HANDLE,
    }
}

/// The whole error as text, which lives as long as the error; never null.
#[unsafe(no_mangle)]
pub extern "C" fn tw_error_message(error: *const tw_error) -> *const c_char {
    match handles::get::<Told>(error.cast()) {
        Ok(told) => told.object.message.as_ptr(),
        Err(_) => c"this is no error of tilewright, or it was freed".as_ptr(),
    }
}

/// How many reasons the error has: none of most, at least one of `TW_ERROR_ARGUMENT` and
/// `TW_ERROR_REFUSED`.
#[unsafe(no_mangle)]
pub extern "C" fn tw_error_reason_count(error: *const tw_error) -> usize {
    handles::get::<Told>(error.cast()).map_or(0, |told| told.object.reasons.len())
}

/// One reason of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_error_reason(
    error: *const tw_error,
    index: usize,
    reason: *mut tw_reason,
) -> tw_status {
    call_on::<Told>(error.cast(), |_, told| {
        let count = told.reasons.len();
        let found = told.reasons.get(index);
        let found = found.ok_or_else(|| Failure::index("reason", index, count))?;
        let [operand, needed, has] = found.parts.each_ref().map(|part| {
            let part = part.as_ref();
            part.map_or(std::ptr::null(), |part| part.as_ptr())
        });
        let value = tw_reason {
            kind: found.kind.as_ptr(),
            text: found.text.as_ptr(),
            operand,
            needed,
            has,
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(reason, "reason", &value) }
    })
}

/// Frees an error and its texts; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn tw_error_free(error: *mut tw_error) -> tw_status {
    call(|| handles::free::<Told>(error.cast()))
}
