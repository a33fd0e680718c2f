//! Accesses to global memory, judged by the clocks of one cluster.

use std::rc::Rc;

use super::check::{Actor, Conflict, Other};
use super::clock::Clock;
use super::shadow::{Reader, Writer};
use super::{Race, Signal};
use crate::exec::state::global_words::{GlobalWords, Slot, Way, Who, same_value, slot, unordered};
use crate::exec::state::site::Site;
use crate::exec::state::site::{Place, lanes_of};
use crate::finding::FindingId;
use crate::inst::Order;

/// Which way an access goes, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) way: Way,
}

impl Touch {
    fn new(order: Order, reads: bool, writes: bool) -> Touch {
        let way = Way {
            strong: order.strong,
            scope: order.scope,
            exact: writes,
            constant: order.constant,
            ..Way::default()
        };
        Touch { reads, writes, way }
    }

    pub(crate) fn load(order: Order) -> Touch {
        Touch::new(order, true, false)
    }

    pub(crate) fn store(order: Order) -> Touch {
        Touch::new(order, false, true)
    }

    pub(crate) fn atomic(order: Order, swaps: bool) -> Touch {
        let mut touch = Touch::new(order, true, true);
        (touch.way.strong, touch.way.atomic, touch.way.exact) = (true, true, false);
        touch.way.swaps = swaps;
        touch
    }

    /// What `cp.async` of a group reads.
    pub(crate) fn source(group: u32) -> Touch {
        let mut touch = Touch::load(Order::default());
        touch.way.copied = group + 1;
        touch
    }

    /// A copy of the async proxy, which may reduce.
    pub(crate) fn copy(writes: bool, reduces: bool) -> Touch {
        let way = Way {
            strong: reduces,
            atomic: reduces,
            asynchronous: true,
            ..Way::default()
        };
        Touch {
            reads: !writes,
            writes,
            way,
        }
    }
}

impl Race {
    /// Accesses of a warp: `bytes` at an address of each lane; `value` gives the word at an offset.
    pub(crate) fn global_access(
        &mut self,
        touch: Touch,
        site: Site,
        (addresses, bytes): (&[u64; 32], u32),
        value: impl Fn(usize, u32) -> u32,
    ) {
        let warp = self.warp(site.rank, site.warp);
        let who = Who {
            cluster: self.number,
            site,
            agent: 32 * warp,
            epoch: self.epoch(warp),
            way: touch.way,
            view: 0,
        };
        let mut words = std::mem::take(&mut self.words);
        let mut mine: Option<(u32, u32)> = None;
        for lane in lanes_of(site.lanes) {
            let clock = self.clocks.get(32 * warp as usize + lane);
            let view = clock.map_or(0, |clock| words.view(clock.known()));
            let number = match mine {
                Some((known, number)) if known == view => number,
                _ => words.intern(Who { view, ..who }),
            };
            mine = Some((view, number));
            let (start, end) = (
                addresses[lane],
                addresses[lane].wrapping_add(u64::from(bytes)),
            );
            let here = Site {
                lanes: 1 << lane,
                ..site
            };
            self.sees_global((start, bytes), here);
            let mut at = start;
            while at < end {
                let next = (at / 4 * 4 + 4).min(end);
                let mask = (((1u32 << (next - at)) - 1) << (at % 4)) as u8;
                let value = value(lane, (at - start) as u32) << (8 * (at % 4));
                let slot = slot(number, value, mask, lane as u32);
                if !words.first_touch(at, slot, (touch.reads, touch.writes)) {
                    let agent = 32 * warp + lane as u32;
                    let actor = Actor {
                        agent,
                        epoch: who.epoch,
                        clock: &self.clock(agent),
                        asynchronous: false,
                        global: true,
                        strong: touch.way.reach(),
                        parts: &[],
                    };
                    self.global_word(&mut words, (touch, &who), &actor, (at, slot));
                }
                at = next;
            }
        }
        self.words = words;
    }

    /// Bytes that a copy touches; the signal tells when it is over.
    pub(crate) fn global_copy(
        &mut self,
        touch: Touch,
        (agent, epoch): (u32, u32),
        spans: &[(u64, u32)],
        site: Site,
    ) {
        let clock: Rc<Clock> = self.snapshot(site);
        let actor = Actor {
            agent,
            epoch,
            clock: &clock,
            asynchronous: true,
            global: true,
            strong: touch.way.reach(),
            parts: &[],
        };
        let who = Who {
            cluster: self.number,
            site,
            agent,
            epoch,
            way: touch.way,
            view: self.words.view(clock.known()),
        };
        let mut words = std::mem::take(&mut self.words);
        let number = words.intern(who);
        for (start, bytes) in spans {
            let end = start.wrapping_add(u64::from(*bytes));
            self.sees_global((*start, *bytes), site);
            let mut at = *start;
            while at < end {
                let next = (at / 4 * 4 + 4).min(end);
                let mask = (((1u32 << (next - at)) - 1) << (at % 4)) as u8;
                let slot = slot(number, 0, mask, 0);
                if !words.first_touch(at, slot, (touch.reads, touch.writes)) {
                    self.global_word(&mut words, (touch, &who), &actor, (at, slot));
                }
                at = next;
            }
        }
        self.words = words;
    }

