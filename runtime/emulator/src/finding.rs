//! What a run has to say about the program: findings with stable ids.
//!
//! Comes in: raw observations of the executor. Goes out: [`Finding`]s, one per (id, pc) and
//! launch, in a deterministic order. The ids and their levels are part of the interface: tools
//! match on them.

use std::collections::HashMap;
use std::fmt;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Worth knowing; the program is not wrong.
    Info,
    /// Suspicious, or wrong only under a strict reading.
    Warning,
    /// The program is wrong.
    Error,
}

impl Level {
    /// The lower-case word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

macro_rules! finding_ids {
    ($(#[doc = $doc:literal] $variant:ident = $text:literal, $level:ident;)*) => {
        /// The stable name of a kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingId { $(#[doc = $doc] $variant,)* }

        impl FindingId {
            /// All ids, in the order of the reference.
            pub const ALL: &'static [FindingId] = &[$(FindingId::$variant,)*];

            /// The stable text of the id.
            pub fn as_str(self) -> &'static str {
                match self { $(FindingId::$variant => $text,)* }
            }

            /// One sentence that says what it is.
            pub fn summary(self) -> &'static str {
                match self { $(FindingId::$variant => $doc.trim_ascii(),)* }
            }

            /// The level of the id in default mode.
            pub fn level(self) -> Level {
                match self { $(FindingId::$variant => Level::$level,)* }
            }
        }
    };
}

