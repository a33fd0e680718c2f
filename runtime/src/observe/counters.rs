//! What a runtime has done since it was made, as numbers that a service can export.
//!
//! Each kernel counts for itself, by atomics that its launches add to; a [`Counters`] is a copy of
//! all of them at one moment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::error::Error;
use crate::events;

/// Where a kernel's code came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeFrom {
    /// Machine code of the bundle.
    Bundle,
    /// The driver compiled its PTX.
    Compiled,
    /// What the driver compiled before, kept in a [`PtxCache`](crate::PtxCache).
    Cache,
    /// The emulator read its PTX.
    Emulator,
}

impl CodeFrom {
    /// The spelling in events and metrics.
    pub const fn text(self) -> &'static str {
        match self {
            CodeFrom::Bundle => "bundle",
            CodeFrom::Compiled => "compiled",
            CodeFrom::Cache => "cache",
            CodeFrom::Emulator => "emulator",
        }
    }
}

/// What one kernel did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelCounters {
    /// Launches enqueued or captured; replays of graphs are not among them.
    pub launches: u64,
    /// Launches refused, before anything ran.
    pub refused: u64,
    /// How often its code was loaded.
    pub loads: u64,
    /// How many of these found it in the PTX cache.
    pub loads_from_cache: u64,
    /// How many of them found machine code in the bundle.
    pub loads_from_bundle: u64,
    /// Nanoseconds that loading took, all together.
    pub load_ns: u64,
    /// Nanoseconds that the host spent in the first launch; 0 before.
    pub first_launch_ns: u64,
    /// Scratch memory of the runtime's own that was made for it, all together.
    pub scratch_bytes: u64,
}

/// What a runtime did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// By kernel, those that were loaded.
    pub kernels: BTreeMap<String, KernelCounters>,
    /// How often kernels were passed over, by [`Refusal::kind`](crate::Refusal::kind), also where
    /// none was left.
    pub skipped: BTreeMap<&'static str, u64>,
    /// How often another kernel took over from one that a tuning table names, or from one whose
    /// code was refused.
    pub fallbacks: u64,
    /// How often no kernel took what was asked for.
    pub unfit: u64,
    /// Whether the device's context is lost.
    pub is_lost: bool,
}

/// One number of [`Counters`], as metrics have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter<'a> {
    /// What is counted: `launches`.
    pub name: &'static str,
    /// The kernel that it is of, if it is of one.
    pub kernel: Option<&'a str>,
    /// The kind of refusal that it is of, if it is of one.
    pub reason: Option<&'static str>,
    /// How often, how many, or how long.
    pub value: u64,
}

impl KernelCounters {
    /// Each number with its name.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        let KernelCounters {
            launches,
            refused,
            loads,
            loads_from_cache,
            loads_from_bundle,
            load_ns,
            first_launch_ns,
            scratch_bytes,
        } = *self;
        [
            ("launches", launches),
            ("refused", refused),
            ("loads", loads),
            ("loads_from_cache", loads_from_cache),
            ("loads_from_bundle", loads_from_bundle),
            ("load_ns", load_ns),
            ("first_launch_ns", first_launch_ns),
            ("scratch_bytes", scratch_bytes),
        ]
    }
}

impl Counters {
    /// Every number with its name: those of kernels, kernel after kernel, then `skipped` by reason,
    /// `fallbacks`, `unfit`, and `is_lost`, which is 0 or 1.
    pub fn named(&self) -> impl Iterator<Item = Counter<'_>> {
        let Counters {
            kernels,
            skipped,
            fallbacks,
            unfit,
            is_lost,
        } = self;
        let whole = |name, value| Counter {
            name,
            kernel: None,
            reason: None,
            value,
        };
        let of_kernels = kernels.iter().flat_map(move |(id, counters)| {
            let named = counters.named().into_iter();
            named.map(move |(name, value)| Counter {
                kernel: Some(id),
                ..whole(name, value)
            })
        });
        let skipped = skipped.iter().map(move |(reason, value)| Counter {
            reason: Some(reason),
            ..whole("skipped", *value)
        });
        let rest = [
            whole("fallbacks", *fallbacks),
            whole("unfit", *unfit),
            whole("is_lost", u64::from(*is_lost)),
        ];
        of_kernels.chain(skipped).chain(rest)
    }

    /// Launches of all kernels.
    pub fn launches(&self) -> u64 {
        self.kernels.values().map(|kernel| kernel.launches).sum()
    }
}

