//! Choosing a kernel for a problem, and saying why.

use std::ffi::c_char;

use tilewright_runtime::{Request, Source};

use crate::failure::Failure;
use crate::foreign::{Growable, Plain, place, put, read_text, shown_text, write_struct, zeroed};
use crate::guard::call_on;
use crate::open::{Opened, tw_runtime};
use crate::problem::{self, TW_MAX_NAME_BYTES, tw_problem};
use crate::status::tw_status;

/// This very problem was measured.
pub const TW_SOURCE_MEASURED: i32 = 1;
/// A neighbour was measured, and the problem lies among the measured ones.
pub const TW_SOURCE_INTERPOLATED: i32 = 2;
/// A neighbour was measured, and the problem lies outside of the measured ones.
pub const TW_SOURCE_EXTRAPOLATED: i32 = 3;
/// Nothing was measured: the first kernel that fits, the most special first.
pub const TW_SOURCE_UNTUNED: i32 = 4;

/// A kernel chosen for a problem.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_selection {
    /// `sizeof(tw_selection)`, set by the caller.
    pub struct_size: usize,
    /// The kernel's index.
    pub kernel: usize,
    /// `TW_SOURCE_*`: how it was found.
    pub source: i32,
    /// How far the measured problem is: the length of the difference of the extents' binary
    /// logarithms.
    pub distance: f32,
}

// SAFETY: numbers take every pattern of bits.
unsafe impl Plain for tw_selection {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_selection {
    const NAME: &'static str = "tw_selection";
    const LEAST_BYTES: usize = 24;
}

/// The word and the problem of a call.
///
/// # Safety
/// Both pointers are null or point to what their types say.
unsafe fn asked<'a>(
    opened: &Opened,
    word: *const c_char,
    problem: *const tw_problem,
) -> Result<(&'a str, Request<'a>), Failure> {
    // SAFETY: the caller's promise is the callees'.
    unsafe {
        let request = problem::read(problem, opened.home())?;
        Ok((read_text(word, TW_MAX_NAME_BYTES, "word")?, request))
    }
}

/// Chooses a kernel for a problem. A word is a spec's word (`gemm`), a spec's name, or the
/// beginning of a function's hash; where it means several functions, the operands tell which. Of
/// the function's kernels the bundle's tuning tables choose, else its order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_select(
    runtime: *const tw_runtime,
    word: *const c_char,
    problem: *const tw_problem,
    selection: *mut tw_selection,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(selection, "selection")?;
        // SAFETY: the caller says that word and problem are there.
        let (word, request) = unsafe { asked(opened, word, problem) }?;
        let meant = opened.runtime.meant(word)?.into_iter();
        let meant: Vec<_> = meant.map(|kernel| (kernel, &request)).collect();
        let chosen = opened.runtime.choose(word, &meant)?;
        let value = tw_selection {
            kernel: opened.index_of(chosen.kernel),
            source: match chosen.source {
                Source::Measured => TW_SOURCE_MEASURED,
                Source::Interpolated => TW_SOURCE_INTERPOLATED,
                Source::Extrapolated => TW_SOURCE_EXTRAPOLATED,
                Source::Untuned => TW_SOURCE_UNTUNED,
            },
            distance: chosen.distance,
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(selection, "selection", &value) }
    })
}

/// What `tw_select` would choose and by which rule, the row of a tuning table or the order of the
/// bundle, and why each other kernel of the function is not chosen, as text of several lines for a
/// reader. Nothing is counted. At most `capacity` bytes are written, a 0 at their end; `length`
/// gets the length of the whole text without it, and may be null. The text may be null when
/// `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_explain(
    runtime: *const tw_runtime,
    word: *const c_char,
    problem: *const tw_problem,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        if capacity > 0 {
            place(text, "text")?;
        }
        // SAFETY: the caller says that word and problem are there.
        let (word, request) = unsafe { asked(opened, word, problem) }?;
        let meant = opened.runtime.meant(word)?.into_iter();
        let meant: Vec<_> = meant.map(|kernel| (kernel, &request)).collect();
        let told = shown_text(&opened.runtime.explain(word, &meant).to_string());
        let bytes = told.as_bytes();
        if let Some(room) = capacity.checked_sub(1) {
            let shown = room.min(bytes.len());
            // SAFETY: there is room for `capacity` bytes, and the text is ours.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), text.cast(), shown);
                text.add(shown).write(0);
            }
        }
        if !length.is_null() {
            // SAFETY: the place is not null.
            unsafe { put(length, bytes.len()) };
        }
        Ok(())
    })
}
