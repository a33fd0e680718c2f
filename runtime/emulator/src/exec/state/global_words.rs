//! Who touched each word of global memory, within one cluster or over many.
//!
//! A word keeps its last two writers and two readers; bytes of a word may have different ones.
//! Words of one cluster are judged by clocks when they are touched (`race::global`). Clusters are
//! judged against one another when their words are joined, in the order of the clusters: nothing
//! orders two of them but a release and an acquire at one address.

use std::collections::{BTreeMap, HashMap};

use super::site::Site;
use super::view::View;
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
    /// By compare-and-swap, for which a weak load gives the seed.
    pub(crate) swaps: bool,
    /// By the async proxy.
    pub(crate) asynchronous: bool,
    pub(crate) scope: Scope,
    /// Whether the values of its words are known.
    pub(crate) exact: bool,
    /// Through the read-only cache, which does not see what the launch stores.
    pub(crate) constant: bool,
    /// One more than the group of `cp.async` that reads until its thread has waited; 0 is none.
    pub(crate) copied: u32,
}

impl Way {
    /// Whether a weak load beside it may be its seed, which a lost race only makes it repeat: of a
    /// compare-and-swap, and where much is taken on trust of every atomic.
    pub(crate) fn has_seed(&self, strict: bool) -> bool {
        self.atomic && (self.swaps || !strict)
    }

    /// The scope of an access that is not weak.
    pub(crate) fn reach(&self) -> Option<Scope> {
        self.strong.then_some(self.scope)
    }
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
    /// One more than the number of what it knows of other clusters; 0 is nothing.
    pub(crate) view: u32,
}

impl Who {
    /// Whether both are lanes of one instruction.
    pub(crate) fn together(&self, other: &Who) -> bool {
        let view = self.view;
        *self == Who { view, ..*other }
    }
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

/// The last two accesses of one kind to a word.
pub(crate) type Pair = [Slot; 2];

/// What is remembered of a page, as far as it was read or written at all.
#[derive(Debug, Default)]
struct Page {
    writers: Option<Box<[Pair]>>,
    readers: Option<Box<[Pair]>>,
}

/// The words of a page that are touched first.
fn fresh() -> Box<[Pair]> {
    vec![Pair::default(); PAGE_WORDS].into_boxed_slice()
}

/// Views that are looked for before a new one is made.
const VIEWS: usize = 32;

/// Two accesses of different clusters without order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(crate) id: FindingId,
    pub(crate) kind: &'static str,
    pub(crate) address: u64,
    pub(crate) later: (Who, u8),
    pub(crate) earlier: (Who, u8),
    /// Whether one of the two clusters is behind something of the other.
    pub(crate) half: bool,
}

