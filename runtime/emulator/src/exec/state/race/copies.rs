//! Asynchronous operations: what they touch, and what is ordered behind them.

use std::rc::Rc;

use super::check::{Actor, Part};
use super::clock::Clock;
use super::shadow::{Cell, Writer};
use super::{Race, Signal};
use crate::exec::state::site::Site;
use crate::exec::state::site::{Place, lanes_of};
use crate::finding::FindingId;

/// What the warps of a warpgroup know when they issue a product.
///
/// `.sync` of `wgmma` waits for the threads of one warp (ISA 9.7.15.5.2), so nothing orders what
/// one warp did before the parts of a product that the other three issued. The strict mode judges
/// each warp by what it knows itself: all four read B, and each one reads the 16 rows of A that its
/// 16 rows of D come from. The layout of D gives the rows (ISA 9.7.15.5.1), and libraries rely on
/// it: attention kernels have each warp store its own rows of A, and then `bar.warp.sync` alone.
///
/// In the default mode the four know what any of them knows, as if they met at the product:
/// hardware gathers them, and the document does not say so.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProductClock {
    /// What any of them knows.
    joined: Clock,
    /// What each knows, the first to issue it first; empty in the default mode.
    parts: Vec<Part>,
}

impl ProductClock {
    /// The parts of one warp, or of all.
    fn of(&self, warp: Option<u32>) -> &[Part] {
        let Some(warp) = warp else { return &self.parts };
        let at = self.parts.iter().position(|part| part.warp() == warp);
        at.and_then(|at| self.parts.get(at..=at))
            .unwrap_or_default()
    }
}

impl Race {
    /// What is wrong with an actor behind a thread's cp.async: the thread must have waited, and
    /// others must be ordered behind its wait, or an mbarrier told of the end.
    pub(super) fn behind_copy(
        &self,
        actor: &Actor<'_>,
        (thread, w): (u32, &Writer),
        writes: bool,
    ) -> Option<FindingId> {
        let waited = self.waited(thread, w.epoch);
        if !self.behind_copies(actor, (thread, w.epoch)) {
            return Some(FindingId::AsyncNotWaited);
        }
        let fenced = waited.is_some_and(|epoch| actor.clock.fenced(false, thread) >= epoch)
            || actor.clock.fenced(false, w.agent) >= w.epoch;
        if !actor.asynchronous || fenced {
            return None;
        }
        if writes {
            return Some(FindingId::MissingProxyFenceWar).filter(|_| self.strict);
        }
        Some(FindingId::MissingProxyFenceCpAsync)
    }

    /// The epoch in which a thread had waited for so many groups of its cp.async.
    fn waited(&self, thread: u32, groups: u32) -> Option<u32> {
        let waits = self.copy_waits.get(thread as usize)?;
        let index = waits.partition_point(|(waited, _)| *waited < groups);
        waits.get(index).map(|(_, epoch)| *epoch)
    }

    /// Whether so many groups of a thread's cp.async are over for an actor: it is behind the
    /// thread's wait, or an mbarrier told of the end.
    pub(super) fn behind_copies(&self, actor: &Actor<'_>, (thread, groups): (u32, u32)) -> bool {
        let signal = self.signals.get(&Signal::Copies(thread));
        let told = signal.is_some_and(|agent| actor.clock.seen(*agent) >= groups);
        let own = thread == actor.agent && !actor.asynchronous;
        let waited = self.waited(thread, groups);
        told || waited.is_some_and(|epoch| own || actor.clock.seen(thread) >= epoch)
    }

    /// A thread waited for its cp.async up to a group.
    pub(crate) fn copies_waited(&mut self, groups: u32, site: Site) {
        let warp = self.warp(site.rank, site.warp);
        let epoch = self.epoch(warp);
        for lane in lanes_of(site.lanes) {
            let Some(waits) = self.copy_waits.get_mut(32 * warp as usize + lane) else {
                continue;
            };
            if waits.last().is_none_or(|(last, _)| *last < groups) {
                waits.push((groups, epoch));
            }
        }
    }

    /// Accesses of an asynchronous operation that the signal tells the end of.
    fn async_access(
        &mut self,
        (agent, value, clock): (u32, u32, &Clock),
        spans: &[(Place, u32)],
        writes: bool,
        site: Site,
    ) {
        let actor = Actor {
            agent,
            epoch: value,
            clock,
            asynchronous: true,
            global: false,
            strong: None,
            parts: &[],
        };
        self.async_accesses(&actor, spans, writes, site);
    }

