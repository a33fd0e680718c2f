//! What tuning asks of a device: to measure the candidates of one problem.
//!
//! A [`TuningDevice`] opens a problem, a [`Measurer`] screens, verifies, races and measures the
//! candidates on it, which count from 0. A GPU's are in `on_gpu`, the emulator's in `on_emulator`;
//! tests have their own.

use tilewright_bundle::Kernel;

use super::record::Reason;
use crate::bench::{Mode, Row};
use tilewright_runtime::Error;
use tilewright_runtime::Problem;

/// A kernel and the problem it is to be tuned on.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<'k> {
    pub kernel: &'k Kernel,
    pub problem: Problem,
}

/// Why a candidate is not looked at further.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The kernel is at fault, and the device as good as before.
    Dropped(Reason, String),
    /// There is no memory for it here; nobody is at fault.
    NoMemory(Error),
    /// The device cannot be used any more by this process.
    Lost(Error),
}

impl Failure {
    /// What an error is that no kernel is to blame for.
    pub fn of_device(error: Error) -> Failure {
        match error.is_memory() {
            true => Failure::NoMemory(error),
            false => Failure::Lost(error),
        }
    }
}

/// A device that candidates are measured on.
pub(crate) trait TuningDevice<'k> {
    /// A row that says what there is to say before anything is measured.
    fn blank(&self, kernel: &Kernel) -> Row;

    /// Prepares a problem: memory, inputs, reference, peer.
    ///
    /// # Errors
    /// When there is no such problem here, or not enough memory.
    fn open<'f>(&'f mut self, group: &[Candidate<'k>]) -> Result<Box<dyn Measurer + 'f>, Error>
    where
        'k: 'f;
}

/// Measures the candidates of one problem, whose memory and peer are ready.
pub(crate) trait Measurer {
    /// Loads a candidate and times it briefly.
    fn screen(&mut self, candidate: usize) -> Result<f64, Failure>;

    /// Compares a candidate's output with the reference: at this problem on a poisoned output, and
    /// at a few random ones.
    fn verify(&mut self, candidate: usize) -> Result<(), Failure>;

    /// Times of candidates that were verified, in one rotation of so many rounds.
    fn race(&mut self, candidates: &[usize], rounds: usize) -> Result<Vec<f64>, Failure>;

    /// The same beside the peer, as rows in the same order.
    fn measure(&mut self, candidates: &[usize], mode: Mode) -> Result<Vec<Row>, Failure>;
}
