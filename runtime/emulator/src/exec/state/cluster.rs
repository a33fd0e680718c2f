//! The state of a cluster that its warps share: CTAs, the queue of copies, findings, counters.
//!
//! One CTA is *near*: the one whose warp runs. The others wait in `far`; a warp reaches them by
//! rank.

use std::collections::{BTreeMap, BTreeSet};

use super::barriers::ClusterBarrier;
use super::copies::{EditedMap, Queue};
use super::cta::CtaPart;
use super::env::Env;
use super::observed::Observed;
use super::products::Tile;
use super::race::Race;
use super::random::Random;
use super::recorder::Recorder;
use super::site::Site;
use crate::counters::Counters;
use crate::finding::{Finding, FindingId, FindingLog, Level, Location, OtherSide};
use crate::inst::{Effect, Inst};
use crate::options::{AsyncOrder, Sanitize};
use crate::tensor_core::{Element, Step, Sum, Way};

/// What the warps of a cluster share.
pub(crate) struct State<'a> {
    pub(crate) env: &'a Env<'a>,
    /// The current CTA.
    pub(crate) near: CtaPart,
    /// All CTAs by rank; the place of the current one is empty.
    pub(crate) far: Vec<CtaPart>,
    /// The rank of the current CTA.
    pub(crate) rank: u32,
    pub(crate) cluster_barrier: ClusterBarrier,
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
    /// Keeps what leads to a finding, when asked for.
    pub(crate) recorder: Option<Box<Recorder>>,
    /// The region of the last global access.
    pub(crate) region_hint: usize,
    /// Warp instructions of this cluster.
    pub(crate) executed: u64,
    /// Room for the dense operands of a tensor-core product.
    pub(crate) tile: Option<Box<Tile>>,
    /// Whether a sum was the architecture's own, neither IEEE nor exact.
    pub(crate) ruled: bool,
    /// Waits that came back with nothing and suspend next: rank, warp, instruction.
    pub(crate) timed_out: BTreeSet<(u32, u32, u32)>,
    /// Counts instructions outside loops that nothing but others can end.
    pub(crate) moved: u64,
    /// Counts what may change what a loop reads: instructions that may change memory, changes by
    /// loops that are watched, and asynchronous operations that complete.
    pub(crate) changes: u64,
    /// Counts stores of loops that are watched, which change nothing and leave their trace in the
    /// race detector.
    pub(crate) traces: u64,
    /// Addresses and bytes in global memory that loops access, while they are noted.
    pub(crate) polled: Option<BTreeSet<(u64, u32)>>,
    /// Whether the warp that runs is in a loop that is watched, whose stores are compared.
    pub(crate) compares: bool,
    /// Counts values that atomic operations changed, and stores of loops that are watched.
    pub(crate) exchanged: u64,
    /// Counts occurrences of findings.
    pub(crate) reported: u64,
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
            recorder: None,
            region_hint: 0,
            executed: 0,
            tile: None,
            ruled: false,
            timed_out: BTreeSet::new(),
            moved: 0,
            changes: 0,
            traces: 0,
            polled: None,
            compares: false,
            exchanged: 0,
            reported: 0,
            stopped: false,
        }
    }

    /// Makes the CTA of a rank the current one.
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

    /// Counts an instruction that may change what others see.
    #[inline]
    pub(crate) fn note(&mut self, inst: &Inst) {
        let least = match self.compares {
            true => Effect::Other,
            false => Effect::Counted,
        };
        self.changes += u64::from(inst.effect >= least);
    }

    /// Counts what warps that wait may see, and values that changed where they are compared.
    pub(crate) fn changed(&self) -> u64 {
        self.events + self.exchanged
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
        self.reported += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.reported(id, site.pc, (cta, site.warp));
        }
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

impl State<'_> {
    /// Whether asynchronous work that is issued now takes effect at once.
    pub(crate) fn is_early(&mut self) -> bool {
        match self.env.options.async_order {
            AsyncOrder::Early => true,
            AsyncOrder::Late => false,
            AsyncOrder::Random(_) => self.chance.next() & 1 == 0,
        }
    }

    /// Whether a queued copy completes although nobody waits for it.
    pub(crate) fn completes_by_chance(&mut self) -> bool {
        matches!(self.env.options.async_order, AsyncOrder::Random(_))
            && self.chance.next().is_multiple_of(4)
    }
}
