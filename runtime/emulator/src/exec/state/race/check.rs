//! Accesses against what is remembered of their words.

use super::Race;
use super::clock::Clock;
use super::shadow::{Cell, Reader, Writer};
use crate::exec::state::site::{AccessKind, Site};
use crate::exec::state::site::{Place, lanes_of};
use crate::finding::FindingId;
use crate::inst::Scope;

/// Readers of one word that are kept beside it.
const CROWD: usize = 64;

/// Two accesses without order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) id: FindingId,
    pub(crate) kind: &'static str,
    pub(crate) place: Place,
    /// The address when it is in global memory.
    pub(crate) address: Option<u64>,
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

impl Other {
    /// A lane of the warp whose lane 0 is an agent, or a signal.
    pub(super) fn new(pc: u32, agent: u32, lane: u32) -> Other {
        let lanes = 1 << (lane % 32);
        Other { pc, agent, lanes }
    }
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
    pub(super) agent: u32,
    pub(super) epoch: u32,
    pub(super) clock: &'c Clock,
    /// An operation of the async proxy.
    pub(super) asynchronous: bool,
    /// Whether it accesses global memory, else shared.
    pub(super) global: bool,
    /// The scope of an access that is not weak.
    pub(super) strong: Option<Scope>,
    /// The warps that access together, where each of them needs the order by itself; else empty.
    pub(super) parts: &'c [Part],
}

/// A warp that takes part in a product, and what it knew when it issued it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) site: Site,
    pub(super) clock: Clock,
}

impl Part {
    /// Which of the four warps it is.
    pub(super) fn warp(&self) -> u32 {
        self.site.warp % 4
    }
}

impl Actor<'_> {
    /// What a reader is remembered by: the warps of a product, each with a signal of its own behind
    /// the agent, or the one signal of anything else.
    fn signals(&self) -> u32 {
        let warps = self.parts.iter().map(|part| 1 << part.warp());
        warps.fold(0, |all, warp| all | warp).max(1)
    }
}

impl Race {
    /// What is wrong with two accesses that are not weak and that nothing orders: in strict mode
    /// those of two CTAs have to reach the cluster.
    fn between(&self, a: (u32, Scope), b: (u32, Scope)) -> Option<FindingId> {
        let near = self.rank_of(a.0) == self.rank_of(b.0);
        let reach = a.1.min(b.1) != Scope::Cta;
        Some(FindingId::AtomicScope).filter(|_| self.strict && !near && !reach)
    }

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
    pub(super) fn behind_writer(
        &self,
        actor: &Actor<'_>,
        w: &Writer,
        writes: bool,
    ) -> Option<FindingId> {
        let signal = self.is_signal(w.agent);
        if w.bytes == 0 || w.agent == actor.agent && !actor.asynchronous && !signal {
            return None;
        }
        let owner = self.copy_owners.get(&w.agent).filter(|_| signal);
        if let Some(thread) = owner {
            return self.behind_copy(actor, (*thread, w), writes);
        }
        if actor.clock.seen(w.agent) < w.epoch {
            return match (signal, w.strong.zip(actor.strong)) {
                // Reads that end with it; what else is written there is in no order.
                (true, _) if w.agent == actor.agent && !writes => None,
                (true, _) => Some(FindingId::AsyncNotWaited),
                (false, Some((theirs, mine))) => {
                    self.between((w.agent, theirs), (actor.agent, mine))
                }
                (false, None) => Some(FindingId::RaceShared),
            };
        }
        let fenced = actor.clock.fenced(actor.global, w.agent) >= w.epoch;
        if !actor.asynchronous || fenced || signal {
            return None;
        }
        if writes {
            return Some(FindingId::MissingProxyFenceWar).filter(|_| self.strict);
        }
        Some(FindingId::MissingProxyFence)
    }

    /// The same of each warp of an actor, with the site of the first for which something is wrong.
    fn parts_behind_writer(
        &self,
        actor: &Actor<'_>,
        w: &Writer,
        (writes, site): (bool, Site),
    ) -> Option<(FindingId, Site)> {
        if actor.parts.is_empty() {
            return self.behind_writer(actor, w, writes).map(|id| (id, site));
        }
        actor.parts.iter().find_map(|part| {
            let alone = Actor {
                clock: &part.clock,
                parts: &[],
                ..*actor
            };
            let wrong = self.behind_writer(&alone, w, writes);
            wrong.map(|id| (id, part.site))
        })
    }

