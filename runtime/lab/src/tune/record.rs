//! One tuning record: what became of one kernel on one problem of one device.
//!
//! Records are JSON lines, and each is a result row with more about it: who reads rows reads
//! records. Added to a file of records are records alone. Format 1 has, before the fields of
//! [`Row`]:
//!
//! | field | |
//! |---|---|
//! | `format` | 1 |
//! | `outcome` | `measured` beside the peer; `screened` out by a shorter look; `dropped` |
//! | `reason`, `detail` | why it was dropped: a [`Reason`] and the text; else absent |
//! | `content_hash` | of the kernel's entry in the bundle's manifest |
//! | `backend`, `sm`, `sms` | of the device, with the row's `gpu` and `driver` |
//!
//! Times of the emulator are executed thread instructions, as `unit` says before the row, and
//! nothing stands beside them.

use serde::{Deserialize, Serialize};

use crate::bench::{Mode, Row, RowProblem};

/// The record format this crate writes and the only one it reads.
pub const RECORD_FORMAT: u32 = 1;

/// How far a kernel came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was right, and measured beside the peer.
    Measured,
    /// Others were faster in a shorter look; `ours_us` says what that look saw.
    Screened,
    /// It cannot be used for the problem.
    Dropped,
}

/// Why a kernel was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The device refused its code or its launch.
    Load,
    /// Its output broke the correctness rule.
    Wrong,
    /// It stopped with an error: a fault, an instruction budget.
    Fault,
    /// The process died while it ran.
    Crashed,
    /// The process was ended while it ran by what ends processes that ask for too much memory; a
    /// later run tries it again.
    Killed,
    /// It did not end in time.
    Hung,
}

impl Reason {
    /// The spelling in reports and records.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Load => "load",
            Reason::Wrong => "wrong",
            Reason::Fault => "fault",
            Reason::Crashed => "crashed",
            Reason::Killed => "killed",
            Reason::Hung => "hung",
        }
    }
}

/// What became of one kernel on one problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`RECORD_FORMAT`].
    pub format: u32,
    /// How far it came.
    pub outcome: Outcome,
    /// Why it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The kernel's content hash.
    pub content_hash: String,
    /// `cuda` or `emulator`.
    pub backend: String,
    /// The device's compute capability.
    #[serde(default)]
    pub sm: Option<u32>,
    /// Its multiprocessors.
    pub sms: u32,
    /// What the row's times count where they are no microseconds: `thread instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The row.
    #[serde(flatten)]
    pub row: Row,
}

/// What a record is about: what was tuned once under the same key is not tuned again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    content_hash: String,
    device: (String, String, Option<u32>, u32),
    driver: String,
    problem: RowProblem,
    layout: String,
    mode: Mode,
}

impl Record {
    /// What the record is about.
    pub fn key(&self) -> Key {
        let Record { row, .. } = self;
        Key {
            content_hash: self.content_hash.clone(),
            device: (self.backend.clone(), row.gpu.clone(), self.sm, self.sms),
            driver: row.driver.clone(),
            problem: row.problem.clone(),
            layout: row.layout.clone(),
            mode: row.mode,
        }
    }

    /// Whether it was dropped for want of memory, as far as can be told: with more of it, it may be
    /// used.
    pub fn is_for_memory(&self) -> bool {
        let detail = self.detail.as_deref().unwrap_or_default();
        match self.reason {
            Some(Reason::Killed) => true,
            // An allocator that has nothing to give aborts; what kills a process for memory kills.
            Some(Reason::Crashed) => detail.contains("signal: 6") || detail.contains("signal: 9"),
            Some(Reason::Load | Reason::Fault) => detail.contains("no memory for "),
            Some(Reason::Wrong | Reason::Hung) | None => false,
        }
    }

    /// The same kernel and problem as dropped.
    #[must_use]
    pub fn dropped(mut self, reason: Reason, detail: impl Into<String>) -> Record {
        self.outcome = Outcome::Dropped;
        self.reason = Some(reason);
        self.detail = Some(detail.into());
        self
    }

    /// The same kernel and problem as screened out at a time.
    #[must_use]
    pub(crate) fn screened(mut self, us: f64) -> Record {
        self.outcome = Outcome::Screened;
        self.row.ours_us = us;
        self
    }

    /// The same kernel and problem as measured.
    #[must_use]
    pub(crate) fn measured(mut self, row: Row) -> Record {
        self.outcome = Outcome::Measured;
        self.row = row;
        self
    }
}
