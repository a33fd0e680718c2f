//! What loads and stores are reported for.

use crate::exec::state::{Site, State, Warp};
use crate::finding::{FindingId, Space};

impl Warp {
    #[cold]
    pub(crate) fn out_of_bounds(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        bytes: u64,
        lane: usize,
    ) {
        let id = match space {
            Space::Global => FindingId::OobGlobal,
            Space::Shared => FindingId::OobShared,
            Space::Local => FindingId::OobLocal,
            Space::Param | Space::Const => FindingId::OobParam,
        };
        let limit = match space {
            Space::Shared => Some(st.env.shared_bytes as usize),
            Space::Local => self.local.get(lane).map(|local| local.data.len()),
            Space::Param => Some(st.env.params.len()),
            Space::Const => Some(st.env.module.constants.len()),
            Space::Global => None,
        };
        let (site, location) = (self.site(1 << lane), st.locate(space, address));
        let size = st
            .env
            .global
            .nearest(address)
            .map_or(0, |(region, _)| region.bytes);
        st.report(id, site, Some(location.clone()), || {
            match (limit, &location.buffer) {
                (Some(limit), _) => {
                    let space = space.as_str();
                    format!(
                        "{bytes} bytes at {space} address {address:#x}; {limit} bytes are declared"
                    )
                }
                (None, Some(buffer)) => format!(
                    "{bytes} bytes at {address:#x} are in no buffer; nearest is {buffer} of \
                 {size} bytes, \
                 offset {}",
                    location.offset_bytes
                ),
                (None, None) => format!("{bytes} bytes at {address:#x}: the launch has no buffers"),
            }
        });
    }

    #[cold]
    pub(crate) fn uninitialized(&self, st: &mut State<'_>, space: Space, address: u64, site: Site) {
        let id = match space {
            Space::Shared => FindingId::UninitShared,
            Space::Local => FindingId::UninitLocal,
            _ => FindingId::UninitGlobal,
        };
        let location = st.locate(space, address);
        st.report(id, site, Some(location), || {
            format!("load of {} bytes that nothing wrote", space.as_str())
        });
    }

    #[cold]
    pub(crate) fn not_waited(&self, st: &mut State<'_>, space: Space, address: u64, site: Site) {
        let location = st.locate(space, address);
        st.report(FindingId::AsyncNotWaited, site, Some(location), || {
            "access to the destination of an asynchronous copy whose group was not \
             committed and waited for"
                .to_owned()
        });
    }

    #[cold]
    pub(crate) fn misaligned(
        &mut self,
        st: &mut State<'_>,
        space: Space,
        address: u64,
        align: u64,
        lane: usize,
    ) {
        let (site, location) = (self.site(1 << lane), st.locate(space, address));
        st.report(FindingId::Misaligned, site, Some(location), || {
            format!("address {address:#x} of a bulk operation is no multiple of {align}")
        });
    }
}
