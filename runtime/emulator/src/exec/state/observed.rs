//! What the options ask to keep: the steps of one warp, the profile of all, what led to a finding.

use crate::counters::Counters;
use crate::history::History;
use crate::trace::TraceStep;

/// What is observed in one cluster.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) steps: Vec<TraceStep>,
    /// By instruction; empty unless asked for.
    pub(crate) profile: Vec<Counters>,
    /// Of clusters that take part in the finding that is asked for.
    pub(crate) histories: Vec<History>,
}

impl Observed {
    /// Appends what a later cluster observed.
    pub(crate) fn join(&mut self, later: Observed) {
        self.steps.extend(later.steps);
        self.histories.extend(later.histories);
        if self.profile.is_empty() {
            self.profile = later.profile;
            return;
        }
        for (mine, theirs) in self.profile.iter_mut().zip(&later.profile) {
            mine.add(theirs);
        }
    }
}
