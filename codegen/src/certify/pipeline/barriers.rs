//! What those who share a pipe see of it: barriers that count arrivals and bytes, and slots.

use crate::ir::tile::{Full, Pipe};

/// What became of a step.
pub(in crate::certify) enum Outcome {
    Done,
    Blocked(String),
}

/// A barrier in shared memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Barrier {
    pub count: u32,
    pub pending: u32,
    pub bytes: i64,
    pub phase: u64,
}

impl Barrier {
    fn new(count: u32) -> Barrier {
        Barrier {
            count,
            pending: count,
            ..Barrier::default()
        }
    }

    pub fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.count;
        }
    }
}

/// What a slot holds.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotState {
    /// Bytes of the current filling.
    pub filled: i64,
    /// Members that have the slot and not given it back.
    pub holders: Vec<usize>,
    /// Whether somebody has read the current filling.
    pub used: bool,
}

/// What those who share a pipe see of it: by CTA, then by slot.
pub(super) struct Shared {
    pub full: Vec<Vec<Barrier>>,
    pub empty: Vec<Vec<Barrier>>,
    pub slots: Vec<Vec<SlotState>>,
}

impl Shared {
    pub fn of(pipe: &Pipe, ctas: usize) -> Shared {
        let slots = pipe.slots as usize;
        let [full, empty] = match pipe.full {
            Full::Bytes(ring) => [ring.full_arrivals, ring.empty_arrivals],
            Full::Arrivals => [1, 0],
            Full::Group(_) | Full::Flag => [0, 0],
        };
        let all = |count: u32| vec![vec![Barrier::new(count); slots]; ctas];
        Shared {
            full: all(full),
            empty: all(empty),
            slots: vec![vec![SlotState::default(); slots]; ctas],
        }
    }
}

pub(super) fn arrive(
    barrier: &mut Barrier,
    times: u32,
    what: impl Fn() -> String,
) -> Result<(), String> {
    if barrier.pending < times {
        return Err(format!(
            "the {} gets an arrival more than the {} it counts",
            what(),
            barrier.count
        ));
    }
    barrier.pending -= times;
    barrier.settle();
    Ok(())
}

pub(super) fn missing(what: &str, barrier: &Barrier) -> String {
    format!(
        "{what} ({} of {} arrivals and {} bytes missing)",
        barrier.pending, barrier.count, barrier.bytes
    )
}

pub(super) fn wait(barrier: &Barrier, phase: u64, what: String) -> Result<Outcome, String> {
    match barrier.phase.checked_sub(phase) {
        None | Some(0) => Ok(Outcome::Blocked(missing(&what, barrier))),
        Some(1) => Ok(Outcome::Done),
        Some(ahead) => Err(format!(
            "the wait for {what} comes {ahead} phases late, when its parity means another phase"
        )),
    }
}
