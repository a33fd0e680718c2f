//! Who waits for what when nothing can go on.

use crate::exec::state::{Group, Place, Site, State, Status, Wait, Warp};
use crate::finding::{FindingId, Space};

/// Waits that are shown; the rest is counted.
const SHOWN: usize = 8;

/// Warps that wait at one line for the same thing.
struct Waiting {
    site: Site,
    /// How surely it is the cause: what others wait behind comes last.
    order: u32,
    what: String,
    warps: Vec<u32>,
}

/// Names every waiting group and what it waits for.
pub(crate) fn report(warps: &[Warp], st: &mut State<'_>) {
    let mut list: Vec<Waiting> = Vec::new();
    let mut missing_bytes = None;
    let mut registers = None;
    for warp in warps {
        st.switch(warp.rank);
        for group in &warp.groups {
            let site = Site {
                pc: group.pc,
                rank: warp.rank,
                warp: warp.id,
                lanes: group.mask,
            };
            let (order, what) = waits_for(st, group);
            if let Status::Events { wait, .. } = group.status {
                if let Some(found) = bytes_missing(st, wait) {
                    missing_bytes.get_or_insert((site, found));
                }
                if wait == Wait::Registers {
                    registers.get_or_insert((site, st.describe_registers()));
                }
            }
            let same = |known: &&mut Waiting| {
                let at = known.site;
                (at.rank, at.pc, at.lanes) == (site.rank, site.pc, site.lanes) && known.what == what
            };
            match list.iter_mut().find(same) {
                Some(known) => known.warps.push(warp.id),
                None => list.push(Waiting {
                    site,
                    order,
                    what,
                    warps: vec![warp.id],
                }),
            }
        }
    }
    if let Some((site, (place, what))) = missing_bytes {
        let location = st.locate(Space::Shared, st.address_of(place));
        st.report(FindingId::MbarrierTxMismatch, site, Some(location), || {
            format!("no copy is left and an mbarrier is in {what}")
        });
    }
    if let Some((site, what)) = registers {
        st.report(FindingId::Setmaxnreg, site, None, || {
            format!("setmaxnreg.inc waits for ever: {what}")
        });
    }
    list.sort_by_key(|waiting| waiting.order);
    let site = list.first().map_or(Site::default(), |waiting| waiting.site);
    let lines: Vec<String> = list.iter().map(|waiting| describe(st, waiting)).collect();
    st.report(FindingId::Deadlock, site, None, || {
        let more = lines.len().saturating_sub(SHOWN);
        let rest = if more == 0 {
            String::new()
        } else {
            format!("; and {more} more")
        };
        let shown: Vec<&str> = lines.iter().take(SHOWN).map(String::as_str).collect();
        format!("nothing can go on: {}{rest}", shown.join("; "))
    });
}

fn describe(st: &State<'_>, waiting: &Waiting) -> String {
    let Site {
        pc, rank, lanes, ..
    } = waiting.site;
    let mut warps = String::new();
    let mut at = 0;
    while let Some(first) = waiting.warps.get(at) {
        let mut last = *first;
        while waiting.warps.get(at + 1) == Some(&(last + 1)) {
            (last, at) = (last + 1, at + 1);
        }
        at += 1;
        let comma = if warps.is_empty() { "" } else { "," };
        warps += &match last - first {
            0 => format!("{comma}{first}"),
            _ => format!("{comma}{first}-{last}"),
        };
    }
    let plural = if waiting.warps.len() == 1 { "" } else { "s" };
    let line = st.line(pc);
    let what = &waiting.what;
    format!("cta {rank} warp{plural} {warps} lanes {lanes:#010x} at line {line}: {what}")
}

/// An mbarrier that waits for bytes alone.
fn bytes_missing(st: &State<'_>, wait: Wait) -> Option<(Place, String)> {
    let Wait::Mbarrier { place, .. } = wait else {
        return None;
    };
    let object = st.mbarrier(place)?;
    (object.tx != 0 && object.pending == 0).then(|| (place, object.describe()))
}

fn waits_for(st: &State<'_>, group: &Group) -> (u32, String) {
    match group.status {
        Status::Barrier { id, .. } => {
            let live = st.live_threads();
            let bar = st.near.barriers.get(id as usize);
            let progress = bar.map_or(String::new(), |bar| bar.describe(live));
            (1, format!("barrier {id} ({progress})"))
        }
        Status::Converge => (2, "other lanes of the warp".to_owned()),
        Status::Ready => (4, "its turn".to_owned()),
        Status::Events { wait, .. } => match wait {
            Wait::Mbarrier { place, parity } => {
                let state = st.mbarrier(place);
                let state = state.map_or("gone".to_owned(), |object| object.describe());
                let at = st.locate(Space::Shared, st.address_of(place));
                let rank = place.0;
                (
                    0,
                    format!("mbarrier at {at} of CTA {rank}, parity {parity} ({state})"),
                )
            }
            Wait::Cluster => {
                let state = st.describe_cluster_barrier();
                (3, format!("the cluster barrier ({state})"))
            }
            Wait::Warpgroup => (1, "the other warps of its warpgroup".to_owned()),
            Wait::Registers => {
                let state = st.describe_registers();
                (0, format!("registers for setmaxnreg.inc ({state})"))
            }
        },
    }
}
