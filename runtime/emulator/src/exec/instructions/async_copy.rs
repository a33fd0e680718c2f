//! `cp.async` and its groups.
//!
//! A copy is queued for its lane. Its destination is *in flight* from issue until the lane waits
//! for its group, under every order: EARLY moves the data at issue, LATE when it is waited for,
//! and an access in between is `async_not_waited` either way. An uncommitted copy belongs to no
//! group that a wait covers.

use crate::exec::state::{
    AccessKind, DEFINED, Flow, IN_FLIGHT, PendingCopy, Site, State, Touch, Warp,
};
use crate::finding::{FindingId, Space};
use crate::inst::{AsyncCopy, Lanes, Order};
use crate::module::WINDOW_SHIFT;

impl Warp {
    pub(crate) fn async_copy(&mut self, st: &mut State<'_>, copy: &AsyncCopy, mask: u32) -> Flow {
        let shared = self.addresses(st, &copy.dst, mask);
        let global = self.addresses(st, &copy.src, mask);
        let limit = u64::from(copy.bytes);
        let mut src_bytes = [limit; 32];
        if let Some(src) = &copy.src_bytes {
            let sizes = self.values(st, src, mask);
            self.check_sizes(st, (&sizes, &global), copy.bytes, mask);
            src_bytes = sizes.map(|size| u64::from(size as u32).min(limit));
        }
        let ignored = self.pred(&copy.ignore_src, mask) & mask;
        let reads = (0..32)
            .filter(|lane| ignored >> lane & 1 == 0 && src_bytes[*lane] > 0)
            .fold(0, |all, lane| all | 1 << lane)
            & mask;
        // `cvta` of a shared address gives a generic one; the instruction wants the plain address.
        let bytes = copy.bytes;
        st.observe(
            Space::Shared,
            AccessKind::AsyncCopy,
            self.site(mask),
            &shared,
            bytes,
        );
        st.observe(
            Space::Global,
            AccessKind::AsyncCopy,
            self.site(reads),
            &global,
            bytes,
        );
        let lanes = self.aligned_lanes(st, Space::Shared, &shared, bytes, mask);
        let aligned_reads = self.aligned_lanes(st, Space::Global, &global, bytes, reads & lanes);
        let lanes = lanes & (aligned_reads | !reads);
        if st.race.is_some() {
            for (group, lanes) in self.by_group(reads & lanes) {
                let (touch, site) = (Touch::source(group), self.site(lanes));
                st.watch_global(touch, Order::default(), site, (&global, bytes), |_, _| 0);
            }
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let reads = reads >> lane & 1 == 1;
            let pending = PendingCopy {
                dst: shared[lane].wrapping_sub(st.near.base) as usize,
                src: global[lane],
                bytes,
                src_bytes: if reads { src_bytes[lane] as u32 } else { 0 },
                group: self.committed[lane],
                pc: self.pc(),
                moved: false,
            };
            if self.copy_in_bounds(st, &pending, shared[lane], lane) {
                self.issue_copy(st, pending, lane);
            }
        }
        st.report_conflicts();
        Flow::Next
    }

    /// A source longer than its copy is undefined behaviour (ISA, cp.async).
    fn check_sizes(
        &mut self,
        st: &mut State<'_>,
        (sizes, sources): (&Lanes, &Lanes),
        bytes: u32,
        mask: u32,
    ) {
        let longer = |lane: &u32| mask >> lane & 1 == 1 && sizes[*lane as usize] as u32 > bytes;
        let Some(lane) = (0..32).find(longer) else {
            return;
        };
        let (size, source) = (sizes[lane as usize] as u32, sources[lane as usize]);
        let location = st.locate(Space::Global, source);
        let site = self.site(1 << lane);
        st.report(FindingId::OobGlobal, site, Some(location), || {
            format!("a copy of {bytes} bytes is told to read {size}: the source is too long")
        });
    }

    /// Whether both sides of a copy exist; reports the side that does not.
    fn copy_in_bounds(
        &mut self,
        st: &mut State<'_>,
        copy: &PendingCopy,
        shared: u64,
        lane: usize,
    ) -> bool {
        let end = (copy.dst as u64).checked_add(u64::from(copy.bytes));
        if end.is_none_or(|end| end > u64::from(st.env.shared_bytes)) {
            self.out_of_bounds(st, Space::Shared, shared, u64::from(copy.bytes), lane);
            return false;
        }
        let bytes = u64::from(copy.src_bytes);
        if bytes == 0 {
            return true;
        }
        let source = st.env.global.find(copy.src, bytes, &mut st.region_hint);
        let inside = source.is_some() && copy.src >> WINDOW_SHIFT < 0x7b;
        if !inside {
            self.out_of_bounds(st, Space::Global, copy.src, bytes, lane);
        }
        inside
    }

