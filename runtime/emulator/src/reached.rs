//! Which lines of a text were executed, and in which of them sides of comparisons were equal, over
//! as many runs as are asked to note it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The lines of one text that runs executed which have it among their options. Clones are the same.
#[derive(Clone, Debug)]
pub struct Reached(Arc<[AtomicU8]>);

/// Was executed.
const EXECUTED: u8 = 1;
/// Compared integers.
const COMPARED: u8 = 2;
/// Compared equal ones.
const EQUAL: u8 = 4;

impl Reached {
    /// None yet, of a text of so many lines.
    pub fn of_lines(lines: u32) -> Reached {
        Reached((0..=lines).map(|_| AtomicU8::new(0)).collect())
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

    /// Notes a line.
    #[inline]
    pub(crate) fn note(&self, line: u32) {
        self.set(line, EXECUTED);
    }

    /// Notes a comparison in a line whose sides may be equal.
    pub(crate) fn compare(&self, line: u32, equal: bool) {
        self.set(line, if equal { COMPARED | EQUAL } else { COMPARED });
    }

    fn flags(&self, line: u32) -> u8 {
        let flags = self.0.get(line as usize);
        flags.map_or(0, |flags| flags.load(Ordering::Relaxed))
    }

    #[inline]
    fn set(&self, line: u32, flags: u8) {
        // Read before it is written: so that cores do not take it from one another.
        if let Some(known) = self.0.get(line as usize)
            && known.load(Ordering::Relaxed) & flags != flags
        {
            known.fetch_or(flags, Ordering::Relaxed);
        }
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Reached) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Reached {}