/// The counts of one kernel while it works.
#[derive(Debug, Default)]
pub(crate) struct KernelCounts {
    launches: AtomicU64,
    refused: AtomicU64,
    loads: AtomicU64,
    loads_from_cache: AtomicU64,
    loads_from_bundle: AtomicU64,
    load_ns: AtomicU64,
    first_launch_ns: AtomicU64,
    scratch_bytes: AtomicU64,
}

fn add(to: &AtomicU64, count: u64) -> u64 {
    to.fetch_add(count, Ordering::Relaxed)
}

/// Nanoseconds since a moment.
pub(crate) fn ns_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl KernelCounts {
    /// Counts a launch, and takes the time of the first one.
    pub fn launch<R>(&self, kernel: &str, launch: impl FnOnce() -> R) -> R {
        if add(&self.launches, 1) > 0 {
            return launch();
        }
        let start = Instant::now();
        let result = launch();
        let taken = ns_since(start);
        self.first_launch_ns.store(taken.max(1), Ordering::Relaxed);
        events::launched_first(kernel, taken);
        result
    }

    pub fn refuse(&self) {
        add(&self.refused, 1);
    }

    pub fn load(&self, kernel: &str, from: CodeFrom, taken_ns: u64) {
        add(&self.loads, 1);
        add(&self.loads_from_cache, u64::from(from == CodeFrom::Cache));
        add(&self.loads_from_bundle, u64::from(from == CodeFrom::Bundle));
        add(&self.load_ns, taken_ns);
        events::loaded(kernel, from.text(), taken_ns);
    }

    pub fn scratch(&self, kernel: &str, bytes: u64, captured: bool) {
        add(&self.scratch_bytes, bytes);
        events::scratch(kernel, bytes, captured);
    }

    fn now(&self) -> KernelCounters {
        let read = |from: &AtomicU64| from.load(Ordering::Relaxed);
        KernelCounters {
            launches: read(&self.launches),
            refused: read(&self.refused),
            loads: read(&self.loads),
            loads_from_cache: read(&self.loads_from_cache),
            loads_from_bundle: read(&self.loads_from_bundle),
            load_ns: read(&self.load_ns),
            first_launch_ns: read(&self.first_launch_ns),
            scratch_bytes: read(&self.scratch_bytes),
        }
    }
}

/// The counts of a runtime while it works.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    kernels: Mutex<BTreeMap<String, Arc<KernelCounts>>>,
    skipped: Mutex<BTreeMap<&'static str, u64>>,
    fallbacks: AtomicU64,
    unfit: AtomicU64,
}

impl Tally {
    /// The counts of a kernel, which stay when its code is given up.
    pub fn kernel(&self, id: &str) -> Arc<KernelCounts> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels.get(id) {
            return known.clone();
        }
        kernels.entry(id.to_owned()).or_default().clone()
    }

    pub fn skip<'k>(&self, kinds: impl IntoIterator<Item = (&'k &'static str, &'k u64)>) {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in kinds {
            *skipped.entry(kind).or_default() += count;
        }
    }

    pub fn fall_back(&self, count: u64) {
        add(&self.fallbacks, count);
    }

    /// Counts a request that no kernel takes, and says so to whoever listens.
    pub fn heed<T>(&self, chosen: Result<T, Error>) -> Result<T, Error> {
        if let Err(error @ Error::NothingFits { wanted, kinds, .. }) = &chosen {
            add(&self.unfit, 1);
            self.skip(kinds);
            events::unfit(wanted, error);
        }
        chosen
    }

    pub fn skipped(&self) -> BTreeMap<&'static str, u64> {
        let skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        skipped.clone()
    }

    /// A copy of the counts.
    pub fn now(&self, is_lost: bool) -> Counters {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let kernels = kernels
            .iter()
            .map(|(id, counts)| (id.clone(), counts.now()));
        Counters {
            kernels: kernels.collect(),
            skipped: self.skipped(),
            fallbacks: self.fallbacks.load(Ordering::Relaxed),
            unfit: self.unfit.load(Ordering::Relaxed),
            is_lost,
        }
    }
}
