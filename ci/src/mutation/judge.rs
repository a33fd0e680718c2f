//! Runs a mutant until something shows: a finding, wrong bytes, or nothing in any schedule.

use std::slice::from_ref;
use std::sync::OnceLock;

use rayon::prelude::*;
use tilewright_emulator::{Module, Options, Sanitize};

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

/// Makes launches of many tiles. They show a wrong order of tiles, which costs too much to ask of
/// each mutant.
pub type Rasters<'a> = dyn Fn() -> Result<Vec<Prepared>, Failure> + Send + Sync + 'a;

/// A subject that was found right under every schedule, with the bytes it leaves.
pub struct Judge<'s> {
    subject: &'s Subject,
    schedules: Vec<Options>,
    /// What each launch and each edge leaves.
    left: Vec<Left>,
    rasters: &'s Rasters<'s>,
    /// The launches of many tiles with what they leave, once they were asked for.
    many: OnceLock<Result<Vec<(Prepared, Left)>, String>>,
}

/// What a launch of the unbroken subject leaves.
struct Left {
    /// What its buffers hold in the end.
    bytes: Vec<Vec<u8>>,
    /// The warp instructions it took at most.
    instructions: u64,
}

impl<'s> Judge<'s> {
    /// Runs the unbroken subject.
    ///
    /// # Errors
    /// When it is not right and without findings under every schedule: then nothing can be learned
    /// from its mutants.
    pub fn new(
        subject: &'s Subject,
        schedules: usize,
        rasters: &'s Rasters<'s>,
    ) -> Result<Judge<'s>, Failure> {
        let module = Module::parse(&subject.ptx)?;
        let mut schedules = subject.options(schedules);
        let all: Vec<&Prepared> = launches(subject).collect();
        let ran = all.par_iter().enumerate().map(|(index, launch)| {
            let edge = index >= subject.launches.len();
            let count = if edge { 1 } else { schedules.len() };
            clean(
                subject,
                launch,
                &module,
                schedules.get(..count).unwrap_or_default(),
            )
        });
        let left: Vec<Left> = ran.collect::<Result<_, Failure>>()?;
        if let Some(last) = schedules.last_mut() {
            last.waits_time_out = true;
        }
        for options in &mut schedules {
            options.counters = false;
            // Mutants run side by side.
            options.parallel = false;
            options.stops_at_error = true;
        }
        Ok(Judge {
            subject,
            schedules,
            left,
            rasters,
            many: OnceLock::new(),
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
                0 => self.left.len(),
                _ => self.subject.launches.len(),
            };
            for (launch, left) in launches(self.subject).zip(&self.left).take(count) {
                match shows(&module, launch, left, options)? {
                    Fate::Equal => {}
                    Fate::Close => close = true,
                    fate => return Ok(fate),
                }
            }
        }
        if ["constant", "compare", "guard"].contains(&mutant.operator) {
            let fate = self.order(&module)?;
            if fate.is_killed() {
                return Ok(fate);
            }
        }
        Ok(if close { Fate::Close } else { Fate::Equal })
    }

    /// Whether many tiles show what few do not: bytes only, the checks are off.
    fn order(&self, module: &Module) -> Result<Fate, Failure> {
        let options = Options {
            sanitize: Sanitize::Off,
            ..self.schedules.first().cloned().unwrap_or_default()
        };
        let made = self.many.get_or_init(|| {
            let make = || -> Result<Vec<(Prepared, Left)>, Failure> {
                let module = Module::parse(&self.subject.ptx)?;
                let launches = (self.rasters)()?.into_iter();
                let ran = launches.map(|launch| {
                    let left = clean(self.subject, &launch, &module, from_ref(&options))?;
                    Ok((launch, left))
                });
                ran.collect()
            };
            make().map_err(|error| error.to_string())
        });
        for (launch, left) in made.as_ref().map_err(String::as_str)? {
            let fate = shows(module, launch, left, &options)?;
            if fate.is_killed() {
                return Ok(fate);
            }
        }
        Ok(Fate::Equal)
    }
}

/// What one launch shows of a mutant.
fn shows(
    module: &Module,
    launch: &Prepared,
    left: &Left,
    options: &Options,
) -> Result<Fate, Failure> {
    // A mutant may take a longer way, but not for ever.
    let most = 3 * left.instructions + 10_000;
    let options = Options {
        instructions_total: most,
        instructions_per_warp: most,
        ..options.clone()
    };
    let ran = launch.run(module, &options)?;
    if let Some(finding) = ran.report.errors().next() {
        return Ok(Fate::Found(finding.id.as_str().to_owned()));
    }
    if ran.is_wrong() {
        return Ok(Fate::Wrong);
    }
    Ok(match ran.bytes == left.bytes {
        true => Fate::Equal,
        false => Fate::Close,
    })
}

fn launches(subject: &Subject) -> impl Iterator<Item = &Prepared> {
    subject.launches.iter().chain(&subject.edges)
}

/// Runs the unbroken subject on one problem under some schedules.
fn clean(
    subject: &Subject,
    launch: &Prepared,
    module: &Module,
    schedules: &[Options],
) -> Result<Left, Failure> {
    let mut left = Left {
        bytes: Vec::new(),
        instructions: 0,
    };
    for options in schedules {
        let ran = launch.run(module, options)?;
        if let Some(finding) = ran.report.errors().next() {
            return Err(format!("{} is not clean: {finding}", subject.name).into());
        }
        if let Some(wrong) = ran.buffers.iter().find(|buffer| !buffer.passed) {
            return Err(format!("{} is not right: {wrong}", subject.name).into());
        }
        left.instructions = left.instructions.max(ran.report.warp_instructions);
        left.bytes = ran.bytes;
    }
    Ok(left)
}
