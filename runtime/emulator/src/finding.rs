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
    ($(#[doc = $doc:literal] $variant:ident = $text:literal, $level:ident, $way_out:literal;)*) => {
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

            /// What usually mends it: a sentence or two.
            pub fn way_out(self) -> &'static str {
                match self { $(FindingId::$variant => $way_out,)* }
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
    OobGlobal = "oob_global", Error,
        "Guard the access by the extents of the operand, or give the launch a buffer of the size \
         that the kernel reads.";
    /// Access outside the declared static and dynamic shared memory.
    OobShared = "oob_shared", Error,
        "Compare the offset with the declared size; a launch may have been given too few bytes of \
         dynamic shared memory.";
    /// Access outside a thread's local variables.
    OobLocal = "oob_local", Error,
        "Compare the index with the size of the array in `.local`.";
    /// Access outside the parameters or the constant bank.
    OobParam = "oob_param", Error,
        "Compare the offset with the kernel's list of parameters: the launch may pack them in \
         another way.";
    /// An address that is not a multiple of the access size.
    Misaligned = "misaligned", Error,
        "Make strides and the start of the buffer multiples of the access, or use a narrower \
         access.";
    /// Load of a shared byte that nothing wrote.
    UninitShared = "uninit_shared", Error,
        "Store to the byte before, and put a barrier between, or mask the load where the store \
         was masked.";
    /// Load of a global byte that nothing wrote.
    UninitGlobal = "uninit_global", Error,
        "Initialise the buffer, or do not load what `beta` or a mask makes unused.";
    /// Load of a local byte that nothing wrote.
    UninitLocal = "uninit_local", Error,
        "Store to the variable before it is loaded.";
    /// Access to the destination of an asynchronous copy that was not waited for.
    AsyncNotWaited = "async_not_waited", Error,
        "Wait before the access: `cp.async.wait_group` and a barrier, `mbarrier.try_wait`, or \
         `cp.async.bulk.wait_group`.";
    /// Participants of one barrier disagree on its thread count.
    BarrierCountMismatch = "barrier_count_mismatch", Error,
        "Give each `bar` of one barrier the same count, or use another barrier.";
    /// More threads arrived at a barrier than it counts.
    BarrierOverrun = "barrier_overrun", Error,
        "Count the threads that arrive: the count of `bar` or of `mbarrier.init` is less than \
         they are.";
    /// A barrier is used again by threads that nothing orders behind its last use.
    BarrierReuse = "barrier_reuse", Error,
        "Let whoever arrives again wait for the last generation first, or take turns with a \
         second barrier.";
    /// Everything that is left waits for something that cannot happen.
    Deadlock = "deadlock", Error,
        "The message lists who waits where. Look for a barrier that a branch leaves out, a phase \
         that is waited for twice, or bytes that are expected and never copied.";
    /// The instruction or recursion budget ran out, or only loops that nothing can end are left.
    NoProgress = "no_progress", Error,
        "Look at the loop it names. If it ends by itself, allow more instructions: \
         `tilewright emulate --budget N`, or `instructions_per_warp` of the options.";
    /// A lane executes a collective whose mask does not name it, or masks disagree.
    SyncMask = "sync_mask", Error,
        "Name each lane that comes here in the mask, and no other.";
    /// A shuffle reads a lane that does not take part.
    ShflInactive = "shfl_inactive", Error,
        "Let all lanes that are read take part, or narrow the shuffle by its mask.";
    /// An aligned collective executed by a part of the warp.
    WarpDivergent = "warp_divergent", Error,
        "Move the instruction out of the branch, or make the branch the same for the whole warp.";
    /// Threads touch one shared byte without order.
    RaceShared = "race_shared", Error,
        "Put `bar.sync`, an mbarrier or `__syncwarp` between the two accesses that the finding \
         names.";
    /// Threads touch one global byte without order.
    RaceGlobal = "race_global", Error,
        "Order the two by a release and an acquire of a scope that holds both, or let them touch \
         different bytes.";
    /// A load through the read-only cache, `ld.global.nc`, of bytes that the launch has written.
    ReadOnlyWritten = "read_only_written", Error,
        "Load without `.nc`: the cache it goes through may hold what was there before.";
    /// A source that an asynchronous operation may still read is overwritten.
    BulkSourceOverwritten = "bulk_source_overwritten", Error,
        "Wait with `cp.async.bulk.wait_group.read`, or `wgmma.wait_group`, before the source is \
         written again.";
    /// An asynchronous write hits what another asynchronous operation may still read.
    RaceTmaOverwrite = "race_tma_overwrite", Error,
        "Let the consumers arrive at the stage's empty barrier before the next copy into it is \
         issued.";
    /// The async proxy reads generic writes without `fence.proxy.async`.
    MissingProxyFence = "missing_proxy_fence", Error,
        "Let each writing thread execute `fence.proxy.async` behind its stores, then a barrier, \
         then the copy.";
    /// A tensor map edited on the device is used without an acquiring proxy fence.
    MissingTensormapFence = "missing_tensormap_fence", Error,
        "Execute `fence.proxy.tensormap::generic.acquire` on the map before the copy that uses \
         it.";
    /// An mbarrier is used by a thread that is not ordered behind its initialisation.
    MbarrierInitRace = "mbarrier_init_race", Error,
        "Put a barrier of the CTA behind `mbarrier.init`; where another CTA uses it, \
         `fence.mbarrier_init.release.cluster` and a barrier of the cluster.";
    /// Registers of an unfinished wgmma are touched, or wgmma.fence is missing.
    WgmmaRegisterInFlight = "wgmma_register_in_flight", Error,
        "Put `wgmma.fence` before the first wgmma behind a write, and `wgmma.wait_group` before a \
         read.";
    /// An mbarrier operation on memory that is no mbarrier.
    MbarrierUninit = "mbarrier_uninit", Error,
        "Initialise the mbarrier before, or correct the address.";
    /// An mbarrier is initialised where one already is.
    MbarrierInitAgain = "mbarrier_init_again", Warning,
        "Execute `mbarrier.inval` before, or initialise once a CTA.";
    /// A plain access destroys an mbarrier.
    MbarrierClobbered = "mbarrier_clobbered", Error,
        "Let data and barriers lie in different bytes of shared memory.";
    /// More arrivals than the phase of an mbarrier expects.
    MbarrierOverarrive = "mbarrier_overarrive", Error,
        "Give `mbarrier.init` the number of arrivals of a phase, or let fewer threads arrive.";
    /// The bytes announced to an mbarrier are not the bytes that came.
    MbarrierTxMismatch = "mbarrier_tx_mismatch", Error,
        "Announce with `expect_tx` exactly the bytes of the boxes copied; a box at the edge has \
         all of its bytes.";
    /// Shared memory of another CTA is used before the cluster met.
    DsmemBeforeClusterSync = "dsmem_before_cluster_sync", Error,
        "Put `barrier.cluster.arrive` and `barrier.cluster.wait` before the first access.";
    /// Shared memory of a CTA that has exited is used.
    DsmemCtaExited = "dsmem_cta_exited", Error,
        "Let all CTAs of the cluster meet at its barrier before one of them exits.";
    /// A tensor map does not hold together, or the copy does not fit it.
    TensormapInvalid = "tensormap_invalid", Error,
        "The message names the rule. Compare box, strides and swizzle with those of \
         `cuTensorMapEncodeTiled`.";
    /// The innermost coordinate of a tensor copy is not at a multiple of 16 bytes.
    TmaCoordinateMisaligned = "tma_coordinate_misaligned", Error,
        "Copy from a coordinate at a multiple of 16 bytes, or make the map of a start that is \
         shifted.";
    /// `setmaxnreg` in the wrong direction, divergent, or beyond the CTA's registers.
    Setmaxnreg = "setmaxnreg", Error,
        "Execute it in all warps of a warpgroup, with a multiple of 8, and let the sum over the \
         CTA fit its registers.";
    /// A thread executed `trap`.
    Trap = "trap", Error,
        "Look at the condition before the `trap`.";
    /// The launch breaks a limit of the kernel or the architecture.
    LaunchLimit = "launch_limit", Error,
        "Launch with fewer threads, less shared memory or a smaller grid, as the message says.";
    /// wgmma or a bulk copy reads what cp.async wrote without `fence.proxy.async`.
    MissingProxyFenceCpAsync = "missing_proxy_fence_cp_async", Warning,
        "Put `fence.proxy.async` between the wait for `cp.async` and the access by the async \
         proxy.";
    /// An asynchronous write follows generic accesses without `fence.proxy.async`.
    MissingProxyFenceWar = "missing_proxy_fence_war", Warning,
        "Put `fence.proxy.async` between the generic accesses and the copy that overwrites their \
         bytes.";
    /// A wait names a parity that is two phases old.
    MbarrierPhaseSkipped = "mbarrier_phase_skipped", Warning,
        "Keep one parity for each barrier and turn it after each wait.";
    /// A wait names a parity that is neither 0 nor 1.
    MbarrierParity = "mbarrier_parity", Warning,
        "Take the phase's lowest bit.";
    /// An atomic whose scope does not reach all that share its location.
    AtomicScope = "atomic_scope", Warning,
        "Give the atomic the scope `.gpu`, or `.cluster` where its CTAs are in one.";
    /// An atomic and a reducing copy at one location, which are not atomic to each other.
    MixedProxyAtomic = "mixed_proxy_atomic", Warning,
        "Use one kind for the location, or order the two by a wait and a fence.";
    /// A programmatic launch touches global memory before `griddepcontrol.wait`.
    AccessBeforeGridWait = "access_before_grid_wait", Warning,
        "Move the access behind `griddepcontrol.wait`, or launch without programmatic \
         serialization.";
    /// Read of a register that was never written, a guard's predicate included.
    UninitRegister = "uninit_register", Warning,
        "Write the register on each path that leads here.";
    /// Integer division by zero.
    DivByZero = "div_by_zero", Info,
        "Guard the division; PTX leaves its result open.";
    /// An approximate instruction of a constant, whose result ptxas computes correctly rounded.
    ApproxConstant = "approx_constant", Info,
        "Nothing to mend: the constant's last bit may differ between the emulator's reading and \
         ptxas.";
    /// Two writers store equal bytes without order.
    RaceSameValue = "race_same_value", Info,
        "Nothing is wrong while the bytes are equal; let one thread store them where it need not \
         be all.";
    /// The kernel ends while an mbarrier waits for bytes or arrivals.
    MbarrierTxPendingAtExit = "mbarrier_tx_pending_at_exit", Info,
        "Wait for the last phase before the kernel ends, or do not announce what nobody waits \
         for.";
    /// Threads of one barrier generation arrived at different instructions.
    BarrierDivergentSite = "barrier_divergent_site", Info,
        "Nothing to mend where all threads come to one of the sites.";
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

    /// What there is to say of the id, as a section of Markdown that [`page`] has.
    pub fn section(self) -> String {
        let level = match self.level() {
            _ if self.is_strict() => "error in strict mode only".to_owned(),
            level => level.as_str().to_owned(),
        };
        let (summary, way_out) = (self.summary(), self.way_out());
        format!("## `{self}`\n\n{summary} ({level})\n\n{way_out}\n")
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

/// The page of all findings, as Markdown.
pub fn page() -> String {
    let sections = FindingId::ALL.iter().map(|id| id.section());
    let sections: Vec<String> = sections.collect();
    format!("{PAGE_HEAD}\n{}", sections.join("\n"))
}

const PAGE_HEAD: &str = "\
# What the emulator finds

One section a kind of finding: what it is, its level, and what usually mends it. `tilewright help
ID` prints a section. [The model](model.md) says what counts as ordered, and shows how a race is
found.
";

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
