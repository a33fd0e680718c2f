//! The state of a cluster that its warps share: memory, barriers, findings, counters.
//!
//! One CTA is *near*: the one whose warp runs. The others wait in `far`; a warp reaches them by
//! rank.

use super::async_queue::Queue;
use super::barrier::BarrierState;
use super::bytes::Bytes;
use super::cluster_sync::ClusterBarrier;
use super::env::{Env, RANK_SHIFT, SHARED_START};
use super::mbarrier::Mbarrier;
use super::mma::Tile;
use super::observe::Observed;
use super::race::Race;
use super::random::Random;
use super::tensor_edit::EditedMap;
use super::warpgroup::Warpgroup;
use crate::counters::Counters;
use crate::finding::{Finding, FindingId, FindingLog, Level, Location, OtherSide};
use crate::inst::Scope;
use crate::options::Sanitize;
use crate::tensor_core::{Element, Step, Sum, Way};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use super::bytes::{DEFINED, IN_FLIGHT, UNDEFINED};

/// Who did something, for findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) pc: u32,
    /// The rank of the CTA in its cluster.
    pub(crate) rank: u32,
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
}

/// Which way an access goes, for counters and checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Load,
    Store,
    Atomic(Scope),
    AsyncCopy,
    LoadMatrix,
    StoreMatrix,
    /// A volatile, relaxed or acquiring load.
    StrongLoad(Scope),
    /// A volatile, relaxed or releasing store.
    StrongStore(Scope),
}

impl AccessKind {
    /// The scope of an access that is not weak.
    pub(crate) fn scope(self) -> Option<Scope> {
        match self {
            AccessKind::Atomic(scope)
            | AccessKind::StrongLoad(scope)
            | AccessKind::StrongStore(scope) => Some(scope),
            _ => None,
        }
    }
}

/// What belongs to one CTA.
#[derive(Default)]
pub(crate) struct CtaPart {
    pub(crate) cta: [u32; 3],
    /// Address of the first shared byte in the window of the cluster.
    pub(crate) base: u64,
    pub(crate) shared: Bytes,
    pub(crate) barriers: [BarrierState; 16],
    /// Lanes of each warp that have not exited.
    pub(crate) live: Vec<u32>,
    /// The mbarrier objects by offset.
    pub(crate) mbarriers: BTreeMap<u32, Mbarrier>,
    pub(crate) warpgroups: Vec<Warpgroup>,
    /// Registers of each warp, by `setmaxnreg`; 0 before the first one.
    pub(crate) registers: Vec<u32>,
    /// The counts each warp has set, one after the other, and where.
    pub(crate) register_steps: Vec<Vec<(u32, Site)>>,
}

impl CtaPart {
    pub(crate) fn new(env: &Env<'_>, cta: [u32; 3], rank: u32) -> CtaPart {
        let warps = env.threads.div_ceil(32);
        let lanes = |warp: u32| match env.threads - 32 * warp {
            rest @ 1..32 => (1 << rest) - 1,
            _ => u32::MAX,
        };
        CtaPart {
            cta,
            base: u64::from(rank) << RANK_SHIFT | u64::from(SHARED_START),
            shared: Bytes::new(env.shared_bytes as usize),
            live: (0..warps).map(lanes).collect(),
            warpgroups: (0..warps.div_ceil(4))
                .map(|_| Warpgroup::default())
                .collect(),
            registers: vec![0; warps as usize],
            register_steps: vec![Vec::new(); warps as usize],
            ..CtaPart::default()
        }
    }

    /// Whether a thread of the CTA has not exited.
    pub(crate) fn alive(&self) -> bool {
        self.live.iter().any(|lanes| *lanes != 0)
    }
}

/// What the warps of a cluster share.
pub(crate) struct State<'a> {
    pub(crate) env: &'a Env<'a>,
    /// The CTA at hand.
    pub(crate) near: CtaPart,
    /// All CTAs by rank; the place of the one at hand is empty.
    far: Vec<CtaPart>,
    /// The rank of the CTA at hand.
    pub(crate) rank: u32,
    pub(super) cluster_barrier: ClusterBarrier,
    /// Completed generations of the cluster barrier.
    pub(crate) cluster_generation: u64,
    /// Counts every event that a waiting thread may wait for.
    pub(crate) events: u64,
    /// The race detector, unless checks are off.
    pub(crate) race: Option<Box<Race>>,
    pub(crate) queue: Queue,
    /// Tensor maps in global memory that threads of the cluster edited.
    pub(crate) edited_maps: BTreeMap<u64, EditedMap>,
    pub(crate) findings: FindingLog,
    pub(crate) counters: Counters,
    /// Decides when asynchronous work takes effect, if chance is to.
    pub(crate) chance: Random,
    /// Steps and profile, when asked for.
    pub(crate) observed: Observed,
    /// The region of the last global access.
    pub(crate) region_hint: usize,
    /// Warp instructions of this cluster.
    pub(crate) executed: u64,
    /// Room for the dense operands of a tensor-core product.
    pub(super) tile: Option<Box<Tile>>,
    /// Whether a sum was the architecture's own, neither IEEE nor exact.
    pub(crate) ruled: bool,
    /// Waits that came back with nothing and suspend next: rank, warp, instruction.
    pub(crate) timed_out: BTreeSet<(u32, u32, u32)>,
    /// Set when the cluster cannot go on.
    pub(crate) stopped: bool,
}

