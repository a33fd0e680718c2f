//! Which lines of a text were executed by any of several runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The lines of one text that runs executed which have it among their options. Clones are the same.
#[derive(Clone, Debug)]
pub struct Reached(Arc<[AtomicBool]>);

impl Reached {
    /// None yet, of a text of so many lines.
    pub fn of_lines(lines: u32) -> Reached {
        Reached((0..=lines).map(|_| AtomicBool::new(false)).collect())
    }

    /// Whether an instruction in a line, counted from 1, was executed in any lane.
    pub fn has(&self, line: u32) -> bool {
        let flag = self.0.get(line as usize);
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Notes a line.
    #[inline]
    pub(crate) fn note(&self, line: u32) {
        // Read before it is written: so that cores do not take it from one another.
        if let Some(flag) = self.0.get(line as usize)
            && !flag.load(Ordering::Relaxed)
        {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Reached) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Reached {}
