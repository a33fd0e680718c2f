//! A warp: groups of lanes at one place of the code, their frames, and the loop that runs them.
//!
//! Lanes with equal (call depth, pc) form a group and execute together. The deepest call goes first, then the lowest
//! pc, which reconverges structured code without post-dominators; after 1,000 instructions of one group
//! the others get a turn, so that a spinning group cannot starve the one it waits for.

use std::collections::VecDeque;

use super::async_copy::PendingCopy;
use super::env::SHARED_START;
use super::state::{Bytes, Site, State};
use crate::counters::InstClass;
use crate::finding::FindingId;
use crate::inst::{Exec, Inst, Lanes, PredSrc, Reg, Special, Src};

/// Instructions one group may run while another one waits for its turn.
const TURN: u32 = 1000;

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
    forced: bool,
    /// When it last had a turn.
    turn: u64,
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
    /// The groups were rearranged.
    Regroup,
}

/// The registers of one function at one call depth; lanes of the warp share them as columns.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) depth: u32,
    pub(crate) function: u32,
    pub(crate) regs: Vec<Lanes>,
    /// Lanes that ever wrote the register.
    pub(crate) defined: Vec<u32>,
    pub(crate) preds: Vec<u32>,
    pub(crate) preds_defined: Vec<u32>,
    /// Where the frame's variables start in each lane's local memory.
    pub(crate) local_base: [u32; 32],
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
    pub(crate) groups: Vec<Group>,
    /// The group at hand.
    pub(crate) current: usize,
    /// The frame at hand; the others wait in `frames`.
    pub(crate) frame: Frame,
    pub(crate) frames: Vec<Frame>,
    pub(crate) stacks: Vec<Vec<Return>>,
    pub(crate) local: Vec<Bytes>,
    pub(crate) copies: Vec<VecDeque<PendingCopy>>,
    /// Committed groups of asynchronous copies of each lane.
    pub(crate) committed: [u32; 32],
    pub(crate) carry: u32,
    /// Lanes that read an undefined register in this instruction.
    pub(crate) undefined: u32,
    pub(crate) executed: u64,
    tick: u64,
}

impl Frame {
    pub(crate) fn new(depth: u32, function: u32, regs: u32, preds: u32) -> Frame {
        let (regs, preds) = (regs as usize, preds as usize);
        Frame {
            depth,
            function,
            regs: vec![[0; 32]; regs],
            defined: vec![0; regs],
            preds: vec![0; preds],
            preds_defined: vec![0; preds],
            local_base: [0; 32],
        }
    }
}

