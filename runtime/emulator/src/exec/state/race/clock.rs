//! Vector clocks; entries that are missing are 0.

use std::sync::Arc;

use crate::exec::state::view::View;

/// What is ordered before an owner, by agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    seen: Vec<u32>,
    /// Of those in shared memory, and in global memory, which are ordered for the async proxy.
    fenced: [Vec<u32>; 2],
    /// What of other clusters was acquired.
    known: View,
    /// What of other clusters relaxed reads met, for the next fence to acquire.
    met: View,
    /// What fences covered that are ordered before the owner, of its own cluster too.
    covered: View,
}

fn raise(list: &mut Vec<u32>, agent: u32, epoch: u32) {
    let index = agent as usize;
    if list.len() <= index {
        list.resize(index + 1, 0);
    }
    if let Some(value) = list.get_mut(index) {
        *value = (*value).max(epoch);
    }
}

fn join(list: &mut Vec<u32>, other: &[u32]) {
    if list.len() < other.len() {
        list.resize(other.len(), 0);
    }
    for (value, other) in list.iter_mut().zip(other) {
        *value = (*value).max(*other);
    }
}

impl Clock {
    pub(super) fn seen(&self, agent: u32) -> u32 {
        self.seen.get(agent as usize).copied().unwrap_or(0)
    }

    pub(super) fn fenced(&self, global: bool, agent: u32) -> u32 {
        let fenced = &self.fenced[usize::from(global)];
        fenced.get(agent as usize).copied().unwrap_or(0)
    }

    /// What of other clusters is ordered before the owner.
    pub(super) fn known(&self) -> &View {
        &self.known
    }

    /// Everything that is ordered before the owner, which is of that cluster.
    pub(super) fn all(&self, own: u32) -> View {
        let mut all = self.known.clone();
        all.seen.learn(own, Arc::from(&*self.seen));
        if !self.fenced[1].is_empty() {
            all.fenced.learn(own, Arc::from(&*self.fenced[1]));
        }
        all
    }

    /// A fence covers what is ordered before it.
    pub(super) fn cover(&mut self, all: &View) {
        self.covered.join(all);
    }

    /// What fences covered; nothing where there was none.
    pub(super) fn covered(&self) -> &View {
        &self.covered
    }

    /// What fences covered, as a clock of that cluster.
    pub(super) fn of_covered(&self, own: u32) -> Clock {
        let covered = &self.covered;
        let mut clock = Clock {
            covered: covered.clone(),
            ..Clock::default()
        };
        clock.hear(covered, own);
        clock
    }

    /// Whether hearing of it, or meeting it, would tell something.
    pub(super) fn is_news(&self, known: &View, acquire: bool) -> bool {
        let mine = if acquire { &self.known } else { &self.met };
        !mine.covers(known)
    }

    /// Acquires what was released by clusters, its own one's part of it too.
    pub(super) fn hear(&mut self, known: &View, own: u32) {
        self.known.join(known);
        if let Some(epochs) = known.seen.of(own) {
            join(&mut self.seen, epochs);
        }
        if let Some(epochs) = known.fenced.of(own) {
            join(&mut self.fenced[1], epochs);
        }
    }

    /// A relaxed read met what clusters released.
    pub(super) fn meet(&mut self, known: &View) {
        self.met.join(known);
    }

    /// A fence acquires what relaxed reads met.
    pub(super) fn hear_what_was_met(&mut self, own: u32) {
        let met = std::mem::take(&mut self.met);
        self.hear(&met, own);
    }

    /// Whether relaxed reads met what no fence acquired.
    pub(super) fn has_met(&self) -> bool {
        !self.met.is_empty()
    }

    pub(super) fn see(&mut self, agent: u32, epoch: u32) {
        raise(&mut self.seen, agent, epoch);
    }

    pub(super) fn fence_agent(&mut self, spaces: (bool, bool), agent: u32, epoch: u32) {
        for (list, fences) in self.fenced.iter_mut().zip([spaces.0, spaces.1]) {
            if fences {
                raise(list, agent, epoch);
            }
        }
    }

    /// Everything seen is ordered for the async proxy: in shared memory, in global memory.
    pub(super) fn fence(&mut self, spaces: (bool, bool)) {
        for (list, fences) in self.fenced.iter_mut().zip([spaces.0, spaces.1]) {
            if fences {
                join(list, &self.seen);
            }
        }
        if spaces.1 {
            self.known.fence();
            self.covered.fence();
        }
    }

    /// Forgets the agents before a number, and other clusters.
    pub(super) fn keep_from(&mut self, agent: u32) {
        (self.known, self.met, self.covered) = Default::default();
        for list in self.fenced.iter_mut().chain([&mut self.seen]) {
            list.iter_mut()
                .take(agent as usize)
                .for_each(|epoch| *epoch = 0);
        }
    }

    pub(super) fn join(&mut self, other: &Clock) {
        join(&mut self.seen, &other.seen);
        for (list, other) in self.fenced.iter_mut().zip(&other.fenced) {
            join(list, other);
        }
        self.known.join(&other.known);
        self.met.join(&other.met);
        self.covered.join(&other.covered);
    }
}