    /// Queues a copy; its data moves at once under EARLY.
    fn issue_copy(&mut self, st: &mut State<'_>, mut pending: PendingCopy, lane: usize) {
        if let Some(race) = &mut st.race {
            let place = (self.rank, pending.dst as u32);
            let span = (place, pending.bytes);
            race.cp_async(span, pending.group, self.site(1 << lane));
        }
        if st.is_early() {
            self.move_bytes(st, &mut pending, lane);
        }
        let bytes = pending.bytes as usize;
        st.near.shared.mark(pending.dst, bytes, IN_FLIGHT);
        if let Some(queue) = self.copies.get_mut(lane) {
            queue.push_back(pending);
        }
    }

    /// Moves the data of a copy; what the source does not give is zero.
    fn move_bytes(&self, st: &mut State<'_>, copy: &mut PendingCopy, lane: usize) {
        let mut buffer = [0u8; 16];
        let mut undefined = false;
        let size = copy.src_bytes as usize;
        let hint = &mut st.region_hint;
        if let Some(region) = st
            .env
            .global
            .find(copy.src, u64::from(copy.src_bytes), hint)
        {
            let mut at = 0;
            while at < size {
                let step = if size - at >= 4 { 4 } else { 1 };
                let (value, defined) = region.load(copy.src + at as u64, step as u32);
                undefined |= !defined;
                for (byte, value) in buffer
                    .iter_mut()
                    .skip(at)
                    .zip(value.to_le_bytes())
                    .take(step)
                {
                    *byte = value;
                }
                at += step;
            }
        }
        if let (Some(dst), Some(data)) = (
            st.near
                .shared
                .data
                .get_mut(copy.dst..copy.dst + copy.bytes as usize),
            buffer.get(..copy.bytes as usize),
        ) {
            dst.copy_from_slice(data);
        }
        copy.moved = true;
        if undefined && st.sanitize() {
            let site = Site {
                pc: copy.pc,
                ..self.site(1 << lane)
            };
            self.uninitialized(st, Space::Global, copy.src, site);
        }
    }

    pub(crate) fn async_commit(&mut self, mask: u32) -> Flow {
        for (lane, committed) in self.committed.iter_mut().enumerate() {
            *committed += mask >> lane & 1;
        }
        Flow::Next
    }

    /// Completes all but the latest `pending` committed groups; `all` takes uncommitted copies too.
    pub(crate) fn async_wait(
        &mut self,
        st: &mut State<'_>,
        pending: u32,
        all: bool,
        mask: u32,
    ) -> Flow {
        if all {
            self.async_commit(mask);
        }
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let done = self.committed[lane].saturating_sub(pending);
            self.complete_copies(st, done, lane);
        }
        self.pass_copies(st, pending, mask);
        st.report_conflicts();
        Flow::Next
    }

    /// Tells the race detector which groups the lanes waited for.
    fn pass_copies(&self, st: &mut State<'_>, pending: u32, mask: u32) {
        let Some(race) = &mut st.race else { return };
        for (committed, lanes) in self.by_group(mask) {
            race.copies_waited(committed.saturating_sub(pending), self.site(lanes));
        }
    }

    /// Lanes with the same number of committed groups.
    fn by_group(&self, mut rest: u32) -> Vec<(u32, u32)> {
        let mut groups = Vec::with_capacity(1);
        while rest != 0 {
            let committed = self.committed[rest.trailing_zeros() as usize & 31];
            let same = |lane: usize| u32::from(self.committed[lane] == committed) << lane;
            let lanes = (0..32).fold(0, |all, lane| all | same(lane)) & rest;
            groups.push((committed, lanes));
            rest &= !lanes;
        }
        groups
    }

    /// Completes the copies of a lane that belong to groups before `done`.
    pub(crate) fn complete_copies(&mut self, st: &mut State<'_>, done: u32, lane: usize) {
        loop {
            let queue = self.copies.get_mut(lane);
            let Some(mut copy) =
                queue.and_then(|queue| queue.pop_front_if(|copy| copy.group < done))
            else {
                break;
            };
            if !copy.moved {
                self.move_bytes(st, &mut copy, lane);
            }
            let bytes = copy.bytes as usize;
            st.near.shared.mark(copy.dst, bytes, DEFINED);
            st.note_end(Site {
                pc: copy.pc,
                ..self.site(1 << lane)
            });
        }
    }

    /// Copies that nobody waited for when the warp ended.
    pub(crate) fn report_unwaited(&mut self, st: &mut State<'_>) {
        for lane in 0..32usize {
            let Some(queue) = self.copies.get_mut(lane) else {
                continue;
            };
            let Some(copy) = queue.pop_front() else {
                continue;
            };
            queue.clear();
            if copy.group >= self.committed[lane]
                && copy.bytes > 0
                && st.env.options.sanitize == crate::options::Sanitize::Strict
            {
                let site = Site {
                    pc: copy.pc,
                    ..self.site(1 << lane)
                };
                st.report(FindingId::AsyncNotWaited, site, None, || {
                    "the thread exits with an asynchronous copy that was never committed".to_owned()
                });
            }
        }
    }
}
