//! Where kernels compete: a device as far as tuning needs it.
//!
//! A [`Field`] is a device, an [`Arena`] one problem on it with the kernels that take it, which
//! count from 0. A GPU's is in `on_gpu`, the emulator's in `emulated`; tests have one of their own.

use tilewright_bundle::Kernel;

use super::record::Reason;
use crate::bench::{Mode, Row};
use crate::error::Error;
use crate::problem::Problem;

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

/// A device.
pub(crate) trait Field<'k> {
    /// A row that says what there is to say before anything is measured.
    fn blank(&self, kernel: &Kernel) -> Row;

    /// Prepares a problem: memory, inputs, reference, peer.
    ///
    /// # Errors
    /// When there is no such problem here, or not enough memory.
    fn open<'f>(&'f mut self, group: &[Candidate<'k>]) -> Result<Box<dyn Arena + 'f>, Error>
    where
        'k: 'f;
}

/// One problem.
pub(crate) trait Arena {
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
