//! Race detection in shared memory: vector clocks of threads and of asynchronous operations.
//!
//! An *agent* is a thread, or a signal: an mbarrier, the bulk groups of a thread, the copies of a
//! warp or the products of a warp, whose value counts what is complete. A clock says for
//! each agent up to which epoch its accesses are ordered before its owner (`seen`), and which of
//! those are ordered for the async proxy too (`fenced`). Threads of a warp share the epoch, and
//! share their clock as long as they know the same.

mod clock;
mod focus;
mod shadow;
mod check;
mod copies;
mod global;
mod sync;
mod strong;
mod lifetime;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::env::Env;
use super::global_words::GlobalWords;
use super::site::Place;
use super::site::Site;
use crate::options::Sanitize;
use clock::Clock;
use shadow::{Cell, Reader};
use strong::Location;

pub(crate) use check::Conflict;
pub(crate) use copies::ProductClock;
pub(crate) use focus::Focus;
pub(crate) use global::Touch;

/// What a synchronization object passes on.
#[derive(Debug, Default)]
struct Channel {
    pending: Clock,
    complete: Rc<Clock>,
}

/// A CTA barrier as a channel.
#[derive(Debug, Default)]
struct Meeting {
    channel: Channel,
    /// A lane of each warp that arrived in this generation: thread, epoch and where.
    arrived: Vec<(u32, u32, Site)>,
    /// Those of the generation before.
    last: Vec<(u32, u32, Site)>,
}

/// An mbarrier as a channel, and as the signal of the copies that end in it.
#[derive(Debug, Default)]
struct Object {
    /// What every wait gets.
    channel: Channel,
    /// What a wait with the scope of the cluster gets.
    far: Channel,
    signal: u32,
    init: Init,
}

/// Who initialised an mbarrier, and when.
#[derive(Clone, Copy, Debug, Default)]
struct Init {
    thread: u32,
    epoch: u32,
    /// The signal and the value that tell of a fence behind it.
    fence: (u32, u32),
}

/// Where strong accesses meet, and their bytes: of different sizes they do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StrongPlace {
    Shared(Place, u32),
    Global(u64, u32),
}

/// Whose progress a signal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// Bulk groups of a thread, whose sources were read.
    Bulk(u32),
    /// The same, when they have written too.
    BulkWrites(u32),
    /// cp.async of a thread, as far as mbarriers are told of it.
    Copies(u32),
    /// Products of a warpgroup, by its first warp: four agents, one for each warp.
    Products(u32),
    /// `griddepcontrol.wait`: what it makes visible it does for the grid.
    Grid,
    /// Arrivals of a thread at mbarriers of other CTAs, which whoever sees the phase end sees over.
    Arrivals(u32),
}

/// The detector of one cluster.
#[derive(Debug)]
pub(crate) struct Race {
    strict: bool,
    /// The number of the cluster in the launch.
    pub(crate) number: u32,
    /// What the cluster touched in global memory.
    pub(crate) words: GlobalWords,
    /// Warps of a CTA.
    warps: u32,
    /// Threads of the cluster; signals are numbered from here.
    threads: u32,
    clocks: Vec<Rc<Clock>>,
    /// By warp of the cluster.
    epochs: Vec<u32>,
    /// Words of shared memory by rank.
    shadow: Vec<Vec<Cell>>,
    barriers: BTreeMap<(u32, u32), Meeting>,
    objects: BTreeMap<Place, Object>,
    cluster: Channel,
    /// Locations that strong accesses synchronize on, for one CTA or for all.
    locations: BTreeMap<(StrongPlace, Option<u32>), Location>,
    /// What strong reads of a thread met that acquire nothing, by thread: in its CTA, and beyond.
    met: BTreeMap<(u32, bool), Clock>,
    signals: BTreeMap<Signal, u32>,
    next_signal: u32,
    /// The signal of each thread's initialisations and their number.
    inits: BTreeMap<u32, (u32, u32)>,
    /// What each thread's fences released, for relaxed arrivals.
    released: Vec<Rc<Clock>>,
    /// The same of fences whose scope has other CTAs.
    released_far: Vec<Rc<Clock>>,
    /// The last access of a thread to the shared memory of another CTA, by rank and thread.
    remotes: BTreeMap<(u32, u32), (u32, Site)>,
    /// The same for arrivals, with the signal and value of the last one.
    arrivals: BTreeMap<(u32, u32), (u32, u32, Site)>,
    /// What the exited threads of a CTA knew.
    exits: BTreeMap<u32, Clock>,
    /// The thread whose cp.async a signal stands for, by signal.
    copy_owners: BTreeMap<u32, u32>,
    /// By thread: up to which group it waited for its cp.async, and in which epoch.
    copy_waits: Vec<Vec<(u32, u32)>>,
    /// Readers that found no place in their word.
    crowded: BTreeMap<(u32, u32), Vec<Reader>>,
    /// The address that is watched.
    pub(crate) focus: Option<Focus>,
    pub(crate) conflicts: Vec<Conflict>,
    /// Two plain stores to one word: its value before the later one.
    pub(crate) rewrites: Vec<(Conflict, u64)>,
}

impl Race {
    pub(crate) fn new(env: &Env<'_>, ctas: u32) -> Option<Box<Race>> {
        if env.options.sanitize == Sanitize::Off {
            return None;
        }
        let warps = env.threads.div_ceil(32);
        let threads = ctas * warps * 32;
        let words = env.shared_bytes.div_ceil(4) as usize;
        let start = Rc::new(Clock::default());
        Some(Box::new(Race {
            strict: env.options.sanitize == Sanitize::Strict,
            number: 0,
            words: GlobalWords::default(),
            warps,
            threads,
            released: vec![Rc::clone(&start); threads as usize],
            released_far: vec![Rc::clone(&start); threads as usize],
            clocks: vec![start; threads as usize],
            epochs: vec![1; (ctas * warps) as usize],
            shadow: (0..ctas).map(|_| vec![Cell::default(); words]).collect(),
            barriers: BTreeMap::new(),
            objects: BTreeMap::new(),
            cluster: Channel::default(),
            locations: BTreeMap::new(),
            met: BTreeMap::new(),
            signals: BTreeMap::new(),
            next_signal: threads,
            inits: BTreeMap::new(),
            remotes: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            exits: BTreeMap::new(),
            copy_owners: BTreeMap::new(),
            copy_waits: vec![Vec::new(); threads as usize],
            crowded: BTreeMap::new(),
            focus: None,
            conflicts: Vec::new(),
            rewrites: Vec::new(),
        }))
    }

    /// The number of a warp in the cluster.
    pub(crate) fn warp(&self, rank: u32, warp: u32) -> u32 {
        rank * self.warps + warp
    }

    fn epoch(&self, warp: u32) -> u32 {
        self.epochs.get(warp as usize).copied().unwrap_or(0)
    }

    fn clock(&self, thread: u32) -> Rc<Clock> {
        let clock = self.clocks.get(thread as usize);
        clock.cloned().unwrap_or_default()
    }

    /// The agent of a signal, made on first use.
    fn signal(&mut self, signal: Signal) -> u32 {
        if let Some(agent) = self.signals.get(&signal) {
            return *agent;
        }
        let agent = self.next_signal;
        self.next_signal += match signal {
            Signal::Products(_) => 4,
            _ => 1,
        };
        self.signals.insert(signal, agent);
        if let Signal::Copies(thread) = signal {
            self.copy_owners.insert(agent, thread);
        }
        agent
    }
}
