//! The build step of a service: specs become a bundle inside the program and a typed launcher for
//! each function of it.
//!
//! ```no_run
//! // In `main` of build.rs.
//! tilewright_build::compile("kernels");
//! ```
//!
//! The service says `tilewright_runtime::include_kernels!();` in a module of its own, and has there
//! `open`, which opens the bundle on a device, and a struct for each function, whose fields are its
//! operands, scalars and extents. [`Config`] has everything that may be said besides.
//!
//! A name other than `kernels`, that of another folder or of [`Config::name`], is told to the
//! macro: `include_kernels!("gpu")`. What an earlier run wrote under another name does not compile
//! any more and says which is meant.
//!
//! A service calls `check` there at its start, which says of an open runtime which of the functions
//! its bundle lacks, where that is another one than the embedded one, and which the device can run
//! no kernel of, before the first request does.
//!
//! # Names of the structs
//!
//! A struct has the name of a spec in CamelCase: `name: rows_norm` gives `RowsNorm`. Specs that
//! compute the same are one function and share one struct: it has the name of the spec with the
//! shortest name, of several the first, and the names of the others are aliases of it. So code that
//! names one spec compiles as long as that spec is there, whichever others come or go. Specs that
//! compute different things and have the same name in Rust are refused. Functions that share a
//! word, what stands behind `kernel`, and their types are a warning: they may have been one
//! function, before the formula of one spec was edited alone.
//!
//! # Where kernels come from
//!
//! Nothing here needs LLVM. Of three routes the first is taken that is there:
//!
//! 1. A committed bundle: [`Config::committed`]. With [`Config::lock`] the texts of the specs and
//!    the kernels of the bundle are compared with a lock that `tilewright build --lock` wrote.
//! 2. The command that the variable `TILEWRIGHT` names; without the feature `llvm` also the
//!    `tilewright` on the `PATH`. With [`Config::lock`] it fails where its kernels are others.
//! 3. The generator in the build script's own process: the feature `llvm`.
//!
//! [`Config::cubin`] puts machine code beside the PTX, so that the service's first start compiles
//! nothing; of a committed bundle what it has is taken.
//!
//! What the generator makes is kept under `OUT_DIR`, so that a changed spec compiles itself alone.

mod error;

mod arch;

mod features;

mod names;

mod launchers;

mod spec_files;

mod lock;

mod uncovered;

mod left_out;

mod earlier;

mod command;

#[cfg(feature = "llvm")]
mod in_process;

mod config;

pub use config::{Built, Config, compile};
pub use error::Error;
#[cfg(feature = "llvm")]
pub use in_process::{left_out_by_arch, lock_of, unjudged};
pub use launchers::source;
pub use lock::{Checked, Inputs, Lock, LockedSpec, SpecText};
pub use spec_files::spec_files;
