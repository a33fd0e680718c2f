//! Fences: of memory, of proxies, of initialisations, of tensor maps.

use crate::exec::state::{Flow, State, Warp};
use crate::inst::{Fence, Lanes};

impl Warp {
    /// Remembers that the lanes acquired the maps at these addresses.
    pub(crate) fn acquire_maps(&mut self, st: &mut State<'_>, addresses: &Lanes, mask: u32) {
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let site = self.site(1 << lane);
            if let Some(map) = st.edited_maps.get_mut(&addresses[lane]) {
                map.acquired_by.push((site.rank, site.warp, site.lanes));
            }
        }
    }

    pub(crate) fn fence(&mut self, st: &mut State<'_>, fence: &Fence, mask: u32) -> Flow {
        if let Fence::TensormapAcquire(address) = fence {
            let addresses = self.addresses(st, address, mask);
            self.acquire_maps(st, &addresses, mask);
        }
        let site = self.site(mask);
        if let Some(race) = &mut st.race {
            match fence {
                Fence::ProxyAsync { shared, global } => race.proxy_fence((*shared, *global), site),
                Fence::MbarrierInit => race.init_fence(site),
                Fence::Thread(fence) => race.thread_fence(*fence, site),
                _ => {}
            }
        }
        Flow::Next
    }
}
