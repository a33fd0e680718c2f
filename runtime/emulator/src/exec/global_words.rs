//! Who touched each word of global memory, within one cluster or over many.
//!
//! A word keeps its last two writers and two readers; bytes of a word may have different ones.
//! Words of one cluster are judged by clocks when they are touched (`race::global`). Clusters are
//! judged against one another when their words are joined, in the order of the clusters: nothing
//! orders two of them but a release and an acquire at one address.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::state::Site;
use crate::finding::FindingId;
use crate::inst::Scope;

/// Bytes that are remembered together.
const PAGE_BYTES: u64 = 4096;
const PAGE_WORDS: usize = 1024;
/// Sets of accesses that are looked for before a new one is made.
const KNOWN: usize = 1024;

/// How an access was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// An atomic, or a strong load or store.
    pub(crate) strong: bool,
    pub(crate) atomic: bool,
    /// By the async proxy.
    pub(crate) asynchronous: bool,
    pub(crate) scope: Scope,
    /// Whether the values of its words are known.
    pub(crate) exact: bool,
}

/// Accesses of one instruction that share all but the lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) cluster: u32,
    pub(crate) site: Site,
    /// The agent of lane 0, or the signal that tells the end.
    pub(crate) agent: u32,
    pub(crate) epoch: u32,
    pub(crate) way: Way,
}

/// One access to one word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// One more than the index of who it was; 0 when the place is free.
    who: u32,
    pub(crate) value: u32,
    pub(crate) bytes: u8,
    pub(crate) lane: u8,
}

impl Slot {
    /// Whether both are of lanes of one instruction.
    pub(crate) fn together(&self, other: &Slot) -> bool {
        self.who == other.who
    }
}

/// The last accesses to one word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    pub(crate) writers: [Slot; 2],
    pub(crate) readers: [Slot; 2],
}

/// Two accesses of different clusters without order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(crate) id: FindingId,
    pub(crate) kind: &'static str,
    pub(crate) address: u64,
    pub(crate) later: (Who, u8),
    pub(crate) earlier: (Who, u8),
}

/// The words that clusters touched.
#[derive(Debug, Default)]
pub(crate) struct GlobalWords {
    pages: HashMap<u64, Box<[Word]>>,
    whos: Vec<Who>,
    recent: Vec<u32>,
    /// For each cluster those that are ordered before some of its accesses.
    pub(crate) knows: BTreeMap<u32, BTreeSet<u32>>,
}

