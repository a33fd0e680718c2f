//! Why a call did nothing: a status, a sentence, and each reason in parts.
//!
//! The last failure of a thread stays with the thread until it is taken, or the next one comes.

use std::cell::RefCell;

use tilewright_runtime::bundle::Error as BundleError;
use tilewright_runtime::{Error, Fault, FoundBy, Reason, Refusal};

use crate::status::{
    TW_ERROR_AMBIGUOUS, TW_ERROR_ARGUMENT, TW_ERROR_BUNDLE, TW_ERROR_DEVICE, TW_ERROR_FAULT,
    TW_ERROR_HANDLE, TW_ERROR_INTERNAL, TW_ERROR_MEMORY, TW_ERROR_NULL, TW_ERROR_POISONED,
    TW_ERROR_REFUSED, TW_ERROR_STRUCT, TW_ERROR_UNKNOWN, tw_status,
};

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// A word for counting: `alignment`, `null`.
    pub kind: &'static str,
    /// The whole reason.
    pub text: String,
    /// The operand, and what is needed and there, where the reason has them.
    pub parts: Reason,
}

impl Why {
    /// A reason that is about `name`.
    pub fn of(kind: &'static str, name: &str, text: impl Into<String>) -> Why {
        let parts = Reason {
            name: Some(name.to_owned()),
            ..Reason::default()
        };
        let text = text.into();
        Why { kind, text, parts }
    }

    /// The same with what is needed and what is there.
    pub fn with(mut self, needs: impl ToString, has: impl ToString) -> Why {
        self.parts.needs = Some(needs.to_string());
        self.parts.has = Some(has.to_string());
        self
    }
}

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub status: tw_status,
    pub message: String,
    pub reasons: Vec<Why>,
}

