//! What the warps of a CTA share: its memory, its barriers, who is alive.

use std::collections::BTreeMap;

use super::barriers::{BarrierState, Mbarrier};
use super::bytes::Bytes;
use super::env::{Env, RANK_SHIFT, SHARED_START};
use super::products::Warpgroup;
use super::site::Site;

/// What belongs to one CTA.
#[derive(Default)]
pub(crate) struct CtaPart {
    pub(crate) cta: [u32; 3],
    /// Address of the first shared byte in the window of the cluster.
    pub(crate) base: u64,
    pub(crate) shared: Bytes,
    pub(crate) barriers: [BarrierState; 16],
    /// Lanes of each warp that have not exited.
    pub(crate) live: Vec<u32>,
    /// The mbarrier objects by offset.
    pub(crate) mbarriers: BTreeMap<u32, Mbarrier>,
    pub(crate) warpgroups: Vec<Warpgroup>,
    /// Registers of each warp, by `setmaxnreg`; 0 before the first one.
    pub(crate) registers: Vec<u32>,
    /// The counts each warp has set, one after the other, and where.
    pub(crate) register_steps: Vec<Vec<(u32, Site)>>,
}

impl CtaPart {
    pub(crate) fn new(env: &Env<'_>, cta: [u32; 3], rank: u32) -> CtaPart {
        let warps = env.threads.div_ceil(32);
        let lanes = |warp: u32| match env.threads - 32 * warp {
            rest @ 1..32 => (1 << rest) - 1,
            _ => u32::MAX,
        };
        CtaPart {
            cta,
            base: u64::from(rank) << RANK_SHIFT | u64::from(SHARED_START),
            shared: Bytes::new(env.shared_bytes as usize),
            live: (0..warps).map(lanes).collect(),
            warpgroups: (0..warps.div_ceil(4))
                .map(|_| Warpgroup::default())
                .collect(),
            registers: vec![0; warps as usize],
            register_steps: vec![Vec::new(); warps as usize],
            ..CtaPart::default()
        }
    }

    /// Whether a thread of the CTA has not exited.
    pub(crate) fn alive(&self) -> bool {
        self.live.iter().any(|lanes| *lanes != 0)
    }
}
