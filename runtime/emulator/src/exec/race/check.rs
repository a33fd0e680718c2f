//! Accesses against what is remembered of their words.

use std::rc::Rc;

use super::clock::Clock;
use super::shadow::{Reader, Writer};
use super::{Race, Signal};
use crate::exec::mbarrier::Place;
use crate::exec::state::{AccessKind, Site};
use crate::finding::FindingId;

/// Two accesses without order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) id: FindingId,
    pub(crate) kind: &'static str,
    pub(crate) place: Place,
    pub(crate) site: Site,
    pub(crate) other: Other,
}

/// The other side of a conflict: its instruction, the agent, and the lanes when that is a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    pub(crate) pc: u32,
    agent: u32,
    lanes: u32,
}

impl Writer {
    fn side(&self) -> Other {
        Other {
            pc: self.pc,
            agent: self.agent,
            lanes: 1 << (self.agent % 32),
        }
    }
}

impl Reader {
    fn side(&self) -> Other {
        Other {
            pc: self.pc,
            agent: self.agent,
            lanes: self.lanes,
        }
    }
}

/// Who accesses, and what it knows.
pub(super) struct Actor<'c> {
    agent: u32,
    epoch: u32,
    clock: &'c Clock,
    /// An operation of the async proxy.
    asynchronous: bool,
    strong: bool,
}

impl Race {
    fn is_signal(&self, agent: u32) -> bool {
        agent >= self.threads
    }

    /// The rank, warp and lanes of the other side; `None` when it is an asynchronous operation.
    pub(crate) fn threads_of(&self, other: Other) -> Option<(u32, u32, u32)> {
        let warp = other.agent / 32;
        let warps = self.warps.max(1);
        let threads = (warp / warps, warp % warps, other.lanes);
        (!self.is_signal(other.agent)).then_some(threads)
    }

    /// What is wrong with an actor behind a writer.
    fn behind_writer(&self, actor: &Actor<'_>, w: &Writer, writes: bool) -> Option<FindingId> {
        if w.bytes == 0 || w.agent == actor.agent && !actor.asynchronous {
            return None;
        }
        let signal = self.is_signal(w.agent);
        let copies = signal && self.copy_signals.contains(&w.agent);
        if actor.clock.seen(w.agent) < w.epoch {
            return match (signal, w.strong && actor.strong) {
                (true, _) if w.agent == actor.agent => None,
                (true, _) => Some(FindingId::AsyncNotWaited),
                (false, true) => None,
                (false, false) => Some(FindingId::RaceShared),
            };
        }
        let fenced = actor.clock.fenced(w.agent) >= w.epoch;
        if !actor.asynchronous || fenced || signal && !copies {
            return None;
        }
        match (writes, copies) {
            (true, _) => Some(FindingId::MissingProxyFenceWar).filter(|_| self.strict),
            (false, true) => Some(FindingId::MissingProxyFenceCpAsync),
            (false, false) => Some(FindingId::MissingProxyFence),
        }
    }

    /// What is wrong with a writing actor behind a reader.
    fn behind_reader(&self, actor: &Actor<'_>, r: &Reader) -> Option<FindingId> {
        if r.lanes == 0 || r.strong && actor.strong {
            return None;
        }
        if self.is_signal(r.agent) {
            let seen = actor.clock.seen(r.agent) >= r.epoch || r.agent == actor.agent;
            return match (seen, actor.asynchronous) {
                (true, _) => None,
                (false, true) => Some(FindingId::RaceTmaOverwrite),
                (false, false) => Some(FindingId::BulkSourceOverwritten),
            };
        }
        let lanes = (0..32).filter(|lane| r.lanes >> lane & 1 == 1);
        let mut others = lanes
            .map(|lane| r.agent + lane)
            .filter(|agent| *agent != actor.agent);
        if others
            .clone()
            .any(|agent| actor.clock.seen(agent) < r.epoch)
        {
            return Some(FindingId::RaceShared);
        }
        let late = others.any(|agent| actor.clock.fenced(agent) < r.epoch);
        Some(FindingId::MissingProxyFenceWar).filter(|_| actor.asynchronous && self.strict && late)
    }

    fn conflict(&mut self, id: FindingId, what: &'static str, at: (Place, Site), other: Other) {
        self.conflicts.push(Conflict {
            id,
            kind: what,
            place: at.0,
            site: at.1,
            other,
        });
    }

    /// One access to bytes of one word.
    fn access(
        &mut self,
        actor: &Actor<'_>,
        (place, bytes): (Place, u8),
        (reads, writes): (bool, bool),
        site: Site,
    ) {
        let at = (place.0 as usize, (place.1 / 4) as usize);
        let Some(cell) = self.shadow.get(at.0).and_then(|words| words.get(at.1)) else {
            return;
        };
        let mut cell = *cell;
        if cell.writer.bytes & bytes != 0
            && let Some(id) = self.behind_writer(actor, &cell.writer, writes)
        {
            let plain = id == FindingId::RaceShared && writes && !reads && !actor.asynchronous;
            let other = cell.writer.side();
            if plain {
                self.rewrite(id, (place, site), other);
            } else {
                let what = if writes { "waw" } else { "raw" };
                self.conflict(id, what, (place, site), other);
            }
        }
        let mut reader = Reader {
            agent: actor.agent,
            epoch: actor.epoch,
            lanes: 1,
            pc: site.pc,
            strong: actor.strong,
        };
        if writes {
            // A sub-word store says nothing about readers of the other bytes.
            if bytes == 0xf {
                for reader in &cell.readers {
                    if let Some(id) = self.behind_reader(actor, reader) {
                        self.conflict(id, "war", (place, site), reader.side());
                    }
                }
                cell.readers = Default::default();
            }
            cell.writer = Writer {
                agent: actor.agent,
                epoch: actor.epoch,
                pc: site.pc,
                bytes,
                strong: actor.strong,
            };
        } else {
            if !self.is_signal(actor.agent) {
                reader.lanes = 1 << (actor.agent % 32);
                reader.agent = actor.agent / 32 * 32;
            }
            let clock = actor.clock;
            cell.read(reader, |known| {
                let first = known.lanes.trailing_zeros();
                !self.is_signal(known.agent)
                    && known.lanes.count_ones() == 1
                    && clock.seen(known.agent + first) >= known.epoch
            });
        }
        if let Some(place) = self
            .shadow
            .get_mut(at.0)
            .and_then(|words| words.get_mut(at.1))
        {
            *place = cell;
        }
    }

