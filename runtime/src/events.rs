//! What a runtime says while it works, as events of `tracing`: the whole list, and the only module
//! that knows the crate.
//!
//! | level | event |
//! |---|---|
//! | ERROR | a kernel faulted |
//! | WARN | code is refused and another kernel takes over, or machine code and the PTX does |
//! | WARN | an entry of the PTX cache is not used |
//! | INFO | a bundle is opened (which one, by whom signed) |
//! | INFO | a kernel is loaded, or not kept; a kernel had its first launch |
//! | DEBUG | a kernel is refused for a problem; no kernel takes one; scratch memory is made |
//! | DEBUG | a kernel that a table names is passed over |
//! | TRACE | a launch |
//!
//! Where nobody listens an event is one load and a comparison; none of them allocates.

use std::fmt::Display;
use std::path::Path;

use tilewright_bundle::{Bundle, Sha256Hex};

/// A bundle is open on a device: which one, where it was read, whose signatures were checked.
pub(crate) fn opened(bundle: &Bundle, path: Option<&Path>, device: &str) {
    let keys = |keys: &[Sha256Hex]| {
        let keys = keys.iter().map(Sha256Hex::as_str);
        keys.collect::<Vec<_>>().join(" ")
    };
    let signed_by = bundle.signed_by();
    tracing::info!(
        sha256 = %bundle.hash(),
        path = path.map(|path| tracing::field::display(path.display())),
        signed_by = (!signed_by.is_empty()).then(|| tracing::field::display(keys(signed_by))),
        kernels = bundle.kernels().len(),
        device,
        "opened a bundle"
    );
}

/// A kernel's code is ready.
pub(crate) fn loaded(kernel: &str, from: &str, load_ns: u64) {
    tracing::info!(kernel, from, load_ns, "loaded a kernel");
}

/// A kernel is not launched on a problem, or passed over for one.
pub(crate) fn refused(kernel: &str, reason: &dyn Display) {
    tracing::debug!(kernel, reason = %reason, "refused a kernel");
}

/// No kernel takes what was asked for.
pub(crate) fn unfit(wanted: &str, reason: &dyn Display) {
    tracing::debug!(wanted, reason = %reason, "no kernel takes a problem");
}

/// A tuning table names a kernel that does not take the problem; the next one is asked.
pub(crate) fn passed_over(kernel: &str, chosen: &str, reason: &dyn Display) {
    tracing::debug!(kernel, chosen, reason = %reason, "passed over a table's kernel");
}

/// Whether anybody listens to [`passed_over`]: its reasons take time to find.
pub(crate) fn hears_passed_over() -> bool {
    tracing::enabled!(tracing::Level::DEBUG)
}

/// The device refuses a kernel's code; another one takes over.
pub(crate) fn code_refused(kernel: &str, reason: &dyn Display) {
    tracing::warn!(kernel, reason = %reason, "the code of a kernel is refused");
}

/// The driver refuses a kernel's machine code; its PTX is compiled instead.
pub(crate) fn machine_code_refused(kernel: &str, reason: &dyn Display) {
    tracing::warn!(kernel, reason = %reason, "the machine code of a kernel is refused");
}

/// An entry of the PTX cache is of no use, or could not be kept.
pub(crate) fn cache_failed(entry: &dyn Display, reason: &dyn Display) {
    tracing::warn!(entry = %entry, reason = %reason, "the PTX cache does not help");
}

/// What the driver's linker makes of a kernel needs other registers or memory than what a load of
/// its PTX makes: it is compiled at every start.
pub(crate) fn compiled_otherwise(kernel: &str) {
    tracing::info!(kernel, "the PTX cache keeps no code of a kernel");
}

/// Scratch memory of the runtime's own was made for a stream.
pub(crate) fn scratch(kernel: &str, bytes: u64, captured: bool) {
    tracing::debug!(kernel, bytes, captured, "made scratch memory");
}

/// A kernel was launched.
pub(crate) fn launched(kernel: &str, problem: &str, stream: usize) {
    tracing::trace!(kernel, problem, stream, "launched a kernel");
}

/// A kernel was launched for the first time since it was loaded.
pub(crate) fn launched_first(kernel: &str, launch_ns: u64) {
    tracing::info!(kernel, launch_ns, "launched a kernel for the first time");
}

/// A launch faulted.
pub(crate) fn faulted(fault: &dyn Display) {
    tracing::error!(fault = %fault, "a kernel faulted");
}