    /// The same of an actor.
    fn async_accesses(
        &mut self,
        actor: &Actor<'_>,
        spans: &[(Place, u32)],
        writes: bool,
        site: Site,
    ) {
        // Whole tiles were written by one copy: what holds for one word holds for the next one that
        // remembers the same.
        let mut last: Option<(Cell, u8, Cell)> = None;
        for span in spans {
            self.sees_shared(*span, site);
            self.words(*span, |race, cell, part| {
                if let Some((before, bytes, after)) = &last
                    && *bytes == part.1
                    && before == cell
                {
                    *cell = *after;
                    return;
                }
                let before = *cell;
                let alone = race.crowded.is_empty();
                let conflicts = race.conflicts.len();
                race.access(actor, cell, part, (!writes, writes), site);
                let quiet = race.conflicts.len() == conflicts && race.crowded.is_empty();
                last = (quiet && alone).then_some((before, part.1, *cell));
            });
        }
    }

    /// A copy of a lane that writes shared bytes and ends in an mbarrier.
    pub(crate) fn copy_writes(&mut self, span: (Place, u32), object: (Place, u64), site: Site) {
        let clock = self.snapshot(site);
        let signal = self.objects.get(&object.0).map(|object| object.signal);
        if let Some(agent) = signal {
            let value = object.1 as u32 + 1;
            self.async_access((agent, value, &clock), &[span], true, site);
        }
    }

    /// A copy of a lane that reads shared bytes; `group` is its bulk group.
    pub(crate) fn copy_reads(&mut self, span: (Place, u32), group: u32, site: Site) {
        let clock = self.snapshot(site);
        let lane = site.lanes.trailing_zeros();
        let agent = self.signal(Signal::Bulk(32 * self.warp(site.rank, site.warp) + lane));
        self.async_access((agent, group + 1, &clock), &[span], false, site);
    }

    /// A shared-to-shared copy reads until the mbarrier's phase ends.
    pub(crate) fn copy_reads_until(
        &mut self,
        span: (Place, u32),
        object: (Place, u64),
        site: Site,
    ) {
        let clock = self.snapshot(site);
        let signal = self.objects.get(&object.0).map(|object| object.signal);
        if let Some(agent) = signal {
            let value = object.1 as u32 + 1;
            self.async_access((agent, value, &clock), &[span], false, site);
        }
    }

    /// A cp.async of a lane: a generic write that is ordered by its group.
    pub(crate) fn cp_async(&mut self, span: (Place, u32), group: u32, site: Site) {
        let clock = self.snapshot(site);
        let thread = 32 * self.warp(site.rank, site.warp) + site.lanes.trailing_zeros();
        let agent = self.signal(Signal::Copies(thread));
        let actor = Actor {
            agent,
            epoch: group + 1,
            clock: &clock,
            asynchronous: false,
            global: false,
            strong: None,
            parts: &[],
        };
        self.sees_shared(span, site);
        self.words(span, |race, cell, part| {
            race.access(&actor, cell, part, (true, true), site)
        });
    }

    /// The agent of the products of a site's warpgroup; in strict mode the first of four, which
    /// count what each warp has waited for.
    fn products(&mut self, site: Site) -> u32 {
        let first = self.warp(site.rank, site.warp / 4 * 4);
        self.signal(Signal::Products(first))
    }

    /// What one warp of a warpgroup reads of the operands of a product, or what all four read.
    pub(crate) fn product_reads(
        &mut self,
        (spans, warp): (&[(Place, u32)], Option<u32>),
        number: u64,
        clock: &ProductClock,
        site: Site,
    ) {
        let parts = clock.of(warp);
        // Whoever is ordered behind the read is behind what any of its warps knew.
        let known = match parts {
            [part] => &part.clock,
            _ => &clock.joined,
        };
        let actor = Actor {
            agent: self.products(site),
            epoch: number as u32 + 1,
            clock: known,
            asynchronous: true,
            global: false,
            strong: None,
            parts,
        };
        self.async_accesses(&actor, spans, false, site);
    }

    /// A warp waited for its products up to a number. In strict mode its own parts have read their
    /// operands then; in the default mode those of the other warps have, too, which libraries rely
    /// on: one thread of a warpgroup tells the producer that a slot is free.
    pub(crate) fn products_waited(&mut self, number: u32, site: Site) {
        let part = if self.strict { site.warp % 4 } else { 0 };
        let agent = self.products(site) + part;
        self.update(site, |clock| clock.see(agent, number));
    }

    /// What the lanes of a site know when they issue something.
    pub(super) fn snapshot(&self, site: Site) -> Rc<Clock> {
        Rc::new(self.published(site))
    }

    /// The clock of a product, to which every warp that issues it adds what it knows.
    pub(crate) fn issue_product(&self, product: &mut ProductClock, site: Site) {
        let clock = self.published(site);
        product.joined.join(&clock);
        if self.strict {
            product.parts.push(Part { site, clock });
        }
    }
}
