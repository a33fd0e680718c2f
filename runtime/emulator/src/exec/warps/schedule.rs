//! Which group of a warp goes next: waking, joining, picking, splitting.
//!
//! The deepest call goes first, then the lowest pc, which reconverges structured code without
//! post-dominators; after 1,000 instructions of one group the others get a turn, so that a spinning
//! group cannot starve the one it waits for.

use crate::exec::state::{Group, State, Status, Warp};
use crate::inst::{Exec, Inst};

/// Instructions one group may run while another one waits for its turn.
const TURN: u64 = 1000;

impl Warp {
    /// Whether every group waits for something.
    pub(crate) fn waits(&self) -> bool {
        self.groups
            .iter()
            .all(|group| group.status != Status::Ready)
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
    pub(crate) fn select(&mut self, st: &mut State<'_>) -> bool {
        for index in 0..self.groups.len() {
            let Some(group) = self.groups.get(index).copied() else {
                continue;
            };
            if let Status::Events { seen, .. } = group.status {
                if seen != st.events
                    && let Some(group) = self.groups.get_mut(index)
                {
                    group.status = Status::Ready;
                }
                continue;
            }
            if let Status::Barrier { id, generation } = group.status
                && st
                    .near
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
        let stale = self.tick.saturating_sub(oldest) > 2 * TURN;
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
                let (mask, awaited) = (theirs.mask, theirs.awaited);
                self.groups.swap_remove(other);
                if let Some(group) = self.groups.get_mut(index) {
                    group.mask |= mask;
                    group.awaited |= awaited;
                    group.status = Status::Ready;
                    group.forced = false;
                }
            } else {
                other += 1;
            }
        }
    }

    /// Whether another group should have its turn now.
    pub(crate) fn should_yield(&self, turn: u64) -> bool {
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

    /// Lets lanes of the current group go on behind its instruction, which does not block them.
    pub(crate) fn set_aside(&mut self, lanes: u32) {
        let Some(group) = self.groups.get_mut(self.current) else {
            return;
        };
        group.mask &= !lanes;
        let aside = Group {
            mask: lanes,
            pc: group.pc + 1,
            forced: false,
            awaited: 0,
            ..*group
        };
        self.groups.push(aside);
    }

    /// Sends lanes of the current group elsewhere; the others go on behind the instruction.
    pub(crate) fn jump(&mut self, lanes: u32, target: u32) {
        let Some(group) = self.groups.get_mut(self.current) else {
            return;
        };
        (group.forced, group.awaited) = (false, 0);
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
}
