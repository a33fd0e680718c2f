//! The C interface of the runtime: `libtilewright.so`, `libtilewright.a`, `tilewright.h`.
//!
//! In: names, descriptors and opaque handles of a C caller. Out: a status from every call, and what
//! the runtime did. A launch takes named operands, scalars, extents and promises, so that another
//! kind of kernel adds no function.
//!
//! What always holds: no panic leaves the library ([`guard`]); a handle is a number, never an
//! address, so that one that was freed is an error ([`handles`]); what comes over the boundary is
//! read in [`foreign`] and nowhere else; everything wrong with a problem is told at once
//! ([`problem`]). All unsafe code of the interface is here, and the runtime's checks are the
//! runtime's.
//!
//! `tilewright.h` is made of this source by cbindgen, and a test compares the two. The rules of
//! ownership, lifetimes and threads stand at its head, which is `cbindgen.toml`'s; so they are not
//! said again at each function as a section on safety.
#![allow(non_camel_case_types)]
#![allow(clippy::missing_safety_doc)]

mod status;

mod failure;

mod handles;

mod guard;

mod foreign;

mod dtype;

mod problem;

mod host_memory;

mod error;

mod described;

mod options;

mod open;

mod kernels;

mod select;

mod watch;

mod packing;

mod launch;

// Beside C, Rust that calls as C does: the tests of hostile calls and their fuzz target.
pub use dtype::{TW_DTYPE_FLOAT, TW_DTYPE_INT};
pub use error::{
    tw_error, tw_error_free, tw_error_message, tw_error_reason, tw_error_reason_count,
    tw_error_status, tw_last_error, tw_reason,
};
pub use kernels::{
    tw_assumption_info, tw_find, tw_function, tw_function_count, tw_function_info, tw_kernel,
    tw_kernel_assumption, tw_kernel_count, tw_kernel_extent, tw_kernel_info, tw_kernel_operand,
    tw_kernel_scalar, tw_operand_info, tw_scalar_info,
};
pub use launch::{
    tw_enqueue, tw_launch, tw_launch_describe, tw_launch_free, tw_launch_info, tw_prepare,
};
pub use open::{tw_close, tw_device, tw_device_info, tw_file, tw_open, tw_open_files, tw_runtime};
pub use options::{TW_BACKEND_EMULATOR, tw_open_options};
pub use packing::tw_pack;
pub use problem::{TW_DEVICE_CPU, tw_extent, tw_operand, tw_problem, tw_scalar};
pub use select::{tw_explain, tw_select, tw_selection};
pub use status::{
    TW_ERROR_ARGUMENT, TW_ERROR_BUNDLE, TW_ERROR_HANDLE, TW_ERROR_NULL, TW_ERROR_POISONED,
    TW_ERROR_REFUSED, TW_ERROR_STRUCT, TW_ERROR_UNKNOWN, TW_OK, tw_status, tw_status_name,
};
pub use watch::{
    tw_counter, tw_counter_count, tw_counter_info, tw_counters, tw_counters_free, tw_counters_read,
    tw_is_lost,
};
