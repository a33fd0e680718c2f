//! Why a kernel is not launched, or a launch failed.
//!
//! A [`Refusal`] is one thing that keeps a kernel from a problem; it is found before anything
//! runs, and all of them are reported together. Everything else that can go wrong is an
//! [`Error`]. What an error says of its cause stands in its own text: no cause behind it says it
//! once more.

mod fault;
mod records;
mod refusal;
mod reason;
mod skip;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tilewright_bundle as bundle;

pub use fault::{Fault, FoundBy, Work};
pub use reason::Reason;
pub use records::{LineProblem, RecordsError};
pub use refusal::{InPlace, Refusal};
pub(crate) use refusal::{axes, cast, flattened};
pub use skip::Skip;

use crate::events;

/// What the runtime could not do. Later versions may have further ones.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle was refused.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// A text is no key that bundles are signed with.
    #[error(transparent)]
    Key(#[from] bundle::KeyError),
    /// This machine has no CUDA driver.
    #[error(
        "no CUDA driver: libcuda was not found. Install one, or {}",
        without_driver()
    )]
    NoDriver,
    /// The driver is there and has no such device.
    #[error("device {ordinal} does not exist: the driver reports {count}")]
    NoDevice {
        /// The device asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// A library of the CUDA toolkit that only measuring needs is missing.
    #[error("{library} was not found: put the CUDA 13 libraries on the loader's path")]
    NoLibrary {
        /// The library.
        library: &'static str,
    },
    /// A call to the driver or one of its libraries failed.
    #[error("{call} failed: {reason}")]
    Cuda {
        /// The call, and on what.
        call: String,
        /// The code and the library's text.
        reason: String,
    },
    /// What compiles or reads a kernel's PTX refused it.
    #[error("{kernel}: its code was refused: {reason}\n{log}")]
    Load {
        /// The kernel's id.
        kernel: String,
        /// Who refused it, or the driver's code and text.
        reason: String,
        /// The compiler's log.
        log: String,
    },
    /// No kernel has this name.
    #[error("no kernel is named {name:?}{}", hint(nearest.as_deref()))]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// A kernel whose name is like it.
        nearest: Option<String>,
    },
    /// The kernel cannot run this problem here; nothing was launched.
    #[error("{kernel} cannot run: {}", list(refusals))]
    Refused {
        /// The kernel's id.
        kernel: String,
        /// Every reason.
        refusals: Vec<Refusal>,
    },
    /// No kernel that computes what is wanted can run this problem here.
    #[error("no {wanted} kernel of the bundle can run this problem: {}", skips.join("; "))]
    NothingFits {
        /// What is wanted: a word whose default formula it is, or a function.
        wanted: String,
        /// Kernels with all of their refusals, those of the same ones together, those with the
        /// fewest first; of more than three groups, how many kernels there are besides.
        skips: Vec<String>,
        /// How many there are, by [`kind`](Refusal::kind) of their first refusal.
        kinds: BTreeMap<&'static str, u64>,
        /// Every kernel that computes what is wanted, with all of its refusals, in the order tried;
        /// none where no kernel computes it.
        refused: Vec<Skip>,
    },
    /// The device can run no kernel of some functions, whatever the problem: the bundle was made
    /// for others.
    #[error(
        "{device} can run no kernel of {}, whatever the problem: {}: open a bundle that was built \
         for this device as well, or run where these kernels do",
        some_of(functions, MOST_FUNCTIONS),
        skips.join("; ")
    )]
    NotForDevice {
        /// The device, with its compute capability where it has one.
        device: String,
        /// Each function by its spec and its hash.
        functions: Vec<String>,
        /// As those of [`Error::NothingFits`].
        skips: Vec<String>,
        /// Every kernel of the functions, with what keeps it from the device.
        refused: Vec<Skip>,
    },
    /// The bundle has no kernel of functions that a program was compiled for: it is another one.
    #[error(
        "the bundle has no kernel of {}, for which this program was compiled, among its {known}: \
         open the bundle that the program's kernels are in, or compile it with the specs of this \
         one",
        functions.join(", ")
    )]
    NoSuchFunction {
        /// Each function by its spec, where that is known, and its hash.
        functions: Vec<String>,
        /// How many kernels the bundle has.
        known: usize,
    },
    /// Kernels that answer a query compute different things.
    #[error(
        "kernels of the bundle compute {} things that the query speaks of: {}; say the types of \
         all operands and of the sums, or ask for a function",
        functions.len(),
        functions.join("; ")
    )]
    Ambiguous {
        /// Each function by its word, its types and what else tells it from the others.
        functions: Vec<String>,
    },
    /// A word means no kernel of the bundle.
    #[error("no kernel of the bundle is a {word:?}: it has {}", known.join(", "))]
    UnknownWord {
        /// The word asked for.
        word: String,
        /// The words of its kernels.
        known: Vec<String>,
    },
    /// No function that a word means takes operands of these names, types and axes.
    #[error("no {word:?} kernel takes these tensors: {}", others.join("; "))]
    NoFunction {
        /// The word asked for.
        word: String,
        /// Each function's spec, and why not.
        others: Vec<String>,
    },
    /// Several functions that a word means take these operands.
    #[error(
        "{word:?} means {} functions that take these tensors: {}; say a spec or the beginning of \
         a function's hash instead",
        functions.len(),
        functions.join("; ")
    )]
    ManyFunctions {
        /// The word asked for.
        word: String,
        /// Each function by its word, its types and what else tells it from the others, with its
        /// spec and the beginning of its hash.
        functions: Vec<String>,
        /// The operands whose types differ among them, each with those types.
        types: Vec<(String, Vec<String>)>,
    },
    /// The emulator could not run the kernel.
    #[error("{kernel}: the emulator cannot run it: {reason}")]
    Emulator {
        /// The kernel's id.
        kernel: String,
        /// Its answer.
        reason: String,
    },
    /// The emulator was told to stop before the kernel's end.
    #[error("{kernel}: stopped before its end, as was wished")]
    Stopped {
        /// The kernel's id.
        kernel: String,
    },
    /// A kernel faulted; its outputs are not to be trusted, and on a GPU the context is lost.
    #[error("{0}")]
    Fault(Arc<Fault>),
    /// A kernel faulted earlier and took the device's context with it.
    #[error(
        "this runtime's context is lost, and with a GPU's all of the process: start it anew (on \
         the emulator open a fresh device, and the bundle on it): {fault}"
    )]
    ContextLost {
        /// What happened.
        fault: Arc<Fault>,
    },
    /// A kernel of this process faulted on a GPU, and the driver gives the process no other
    /// context.
    #[error("this process has lost GPU {ordinal}, end it and start it anew: {reason}")]
    ProcessLost {
        /// The GPU's number.
        ordinal: usize,
        /// What happened.
        reason: String,
    },
    /// A folder cannot hold compiled PTX.
    #[error("{} cannot be a PTX cache: {reason}", folder.display())]
    PtxCache {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A range lies outside its buffer.
    #[error("bytes {offset}..{offset}+{bytes} lie outside the buffer of {len} bytes")]
    OutOfBuffer {
        /// Start of the range.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// Size of the buffer.
        len: u64,
    },
    /// A buffer of one device was given to another.
    #[error("the buffer belongs to another device")]
    ForeignBuffer,
    /// There is no memory for a buffer.
    #[error("no memory for {bytes} bytes: {reason}")]
    NoMemory {
        /// Bytes asked for.
        bytes: u64,
        /// The allocator's answer.
        reason: String,
    },
    /// The host has not the memory that a problem takes there; nothing was allocated.
    #[error(
        "it needs {} on the host, which has {free} free: choose a smaller problem",
        match *needs {
            u64::MAX => "more bytes than 64 bits count".to_owned(),
            needs => format!("{needs} bytes"),
        }
    )]
    HostMemory {
        /// Bytes that are needed at once.
        needs: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// There is no memory for a problem, on the host or on the device.
    #[error("{kernel} on {problem}: {error}")]
    OutOfMemory {
        /// The kernel's id.
        kernel: String,
        /// The problem.
        problem: String,
        /// Whose memory, and how much.
        error: Box<Error>,
    },
    /// A file of records cannot be used.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// A kernel took the device with it while it was tuned; what it did is recorded.
    #[error("the device was lost: {reason}")]
    DeviceLost {
        /// The kernel and what happened.
        reason: String,
    },
    /// The request itself makes no sense.
    #[error("{0}")]
    Request(String),
    /// The program brings together what does not belong together: kernels, streams, contexts or
    /// captures of several devices. No request is at fault.
    #[error("{0}")]
    Program(String),
}