    /// The signal and value of a thread's bulk copies: of their writes.
    pub(crate) fn bulk_writes(&mut self, group: u32, site: Site) -> (u32, u32) {
        let lane = site.lanes.trailing_zeros();
        let thread = 32 * self.warp(site.rank, site.warp) + lane;
        (self.signal(Signal::BulkWrites(thread)), group + 1)
    }

    /// The signal and value of copies that end in a phase of an mbarrier.
    pub(crate) fn object_signal(&self, (place, phase): (Place, u64)) -> Option<(u32, u32)> {
        let object = self.objects.get(&place)?;
        Some((object.signal, phase as u32 + 1))
    }

    /// Judges an access to a word behind those that are remembered, and remembers it.
    fn global_word(
        &mut self,
        words: &mut GlobalWords,
        (touch, who): (Touch, &Who),
        actor: &Actor<'_>,
        (address, slot): (u64, Slot),
    ) {
        let (writers, readers) = words.word(address);
        let lane = (actor.agent % 32) as u8;
        let mine = |other: &Who, known: &Slot| {
            other.agent == who.agent && known.lane == lane && !actor.asynchronous
        };
        for known in writers.iter().filter(|known| known.bytes & slot.bytes != 0) {
            if let Some(other) = words.who(*known).filter(|_| touch.way.constant) {
                let id = FindingId::ReadOnlyWritten;
                self.global_conflict(id, "raw", (address, who, slot), (other, *known));
                continue;
            }
            let Some(other) = words.who(*known).filter(|other| !mine(other, known)) else {
                continue;
            };
            let kind = if touch.writes { "waw" } else { "raw" };
            // Lanes of one instruction that hit one word: one of them wins.
            let together = who.together(other);
            let equal = same_value((slot, who), (*known, other), kind);
            if together && equal {
                continue;
            }
            let unknown = !(who.way.exact && other.way.exact);
            let same = equal || together && unknown;
            if let Some(id) = self.behind_global_writer(actor, (other, *known), touch, same) {
                self.global_conflict(id, kind, (address, who, slot), (other, *known));
            }
        }
        for known in readers.iter().filter(|known| known.bytes & slot.bytes != 0) {
            let over = |other: &&Who| other.way.copied == 0 && mine(other, known);
            let Some(other) = words.who(*known).filter(|other| !over(other)) else {
                continue;
            };
            if touch.writes
                && let Some(id) = self.behind_global_reader(actor, (other, *known), touch)
            {
                self.global_conflict(id, "war", (address, who, slot), (other, *known));
            }
        }
        words.remember(address, slot, (touch.reads, touch.writes));
    }

    fn behind_global_writer(
        &self,
        actor: &Actor<'_>,
        (other, slot): (&Who, Slot),
        touch: Touch,
        same: bool,
    ) -> Option<FindingId> {
        let signal = other.way.asynchronous;
        let agent = if signal {
            other.agent
        } else {
            other.agent + u32::from(slot.lane)
        };
        if other.way.strong && touch.way.strong {
            let seen = actor.clock.seen(agent) >= other.epoch || agent == actor.agent;
            let near = other.site.rank == self.rank_of(actor.agent);
            let id = unordered(&touch.way, &other.way, same, false);
            return id.filter(|id| !(seen || near && *id == FindingId::AtomicScope));
        }
        let writer = Writer {
            agent,
            epoch: other.epoch,
            pc: other.site.pc,
            bytes: slot.bytes,
            strong: other.way.reach(),
        };
        match self.behind_writer(actor, &writer, touch.writes)? {
            FindingId::RaceShared if !touch.writes && other.way.has_seed(self.strict) => None,
            FindingId::RaceShared if same => Some(FindingId::RaceSameValue),
            FindingId::AsyncNotWaited if !touch.writes => Some(FindingId::AsyncNotWaited),
            FindingId::RaceShared | FindingId::AsyncNotWaited => Some(FindingId::RaceGlobal),
            other => Some(other),
        }
    }

    fn behind_global_reader(
        &self,
        actor: &Actor<'_>,
        (other, slot): (&Who, Slot),
        touch: Touch,
    ) -> Option<FindingId> {
        if touch.way.has_seed(self.strict) && !other.way.asynchronous && !other.way.strong {
            return None;
        }
        if touch.way.strong && other.way.strong {
            return None;
        }
        if other.way.copied != 0 {
            let thread = other.agent + u32::from(slot.lane);
            let group = (thread, other.way.copied);
            return (!self.behind_copies(actor, group)).then_some(FindingId::RaceGlobal);
        }
        let reader = Reader {
            agent: other.agent,
            epoch: other.epoch,
            lanes: 1 << slot.lane,
            pc: other.site.pc,
            strong: other.way.reach(),
            bytes: slot.bytes,
        };
        let id = self.behind_reader(actor, &reader)?;
        (id != FindingId::MissingProxyFenceWar).then_some(FindingId::RaceGlobal)
    }

    fn global_conflict(
        &mut self,
        id: FindingId,
        kind: &'static str,
        (address, who, slot): (u64, &Who, Slot),
        (other, known): (&Who, Slot),
    ) {
        let lanes = if who.way.asynchronous {
            who.site.lanes
        } else {
            1 << slot.lane
        };
        self.conflicts.push(Conflict {
            id,
            kind,
            place: (0, 0),
            address: Some(address),
            site: Site { lanes, ..who.site },
            other: Other::new(other.site.pc, other.agent, u32::from(known.lane)),
        });
    }

    pub(super) fn rank_of(&self, agent: u32) -> u32 {
        agent / 32 / self.warps.max(1)
    }
}