/// The words that clusters touched.
#[derive(Debug, Default)]
pub(crate) struct GlobalWords {
    places: HashMap<u64, u32>,
    pages: Vec<Page>,
    /// The page that was touched last, one more than its number, and its place.
    last: (u64, u32),
    whos: Vec<Who>,
    recent: Vec<u32>,
    /// What accesses know of other clusters.
    views: Vec<View>,
    /// The last view of a cluster that has one.
    heard: BTreeMap<u32, u32>,
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
        if who.view != 0 {
            self.heard.insert(who.cluster, who.view);
        }
        self.whos.push(who);
        let number = self.whos.len() as u32;
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = number;
        }
        number
    }

    /// The number of what an access knows of other clusters.
    pub(crate) fn view(&mut self, known: &View) -> u32 {
        if known.is_empty() {
            return 0;
        }
        let start = self.views.len().saturating_sub(VIEWS);
        let same = |index: &usize| self.views.get(*index).is_some_and(|view| view.is(known));
        if let Some(index) = (start..self.views.len()).rev().find(same) {
            return index as u32 + 1;
        }
        self.views.push(known.clone());
        self.views.len() as u32
    }

    /// Who a slot stands for; `None` when it is free.
    #[inline]
    pub(crate) fn who(&self, slot: Slot) -> Option<&Who> {
        self.whos.get((slot.who as usize).checked_sub(1)?)
    }

    fn page(&mut self, page: u64) -> Option<&mut Page> {
        if self.last.0 != page + 1 {
            let pages = &mut self.pages;
            let place = self.places.entry(page).or_insert_with(|| {
                pages.push(Page::default());
                pages.len() as u32 - 1
            });
            self.last = (page + 1, *place);
        }
        self.pages.get_mut(self.last.1 as usize)
    }

    /// Remembers an access that no earlier one can be in conflict with: reads of what nobody
    /// wrote, and writes of what nobody touched. False leaves the word as it is.
    #[inline]
    pub(crate) fn first_touch(&mut self, address: u64, slot: Slot, way: (bool, bool)) -> bool {
        let index = (address % PAGE_BYTES / 4) as usize;
        let Some(page) = self.page(address / PAGE_BYTES) else {
            return false;
        };
        let free = |list: &Option<Box<[Pair]>>| {
            let pair = list.as_ref().and_then(|list| list.get(index));
            pair.is_none_or(|pair| pair[0].who == 0)
        };
        let (list, alone) = match way {
            (true, false) => (&mut page.readers, free(&page.writers)),
            (false, true) => {
                let alone = free(&page.writers) && free(&page.readers);
                (&mut page.writers, alone)
            }
            _ => return false,
        };
        if alone && let Some(pair) = list.get_or_insert_with(fresh).get_mut(index) {
            add(pair, slot);
        }
        alone
    }

    /// The last writers and readers of a word.
    #[inline]
    pub(crate) fn word(&mut self, address: u64) -> (Pair, Pair) {
        let index = (address % PAGE_BYTES / 4) as usize;
        let Some(page) = self.page(address / PAGE_BYTES) else {
            return Default::default();
        };
        let at = |list: &Option<Box<[Pair]>>| {
            let pair = list.as_ref().and_then(|list| list.get(index));
            pair.copied().unwrap_or_default()
        };
        (at(&page.writers), at(&page.readers))
    }

    /// Remembers an access to a word.
    #[inline]
    pub(crate) fn remember(&mut self, address: u64, slot: Slot, (reads, writes): (bool, bool)) {
        let index = (address % PAGE_BYTES / 4) as usize;
        let Some(page) = self.page(address / PAGE_BYTES) else {
            return;
        };
        if writes && let Some(pair) = page.writers.get_or_insert_with(fresh).get_mut(index) {
            add(pair, slot);
        }
        if reads && let Some(pair) = page.readers.get_or_insert_with(fresh).get_mut(index) {
            add(pair, slot);
        }
    }

    /// Adds the words of later clusters; gives what is in conflict with the earlier ones.
    pub(crate) fn join(&mut self, mut later: GlobalWords) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        let (base, views) = (self.whos.len() as u32, self.views.len() as u32);
        for who in &mut later.whos {
            who.view += if who.view == 0 { 0 } else { views };
        }
        self.whos.append(&mut later.whos);
        self.views.append(&mut later.views);
        let heard = later.heard.into_iter();
        self.heard
            .extend(heard.map(|(cluster, view)| (cluster, view + views)));
        self.recent.clear();
        self.last = (0, 0);
        let mut places: Vec<(u64, u32)> = later.places.into_iter().collect();
        places.sort_unstable();
        for (page, place) in places {
            let Some(theirs) = later.pages.get_mut(place as usize) else {
                continue;
            };
            let mut theirs = std::mem::take(theirs);
            for pair in theirs
                .writers
                .iter_mut()
                .chain(&mut theirs.readers)
                .flatten()
            {
                for slot in pair {
                    slot.who += if slot.who == 0 { 0 } else { base };
                }
            }
            let mut mine = self.page(page).map(std::mem::take).unwrap_or_default();
            self.compare(&mine, &theirs, page * PAGE_BYTES, &mut crossings);
            merge(&mut mine.writers, theirs.writers);
            merge(&mut mine.readers, theirs.readers);
            if let Some(page) = self.page(page) {
                *page = mine;
            }
        }
        crossings
    }

    fn compare(&self, mine: &Page, theirs: &Page, start: u64, found: &mut Vec<Crossing>) {
        let pairs = [
            (&theirs.writers, &mine.writers, "waw"),
            (&theirs.writers, &mine.readers, "war"),
            (&theirs.readers, &mine.writers, "raw"),
        ];
        for (later, earlier, kind) in pairs {
            let (Some(later), Some(earlier)) = (later, earlier) else {
                continue;
            };
            for (index, (later, earlier)) in later.iter().zip(earlier.iter()).enumerate() {
                let address = start + 4 * index as u64;
                for later in later.iter().filter(|slot| slot.who != 0) {
                    for earlier in earlier.iter().filter(|slot| slot.bytes & later.bytes != 0) {
                        found.extend(self.crossing((*later, *earlier), kind, address));
                    }
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
        let stale = kind == "raw" && l.way.constant && l.cluster != e.cluster;
        let ordered = |by: &Who, of: &Who, slot: Slot| {
            let lane = if of.way.asynchronous { 0 } else { slot.lane };
            let known = self.known(by.view);
            known.is_some_and(|known| {
                known
                    .seen
                    .has(of.cluster, of.agent + u32::from(lane), of.epoch)
            })
        };
        let apart = l.cluster != e.cluster && !ordered(&l, &e, earlier) && !ordered(&e, &l, later);
        let half = |by: &Who, of: &Who| {
            let known = self
                .heard
                .get(&by.cluster)
                .copied()
                .and_then(|view| self.known(view));
            known.is_some_and(|known| known.seen.of(of.cluster).is_some())
        };
        // A copy that reads what threads stored needs a proxy fence on either side.
        let unfenced = |by: &Who, of: &Who, slot: Slot| {
            let fenced = || {
                let agent = of.agent + u32::from(slot.lane);
                let known = self.known(by.view);
                known.is_some_and(|known| known.fenced.has(of.cluster, agent, of.epoch))
            };
            let copies = by.way.asynchronous && !of.way.asynchronous && by.cluster != of.cluster;
            copies && ordered(by, of, slot) && !fenced()
        };
        let unfenced = || match kind {
            "raw" => unfenced(&l, &e, earlier),
            "war" => unfenced(&e, &l, later),
            _ => false,
        };
        let id = match apart {
            true => unordered(
                &l.way,
                &e.way,
                same_value((later, &l), (earlier, &e), kind),
                true,
            )?,
            false if stale => FindingId::ReadOnlyWritten,
            false if unfenced() => FindingId::MissingProxyFence,
            false => return None,
        };
        Some(Crossing {
            id,
            kind,
            address,
            later: (l, later.lane),
            earlier: (e, earlier.lane),
            half: half(&l, &e) || half(&e, &l),
        })
    }

    /// A view by its number.
    fn known(&self, view: u32) -> Option<&View> {
        self.views.get((view as usize).checked_sub(1)?)
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
#[inline]
fn add(slots: &mut Pair, slot: Slot) {
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

/// Joins the words of a page. Two accesses are enough to tell whether a third one is alone.
fn merge(mine: &mut Option<Box<[Pair]>>, theirs: Option<Box<[Pair]>>) {
    let Some(theirs) = theirs else { return };
    let Some(mine) = mine else {
        *mine = Some(theirs);
        return;
    };
    for (mine, theirs) in mine.iter_mut().zip(theirs.iter()) {
        for slot in theirs {
            add(mine, *slot);
        }
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