    fn rewrite(&mut self, id: FindingId, at: (Place, Site), other: Other) {
        let conflict = Conflict {
            id,
            kind: "waw",
            place: at.0,
            site: at.1,
            other,
        };
        self.rewrites.push((conflict, 0));
    }

    /// An access of a thread.
    pub(crate) fn thread_access(
        &mut self,
        kind: AccessKind,
        (place, bytes): (Place, u32),
        lane: u32,
        site: Site,
    ) {
        let warp = self.warp(site.rank, site.warp);
        let agent = 32 * warp + lane;
        let clock = self.clock(agent);
        let strong = matches!(
            kind,
            AccessKind::Atomic | AccessKind::StrongLoad | AccessKind::StrongStore
        );
        let actor = Actor {
            agent,
            epoch: self.epoch(warp),
            clock: &clock,
            asynchronous: false,
            strong,
        };
        let site = Site {
            lanes: 1 << lane,
            ..site
        };
        let loads = matches!(
            kind,
            AccessKind::Load | AccessKind::StrongLoad | AccessKind::LoadMatrix
        );
        let way = (loads || kind == AccessKind::Atomic, !loads);
        self.words((place, bytes), |race, part| {
            race.access(&actor, part, way, site)
        });
    }

    fn words(&mut self, span: (Place, u32), mut f: impl FnMut(&mut Race, (Place, u8))) {
        let ((rank, offset), bytes) = span;
        let mut at = offset;
        let end = offset.saturating_add(bytes);
        while at < end {
            let next = (at / 4 * 4 + 4).min(end);
            let mask = ((1u32 << (next - at)) - 1) << (at % 4);
            f(self, ((rank, at), mask as u8));
            at = next;
        }
    }

    /// Accesses of an asynchronous operation that the signal tells the end of.
    fn async_access(
        &mut self,
        (agent, value, clock): (u32, u32, &Clock),
        span: (Place, u32),
        writes: bool,
        site: Site,
    ) {
        let actor = Actor {
            agent,
            epoch: value,
            clock,
            asynchronous: true,
            strong: false,
        };
        self.words(span, |race, part| {
            race.access(&actor, part, (!writes, writes), site);
        });
    }

    /// A copy of a lane that writes shared bytes and ends in an mbarrier.
    pub(crate) fn copy_writes(&mut self, span: (Place, u32), object: (Place, u64), site: Site) {
        let clock = self.snapshot(site);
        let signal = self.objects.get(&object.0).map(|object| object.signal);
        if let Some(agent) = signal {
            let value = object.1 as u32 + 1;
            self.async_access((agent, value, &clock), span, true, site);
        }
    }

    /// A copy of a lane that reads shared bytes; `group` is its bulk group.
    pub(crate) fn copy_reads(&mut self, span: (Place, u32), group: u32, site: Site) {
        let clock = self.snapshot(site);
        let lane = site.lanes.trailing_zeros();
        let agent = self.signal(Signal::Bulk(32 * self.warp(site.rank, site.warp) + lane));
        self.async_access((agent, group + 1, &clock), span, false, site);
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
            self.async_access((agent, value, &clock), span, false, site);
        }
    }

    /// A cp.async of a lane: a generic write that is ordered by its group.
    pub(crate) fn cp_async(&mut self, span: (Place, u32), group: u32, site: Site) {
        let clock = self.snapshot(site);
        let agent = self.signal(Signal::Copies(self.warp(site.rank, site.warp)));
        let actor = Actor {
            agent,
            epoch: group + 1,
            clock: &clock,
            asynchronous: false,
            strong: false,
        };
        self.words(span, |race, part| {
            race.access(&actor, part, (true, true), site)
        });
    }

    /// The operands of a product, read by the warpgroup with that first warp.
    pub(crate) fn product_reads(
        &mut self,
        spans: &[(Place, u32)],
        number: u64,
        clock: &ProductClock,
        site: Site,
    ) {
        let first = self.warp(site.rank, site.warp / 4 * 4);
        let agent = self.signal(Signal::Products(first));
        for span in spans {
            self.async_access((agent, number as u32 + 1, &clock.0), *span, false, site);
        }
    }

    /// What the lanes of a site know when they issue something.
    pub(super) fn snapshot(&self, site: Site) -> Rc<Clock> {
        Rc::new(self.published(site))
    }

    /// The clock of a product, to which every warp that issues it adds what it knows.
    pub(crate) fn issue_product(&self, clock: &mut ProductClock, site: Site) {
        clock.0.join(&self.published(site));
    }
}

/// What the warps of a warpgroup know when they issue a product.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProductClock(Clock);