finding_ids! {
    /// Access outside every buffer of the launch.
    OobGlobal = "oob_global", Error;
    /// Access outside the declared static and dynamic shared memory.
    OobShared = "oob_shared", Error;
    /// Access outside a thread's local variables.
    OobLocal = "oob_local", Error;
    /// Access outside the parameters or the constant bank.
    OobParam = "oob_param", Error;
    /// An address that is not a multiple of the access size.
    Misaligned = "misaligned", Error;
    /// Load of a shared byte that nothing wrote.
    UninitShared = "uninit_shared", Error;
    /// Load of a global byte that nothing wrote.
    UninitGlobal = "uninit_global", Error;
    /// Load of a local byte that nothing wrote.
    UninitLocal = "uninit_local", Error;
    /// Access to the destination of an asynchronous copy that was not waited for.
    AsyncNotWaited = "async_not_waited", Error;
    /// Participants of one barrier disagree on its thread count.
    BarrierCountMismatch = "barrier_count_mismatch", Error;
    /// More threads arrived at a barrier than it counts.
    BarrierOverrun = "barrier_overrun", Error;
    /// A barrier is used again by threads that nothing orders behind its last use.
    BarrierReuse = "barrier_reuse", Error;
    /// Everything that is left waits for something that cannot happen.
    Deadlock = "deadlock", Error;
    /// The instruction or recursion budget ran out, or only loops that nothing can end are left.
    NoProgress = "no_progress", Error;
    /// A lane executes a collective whose mask does not name it, or masks disagree.
    SyncMask = "sync_mask", Error;
    /// A shuffle reads a lane that does not take part.
    ShflInactive = "shfl_inactive", Error;
    /// An aligned collective executed by a part of the warp.
    WarpDivergent = "warp_divergent", Error;
    /// Threads touch one shared byte without order.
    RaceShared = "race_shared", Error;
    /// Threads touch one global byte without order.
    RaceGlobal = "race_global", Error;
    /// A source that an asynchronous operation may still read is overwritten.
    BulkSourceOverwritten = "bulk_source_overwritten", Error;
    /// An asynchronous write hits what another asynchronous operation may still read.
    RaceTmaOverwrite = "race_tma_overwrite", Error;
    /// The async proxy reads generic writes without `fence.proxy.async`.
    MissingProxyFence = "missing_proxy_fence", Error;
    /// A tensor map edited on the device is used without an acquiring proxy fence.
    MissingTensormapFence = "missing_tensormap_fence", Error;
    /// An mbarrier is used by a thread that is not ordered behind its initialisation.
    MbarrierInitRace = "mbarrier_init_race", Error;
    /// Registers of an unfinished wgmma are touched, or wgmma.fence is missing.
    WgmmaRegisterInFlight = "wgmma_register_in_flight", Error;
    /// An mbarrier operation on memory that is no mbarrier.
    MbarrierUninit = "mbarrier_uninit", Error;
    /// An mbarrier is initialised where one already is.
    MbarrierInitAgain = "mbarrier_init_again", Warning;
    /// A plain access destroys an mbarrier.
    MbarrierClobbered = "mbarrier_clobbered", Error;
    /// More arrivals than the phase of an mbarrier expects.
    MbarrierOverarrive = "mbarrier_overarrive", Error;
    /// The bytes announced to an mbarrier are not the bytes that came.
    MbarrierTxMismatch = "mbarrier_tx_mismatch", Error;
    /// Shared memory of another CTA is used before the cluster met.
    DsmemBeforeClusterSync = "dsmem_before_cluster_sync", Error;
    /// Shared memory of a CTA that has exited is used.
    DsmemCtaExited = "dsmem_cta_exited", Error;
    /// A tensor map does not hold together, or the copy does not fit it.
    TensormapInvalid = "tensormap_invalid", Error;
    /// The innermost coordinate of a tensor copy is not at a multiple of 16 bytes.
    TmaCoordinateMisaligned = "tma_coordinate_misaligned", Error;
    /// `setmaxnreg` in the wrong direction, divergent, or beyond the CTA's registers.
    Setmaxnreg = "setmaxnreg", Error;
    /// A thread executed `trap`.
    Trap = "trap", Error;
    /// The launch breaks a limit of the kernel or the architecture.
    LaunchLimit = "launch_limit", Error;
    /// wgmma or a bulk copy reads what cp.async wrote without `fence.proxy.async`.
    MissingProxyFenceCpAsync = "missing_proxy_fence_cp_async", Warning;
    /// An asynchronous write follows generic accesses without `fence.proxy.async`.
    MissingProxyFenceWar = "missing_proxy_fence_war", Warning;
    /// A wait names a parity that is two phases old.
    MbarrierPhaseSkipped = "mbarrier_phase_skipped", Warning;
    /// A wait names a parity that is neither 0 nor 1.
    MbarrierParity = "mbarrier_parity", Warning;
    /// An atomic whose scope does not reach all that share its location.
    AtomicScope = "atomic_scope", Warning;
    /// An atomic and a reducing copy at one location, which are not atomic to each other.
    MixedProxyAtomic = "mixed_proxy_atomic", Warning;
    /// A programmatic launch touches global memory before `griddepcontrol.wait`.
    AccessBeforeGridWait = "access_before_grid_wait", Warning;
    /// Read of a register that was never written.
    UninitRegister = "uninit_register", Warning;
    /// Integer division by zero.
    DivByZero = "div_by_zero", Info;
    /// An approximate instruction of a constant, whose result ptxas computes correctly rounded.
    ApproxConstant = "approx_constant", Info;
    /// Two writers store equal bytes without order.
    RaceSameValue = "race_same_value", Info;
    /// The kernel ends while an mbarrier waits for bytes or arrivals.
    MbarrierTxPendingAtExit = "mbarrier_tx_pending_at_exit", Info;
    /// Threads of one barrier generation arrived at different instructions.
    BarrierDivergentSite = "barrier_divergent_site", Info;
}

impl FindingId {
    /// Whether the id is an error in strict mode, and only there.
    pub fn is_strict(self) -> bool {
        matches!(
            self,
            FindingId::MissingProxyFenceCpAsync
                | FindingId::MissingProxyFenceWar
                | FindingId::MbarrierPhaseSkipped
                | FindingId::MbarrierParity
                | FindingId::AccessBeforeGridWait
                | FindingId::MbarrierInitAgain
                | FindingId::MbarrierTxPendingAtExit
        )
    }

    /// The id of a stable text, if there is one.
    pub fn parse(text: &str) -> Option<FindingId> {
        FindingId::ALL
            .iter()
            .copied()
            .find(|id| id.as_str() == text)
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A state space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory of the device.
    Global,
    /// Memory of a CTA.
    Shared,
    /// Memory of a thread.
    Local,
    /// The parameters of the kernel.
    Param,
    /// The constant bank.
    Const,
}

impl Space {
    /// The word PTX uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
            Space::Const => "const",
        }
    }
}