    /// What is wrong with a writing actor behind a reader.
    pub(super) fn behind_reader(&self, actor: &Actor<'_>, r: &Reader) -> Option<FindingId> {
        if r.lanes == 0 {
            return None;
        }
        if let Some((theirs, mine)) = r.strong.zip(actor.strong) {
            return self.between((r.agent, theirs), (actor.agent, mine));
        }
        if self.is_signal(r.agent) {
            let mut signals = lanes_of(r.lanes).map(|part| r.agent + part as u32);
            let seen = signals.all(|signal| actor.clock.seen(signal) >= r.epoch);
            return match (seen || r.agent == actor.agent, actor.asynchronous) {
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
        let late = others.any(|agent| actor.clock.fenced(actor.global, agent) < r.epoch);
        Some(FindingId::MissingProxyFenceWar).filter(|_| actor.asynchronous && self.strict && late)
    }

    /// A write of bytes of a word behind its readers, those with no place beside it included. A
    /// store of some bytes says nothing about readers of the others.
    fn behind_readers(
        &mut self,
        actor: &Actor<'_>,
        cell: &mut Cell,
        (place, bytes): (Place, u8),
        site: Site,
    ) {
        let word = (place.0, place.1 / 4);
        let mut crowd = match self.crowded.is_empty() {
            true => Vec::new(),
            false => self.crowded.remove(&word).unwrap_or_default(),
        };
        for reader in cell.readers.iter_mut().chain(&mut crowd) {
            if reader.bytes & bytes == 0 {
                continue;
            }
            if let Some(id) = self.behind_reader(actor, reader) {
                self.conflict(id, "war", (place, site), reader.side());
            }
            reader.bytes &= !bytes;
            if reader.bytes == 0 {
                *reader = Reader::default();
            }
        }
        crowd.retain(|reader| reader.lanes != 0);
        if !crowd.is_empty() {
            self.crowded.insert(word, crowd);
        }
    }

    fn conflict(&mut self, id: FindingId, what: &'static str, at: (Place, Site), other: Other) {
        self.conflicts.push(Conflict {
            id,
            kind: what,
            place: at.0,
            address: None,
            site: at.1,
            other,
        });
    }

    /// One access to bytes of one word.
    pub(super) fn access(
        &mut self,
        actor: &Actor<'_>,
        cell: &mut Cell,
        (place, bytes): (Place, u8),
        (reads, writes): (bool, bool),
        site: Site,
    ) {
        if cell.writer.bytes & bytes != 0
            && let Some((id, site)) = self.parts_behind_writer(actor, &cell.writer, (writes, site))
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
            lanes: actor.signals(),
            pc: site.pc,
            bytes,
            strong: actor.strong,
        };
        if writes {
            self.behind_readers(actor, cell, (place, bytes), site);
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
            let ordered = |known: &Reader| {
                let threads = lanes_of(known.lanes).map(|lane| known.agent + lane as u32);
                !self.is_signal(known.agent)
                    && threads
                        .map(|thread| clock.seen(thread))
                        .all(|seen| seen >= known.epoch)
            };
            if let Some(left) = cell.read(reader, ordered) {
                let word = (place.0, place.1 / 4);
                crowd(self.crowded.entry(word).or_default(), left);
            }
        }
    }

    fn rewrite(&mut self, id: FindingId, at: (Place, Site), other: Other) {
        let conflict = Conflict {
            id,
            kind: "waw",
            place: at.0,
            address: None,
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
        let actor = Actor {
            agent,
            epoch: self.epoch(warp),
            clock: &clock,
            asynchronous: false,
            global: false,
            strong: kind.scope(),
            parts: &[],
        };
        let site = Site {
            lanes: 1 << lane,
            ..site
        };
        self.sees_shared((place, bytes), site);
        self.words((place, bytes), |race, cell, part| {
            race.access(&actor, cell, part, kind.ways(), site)
        });
    }

    /// Calls `f` with each word of a span and the bytes of it that are meant.
    pub(super) fn words(
        &mut self,
        span: (Place, u32),
        mut f: impl FnMut(&mut Race, &mut Cell, (Place, u8)),
    ) {
        let ((rank, offset), bytes) = span;
        let row = self.shadow.get_mut(rank as usize);
        let mut row = row.map(std::mem::take).unwrap_or_default();
        let mut at = offset;
        // Words outside shared memory have no shadow.
        let end = offset.saturating_add(bytes).min(4 * row.len() as u32);
        while at < end {
            let next = (at / 4 * 4 + 4).min(end);
            let mask = ((1u32 << (next - at)) - 1) << (at % 4);
            if let Some(cell) = row.get_mut(at as usize / 4) {
                f(self, cell, ((rank, at), mask as u8));
            }
            at = next;
        }
        if let Some(place) = self.shadow.get_mut(rank as usize) {
            *place = row;
        }
    }
}

/// Keeps a reader beside its word. A later one of the same lanes stands for an earlier one.
fn crowd(readers: &mut Vec<Reader>, left: Reader) {
    readers.retain(|known| !known.before(&left));
    if readers.len() >= CROWD {
        readers.remove(0);
    }
    readers.push(left);
}
