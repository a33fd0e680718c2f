//! Vector clocks; entries that are missing are 0.

/// What is ordered before an owner, by agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    seen: Vec<u32>,
    fenced: Vec<u32>,
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

    pub(super) fn fenced(&self, agent: u32) -> u32 {
        self.fenced.get(agent as usize).copied().unwrap_or(0)
    }

    pub(super) fn see(&mut self, agent: u32, epoch: u32) {
        raise(&mut self.seen, agent, epoch);
    }

    pub(super) fn fence_agent(&mut self, agent: u32, epoch: u32) {
        raise(&mut self.fenced, agent, epoch);
    }

    /// Everything seen is ordered for the async proxy.
    pub(super) fn fence(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        join(&mut self.fenced, &seen);
        self.seen = seen;
    }

    /// Forgets the agents before a number.
    pub(super) fn keep_from(&mut self, agent: u32) {
        for list in [&mut self.seen, &mut self.fenced] {
            list.iter_mut()
                .take(agent as usize)
                .for_each(|epoch| *epoch = 0);
        }
    }

    pub(super) fn join(&mut self, other: &Clock) {
        join(&mut self.seen, &other.seen);
        join(&mut self.fenced, &other.fenced);
    }
}