impl Warp {
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
        let mask = st.live.get(id as usize).copied().unwrap_or(0);
        let group = Group {
            mask,
            pc: start,
            depth: 0,
            function,
            status: Status::Ready,
            forced: false,
            turn: 0,
        };
        Warp {
            id,
            groups: vec![group],
            current: 0,
            frame: Frame::new(0, function, regs, preds),
            frames: Vec::new(),
            stacks: vec![Vec::new(); 32],
            local: (0..32).map(|_| Bytes::new(local_bytes)).collect(),
            copies: vec![VecDeque::new(); 32],
            committed: [0; 32],
            carry: 0,
            undefined: 0,
            executed: 0,
            tick: 0,
        }
    }

    pub(crate) fn done(&self) -> bool {
        self.groups.is_empty()
    }

    fn group(&self) -> Group {
        self.groups.get(self.current).copied().unwrap_or(Group {
            mask: 0,
            pc: u32::MAX,
            depth: 0,
            function: 0,
            status: Status::Converge,
            forced: false,
            turn: 0,
        })
    }

    pub(crate) fn pc(&self) -> u32 {
        self.group().pc
    }

    /// The lanes of the group at hand.
    pub(crate) fn group_mask(&self) -> u32 {
        self.group().mask
    }

    pub(crate) fn site(&self, lanes: u32) -> Site {
        Site {
            pc: self.pc(),
            warp: self.id,
            lanes,
        }
    }

    /// Lanes of the warp that have not exited.
    pub(crate) fn live(&self, st: &State<'_>) -> u32 {
        st.live.get(self.id as usize).copied().unwrap_or(0)
    }

    /// Whether an aligned instruction has all live lanes; a forced group reports that it has not.
    pub(crate) fn converged(&mut self, st: &mut State<'_>, mask: u32) -> bool {
        let live = self.live(st);
        if mask == live {
            return true;
        }
        let group = self.group();
        if mask == group.mask && !group.forced {
            return false;
        }
        let site = self.site(mask);
        st.report(FindingId::WarpDivergent, site, None, || {
            format!("an aligned instruction runs with lanes {mask:#010x} of {live:#010x}")
        });
        true
    }

    /// Whether the group runs although lanes are missing.
    pub(crate) fn forced(&self) -> bool {
        self.group().forced
    }

    /// Lets groups that wait for lanes try again: exited lanes are not waited for.
    pub(crate) fn wake(&mut self) {
        for group in &mut self.groups {
            if group.status == Status::Converge {
                group.status = Status::Ready;
            }
        }
    }

    /// Lets one group go on without the lanes it waits for. False when there is none.
    pub(crate) fn force(&mut self) -> bool {
        let waiting = self
            .groups
            .iter_mut()
            .find(|group| group.status == Status::Converge);
        waiting.is_some_and(|group| {
            (group.status, group.forced) = (Status::Ready, true);
            true
        })
    }

    /// Joins groups at one place, wakes those whose barrier is complete, and picks the next one.
    fn select(&mut self, st: &mut State<'_>) -> bool {
        for index in 0..self.groups.len() {
            let Some(group) = self.groups.get(index).copied() else {
                continue;
            };
            if let Status::Barrier { id, generation } = group.status
                && st
                    .barriers
                    .get(id as usize)
                    .is_some_and(|bar| bar.generation > generation)
            {
                self.current = index;
                self.load_frame(group.depth, group.function);
                if let Some(Inst {
                    exec: Exec::Barrier(bar),
                    ..
                }) = st.env.code.get(group.pc as usize)
                {
                    self.finish_barrier(st, bar, id, group.mask);
                }
                if let Some(group) = self.groups.get_mut(index) {
                    (group.status, group.pc) = (Status::Ready, group.pc + 1);
                }
            }
        }
        let mut index = 0;
        while index < self.groups.len() {
            self.merge_into(index);
            index += 1;
        }
        let ready = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.status == Status::Ready);
        let oldest = ready
            .clone()
            .map(|(_, group)| group.turn)
            .min()
            .unwrap_or(0);
        let stale = self.tick.saturating_sub(oldest) > 2 * u64::from(TURN);
        let choice = if stale {
            ready.min_by_key(|(_, group)| group.turn)
        } else {
            ready.min_by_key(|(_, group)| (std::cmp::Reverse(group.depth), group.pc))
        };
        let Some((index, group)) = choice else {
            return false;
        };
        let (depth, function) = (group.depth, group.function);
        self.current = index;
        self.load_frame(depth, function);
        true
    }

    /// Joins later groups at the same place into the group at `index`.
    fn merge_into(&mut self, index: usize) {
        let mut other = index + 1;
        while let (Some(mine), Some(theirs)) = (self.groups.get(index), self.groups.get(other)) {
            let waits = |group: &Group| matches!(group.status, Status::Barrier { .. });
            let same = (mine.depth, mine.pc) == (theirs.depth, theirs.pc);
            if same && !waits(mine) && !waits(theirs) {
                let mask = theirs.mask;
                self.groups.swap_remove(other);
                if let Some(group) = self.groups.get_mut(index) {
                    group.mask |= mask;
                    group.status = Status::Ready;
                    group.forced = false;
                }
            } else {
                other += 1;
            }
        }
    }

    /// Makes the frame of a function at a depth the one at hand.
    pub(crate) fn load_frame(&mut self, depth: u32, function: u32) {
        if (self.frame.depth, self.frame.function) == (depth, function) {
            return;
        }
        let wanted = |frame: &Frame| (frame.depth, frame.function) == (depth, function);
        if let Some(frame) = self.frames.iter_mut().find(|frame| wanted(frame)) {
            std::mem::swap(frame, &mut self.frame);
        }
    }

    /// Whether another group should have its turn now.
    fn should_yield(&self, turn: u32) -> bool {
        let mine = self.group();
        self.groups.iter().enumerate().any(|(index, group)| {
            if index == self.current || matches!(group.status, Status::Barrier { .. }) {
                return false;
            }
            let same = (group.depth, group.pc) == (mine.depth, mine.pc);
            let ready = group.status == Status::Ready;
            let first = (std::cmp::Reverse(group.depth), group.pc)
                < (std::cmp::Reverse(mine.depth), mine.pc);
            same || ready && (first || turn >= TURN)
        })
    }

    /// Runs until all groups wait or have exited, or about `slice` instructions were executed.
    /// Returns how many were.
    pub(crate) fn run(&mut self, st: &mut State<'_>, slice: u64) -> u64 {
        let env = st.env;
        let start = self.executed;
        let budget = env.options.instructions_per_warp;
        while self.executed - start < slice && !st.stopped && self.select(st) {
            let mut turn = 0;
            while let Some(group) = self.groups.get_mut(self.current) {
                let (pc, lanes) = (group.pc, group.mask);
                group.turn = self.tick;
                let Some(inst) = env.code.get(pc as usize) else {
                    break;
                };
                self.executed += 1;
                self.tick += 1;
                turn += 1;
                if self.executed > budget {
                    self.give_up(st, lanes);
                    return self.executed - start;
                }
                let flow = self.step(st, inst, lanes);
                match flow {
                    Flow::Next => {
                        if let Some(group) = self.groups.get_mut(self.current) {
                            group.pc = pc + 1;
                            group.forced = false;
                        }
                    }
                    Flow::Jump { lanes, target } => self.jump(lanes, target),
                    Flow::Converge => {
                        self.executed -= 1;
                        self.set_status(Status::Converge);
                        break;
                    }
                    Flow::Wait(status) => {
                        self.set_status(status);
                        break;
                    }
                    Flow::Regroup => break,
                }
                if self.groups.len() > 1 && self.should_yield(turn)
                    || self.executed - start >= slice
                {
                    break;
                }
            }
        }
        self.executed - start
    }

    fn set_status(&mut self, status: Status) {
        if let Some(group) = self.groups.get_mut(self.current) {
            group.status = status;
            group.forced = false;
        }
    }

    /// Evaluates the guard, counts, and executes.
    #[inline]
    fn step(&mut self, st: &mut State<'_>, inst: &Inst, lanes: u32) -> Flow {
        let mask = match inst.guard {
            None => lanes,
            Some(guard) => {
                let source = PredSrc::Reg {
                    slot: guard.slot,
                    negate: guard.negate,
                };
                self.pred(&source, lanes) & lanes
            }
        };
        if let Some(class) = st.counters.classes.get_mut(inst.class as usize) {
            class.executions += 1;
            class.lanes += u64::from(mask.count_ones());
        }
        let flow = if mask == 0 {
            Flow::Next
        } else {
            self.execute(st, inst, mask)
        };
        if self.undefined != 0 {
            self.report_undefined(st, inst, mask);
        }
        flow
    }

    #[cold]
    fn report_undefined(&mut self, st: &mut State<'_>, inst: &Inst, mask: u32) {
        let lanes = std::mem::take(&mut self.undefined) & mask;
        let moves = inst.class == InstClass::Move;
        if st.sanitize() && lanes != 0 && !moves {
            let site = self.site(lanes);
            st.report(FindingId::UninitRegister, site, None, || {
                "reads a register that was never written".to_owned()
            });
        }
    }

    #[cold]
    fn give_up(&mut self, st: &mut State<'_>, lanes: u32) {
        let site = self.site(lanes);
        let budget = st.env.options.instructions_per_warp;
        st.report(FindingId::NoProgress, site, None, || {
            format!("the warp executed {budget} instructions without coming to its end")
        });
        st.stopped = true;
    }

    /// Sends lanes of the group at hand elsewhere; the others go on behind the instruction.
    fn jump(&mut self, lanes: u32, target: u32) {
        let Some(group) = self.groups.get_mut(self.current) else {
            return;
        };
        group.forced = false;
        if lanes == group.mask {
            group.pc = target;
            return;
        }
        let moved = Group {
            mask: lanes,
            pc: target,
            ..*group
        };
        group.mask &= !lanes;
        group.pc += 1;
        self.groups.push(moved);
    }

    /// Replaces the group at hand; empty groups vanish.
    pub(crate) fn replace_group(&mut self, groups: impl IntoIterator<Item = (u32, u32, u32, u32)>) {
        if self.current < self.groups.len() {
            self.groups.swap_remove(self.current);
        }
        let (turn, forced) = (self.tick, false);
        for (mask, pc, depth, function) in groups {
            if mask != 0 {
                let status = Status::Ready;
                self.groups.push(Group {
                    mask,
                    pc,
                    depth,
                    function,
                    status,
                    forced,
                    turn,
                });
            }
        }
    }

    pub(crate) fn depth(&self) -> u32 {
        self.group().depth
    }

    pub(crate) fn function(&self) -> u32 {
        self.group().function
    }

    /// The values of a source; constants and special registers are made in `tmp`.
    #[inline]
    pub(crate) fn src<'b>(
        &'b mut self,
        st: &State<'_>,
        src: &Src,
        mask: u32,
        tmp: &'b mut Lanes,
    ) -> &'b Lanes {
        match *src {
            Src::Reg(slot) => {
                let slot = slot as usize;
                if let (Some(regs), Some(defined)) =
                    (self.frame.regs.get(slot), self.frame.defined.get(slot))
                {
                    self.undefined |= mask & !defined;
                    return regs;
                }
            }
            _ => self.constant(st, src, tmp),
        }
        tmp
    }

    /// The values of a source that is no register.
    pub(crate) fn constant(&self, st: &State<'_>, src: &Src, tmp: &mut Lanes) {
        match *src {
            Src::Reg(_) => {}
            Src::Imm(value) => *tmp = [value; 32],
            Src::Shared { var, offset } => {
                let start = st
                    .env
                    .entry
                    .shared_offsets
                    .get(var as usize)
                    .copied()
                    .unwrap_or(0);
                *tmp = [u64::from(SHARED_START + start) + u64::from(offset); 32];
            }
            Src::Local(offset) => {
                for (value, base) in tmp.iter_mut().zip(self.frame.local_base) {
                    *value = u64::from(base) + u64::from(offset);
                }
            }
            Src::Special(special) => self.special(st, special, tmp),
        }
    }

    /// A copy of a source's values.
    #[inline]
    pub(crate) fn values(&mut self, st: &State<'_>, src: &Src, mask: u32) -> Lanes {
        let mut tmp = [0; 32];
        *self.src(st, src, mask, &mut tmp)
    }

    /// The lanes in which a predicate holds.
    #[inline]
    pub(crate) fn pred(&mut self, pred: &PredSrc, mask: u32) -> u32 {
        match *pred {
            PredSrc::Const(value) => {
                if value {
                    u32::MAX
                } else {
                    0
                }
            }
            PredSrc::Reg { slot, negate } => {
                let slot = slot as usize;
                let value = self.frame.preds.get(slot).copied().unwrap_or(0);
                let defined = self.frame.preds_defined.get(slot).copied().unwrap_or(0);
                self.undefined |= mask & !defined;
                if negate { !value } else { value }
            }
        }
    }

    /// Writes a register in the lanes of `mask`, cut to its width.
    #[inline]
    pub(crate) fn write(&mut self, dst: Reg, mask: u32, values: &Lanes) {
        let slot = dst.slot as usize;
        let keep = u64::MAX >> (64 - dst.width.clamp(1, 64));
        let (Some(regs), Some(defined)) = (
            self.frame.regs.get_mut(slot),
            self.frame.defined.get_mut(slot),
        ) else {
            return;
        };
        *defined |= mask;
        if mask == u32::MAX {
            for (reg, value) in regs.iter_mut().zip(values) {
                *reg = value & keep;
            }
            return;
        }
        for (lane, (reg, value)) in regs.iter_mut().zip(values).enumerate() {
            if mask >> lane & 1 == 1 {
                *reg = value & keep;
            }
        }
    }

    /// Writes a predicate register in the lanes of `mask`.
    #[inline]
    pub(crate) fn write_pred(&mut self, slot: u32, mask: u32, value: u32) {
        let slot = slot as usize;
        if let (Some(pred), Some(defined)) = (
            self.frame.preds.get_mut(slot),
            self.frame.preds_defined.get_mut(slot),
        ) {
            *pred = *pred & !mask | value & mask;
            *defined |= mask;
        }
    }

    /// The values of a special register.
    fn special(&self, st: &State<'_>, special: Special, out: &mut Lanes) {
        let (launch, cta) = (st.env.launch, st.cta);
        let (block, grid, cluster) = (launch.block, launch.grid, launch.cluster);
        let axis = |dims: [u32; 3], axis: u8| dims.get(axis as usize).copied().unwrap_or(0);
        let per = |a: [u32; 3], f: fn(u32, u32) -> u32| {
            [
                f(a[0], cluster[0]),
                f(a[1], cluster[1]),
                f(a[2], cluster[2]),
            ]
        };
        let in_cluster = per(cta, |cta, cluster| cta % cluster);
        let value = match special {
            Special::Tid(dim) => {
                for (lane, value) in out.iter_mut().enumerate() {
                    let linear = 32 * self.id + lane as u32;
                    let tid = [
                        linear % block[0],
                        linear / block[0] % block[1],
                        linear / block[0] / block[1],
                    ];
                    *value = u64::from(axis(tid, dim));
                }
                return;
            }
            Special::Laneid
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt => {
                for (lane, value) in out.iter_mut().enumerate() {
                    let below = (1u32 << lane) - 1;
                    *value = u64::from(match special {
                        Special::Laneid => lane as u32,
                        Special::LanemaskEq => 1 << lane,
                        Special::LanemaskLt => below,
                        Special::LanemaskLe => below | 1 << lane,
                        Special::LanemaskGe => !below,
                        _ => !(below | 1 << lane),
                    });
                }
                return;
            }
            Special::Ntid(dim) => axis(block, dim),
            Special::Ctaid(dim) => axis(cta, dim),
            Special::Nctaid(dim) => axis(grid, dim),
            Special::Warpid => self.id,
            Special::Nwarpid => st.live.len() as u32,
            Special::Smid | Special::ClockHi | Special::Gridid => 0,
            Special::Nsmid => 132,
            // Time is the warp's own instruction count: monotonic and deterministic.
            Special::Clock | Special::Clock64 | Special::Globaltimer => self.executed as u32,
            Special::DynamicSmemSize => launch.dynamic_shared_bytes,
            Special::TotalSmemSize => st.env.shared_bytes,
            Special::Clusterid(dim) => axis(per(cta, |cta, cluster| cta / cluster), dim),
            Special::Nclusterid(dim) => axis(per(grid, |grid, cluster| grid / cluster), dim),
            Special::ClusterCtaid(dim) => axis(in_cluster, dim),
            Special::ClusterNctaid(dim) => axis(cluster, dim),
            Special::ClusterCtarank => {
                in_cluster[0] + cluster[0] * (in_cluster[1] + cluster[1] * in_cluster[2])
            }
            Special::ClusterNctarank => cluster[0] * cluster[1] * cluster[2],
            Special::IsExplicitCluster => u32::from(cluster != [1, 1, 1]),
        };
        *out = [u64::from(value); 32];
    }
}
