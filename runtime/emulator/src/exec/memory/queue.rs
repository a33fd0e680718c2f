//! What completes bulk copies that were issued.
//!
//! A copy samples its operands at issue; its source is read and its destination written when it
//! is performed: at issue under EARLY, and under LATE when somebody waits for its group or nobody
//! can go on. Shared destinations are in flight in between.

use crate::exec::state::{End, Pending, Site, Span, State, Work};

impl State<'_> {
    /// Performs a copy and tells its end.
    pub(crate) fn perform(&mut self, op: Pending) {
        let site = op.site;
        self.note_end(site);
        match op.work {
            Work::Copy {
                src,
                dst,
                bytes,
                reduce,
            } => {
                let mut data = vec![0; bytes];
                self.read_span(src, &mut data, site);
                for dst in dst {
                    self.write_span(dst, &data, reduce, site);
                }
            }
            Work::Write { dst, data, reduce } => {
                self.write_span(Span::Shared(dst), &data, reduce, site);
            }
            Work::Load { map, at, dst } => self.load_tile(map, &at, &dst, site),
            Work::Store {
                map,
                at,
                src,
                reduce,
            } => self.store_tile(map, &at, src, reduce, site),
        }
        if let End::Mbarriers(places, bytes) = op.end {
            for (index, place) in places.into_iter().enumerate() {
                self.check_phase(place, op.phases.get(index).copied(), bytes, site);
                self.mbarrier_complete(place, bytes, site);
            }
        }
    }

    /// Notes that a part of an asynchronous operation is over.
    pub(crate) fn note_end(&mut self, site: Site) {
        if let Some(recorder) = &mut self.recorder {
            recorder.ended(site);
        }
    }

    /// Performs the copy at an index of the queue.
    pub(crate) fn perform_at(&mut self, index: usize) {
        if index < self.queue.pending.len() {
            let op = self.queue.pending.remove(index);
            self.events += 1;
            self.perform(op);
        }
    }

    /// Performs the copies of a lane's groups before `limit`.
    pub(crate) fn perform_groups(&mut self, site: Site, limit: u32) {
        let mine = |op: &Pending| {
            let same = |a: Site, b: Site| (a.rank, a.warp, a.lanes) == (b.rank, b.warp, b.lanes);
            matches!(op.end, End::Group(group) if group < limit) && same(op.site, site)
        };
        while let Some(index) = self.queue.pending.iter().position(mine) {
            self.perform_at(index);
        }
    }
}