/// As [`Display`](fmt::Display): `main` that returns it prints what a person reads.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Whether the device's context is lost: on a GPU nothing more runs in this process, on the
    /// emulator nothing on this device. See [`Device::is_lost`](crate::Device::is_lost).
    pub fn is_lost(&self) -> bool {
        match self {
            Error::Fault(fault) => fault.is_sticky,
            Error::ContextLost { .. } | Error::ProcessLost { .. } => true,
            _ => false,
        }
    }

    /// Whether the driver failed, which may fail whatever comes next.
    #[doc(hidden)]
    pub fn is_of_driver(&self) -> bool {
        matches!(self, Error::Cuda { .. }) || self.is_lost()
    }

    /// Whether what was asked for is at fault, and asking again fails again: names, types, sizes,
    /// strides that no kernel of the bundle takes. A service answers it with a 4xx.
    ///
    /// The refusals of all kernels decide, each as [`Refusal::is_request`] says. It is the fault of
    /// the request where one kernel at least is refused for the problem alone: it would take
    /// another one. Where each is refused for the device, its driver, its own code, or scratch
    /// memory that the service lends, no request is at fault: the service was deployed wrong.
    pub fn is_request(&self) -> bool {
        match self {
            Error::Refused { refusals, .. } => refusals.iter().all(Refusal::is_request),
            Error::NothingFits { refused, .. } => {
                refused.is_empty() || refused.iter().any(Skip::is_request)
            }
            _ => matches!(
                self,
                Error::UnknownKernel { .. }
                    | Error::Ambiguous { .. }
                    | Error::UnknownWord { .. }
                    | Error::NoFunction { .. }
                    | Error::ManyFunctions { .. }
                    | Error::Request(_)
            ),
        }
    }

    /// Whether it is for want of memory: no fault of the kernel, and gone on a larger machine.
    pub fn is_memory(&self) -> bool {
        matches!(
            self,
            Error::NoMemory { .. } | Error::HostMemory { .. } | Error::OutOfMemory { .. }
        )
    }
}