impl<'a> State<'a> {
    pub(crate) fn new(env: &'a Env<'a>, ctas: &[[u32; 3]]) -> State<'a> {
        let part = |(rank, cta): (usize, &[u32; 3])| CtaPart::new(env, *cta, rank as u32);
        let mut far: Vec<CtaPart> = ctas.iter().enumerate().map(part).collect();
        let near = far.first_mut().map(std::mem::take).unwrap_or_default();
        State {
            env,
            near,
            far,
            rank: 0,
            cluster_barrier: ClusterBarrier::default(),
            cluster_generation: 0,
            events: 0,
            race: Race::new(env, ctas.len() as u32),
            queue: Queue::default(),
            edited_maps: BTreeMap::new(),
            findings: FindingLog::new(env.options.max_findings),
            counters: Counters::default(),
            chance: Random::default(),
            observed: Observed::default(),
            region_hint: 0,
            executed: 0,
            tile: None,
            ruled: false,
            timed_out: BTreeSet::new(),
            stopped: false,
        }
    }

    /// Makes the CTA of a rank the one at hand.
    pub(crate) fn switch(&mut self, rank: u32) {
        if rank == self.rank {
            return;
        }
        if let Some(place) = self.far.get_mut(self.rank as usize) {
            std::mem::swap(place, &mut self.near);
        }
        if let Some(place) = self.far.get_mut(rank as usize) {
            std::mem::swap(place, &mut self.near);
        }
        self.rank = rank;
    }

    pub(crate) fn cluster_ctas(&self) -> u32 {
        self.far.len() as u32
    }

    /// The CTA of a rank.
    pub(crate) fn part(&self, rank: u32) -> Option<&CtaPart> {
        if rank == self.rank {
            return Some(&self.near);
        }
        self.far.get(rank as usize)
    }

    /// The CTA of a rank.
    pub(crate) fn part_mut(&mut self, rank: u32) -> Option<&mut CtaPart> {
        if rank == self.rank {
            return Some(&mut self.near);
        }
        self.far.get_mut(rank as usize)
    }

    /// How an instruction sums for one element of its result.
    pub(crate) fn step(
        &mut self,
        way: Way,
        elements: (Element, Element),
        sum: Sum,
        k: usize,
    ) -> Step {
        let step = Step::of(self.env.rules, way, elements, sum, k);
        self.ruled |= step.is_ruled();
        step
    }

    pub(crate) fn sanitize(&self) -> bool {
        self.env.options.sanitize != Sanitize::Off
    }

    /// Adds one occurrence of a finding.
    #[cold]
    pub(crate) fn report(
        &mut self,
        id: FindingId,
        site: Site,
        location: Option<Location>,
        message: impl FnOnce() -> String,
    ) {
        self.report_pair(id, site, (location, None), message);
    }

    /// Adds one occurrence of a finding that another access takes part in.
    #[cold]
    pub(crate) fn report_pair(
        &mut self,
        id: FindingId,
        site: Site,
        (location, other): (Option<Location>, Option<OtherSide>),
        message: impl FnOnce() -> String,
    ) {
        let env = self.env;
        let cta = self.part(site.rank).map_or([0; 3], |part| part.cta);
        let level = match (env.options.sanitize, id.is_strict()) {
            (Sanitize::Strict, true) => Level::Error,
            _ => id.level(),
        };
        self.stopped |= env.options.stops_at_error && level == Level::Error;
        self.findings.add(id, site.pc, || Finding {
            id,
            level,
            kernel: env.entry.name.clone(),
            function: env
                .module
                .function_at(site.pc)
                .map_or(String::new(), |f| f.name.clone()),
            pc: site.pc,
            line: env.code.get(site.pc as usize).map_or(0, |inst| inst.line),
            cta,
            warp: site.warp,
            lanes: site.lanes,
            location,
            other,
            message: message(),
            count: 1,
        });
    }

    /// The line of an instruction in the PTX text.
    pub(crate) fn line(&self, pc: u32) -> u32 {
        self.env.code.get(pc as usize).map_or(0, |inst| inst.line)
    }
}