impl GlobalWords {
    /// The number of an access for its slots.
    pub(crate) fn intern(&mut self, who: Who) -> u32 {
        self.recent.resize(KNOWN, 0);
        let place = (who.site.pc as usize * 31 + who.site.warp as usize) % KNOWN;
        let known = self.recent.get(place).copied().unwrap_or(0);
        if known != 0 && self.whos.get(known as usize - 1) == Some(&who) {
            return known;
        }
        self.whos.push(who);
        let number = self.whos.len() as u32;
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = number;
        }
        number
    }

    /// Who a slot stands for; `None` when it is free.
    #[inline]
    pub(crate) fn who(&self, slot: Slot) -> Option<&Who> {
        self.whos.get((slot.who as usize).checked_sub(1)?)
    }

    #[inline]
    pub(crate) fn word(&mut self, address: u64) -> &mut Word {
        let page = self
            .pages
            .entry(address / PAGE_BYTES)
            .or_insert_with(|| vec![Word::default(); PAGE_WORDS].into_boxed_slice());
        &mut page[(address % PAGE_BYTES / 4) as usize % PAGE_WORDS]
    }

    /// Adds the words of later clusters; gives what is in conflict with the earlier ones.
    pub(crate) fn join(&mut self, later: GlobalWords) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        let base = self.whos.len() as u32;
        self.whos.extend(&later.whos);
        self.recent.clear();
        self.knows.extend(later.knows);
        let moved = |mut slot: Slot| {
            slot.who += if slot.who == 0 { 0 } else { base };
            slot
        };
        let mut pages: Vec<(u64, Box<[Word]>)> = later.pages.into_iter().collect();
        pages.sort_unstable_by_key(|(page, _)| *page);
        for (page, mut words) in pages {
            for word in words.iter_mut() {
                word.writers = word.writers.map(moved);
                word.readers = word.readers.map(moved);
            }
            let Some(mut mine) = self.pages.remove(&page) else {
                self.pages.insert(page, words);
                continue;
            };
            for (index, (mine, theirs)) in mine.iter_mut().zip(words.iter()).enumerate() {
                let address = page * PAGE_BYTES + 4 * index as u64;
                self.compare(mine, theirs, address, &mut crossings);
                for slot in theirs.writers {
                    add(&mut mine.writers, slot);
                }
                for slot in theirs.readers {
                    add(&mut mine.readers, slot);
                }
            }
            self.pages.insert(page, mine);
        }
        crossings
    }

    fn compare(&self, mine: &Word, theirs: &Word, address: u64, found: &mut Vec<Crossing>) {
        let pairs = [
            (theirs.writers, mine.writers, "waw"),
            (theirs.writers, mine.readers, "war"),
            (theirs.readers, mine.writers, "raw"),
        ];
        for (later, earlier, kind) in pairs {
            for later in later.iter().filter(|slot| slot.who != 0) {
                for earlier in earlier.iter().filter(|slot| slot.bytes & later.bytes != 0) {
                    found.extend(self.crossing((*later, *earlier), kind, address));
                }
            }
        }
    }

    fn crossing(
        &self,
        (later, earlier): (Slot, Slot),
        kind: &'static str,
        address: u64,
    ) -> Option<Crossing> {
        let (l, e) = (*self.who(later)?, *self.who(earlier)?);
        let ordered = |a: u32, b: u32| self.knows.get(&a).is_some_and(|known| known.contains(&b));
        if l.cluster == e.cluster || ordered(l.cluster, e.cluster) || ordered(e.cluster, l.cluster)
        {
            return None;
        }
        let id = unordered(
            &l.way,
            &e.way,
            same_value((later, &l), (earlier, &e), kind),
            true,
        )?;
        Some(Crossing {
            id,
            kind,
            address,
            later: (l, later.lane),
            earlier: (e, earlier.lane),
        })
    }
}

/// What two accesses are that nothing orders; `far` when they are of different clusters.
pub(crate) fn unordered(a: &Way, b: &Way, same_value: bool, far: bool) -> Option<FindingId> {
    if !a.strong || !b.strong {
        let id = if same_value {
            FindingId::RaceSameValue
        } else {
            FindingId::RaceGlobal
        };
        return Some(id);
    }
    if a.asynchronous != b.asynchronous {
        return Some(FindingId::MixedProxyAtomic);
    }
    let narrow = if far { Scope::Cluster } else { Scope::Cta };
    (a.scope <= narrow || b.scope <= narrow).then_some(FindingId::AtomicScope)
}

/// Whether two writers left the same bytes.
pub(crate) fn same_value(a: (Slot, &Who), b: (Slot, &Who), kind: &str) -> bool {
    let common = a.0.bytes & b.0.bytes;
    let byte = |index: u32| {
        if common >> index & 1 == 1 {
            0xff << (8 * index)
        } else {
            0
        }
    };
    let mask: u32 = (0..4).map(byte).sum();
    kind == "waw" && a.1.way.exact && b.1.way.exact && (a.0.value ^ b.0.value) & mask == 0
}

/// Remembers an access: in place of one to the same bytes, in a free place, or of the older one.
pub(crate) fn add(slots: &mut [Slot; 2], slot: Slot) {
    if slot.who == 0 {
        return;
    }
    let [first, second] = slots;
    if first.who == 0 || first.bytes & !slot.bytes == 0 {
        *first = slot;
    } else if second.who == 0 || second.bytes & !slot.bytes == 0 {
        *second = slot;
    } else {
        *first = *second;
        *second = slot;
    }
}

/// A slot of an access.
pub(crate) fn slot(who: u32, value: u32, bytes: u8, lane: u32) -> Slot {
    Slot {
        who,
        value,
        bytes,
        lane: lane as u8,
    }
}
