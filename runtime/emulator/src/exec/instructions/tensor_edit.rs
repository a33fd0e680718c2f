//! Tensor maps edited on the device: `tensormap.replace`, `tensormap.cp_fenceproxy`.

use crate::exec::memory::space_of;
use crate::exec::state::{EditedMap, Flow, Span, State, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::{AccessSpace, MapCopy, MapReplace};
use crate::module::window;
use crate::tensor_map::MapImage;

impl Warp {
    pub(crate) fn map_replace(&mut self, st: &mut State<'_>, op: &MapReplace, mask: u32) -> Flow {
        let addresses = self.addresses(st, &op.address, mask);
        let values = self.values(st, &op.value, mask);
        let generic = match op.space {
            AccessSpace::Generic => 0,
            AccessSpace::Of(space) => window(space),
        };
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let address = addresses[lane].wrapping_add(generic);
            let mut map = self.map_at(st, address, lane);
            let edited = map
                .as_mut()
                .is_some_and(|map| map.replace(op.field, op.ordinal, values[lane]));
            let Some(map) = map.filter(|_| edited) else {
                let (site, value) = (self.site(1 << lane), values[lane]);
                st.report(FindingId::TensormapInvalid, site, None, || {
                    format!("no tensor map at {address:#x}, or {value} is no value of the field")
                });
                continue;
            };
            self.put_map(st, address, &map, lane);
        }
        Flow::Next
    }

    pub(crate) fn map_copy(&mut self, st: &mut State<'_>, op: &MapCopy, mask: u32) -> Flow {
        let dst = self.addresses(st, &op.dst, mask);
        let src = self.shared_operand(st, &op.src, mask);
        if !self.converged(st, mask) {
            return Flow::Converge;
        }
        let lane = mask.trailing_zeros() as usize & 31;
        match self.map_at(st, src[lane].wrapping_add(window(Space::Shared)), lane) {
            Some(map) => self.put_map(st, dst[lane], &map, lane),
            None => {
                let site = self.site(1 << lane);
                st.report(FindingId::TensormapInvalid, site, None, || {
                    "the bytes to copy are no tensor map".to_owned()
                });
            }
        }
        Flow::Next
    }

    fn map_at(&mut self, st: &mut State<'_>, address: u64, lane: usize) -> Option<MapImage> {
        if space_of(address) != Space::Shared {
            return st.map_image(address);
        }
        let local = address - window(Space::Shared);
        let place = self.shared_span(st, local, (128, 64), lane)?;
        let mut bytes = [0u8; 128];
        st.read_span(Span::Shared(place), &mut bytes, self.site(1 << lane));
        MapImage::decode(&bytes)
    }

    fn put_map(&mut self, st: &mut State<'_>, address: u64, map: &MapImage, lane: usize) {
        let (bytes, site) = (map.to_bytes(), self.site(1 << lane));
        if space_of(address) == Space::Shared {
            let local = address - window(Space::Shared);
            if let Some(place) = self.shared_span(st, local, (128, 64), lane) {
                st.write_span(Span::Shared(place), &bytes, None, site);
            }
        } else if self.global_span(st, address, 128, lane).is_some() {
            st.write_span(Span::Global(address), &bytes, None, site);
            st.edited_maps.insert(address, EditedMap::default());
        }
    }
}