/// The error of a kernel that is launched where it is not loaded.
pub(crate) fn other_device() -> Error {
    Error::Program("the kernel was loaded on another device".to_owned())
}

/// The error of a kernel with these refusals.
pub fn refused(kernel: &bundle::Kernel, refusals: Vec<Refusal>) -> Error {
    for refusal in &refusals {
        events::refused(&kernel.id, refusal);
    }
    Error::Refused {
        kernel: kernel.id.clone(),
        refusals,
    }
}

/// What to do where there is no driver and none is to be.
fn without_driver() -> &'static str {
    match cfg!(feature = "emulator") {
        true => {
            "use the emulator instead (`--device emulator`, `Device::emulator()`, in Python \
             `device=\"emulator\"`)"
        }
        false => {
            "build this program with the feature `emulator` of tilewright-runtime, which it was \
             built without"
        }
    }
}

fn list(refusals: &[Refusal]) -> String {
    refusals
        .iter()
        .map(Refusal::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Functions that are told of at most where the device runs none of them.
const MOST_FUNCTIONS: usize = 8;

/// Names of which one thing is said, so many of them at most, the first ones.
pub(crate) fn some_of<S: Borrow<str>>(names: &[S], most: usize) -> String {
    let named = names.get(..most).unwrap_or(names).join(", ");
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; the nearest is {name:?}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::{Error, RecordsError, Refusal, bundle};

    #[test]
    fn requests_are_told_from_failures() {
        let unknown = Error::UnknownKernel {
            name: "gem".to_owned(),
            nearest: None,
        };
        let memory = Error::NoMemory {
            bytes: 1,
            reason: "none is left".to_owned(),
        };
        assert!(unknown.is_request() && Error::Request("m is 0".to_owned()).is_request());
        assert!(!super::other_device().is_request());
        assert!(!memory.is_request() && memory.is_memory() && !Error::NoDriver.is_request());
    }

    /// Scratch memory that a service lends is no fault of the request; a limit that it states is.
    #[test]
    fn what_a_service_lends_is_no_fault_of_a_request() {
        let refused = |refusals: &[Refusal]| Error::Refused {
            kernel: "gemm@x-1".to_owned(),
            refusals: refusals.to_vec(),
        };
        let small = Refusal::WorkspaceTooSmall { needs: 2, has: 1 };
        let (needs, allowed) = (2, 1);
        let limit = Refusal::WorkspaceLimit { needs, allowed };
        assert!(!refused(std::slice::from_ref(&small)).is_request());
        assert!(!refused(&[limit.clone(), small]).is_request());
        assert!(refused(&[limit]).is_request());
    }

    /// A program that has no emulator is not told to use it.
    #[test]
    fn the_way_out_of_no_driver_is_there() {
        let told = Error::NoDriver.to_string();
        let has_emulator = cfg!(feature = "emulator");
        assert_eq!(told.contains("Device::emulator()"), has_emulator, "{told}");
        assert_eq!(told.contains("feature `emulator`"), !has_emulator, "{told}");
    }

    /// What prints an error with its causes says nothing twice.
    #[test]
    fn no_cause_says_what_the_error_says() {
        let no_zip = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let opened = |path: &str| bundle::Bundle::open(path.as_ref()).err().map(Error::from);
        let io = || std::io::Error::other("the disk is gone");
        let path = || "kernels.zip".into();
        let unsigned = bundle::Error::Signature(bundle::SignatureFault::NoKeys);
        let told = bundle::Error::Io {
            path: path(),
            error: io(),
        };
        let records = RecordsError::Io {
            path: path(),
            error: io(),
        };
        let full = Error::OutOfMemory {
            kernel: "gemm@x-1".to_owned(),
            problem: "4x8x16".to_owned(),
            error: Box::new(Error::NoMemory {
                bytes: 1,
                reason: "none is left".to_owned(),
            }),
        };
        let errors = [unsigned.into(), told.into(), records.into(), full];
        let errors = errors
            .into_iter()
            .chain(opened(no_zip))
            .chain(opened("/no/such"));
        let errors: Vec<Error> = errors.collect();
        assert_eq!(errors.len(), 6);
        for error in &errors {
            let text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                assert!(!text.contains(&error.to_string()), "{text}: {error}");
                cause = error.source();
            }
        }
    }

    /// What `fn main() -> Result<(), Error>` prints.
    #[test]
    fn main_prints_what_a_person_reads() {
        let nowhere = bundle::Bundle::open("/no/such/bundle".as_ref()).err();
        let errors = [Some(Error::NoDriver), nowhere.map(Error::from)];
        let told = errors.iter().flatten().map(ToString::to_string);
        let printed = errors.iter().flatten().map(|error| format!("{error:?}"));
        assert!(printed.eq(told) && errors.iter().all(Option::is_some));
    }
}
