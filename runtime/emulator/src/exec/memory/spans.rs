//! Bytes that asynchronous operations read and write, and tensor maps in memory.

use super::reduction::reduce;
use super::spaces::space_of;
use crate::exec::state::{DEFINED, IN_FLIGHT, Place, Site, Span, State};
use crate::finding::{FindingId, Space};
use crate::inst::Reduction;
use crate::module::window;
use crate::tensor_map::{MapImage, TensorMap};

impl State<'_> {
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

    /// The tensor map at a generic address, when all of its fields are set.
    pub(crate) fn tensor_map(&mut self, address: u64) -> Option<TensorMap> {
        let image = self.map_image(address)?;
        image.missing().is_empty().then_some(image.map)
    }

    /// What is of a tensor map at a generic address.
    pub(crate) fn map_image(&mut self, address: u64) -> Option<MapImage> {
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
        MapImage::decode(&bytes)
    }
}

/// Up to 8 little-endian bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}
