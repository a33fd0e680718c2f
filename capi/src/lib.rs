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

mod open;

mod kernels;

mod select;

mod packing;

mod launch;
