//! What a campaign reports while it runs, and what became of its candidates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::Record;
use tilewright_runtime::Error;

/// Something about to be done that a kernel may not survive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// `prepare`, `screen`, `heat`, `verify`, `race` or `measure`.
    pub what: String,
    /// The problem.
    pub problem: String,
    /// Which of the problems it is, from 1, and how many there are.
    pub place: [usize; 2],
    /// How many kernels compete at it.
    pub candidates: usize,
    /// The kernels at work, as records that only lack what happened.
    pub kernels: Vec<Record>,
    /// Seconds after which it counts as hung.
    pub limit_s: f64,
}

/// What a campaign reports while it runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// This is done next.
    Next(&'a Step),
    /// This is what became of a kernel; to be kept before the next step.
    Record(&'a Record),
    /// A problem was left out, as a whole or for kernels that take more memory, and why.
    Skipped {
        /// The problem.
        problem: &'a str,
        /// Why.
        error: &'a Error,
    },
}

/// What became of all candidates, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs of a kernel and a problem that earlier records hold.
    pub known: usize,
    /// Measured beside the peer.
    pub measured: usize,
    /// Screened out.
    pub screened: usize,
    /// Not looked at, for want of time.
    pub unseen: usize,
    /// Dropped, by reason.
    pub dropped: BTreeMap<String, usize>,
    /// Problems left out as a whole.
    pub skipped: usize,
    /// Pairs of a kernel and a problem that there is no memory for here: they have no record.
    #[serde(default)]
    pub no_memory: usize,
}