/// An address, as buffer and offset where a buffer is near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The state space accessed.
    pub space: Space,
    /// The buffer or variable that holds the address, or the nearest one.
    pub buffer: Option<String>,
    /// Bytes from the start of that buffer; negative before it.
    pub offset_bytes: i64,
    /// The address within its space.
    pub address: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.buffer {
            Some(name) => write!(f, "{} {name}{:+}", self.space.as_str(), self.offset_bytes),
            None => write!(f, "{} {:#x}", self.space.as_str(), self.address),
        }
    }
}

/// The earlier access that a finding's access is in conflict with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSide {
    /// The index of the instruction in the module's code.
    pub pc: u32,
    /// The line of the PTX text, from 1.
    pub line: u32,
    /// Who made it; `None` for an asynchronous operation that the instruction issued.
    pub by: Option<Threads>,
}

/// Lanes of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The CTA.
    pub cta: [u32; 3],
    /// The warp within its CTA.
    pub warp: u32,
    /// One bit for each lane.
    pub lanes: u32,
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Threads {
            cta: [x, y, z],
            warp,
            lanes,
        } = self;
        write!(f, "cta ({x},{y},{z}), warp {warp}, lanes {lanes:#010x}")
    }
}

/// One thing the run found, with the place of its first occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of finding it is.
    pub id: FindingId,
    /// How grave it is.
    pub level: Level,
    /// The kernel that was launched.
    pub kernel: String,
    /// The function that holds the instruction.
    pub function: String,
    /// The index of the instruction in the module's code.
    pub pc: u32,
    /// The line of the PTX text, from 1; 0 when no instruction is to blame.
    pub line: u32,
    /// The CTA of the first occurrence.
    pub cta: [u32; 3],
    /// The warp of the first occurrence within its CTA.
    pub warp: u32,
    /// The lanes of the first occurrence, one bit each.
    pub lanes: u32,
    /// The first address concerned.
    pub location: Option<Location>,
    /// The other access, when two are in conflict.
    pub other: Option<OtherSide>,
    /// One sentence with the numbers.
    pub message: String,
    /// How often it occurred (warp executions).
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.level.as_str(), self.id, self.message)?;
        write!(f, " [kernel {}, ptx line {}", self.kernel, self.line)?;
        let (cta, warp, lanes) = (self.cta, self.warp, self.lanes);
        write!(f, ", {}", Threads { cta, warp, lanes })?;
        if let Some(location) = &self.location {
            write!(f, ", {location}")?;
        }
        if let Some(OtherSide { by: Some(by), .. }) = &self.other {
            write!(f, ", against {by}")?;
        }
        if self.count > 1 {
            write!(f, ", {} times", self.count)?;
        }
        write!(f, "]")
    }
}

/// Collects findings, one per (id, pc).
#[derive(Debug, Default)]
pub(crate) struct FindingLog {
    list: Vec<Finding>,
    index: HashMap<(FindingId, u32), usize>,
    limit: usize,
}

impl FindingLog {
    pub(crate) fn new(limit: usize) -> FindingLog {
        FindingLog {
            limit,
            ..FindingLog::default()
        }
    }

    /// Counts one occurrence; `make` runs for the first one only.
    pub(crate) fn add(&mut self, id: FindingId, pc: u32, make: impl FnOnce() -> Finding) {
        if let Some(&at) = self.index.get(&(id, pc)) {
            if let Some(finding) = self.list.get_mut(at) {
                finding.count += 1;
            }
        } else if self.list.len() < self.limit {
            self.index.insert((id, pc), self.list.len());
            self.list.push(make());
        }
    }

    /// Appends a later log; the earlier log's first occurrences win.
    pub(crate) fn merge(&mut self, later: FindingLog) {
        for finding in later.list {
            let count = finding.count;
            if let Some(&at) = self.index.get(&(finding.id, finding.pc)) {
                if let Some(known) = self.list.get_mut(at) {
                    known.count += count;
                }
            } else if self.list.len() < self.limit {
                self.index.insert((finding.id, finding.pc), self.list.len());
                self.list.push(finding);
            }
        }
    }

    /// Whether one of them is of level error.
    pub(crate) fn has_error(&self) -> bool {
        self.list
            .iter()
            .any(|finding| finding.level == Level::Error)
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.list
    }
}
