//! What must hold of a tensor copy before it is issued: its map, its coordinates and offsets, and
//! the shared memory that it takes.

use crate::exec::state::{Place, State, Warp};
use crate::finding::{FindingId, Space};
use crate::inst::TensorCopy;
use crate::tensor_map::TensorMap;

impl Warp {
    /// The map at an address, when it holds together and fits the copy.
    pub(crate) fn valid_map(
        &mut self,
        st: &mut State<'_>,
        op: &TensorCopy,
        address: u64,
        lane: usize,
    ) -> Option<TensorMap> {
        let site = self.site(1 << lane);
        let invalid = |st: &mut State<'_>, message: String| {
            st.report(FindingId::TensormapInvalid, site, None, || message);
            None
        };
        if !address.is_multiple_of(64) {
            return invalid(st, format!("map at {address:#x}, no multiple of 64"));
        }
        let Some(image) = st.map_image(address) else {
            return invalid(st, format!("no tensor map at {address:#x}"));
        };
        let missing = image.missing();
        if !missing.is_empty() {
            return invalid(
                st,
                format!("the map at {address:#x} was made of zeros, and nothing set {missing}"),
            );
        }
        let map = image.map;
        if let Err(error) = map.check() {
            return invalid(st, error.to_string());
        }
        let rank = usize::from(map.rank);
        if rank != op.coords.len() {
            let given = op.coords.len();
            return invalid(
                st,
                format!("{given} coordinates for a tensor of rank {rank}"),
            );
        }
        if map.im2col.is_some() != op.im2col {
            return invalid(st, "tile and im2col do not go together".to_owned());
        }
        if map.interleave != 0 {
            let bytes = 16 * u32::from(map.interleave);
            return invalid(
                st,
                format!(
                    "unsupported interleave of {bytes} bytes: the ISA does not say where its \
                     elements lie in shared memory"
                ),
            );
        }
        if st
            .edited_maps
            .get(&address)
            .is_some_and(|map| !map.acquired(site))
        {
            st.report(FindingId::MissingTensormapFence, site, None, || {
                format!(
                    "the map at {address:#x} was edited; fence.proxy.tensormap::generic.acquire \
                     is needed first"
                )
            });
        }
        Some(map)
    }

    /// Whether a tile whose rows lie a span apart stays within the CTA's memory, and within the
    /// variable it starts in.
    pub(crate) fn spread_fits(
        &mut self,
        st: &mut State<'_>,
        map: &TensorMap,
        place: Place,
        lane: usize,
    ) -> bool {
        let (packed, taken) = (map.tile_bytes(), map.shared_bytes());
        let location = st.locate(Space::Shared, st.address_of(place));
        let named = location.buffer.as_deref();
        let variables = st.env.module.shared.iter();
        let variable = variables.filter(|one| !one.dynamic && Some(one.name.as_str()) == named);
        let left = |bytes: u32| u64::from(bytes).saturating_sub(location.offset_bytes as u64);
        let in_variable = variable.map(|one| left(one.bytes)).next();
        let in_memory = u64::from(st.env.shared_bytes.saturating_sub(place.1));
        let room = in_variable.map_or(in_memory, |left| left.min(in_memory));
        if taken <= room {
            return true;
        }
        let (row, pitch, swizzle) = (map.row_bytes(), map.pitch_bytes(), map.swizzle);
        let site = self.site(1 << lane);
        st.report(FindingId::OobShared, site, Some(location), || {
            format!(
                "rows of {row} bytes lie {pitch} bytes apart, the span of swizzle {swizzle:?}: the \
                 box takes {taken} bytes of shared memory, not {packed}, and {room} are there"
            )
        });
        false
    }

    /// Whether the offsets of an im2col copy have as few bits as its rank leaves them.
    pub(crate) fn fitting_offsets(
        &mut self,
        st: &mut State<'_>,
        map: &TensorMap,
        offsets: &[i64; 3],
        lane: usize,
    ) -> bool {
        let most = map.largest_offset();
        let Some(offset) = offsets.iter().find(|offset| **offset > most) else {
            return true;
        };
        let (site, rank) = (self.site(1 << lane), map.rank);
        st.report(FindingId::TensormapInvalid, site, None, || {
            format!("im2col offset {offset}; 0 to {most} with rank {rank}")
        });
        false
    }

    pub(crate) fn aligned_coordinate(
        &mut self,
        st: &mut State<'_>,
        map: &TensorMap,
        coord: i64,
        lane: usize,
    ) -> bool {
        let size = map.ty.bytes() as i64;
        let aligned = (coord * size) % 16 == 0;
        if !aligned {
            let site = self.site(1 << lane);
            st.report(FindingId::TmaCoordinateMisaligned, site, None, || {
                format!("coordinate {coord} times {size} bytes is no multiple of 16")
            });
        }
        aligned
    }
}