thread_local! {
    static LAST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

impl Failure {
    fn new(status: tw_status, message: impl Into<String>) -> Failure {
        Failure {
            status,
            message: message.into(),
            reasons: Vec::new(),
        }
    }

    /// A pointer that is needed is null.
    pub fn null(what: &str) -> Failure {
        Failure::new(
            TW_ERROR_NULL,
            format!("{what} is null; it must point to something"),
        )
    }

    /// A handle is not what it should be.
    pub fn handle(message: impl Into<String>) -> Failure {
        Failure::new(TW_ERROR_HANDLE, message)
    }

    /// The size of a struct is none that is known.
    pub fn sized(message: impl Into<String>) -> Failure {
        Failure::new(TW_ERROR_STRUCT, message)
    }

    /// Arguments make no sense, each for a reason; pointers that are null and nothing else have a
    /// status of their own.
    pub fn arguments(reasons: Vec<Why>) -> Failure {
        let texts: Vec<&str> = reasons.iter().map(|why| why.text.as_str()).collect();
        let status = match reasons.iter().all(|why| why.kind == "null") {
            true => TW_ERROR_NULL,
            false => TW_ERROR_ARGUMENT,
        };
        Failure {
            status,
            message: texts.join("; "),
            reasons,
        }
    }

    /// Nothing has that index.
    pub fn index(what: &str, index: usize, count: usize) -> Failure {
        let text = format!("there is no {what} {index}: there are {count}, counted from 0");
        Failure::new(TW_ERROR_UNKNOWN, text)
    }

    /// An earlier call failed inside.
    pub fn poisoned() -> Failure {
        let text = "an earlier call on this handle failed inside of the library: free it";
        Failure::new(TW_ERROR_POISONED, text)
    }

    /// The library failed.
    pub fn internal(message: impl Into<String>) -> Failure {
        Failure::new(TW_ERROR_INTERNAL, message)
    }

    /// Makes it the thread's last one.
    pub fn keep(self) -> tw_status {
        let status = self.status;
        // A thread that is ending keeps no failures any more; it has the status.
        let _ = LAST.try_with(|last| last.replace(Some(self)));
        status
    }

    /// Takes the thread's last one.
    pub fn take() -> Option<Failure> {
        LAST.try_with(RefCell::take).ok().flatten()
    }
}

impl From<Why> for Failure {
    fn from(why: Why) -> Failure {
        Failure::arguments(vec![why])
    }
}

impl From<&Refusal> for Why {
    fn from(refusal: &Refusal) -> Why {
        Why {
            kind: refusal.kind(),
            text: refusal.to_string(),
            parts: refusal.reason(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let (status, reasons) = match &error {
            Error::Bundle(bundle) => (TW_ERROR_BUNDLE, of_bundle(bundle)),
            Error::Refused { refusals, .. } => {
                (TW_ERROR_REFUSED, refusals.iter().map(Why::from).collect())
            }
            Error::NothingFits { skips: all, .. } | Error::NoFunction { others: all, .. } => {
                (TW_ERROR_REFUSED, listed("nothing_fits", all))
            }
            Error::NotForDevice { skips, .. } => (TW_ERROR_DEVICE, listed("not_for_device", skips)),
            Error::Ambiguous { functions } | Error::ManyFunctions { functions, .. } => {
                (TW_ERROR_AMBIGUOUS, listed("ambiguous", functions))
            }
            Error::UnknownKernel { .. }
            | Error::UnknownWord { .. }
            | Error::NoSuchFunction { .. } => (TW_ERROR_UNKNOWN, Vec::new()),
            Error::NoMemory { .. } | Error::HostMemory { .. } | Error::OutOfMemory { .. } => {
                (TW_ERROR_MEMORY, Vec::new())
            }
            Error::Fault(fault) => match &fault.by {
                FoundBy::Emulator { findings } => (TW_ERROR_FAULT, listed("fault", findings)),
                FoundBy::Driver { .. } => (TW_ERROR_DEVICE, listed("fault", &suspects(fault))),
            },
            Error::Emulator { .. } | Error::Stopped { .. } => (TW_ERROR_FAULT, Vec::new()),
            Error::NoDriver
            | Error::NoDevice { .. }
            | Error::NoLibrary { .. }
            | Error::Cuda { .. }
            | Error::Load { .. }
            | Error::ContextLost { .. }
            | Error::ProcessLost { .. }
            | Error::DeviceLost { .. } => (TW_ERROR_DEVICE, Vec::new()),
            Error::PtxCache { .. } => {
                let text = error.to_string();
                (
                    TW_ERROR_ARGUMENT,
                    vec![Why::of("ptx_cache", "ptx_cache", text)],
                )
            }
            Error::OutOfBuffer { .. }
            | Error::ForeignBuffer
            | Error::Key(_)
            | Error::Records(_)
            | Error::Request(_)
            | Error::Program(_) => (TW_ERROR_ARGUMENT, listed("argument", &[error.to_string()])),
            // What this library knows nothing of is no fault of the arguments.
            _ => (TW_ERROR_DEVICE, Vec::new()),
        };
        Failure {
            status,
            message: error.to_string(),
            reasons,
        }
    }
}

/// The launches that may have faulted, as text.
fn suspects(fault: &Fault) -> Vec<String> {
    fault.suspects.iter().map(ToString::to_string).collect()
}

fn listed(kind: &'static str, all: &[String]) -> Vec<Why> {
    let one = |text: &String| Why {
        kind,
        text: text.clone(),
        parts: Reason::default(),
    };
    all.iter().map(one).collect()
}

fn of_bundle(error: &BundleError) -> Vec<Why> {
    match error {
        BundleError::At { error, .. } => of_bundle(error),
        BundleError::Invalid { problems } => {
            let one = |p: &tilewright_runtime::bundle::Problem| {
                Why::of("bundle", &p.entry, format!("{}: {}", p.entry, p.message))
            };
            problems.iter().map(one).collect()
        }
        _ => Vec::new(),
    }
}
