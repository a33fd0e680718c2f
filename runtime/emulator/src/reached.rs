//! Which lines of a text were executed, and in which of them sides of comparisons were equal, over
//! as many runs as are asked to note it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

/// The lines of one text that runs executed which have it among their options. Clones are the same.
#[derive(Clone, Debug)]
pub struct Reached(Arc<[Line]>);

/// What is noted of a line.
#[derive(Debug, Default)]
struct Line {
    flags: AtomicU8,
    /// How much more the left side of a comparison was than the right one, where that was least; 0
    /// where none was noted.
    apart: AtomicI64,
}

/// Was executed.
const EXECUTED: u8 = 1;
/// Compared integers.
const COMPARED: u8 = 2;
/// Compared equal ones.
const EQUAL: u8 = 4;

impl Reached {
    /// None yet, of a text of so many lines.
    pub fn of_lines(lines: u32) -> Reached {
        Reached((0..=lines).map(|_| Line::default()).collect())
    }

    /// Whether an instruction in a line, counted from 1, was executed in any lane.
    pub fn has(&self, line: u32) -> bool {
        self.flags(line) & EXECUTED != 0
    }

    /// Whether the sides of a comparison of integers in a line were equal in any lane; `None` where
    /// none was executed. What is wrong for equal sides alone, such as `le` in the place of `lt`,
    /// shows in no other.
    pub fn equal(&self, line: u32) -> Option<bool> {
        let flags = self.flags(line);
        (flags & COMPARED != 0).then_some(flags & EQUAL != 0)
    }

    /// How much more the left side of a comparison of integers in a line was than the right one, in
    /// the lane in which they were closest since this was asked before. None of a line whose sides
    /// were equal once: nothing more is noted of it.
    pub fn take_apart(&self, line: u32) -> Option<i64> {
        let noted = self.0.get(line as usize)?;
        let apart = noted.apart.swap(0, Ordering::Relaxed);
        (apart != 0 && self.equal(line) == Some(false)).then_some(apart)
    }

    /// Notes a line.
    #[inline]
    pub(crate) fn note(&self, line: u32) {
        self.set(line, EXECUTED);
    }

    /// Notes how far apart the sides of a comparison in a line are.
    pub(crate) fn compare(&self, line: u32, apart: i64) {
        self.set(
            line,
            if apart == 0 {
                COMPARED | EQUAL
            } else {
                COMPARED
            },
        );
        // Once they were equal nobody asks any more, and cores need not write.
        if self.flags(line) & EQUAL != 0 {
            return;
        }
        if let Some(noted) = self.0.get(line as usize) {
            // Of two that are as far apart, the positive one: in whatever order they come.
            let closer = |known: i64| {
                let (new, old) = (apart.unsigned_abs(), known.unsigned_abs());
                (known == 0 || new < old || new == old && apart > known).then_some(apart)
            };
            let (store, load) = (Ordering::Relaxed, Ordering::Relaxed);
            // Where the known one is closer, it stays.
            let _ = noted.apart.fetch_update(store, load, closer);
        }
    }

    fn flags(&self, line: u32) -> u8 {
        let flags = self.0.get(line as usize);
        flags.map_or(0, |line| line.flags.load(Ordering::Relaxed))
    }

    #[inline]
    fn set(&self, line: u32, flags: u8) {
        // Read before it is written: so that cores do not take it from one another.
        if let Some(known) = self.0.get(line as usize)
            && known.flags.load(Ordering::Relaxed) & flags != flags
        {
            known.flags.fetch_or(flags, Ordering::Relaxed);
        }
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Reached) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Reached {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_sides_of_a_comparison_are_told_once() {
        let reached = Reached::of_lines(3);
        for apart in [-7, 5, -3, 3, 9] {
            reached.compare(2, apart);
        }
        assert_eq!(
            (reached.take_apart(2), reached.take_apart(2)),
            (Some(3), None)
        );
        assert_eq!((reached.equal(2), reached.equal(1)), (Some(false), None));
        reached.compare(2, 4);
        reached.compare(2, 0);
        assert_eq!(
            (reached.take_apart(2), reached.equal(2)),
            (None, Some(true))
        );
        reached.compare(1, i64::MIN);
        assert_eq!(reached.take_apart(1), Some(i64::MIN));
    }
}
