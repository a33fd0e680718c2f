//! What a service watches: what a runtime has done, as named numbers, and whether its device is
//! lost.

use std::ffi::{CString, c_char};

use tilewright_runtime::{Counter, Counters};

use crate::failure::Failure;
use crate::foreign::{Growable, Plain, c_text, place, put, write_struct, zeroed};
use crate::guard::{call, call_on};
use crate::handles::{self, Kind, Object};
use crate::open::{Opened, tw_runtime};
use crate::status::tw_status;

/// The counters of a runtime as they were at one moment. Freed by `tw_counters_free`.
pub struct tw_counters {
    _opaque: [u8; 0],
}

/// A number with its name. Texts live as long as the counters that it is of.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_counter_info {
    /// `sizeof(tw_counter_info)`, set by the caller.
    pub struct_size: usize,
    /// What is counted. Of each kernel that was loaded: `launches`, `refused` (launches, before
    /// anything ran), `loads`, `loads_from_cache`, `loads_from_bundle`, `load_ns`,
    /// `first_launch_ns`, `scratch_bytes`. For each kind of reason: `skipped`, how often kernels
    /// were passed over. Of the runtime: `fallbacks`, how often another kernel took over from one
    /// that a tuning table names or whose code was refused; `unfit`, how often no kernel took what
    /// was asked for; `is_lost`, 0 or 1. Later libraries have more: pass by what you do not
    /// know.
    pub name: *const c_char,
    /// Id of the kernel that it is of; null where it is of none.
    pub kernel: *const c_char,
    /// Kind of reason that it is of, as in `tw_reason`; null where it is of none.
    pub reason: *const c_char,
    /// How many, how often, or how long.
    pub value: u64,
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_counter_info {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_counter_info {
    const NAME: &'static str = "tw_counter_info";
    const LEAST_BYTES: usize = 40;
}

/// A number in C's text.
struct Number {
    name: CString,
    kernel: Option<CString>,
    reason: Option<CString>,
    value: u64,
}

impl From<Counter<'_>> for Number {
    fn from(counter: Counter<'_>) -> Number {
        Number {
            name: c_text(counter.name),
            kernel: counter.kernel.map(c_text),
            reason: counter.reason.map(c_text),
            value: counter.value,
        }
    }
}

/// What stands behind the handle of counters.
struct Copied(Vec<Number>);

impl Object for Copied {
    const KIND: Kind = Kind::Counters;
}

impl From<&Counters> for Copied {
    fn from(counters: &Counters) -> Copied {
        Copied(counters.named().map(Number::from).collect())
    }
}

/// Copies what a runtime has counted since it was opened: numbers that do not change any more, also
/// when the runtime is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_counters_read(
    runtime: *const tw_runtime,
    counters: *mut *mut tw_counters,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(counters, "counters")?;
        let copied = Copied::from(&opened.runtime.counters());
        let given: *mut tw_counters = handles::give(copied)?.cast();
        // SAFETY: the place is not null.
        unsafe { put(counters, given) };
        Ok(())
    })
}

/// How many numbers there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_counter_count(
    counters: *const tw_counters,
    count: *mut usize,
) -> tw_status {
    call_on::<Copied>(counters.cast(), |_, copied| {
        place(count, "count")?;
        // SAFETY: the place is not null.
        unsafe { put(count, copied.0.len()) };
        Ok(())
    })
}

/// A number, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_counter(
    counters: *const tw_counters,
    counter: usize,
    info: *mut tw_counter_info,
) -> tw_status {
    call_on::<Copied>(counters.cast(), |_, copied| {
        let (all, count) = (&copied.0, copied.0.len());
        let found = all.get(counter);
        let found = found.ok_or_else(|| Failure::index("counter", counter, count))?;
        let pointer = |text: &Option<CString>| match text {
            Some(text) => text.as_ptr(),
            None => std::ptr::null(),
        };
        let value = tw_counter_info {
            name: found.name.as_ptr(),
            kernel: pointer(&found.kernel),
            reason: pointer(&found.reason),
            value: found.value,
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// Frees counters and their texts; null is none.
#[unsafe(no_mangle)]
pub extern "C" fn tw_counters_free(counters: *mut tw_counters) -> tw_status {
    call(|| handles::free::<Copied>(counters.cast()))
}

/// Whether a kernel has faulted and taken the device's context with it, which `is_lost` says by 1,
/// else 0. Every launch is refused from then on. On a GPU the process has lost it: end it and start
/// it anew. On the emulator a bundle that is opened again works.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_is_lost(runtime: *const tw_runtime, is_lost: *mut i32) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        place(is_lost, "is_lost")?;
        let lost = opened.runtime.device().is_lost();
        // SAFETY: the place is not null.
        unsafe { put(is_lost, i32::from(lost)) };
        Ok(())
    })
}
