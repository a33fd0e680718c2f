//! Opens bundles, picks kernels, and launches them on a GPU or on the emulator.
//!
//! ```no_run
//! use tilewright_runtime::{Arg, Device, Problem, Runtime};
//! let runtime = Runtime::open("kernels.bundle".as_ref(), Device::emulator())?;
//! let problem = Problem::new(4, 8, 1).row_major("s", 8).row_major("d", 8);
//! let kernel = runtime.find("copy_f32", Some(&problem))?.kernel;
//! let s = runtime.device().alloc_with(&[1; 4 * 8 * 4])?;
//! let d = runtime.device().alloc(4 * 8 * 4)?;
//! runtime.launch(kernel, &problem, &[Arg::new("s", &s), Arg::new("d", &d)])?;
//! assert_eq!(runtime.device().download(&d)?, [1; 4 * 8 * 4]);
//! # Ok::<(), tilewright_runtime::Error>(())
//! ```
//!
//! Nothing is launched before every check has passed: capability, layouts, recorded assumptions,
//! extents, alignment, sizes, overlap. What fails is a [`Refusal`], and all of them are reported.
//!
//! [`typed`] is what launchers are made of that a build step writes, a struct for each function.
//! The crate knows no compiler, no YAML and no layout algebra. Kernels are verified, measured,
//! tuned and captured by `tilewright-lab`.
//!
//! [`operating`] is for services: threads and streams, scratch memory, graphs, the PTX cache,
//! faults and what comes after them, counters and events.

mod events;

mod error;

mod launch;

mod ptx_cache;

mod observe;

pub mod cuda;

#[cfg(feature = "emulator")]
mod emulated;
#[cfg(not(feature = "emulator"))]
mod no_emulator;
#[cfg(not(feature = "emulator"))]
use no_emulator as emulated;

mod device;

mod run;

mod select;

mod open;

pub mod typed;

#[doc = include_str!("../docs/operating.md")]
pub mod operating {}

/// What `tilewright-lab` of the same version is made of besides: no promise to anyone else.
#[doc(hidden)]
pub mod parts {
    pub use crate::device::{prepare_cuda, views};
    #[cfg(feature = "emulator")]
    pub use crate::emulated::encode_map;
    pub use crate::error::refused;
    pub use crate::launch::fit::{allows, folded_as_long};
    pub use crate::launch::host::check as check_host_memory;
    pub use crate::launch::layout::strides_refused;
    pub use crate::launch::minimal_strides::{Open, bind_open, spaced};
    pub use crate::launch::problem::{constants, is_extent};
    pub use crate::launch::reorder::put;
    pub use crate::launch::tensor_map::padded;
}

pub use cuda::driver_present;
pub use device::{Arg, Buffer, Device, LoadedKernel};
#[cfg(feature = "emulator")]
pub use emulated::EmulatorSettings;
pub use error::{
    Error, Fault, FoundBy, InPlace, LineProblem, Reason, RecordsError, Refusal, Skip, Work,
};
pub use launch::fit::{
    Fit, Launch, LaunchReport, View, alignment_bytes, fit, prepare, stride_multiples,
};
pub use launch::info::{Backend, DeviceInfo, POISON};
pub use launch::layout::{Extents, Matrix, dense_strides};
pub use launch::minimal_strides::{tightest, without_gaps};
pub use launch::problem::{MAX_EXTENT, Problem};
pub use launch::reach::{Unreachable, first_element};
pub use launch::reorder::{elements, image, operand_bytes, pack, packed_bytes};
pub use launch::request::{Placed, Request};
pub use launch::tensor_map::PlacedMap;
pub use launch::tensors::{Described, problem_of, takes};
pub use observe::counters::{CodeFrom, Counter, Counters, KernelCounters};
pub use open::options::{Load, Options};
pub use open::runtime::Runtime;
pub use ptx_cache::PtxCache;
pub use run::captured::Captured;
pub use run::host_launch::{HostLaunch, HostMemory};
pub use run::prepared::{Prepared, WORKSPACE_ALIGNMENT_BYTES};
pub use select::candidates::Candidates;
pub use select::explanation::{Answer, Chosen, Computed, Explanation, Tuned, Why};
pub use select::pick::{Pick, Query, SkipCounts, find, pick};
pub use select::table::{Row, Selection, Selector, Source};
pub use tilewright_bundle as bundle;
#[cfg(feature = "emulator")]
pub use tilewright_emulator as emulator;
