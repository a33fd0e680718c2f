//! How a run is made: which checks, which schedule, which budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::finding::Finding;
use crate::reached::Reached;
use crate::tensor_core::Rules;
use crate::trace::TraceTarget;

/// How much the sanitizer checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sanitize {
    /// Only what memory safety of the emulation needs: bounds, alignment, deadlock and budgets.
    Off,
    /// Everything that is wrong under the reading compilers and libraries rely on.
    Default,
    /// Everything the PTX document asks for.
    Strict,
}

/// When asynchronous work takes effect. A program is right only if all give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncOrder {
    /// At issue.
    Early,
    /// Not before someone waits for it.
    Late,
    /// At issue or later, by chance, and in random order; equal seeds give equal runs.
    Random(u64),
}

/// In which order the warps of a CTA get their turns, and the clusters of a launch that tells their
/// order, where a cluster that waits for another one lets it go on but for the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarpOrder {
    /// Ascending, each warp until it blocks.
    RoundRobin,
    /// Descending, each warp until it blocks.
    Reverse,
    /// A random runnable warp each time, for a random number of instructions; equal seeds give
    /// equal runs.
    Random(u64),
}

/// A wish that runs end, which any thread may have at any time. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the runs that have it among their options, within some thousand instructions a warp,
    /// and those that come after.
    pub fn wish(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is wished.
    pub fn is_wished(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A flag that others set, such as a signal's handler.
impl From<Arc<AtomicBool>> for Stop {
    fn from(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }
}

impl PartialEq for Stop {
    fn eq(&self, other: &Stop) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stop {}

/// The options of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How much is checked.
    pub sanitize: Sanitize,
    /// When asynchronous work takes effect.
    pub async_order: AsyncOrder,
    /// The order of warps.
    pub warp_order: WarpOrder,
    /// Instructions one warp may execute before `no_progress`.
    pub instructions_per_warp: u64,
    /// Warp instructions the whole launch may execute before `no_progress`.
    pub instructions_total: u64,
    /// Nested calls a thread may have before `no_progress`.
    pub call_depth: u32,
    /// Bytes of local memory a thread may have before `no_progress`.
    pub local_bytes: u32,
    /// Findings kept; further ones are dropped.
    pub max_findings: usize,
    /// Whether counters beyond the instruction counts are kept.
    pub counters: bool,
    /// Whether counters are kept for each instruction too.
    pub profile: bool,
    /// The warp whose steps are kept.
    pub trace: Option<TraceTarget>,
    /// The finding of an earlier run under the same schedule of which is kept what leads to it. The
    /// run of its cluster ends with it.
    pub history: Option<Box<Finding>>,
    /// Whether CTAs may run on several threads. Kernels with global atomics or strong global
    /// accesses always run their CTAs in order, so that results do not depend on the machine.
    pub parallel: bool,
    /// Whether waits for mbarriers that suspend (`try_wait`) come back with nothing once before
    /// they do, as their time limit allows: whoever does not ask again goes on too early. In a
    /// random order of warps they do so always.
    pub waits_time_out: bool,
    /// What the tensor cores compute; none for the rules of the text's own `.target`. A GPU runs
    /// text for older architectures as well, with its own tensor cores.
    pub tensor_cores: Option<&'static Rules>,
    /// Whether the run ends with the first finding of level error. CTAs then run in order.
    pub stops_at_error: bool,
    /// Ends the run before its time where it is wished.
    pub stop: Option<Stop>,
    /// Notes the lines that are executed.
    pub reached: Option<Reached>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sanitize: Sanitize::Default,
            async_order: AsyncOrder::Late,
            warp_order: WarpOrder::RoundRobin,
            instructions_per_warp: 10_000_000,
            instructions_total: 100_000_000_000,
            call_depth: 512,
            local_bytes: 512 << 10,
            max_findings: 1000,
            counters: true,
            profile: false,
            trace: None,
            history: None,
            parallel: true,
            waits_time_out: false,
            tensor_cores: None,
            stops_at_error: false,
            stop: None,
            reached: None,
        }
    }
}

impl Options {
    /// Whether somebody wishes that the run ends.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_wished)
    }

    /// The rules that a text for `target` runs by.
    pub(crate) fn rules(&self, target: &str) -> &'static Rules {
        self.tensor_cores.unwrap_or_else(|| Rules::of(target))
    }
}
