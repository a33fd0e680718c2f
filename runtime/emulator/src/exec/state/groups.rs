//! The groups of a warp and their frames, rearranged.

use super::frame::Frame;
use super::warp::{Group, Status, Warp};

impl Warp {
    /// Lets groups that wait for lanes try again: exited lanes are not waited for.
    pub(crate) fn wake(&mut self) {
        for group in &mut self.groups {
            if group.status == Status::Converge {
                group.status = Status::Ready;
            }
        }
    }

    /// Makes the frame of a function at a depth the current one.
    pub(crate) fn load_frame(&mut self, depth: u32, function: u32) {
        if (self.frame.depth, self.frame.function) == (depth, function) {
            return;
        }
        let wanted = |frame: &Frame| (frame.depth, frame.function) == (depth, function);
        if let Some(frame) = self.frames.iter_mut().find(|frame| wanted(frame)) {
            std::mem::swap(frame, &mut self.frame);
        }
    }

    /// Replaces the current group; empty groups vanish.
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
                    awaited: 0,
                    turn,
                });
            }
        }
    }
}
