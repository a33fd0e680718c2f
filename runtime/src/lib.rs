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
//! [`verify`] compares kernels with f64 references on random problems, [`mod@bench`] measures them
//! beside cuBLASLt and memcpy, [`capture`] keeps what one device wrote to compare another with it,
//! [`tune`] finds the fastest of many for [`Runtime::select`]. [`typed`] is what launchers are made
//! of that a build step writes, a struct for each function. The crate knows no compiler, no YAML
//! and no layout algebra.
//!
//! [`operating`] is for services: threads and streams, scratch memory, graphs, the PTX cache,
//! faults and what comes after them, counters and events.

mod events;

mod error;

mod host;

mod problem;

mod layout;

mod info;

mod pack;

mod tensors;

mod reach;

mod tensor_map;

mod launch;

mod nvtx;

mod counters;

mod watch;

mod ptx_cache;

pub mod cuda;

mod summary;

mod emulated;

mod device;

mod request;

mod prepared;

mod captured;

mod host_launch;

mod tightest;

mod functions;

mod pick;

mod accept;

mod select;

mod explanation;

mod candidates;

mod options;

mod runtime;

mod choose;

pub mod typed;

pub mod verify;

pub mod bench;

mod json_lines;

pub mod capture;

pub mod tune;

pub mod launch_file;

#[doc = include_str!("../docs/operating.md")]
#[doc = "\n"]
#[doc = include_str!("../docs/operating.links.md")]
pub mod operating {}

pub use candidates::Candidates;
pub use captured::Captured;
pub use counters::{CodeFrom, Counter, Counters, KernelCounters};
pub use cuda::driver_present;
pub use device::{Arg, Buffer, Device, LoadedKernel};
pub use emulated::EmulatorSettings;
pub use error::{Error, Fault, FoundBy, LineProblem, Reason, RecordsError, Refusal, Work};
pub use explanation::{Answer, Chosen, Computed, Explanation, Tuned, Why};
pub use host_launch::{HostLaunch, HostMemory};
pub use info::{Backend, DeviceInfo, POISON, RulesRecord};
pub use launch::{Fit, Launch, LaunchReport, View, alignment_bytes, fit, prepare};
pub use layout::{Extents, Matrix, dense_strides};
pub use options::{Load, Options};
pub use pack::{elements, image, operand_bytes, pack, packed_bytes};
pub use pick::{Pick, Query, Skip, SkipCounts, find, pick};
pub use prepared::{Prepared, WORKSPACE_ALIGNMENT_BYTES};
pub use problem::{MAX_EXTENT, Problem};
pub use ptx_cache::PtxCache;
pub use reach::{Unreachable, first_element};
pub use request::{Placed, Request};
pub use runtime::Runtime;
pub use select::{Row, Selection, Selector, Source};
pub use tensor_map::PlacedMap;
pub use tensors::{Described, problem_of, takes};
pub use tightest::{tightest, without_gaps};
pub use tilewright_bundle as bundle;
pub use tilewright_emulator as emulator;
