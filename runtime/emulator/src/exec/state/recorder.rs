//! Keeps what leads to a finding while a cluster runs.
//!
//! Comes in: each step of each warp that may order accesses or touch the address. Goes out: a
//! [`History`]. Bounded: of long runs the end is kept, and of accesses to the address more.

use std::collections::{BTreeMap, VecDeque};

use super::site::Site;
use crate::finding::{Finding, FindingId};
use crate::history::{Event, EventKind, History, Operation};

/// Events that are kept of those that touch the address, and of the others.
const MOST: usize = 4096;

/// An operation that is not over.
#[derive(Debug)]
struct Open {
    /// Its number among the operations.
    number: usize,
    site: Site,
    /// Parts of it that are not over.
    left: u32,
    /// Groups that its warp closed before it.
    group: u32,
    /// Whether it is a product, which ends where its group is waited for.
    is_product: bool,
}

/// What is kept on the way to a finding.
#[derive(Debug)]
pub(crate) struct Recorder {
    finding: Finding,
    step: u64,
    hitting: VecDeque<Event>,
    others: VecDeque<Event>,
    operations: Vec<Operation>,
    open: Vec<Open>,
    /// Parts that were over before their step was.
    early: Vec<Site>,
    /// Groups that warps closed, by rank and warp.
    groups: BTreeMap<(u32, u32), u32>,
    /// Whether this step made the finding.
    saw: bool,
    found: Option<u64>,
}

/// A step of a warp.
pub(crate) struct Stepped {
    pub(crate) event: Event,
    pub(crate) site: Site,
    /// Operations that it issued, and whether they are one product of a warpgroup.
    pub(crate) issued: Option<(u32, bool)>,
    /// The groups that may be left, where it waited for products.
    pub(crate) waited: Option<u32>,
}

impl Recorder {
    pub(crate) fn new(finding: Finding) -> Recorder {
        Recorder {
            finding,
            step: 0,
            hitting: VecDeque::new(),
            others: VecDeque::new(),
            operations: Vec::new(),
            open: Vec::new(),
            early: Vec::new(),
            groups: BTreeMap::new(),
            saw: false,
            found: None,
        }
    }

    /// Counts a step; gives its number.
    pub(crate) fn count_step(&mut self) -> u64 {
        self.step += 1;
        self.step
    }

    /// An occurrence of a finding, which may be the one that is looked for.
    pub(crate) fn reported(&mut self, id: FindingId, pc: u32, (cta, warp): ([u32; 3], u32)) {
        let Finding {
            id: its, pc: at, ..
        } = self.finding;
        self.saw |= (its, at, self.finding.cta, self.finding.warp) == (id, pc, cta, warp);
    }

    /// Whether the step that is under way made the finding.
    pub(crate) fn saw(&self) -> bool {
        self.saw
    }

    /// Keeps a step.
    pub(crate) fn keep_step(&mut self, stepped: Stepped) {
        let Stepped { event, site, .. } = stepped;
        if self.saw && self.found.is_none() {
            self.found = Some(event.step);
        }
        let commits = event.kind == EventKind::Commit;
        let groups = self.groups.entry((site.rank, site.warp)).or_default();
        *groups += u32::from(commits);
        let group = *groups;
        if let Some(pending) = stepped.waited {
            self.products_waited(site, group.saturating_sub(pending), event.step);
        }
        if let Some((left, is_product)) = stepped.issued {
            let number = self.operations.len();
            self.operations.push(Operation {
                issued: event.step,
                ended: None,
                pc: event.pc,
                line: event.line,
                by: event.by,
                hits: event.hits != 0,
            });
            self.open.push(Open {
                number,
                site,
                left,
                group,
                is_product,
            });
        }
        for site in std::mem::take(&mut self.early) {
            self.end_part(site, event.step);
        }
        self.keep_event(event);
    }

    /// Keeps an event, where it is not the last one of its warp again.
    fn keep_event(&mut self, event: Event) {
        let events = match event.hits != 0 || event.kind == EventKind::Access {
            true => &mut self.hitting,
            false => &mut self.others,
        };
        let same = |one: &&mut Event| (one.by.cta, one.by.warp) == (event.by.cta, event.by.warp);
        let last = events.iter_mut().rev().find(same);
        if let Some(last) = last
            && (last.pc, last.by.lanes) == (event.pc, event.by.lanes)
            && matches!(event.kind, EventKind::Wait | EventKind::Barrier)
        {
            (last.until, last.waits) = (event.step, event.waits);
            return;
        }
        if events.len() == MOST {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// Who touched the address besides the warp whose step it is: operations.
    pub(crate) fn touched(&mut self, site: Site) {
        let mut open = self.open.iter().rev();
        let of = |open: &&Open| Self::is_of(open, site);
        if let Some(operation) = open
            .find(of)
            .and_then(|open| self.operations.get_mut(open.number))
        {
            operation.hits = true;
        }
    }

    fn is_of(open: &Open, site: Site) -> bool {
        let unit = if open.is_product { 4 } else { 1 };
        let place = |site: Site| (site.pc, site.rank, site.warp / unit);
        place(open.site) == place(site)
    }

    /// A part of an operation is over.
    pub(crate) fn ended(&mut self, site: Site) {
        match self.open.iter().any(|open| Self::is_of(open, site)) {
            true => self.end_part(site, self.step),
            false => self.early.push(site),
        }
    }

    fn end_part(&mut self, site: Site, step: u64) {
        let Some(at) = self.open.iter().position(|open| Self::is_of(open, site)) else {
            return;
        };
        let open = &mut self.open[at];
        open.left = open.left.saturating_sub(1);
        if open.left == 0 {
            if let Some(operation) = self.operations.get_mut(open.number) {
                operation.ended = Some(step);
            }
            self.open.remove(at);
        }
    }

    /// Products of a warpgroup that belong to groups before `done` are over.
    fn products_waited(&mut self, site: Site, done: u32, step: u64) {
        let operations = &mut self.operations;
        self.open.retain(|open| {
            let mine = (open.site.rank, open.site.warp) == (site.rank, site.warp);
            let over = open.is_product && mine && open.group < done;
            if let Some(operation) = operations.get_mut(open.number).filter(|_| over) {
                operation.ended = Some(step);
            }
            !over
        });
    }

    /// What was kept.
    pub(crate) fn finish(self, ctas: Vec<[u32; 3]>) -> History {
        let mut events: Vec<Event> = self.hitting.into_iter().chain(self.others).collect();
        events.sort_by_key(|event| event.step);
        let other = self.finding.other.map(|other| other.pc);
        let named = |pc: u32| pc == self.finding.pc || Some(pc) == other;
        let mut operations = self.operations;
        operations.retain(|operation| operation.hits || named(operation.pc));
        History {
            ctas,
            events,
            operations,
            steps: self.step,
            found: self.found,
        }
    }
}
