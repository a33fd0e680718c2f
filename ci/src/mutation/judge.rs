//! Runs a mutant until something shows: a finding, wrong bytes, or nothing in any schedule.

use tilewright_emulator::{Module, Options};

use super::Subject;
use super::operators::Mutant;
use crate::subject::Failure;
use tilewright_runtime::launch_file::Prepared;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is no PTX: nobody could ship it.
    Refused,
    /// The emulator made a finding of level error with this id.
    Found(String),
    /// A buffer does not hold what it must.
    Wrong,
    /// No finding, and every byte as without the change, in every launch and schedule.
    Equal,
    /// Right within the tolerance of its launch file, but not the same bytes.
    Close,
}

impl Fate {
    /// Whether the emulator noticed.
    pub fn is_killed(&self) -> bool {
        matches!(self, Fate::Found(_) | Fate::Wrong)
    }

    /// The words in records.
    pub fn text(&self) -> &str {
        match self {
            Fate::Refused => "refused",
            Fate::Found(id) => id,
            Fate::Wrong => "wrong_bytes",
            Fate::Equal => "equal",
            Fate::Close => "close",
        }
    }

    /// The fate of a record.
    pub fn parse(text: &str) -> Fate {
        match text {
            "refused" => Fate::Refused,
            "wrong_bytes" => Fate::Wrong,
            "equal" => Fate::Equal,
            "close" => Fate::Close,
            id => Fate::Found(id.to_owned()),
        }
    }
}

/// A subject that was found right under every schedule, with the bytes it leaves.
pub struct Judge<'s> {
    subject: &'s Subject,
    schedules: Vec<Options>,
    /// For each launch and each edge, what its buffers hold in the end.
    bytes: Vec<Vec<Vec<u8>>>,
}

impl<'s> Judge<'s> {
    /// Runs the unbroken subject.
    ///
    /// # Errors
    /// When it is not right and without findings under every schedule: then nothing can be learned
    /// from its mutants.
    pub fn new(subject: &'s Subject, schedules: usize) -> Result<Judge<'s>, Failure> {
        let module = Module::parse(&subject.ptx)?;
        let mut schedules = subject.options(schedules);
        let mut bytes = Vec::new();
        let mut most = 0;
        for (index, launch) in launches(subject).enumerate() {
            let mut left = Vec::new();
            let edge = index >= subject.launches.len();
            for options in schedules.iter().take(if edge { 1 } else { usize::MAX }) {
                let ran = launch.run(&module, options)?;
                let error = ran.report.errors().next();
                if let Some(finding) = error {
                    return Err(format!("{} is not clean: {finding}", subject.name).into());
                }
                if let Some(wrong) = ran.buffers.iter().find(|buffer| !buffer.passed) {
                    return Err(format!("{} is not right: {wrong}", subject.name).into());
                }
                most = most.max(ran.report.warp_instructions);
                left = ran.bytes;
            }
            bytes.push(left);
        }
        // A mutant may take a longer way, but not for ever.
        for options in &mut schedules {
            options.instructions_total = 4 * most + 10_000;
            options.instructions_per_warp = 4 * most + 10_000;
            options.counters = false;
            // Mutants run side by side.
            options.parallel = false;
        }
        Ok(Judge {
            subject,
            schedules,
            bytes,
        })
    }

    /// What becomes of a mutant.
    ///
    /// # Errors
    /// When it could not be launched, which is no verdict on it.
    pub fn judge(&self, mutant: &Mutant) -> Result<Fate, Failure> {
        let Ok(module) = Module::parse(&mutant.apply(&self.subject.ptx)) else {
            return Ok(Fate::Refused);
        };
        let mut close = false;
        for (place, options) in self.schedules.iter().enumerate() {
            // Edges are run under the first schedule, before the launches under the others.
            let count = match place {
                0 => self.bytes.len(),
                _ => self.subject.launches.len(),
            };
            for (launch, bytes) in launches(self.subject).zip(&self.bytes).take(count) {
                let ran = launch.run(&module, options)?;
                if let Some(finding) = ran.report.errors().next() {
                    return Ok(Fate::Found(finding.id.as_str().to_owned()));
                }
                if ran.is_wrong() {
                    return Ok(Fate::Wrong);
                }
                close |= ran.bytes != *bytes;
            }
        }
        Ok(if close { Fate::Close } else { Fate::Equal })
    }
}

fn launches(subject: &Subject) -> impl Iterator<Item = &Prepared> {
    subject.launches.iter().chain(&subject.edges)
}
