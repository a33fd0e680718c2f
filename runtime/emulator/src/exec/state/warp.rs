//! A warp: groups of lanes at one place of the code, their frames, and how they go on.
//!
//! Lanes with equal (call depth, pc) form a group and execute together.

use std::collections::VecDeque;

use super::bytes::Bytes;
use super::cluster::State;
use super::copies::PendingCopy;
use super::frame::Frame;
use super::products::Products;
use super::site::{Place, Site};
use super::spin::Watch;
use crate::finding::FindingId;

/// What a group of lanes waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ready,
    /// Other lanes of the warp have to come to the same instruction.
    Converge,
    /// A generation of a CTA barrier.
    Barrier {
        id: u32,
        generation: u64,
    },
    /// Something to happen; the instruction runs again after it.
    Events {
        /// The state's event count when the wait began.
        seen: u64,
        wait: Wait,
    },
}

/// What a suspended instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A phase of an mbarrier.
    Mbarrier { place: Place, parity: u64 },
    /// The cluster barrier.
    Cluster,
    /// The other warps of the warpgroup.
    Warpgroup,
    /// Registers that other warps give back.
    Registers,
}

/// Lanes at one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    pub(crate) depth: u32,
    pub(crate) function: u32,
    pub(crate) status: Status,
    /// The instruction runs although lanes are missing; it says so.
    pub(crate) forced: bool,
    /// Lanes that its aligned instruction waits for.
    pub(crate) awaited: u32,
    /// When it last had a turn.
    pub(crate) turn: u64,
}

/// How execution goes on after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    /// These lanes go elsewhere, the others go on.
    Jump {
        lanes: u32,
        target: u32,
    },
    /// The instruction needs more lanes of the warp.
    Converge,
    /// The group waits; the instruction is done but for its results.
    Wait(Status),
    /// The group waits; the instruction runs again.
    Suspend(Status),
    /// The groups were rearranged.
    Regroup,
}

/// Where a lane returns to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Return {
    pub(crate) pc: u32,
    pub(crate) function: u32,
}

/// One warp of a CTA.
pub(crate) struct Warp {
    pub(crate) id: u32,
    /// The rank of its CTA.
    pub(crate) rank: u32,
    pub(crate) groups: Vec<Group>,
    /// The current group.
    pub(crate) current: usize,
    /// The current frame; the others wait in `frames`.
    pub(crate) frame: Frame,
    pub(crate) frames: Vec<Frame>,
    pub(crate) stacks: Vec<Vec<Return>>,
    pub(crate) local: Vec<Bytes>,
    pub(crate) copies: Vec<VecDeque<PendingCopy>>,
    /// Committed groups of asynchronous copies of each lane.
    pub(crate) committed: [u32; 32],
    /// Committed groups of bulk copies of each lane.
    pub(crate) bulk_committed: [u32; 32],
    /// The last bulk group of each lane that reads shared memory and was not waited for, and the
    /// instruction of its last copy.
    pub(crate) bulk_open: [Option<(u32, u32)>; 32],
    /// The generation of the cluster barrier in which each lane arrived and did not wait.
    pub(crate) cluster_arrivals: [Option<u64>; 32],
    /// Set by an instruction that polls in vain.
    pub(crate) spinning: bool,
    /// What is known of the loop that it is in.
    pub(crate) watch: Watch,
    pub(crate) products: Products,
    pub(crate) carry: u32,
    /// Lanes that have waited for the launch before this one.
    pub(crate) followed: u32,
    /// Lanes that read an undefined register in this instruction.
    pub(crate) undefined: u32,
    pub(crate) executed: u64,
    /// The instructions behind which it last stood still for other clusters.
    pub(crate) stood_at: u64,
    pub(crate) tick: u64,
}

impl Warp {
    /// Instructions that it may have executed: so many since it last stood still.
    pub(crate) fn budget(&self, st: &State<'_>) -> u64 {
        let budget = st.env.options.instructions_per_warp;
        self.stood_at.saturating_add(budget)
    }

    /// A warp at the start of the entry.
    pub(crate) fn new(st: &State<'_>, id: u32) -> Warp {
        let function = st.env.entry.function;
        let code = st.env.module.functions.get(function as usize);
        let (regs, preds, start, local_bytes) = code.map_or((0, 0, 0, 0), |code| {
            (
                code.registers,
                code.predicates,
                code.start.unwrap_or(0),
                code.local_bytes as usize,
            )
        });
        let mask = st.near.live.get(id as usize).copied().unwrap_or(0);
        let group = Group {
            mask,
            pc: start,
            depth: 0,
            function,
            status: Status::Ready,
            forced: false,
            awaited: 0,
            turn: 0,
        };
        let mut frame = Frame::new(0, function, regs, preds);
        if st.env.module.uses_wgmma {
            frame.touched = vec![0; regs as usize];
        }
        Warp {
            id,
            rank: st.rank,
            groups: vec![group],
            current: 0,
            frame,
            frames: Vec::new(),
            stacks: vec![Vec::new(); 32],
            local: (0..32).map(|_| Bytes::new(local_bytes)).collect(),
            copies: vec![VecDeque::new(); 32],
            committed: [0; 32],
            bulk_committed: [0; 32],
            bulk_open: [None; 32],
            cluster_arrivals: [None; 32],
            spinning: false,
            watch: Watch::new(),
            products: Products::default(),
            carry: 0,
            followed: 0,
            undefined: 0,
            executed: 0,
            stood_at: 0,
            tick: 0,
        }
    }

    pub(crate) fn done(&self) -> bool {
        self.groups.is_empty()
    }

    pub(crate) fn group(&self) -> Group {
        self.groups.get(self.current).copied().unwrap_or(Group {
            mask: 0,
            pc: u32::MAX,
            depth: 0,
            function: 0,
            status: Status::Converge,
            forced: false,
            awaited: 0,
            turn: 0,
        })
    }

    pub(crate) fn pc(&self) -> u32 {
        self.group().pc
    }

    /// The lanes of the current group.
    pub(crate) fn group_mask(&self) -> u32 {
        self.group().mask
    }

    pub(crate) fn site(&self, lanes: u32) -> Site {
        Site {
            pc: self.pc(),
            rank: self.rank,
            warp: self.id,
            lanes,
        }
    }

    /// Lanes of the warp that have not exited.
    pub(crate) fn live(&self, st: &State<'_>) -> u32 {
        st.near.live.get(self.id as usize).copied().unwrap_or(0)
    }

    /// Whether an aligned instruction has all live lanes. Reported are a forced group, which has
    /// not, and one whose missing lanes exited instead of coming.
    pub(crate) fn converged(&mut self, st: &mut State<'_>, mask: u32) -> bool {
        let (live, group) = (self.live(st), self.group());
        let waits = mask != live && mask == group.mask && !group.forced;
        if let Some(group) = self.groups.get_mut(self.current) {
            group.awaited = if waits { live & !mask } else { 0 };
        }
        if waits {
            return false;
        }
        let all = live | group.awaited;
        if mask != all {
            let site = self.site(mask);
            st.report(FindingId::WarpDivergent, site, None, || {
                let exited = if mask == live {
                    ", the others exit"
                } else {
                    ""
                };
                format!(
                    "an aligned instruction runs with lanes {mask:#010x} of {all:#010x}{exited}"
                )
            });
        }
        true
    }

    /// Whether the group runs although lanes are missing.
    pub(crate) fn forced(&self) -> bool {
        self.group().forced
    }

    pub(crate) fn depth(&self) -> u32 {
        self.group().depth
    }

    pub(crate) fn function(&self) -> u32 {
        self.group().function
    }
}
