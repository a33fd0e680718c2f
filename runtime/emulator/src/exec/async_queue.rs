//! Bulk copies that were issued and are not complete, and what completes them.
//!
//! A copy samples its operands at issue; its source is read and its destination written when it
//! is performed: at issue under EARLY, and under LATE when somebody waits for its group or nobody
//! can go on. Shared destinations are in flight in between.

use super::atomic::reduce;
use super::windows::space_of;
use crate::exec::state::{DEFINED, End, IN_FLIGHT, Pending, Place, Site, Span, State, Work};
use crate::finding::{FindingId, Space};
use crate::inst::Reduction;
use crate::module::window;
use crate::tensor_map::TensorMap;

impl State<'_> {
    /// Performs a copy and tells its end.
    pub(crate) fn perform(&mut self, op: Pending) {
        let site = op.site;
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

    /// Marks shared bytes as in flight.
    pub(crate) fn begin_write(&mut self, (rank, offset): Place, bytes: usize) {
        if let Some(part) = self.part_mut(rank) {
            part.shared.mark(offset as usize, bytes, IN_FLIGHT);
        }
    }

    /// Reads bytes; reports those that are undefined or in flight.
    pub(crate) fn read_span(&mut self, span: Span, data: &mut [u8], site: Site) {
        let bytes = data.len();
        match span {
            Span::Global(address) => {
                let mut undefined = false;
                let hint = &mut self.region_hint;
                if let Some(region) = self.env.global.find(address, bytes as u64, hint) {
                    undefined = !region.read(address, data);
                }
                if undefined && self.sanitize() {
                    let location = self.locate(Space::Global, address);
                    self.report(FindingId::UninitGlobal, site, Some(location), || {
                        format!("a bulk copy of {bytes} bytes reads some that nothing wrote")
                    });
                }
            }
            Span::Shared((rank, offset)) => {
                let at = offset as usize;
                let Some(part) = self.part_mut(rank) else {
                    return;
                };
                let Some((source, state)) = part.shared.range_mut(at, bytes) else {
                    return;
                };
                data.copy_from_slice(source);
                let in_flight = state.iter().position(|state| state & IN_FLIGHT != 0);
                let undefined = state.iter().position(|state| state & DEFINED == 0);
                if let Some(index) = in_flight.or(undefined) {
                    self.report_source((rank, offset + index as u32), in_flight.is_some(), site);
                }
            }
        }
    }

    /// An asynchronous operation reads bytes it should not.
    #[cold]
    pub(crate) fn report_source(&mut self, place: Place, in_flight: bool, site: Site) {
        if !self.sanitize() {
            return;
        }
        let location = self.locate(Space::Shared, self.address_of(place));
        let (id, what) = if in_flight {
            let what = "reads the destination of a copy that was not waited for";
            (FindingId::AsyncNotWaited, what)
        } else {
            (FindingId::UninitShared, "reads bytes that nothing wrote")
        };
        self.report(id, site, Some(location), || {
            format!("an asynchronous operation {what}")
        });
    }

    /// Writes bytes, or reduces them element by element.
    pub(crate) fn write_span(
        &mut self,
        span: Span,
        data: &[u8],
        reduction: Option<Reduction>,
        site: Site,
    ) {
        if let Some(reduction) = reduction {
            let size = (reduction.bits / 8) as usize;
            let mut old = vec![0; data.len()];
            self.read_span(span, &mut old, site);
            for (old, new) in old.chunks_mut(size).zip(data.chunks(size)) {
                let value = reduce(&reduction, number(old), number(new));
                for (byte, value) in old.iter_mut().zip(value.to_le_bytes()) {
                    *byte = value;
                }
            }
            return self.write_span(span, &old, None, site);
        }
        match span {
            Span::Global(address) => {
                let hint = &mut self.region_hint;
                if let Some(region) = self.env.global.find(address, data.len() as u64, hint) {
                    region.write(address, data);
                }
            }
            Span::Shared((rank, offset)) => {
                if let Some(part) = self.part_mut(rank)
                    && let Some((target, state)) =
                        part.shared.range_mut(offset as usize, data.len())
                {
                    target.copy_from_slice(data);
                    state.fill(DEFINED);
                }
            }
        }
    }

    /// The tensor map at a generic address.
    pub(crate) fn tensor_map(&mut self, address: u64) -> Option<TensorMap> {
        let mut bytes = [0u8; 128];
        match space_of(address) {
            Space::Global => {
                let region = self.env.global.find(address, 128, &mut self.region_hint)?;
                region.read(address, &mut bytes);
            }
            Space::Param => {
                let start = usize::try_from(address - window(Space::Param)).ok()?;
                bytes.copy_from_slice(self.env.params.get(start..start.checked_add(128)?)?);
            }
            Space::Const => {
                let start = usize::try_from(address - window(Space::Const)).ok()?;
                let bank = &self.env.module.constants;
                bytes.copy_from_slice(bank.get(start..start.checked_add(128)?)?);
            }
            _ => return None,
        }
        TensorMap::decode(&bytes)
    }
}

/// Up to 8 little-endian bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}
