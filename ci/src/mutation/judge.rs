//! Runs a mutant until something shows: a finding, wrong bytes, or nothing in any schedule.
//!
//! The unbroken subject runs once under each schedule, and the emulator says which mutants do the
//! same there, instruction by instruction; only the others are run.

use std::borrow::Cow;
use std::sync::OnceLock;

use rayon::prelude::*;
use tilewright_emulator::{Alternatives, Module, Options, Sanitize};

use super::Subject;
use super::operators::Mutant;
use crate::subject::{Failure, Trial};

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
    /// Right within the tolerance of its launch file or the bounds of its formula, but not the same
    /// bytes.
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
pub type Rasters<'a> = dyn Fn() -> Result<Vec<Trial>, Failure> + Send + Sync + 'a;

/// A subject that was found right under every schedule, and what is known of its mutants.
pub struct Judge<'s> {
    subject: &'s Subject,
    mutants: &'s [Mutant],
    /// By mutant: its place among the alternatives, unless it is refused.
    numbers: Vec<Option<usize>>,
    alternatives: Alternatives,
    module: Module,
    /// Launches under schedules in the order in which mutants are asked.
    tests: Vec<Test<'s>>,
    schedule: Options,
    rasters: &'s Rasters<'s>,
    /// The launches of many tiles, once they were asked for.
    many: OnceLock<Result<Vec<Test<'s>>, String>>,
}

/// A launch under one schedule, and what the unbroken subject does there.
struct Test<'s> {
    launch: Cow<'s, Trial>,
    options: Options,
    /// What its buffers hold in the end.
    bytes: Vec<Vec<u8>>,
    /// The mutants that may run differently, by number; the others do what the subject does.
    differs: Vec<bool>,
}

impl<'s> Judge<'s> {
    /// Runs the unbroken subject, and learns which of its mutants differ where.
    ///
    /// # Errors
    /// When it is not right and without findings under every schedule: then nothing can be learned
    /// from its mutants.
    pub fn new(
        subject: &'s Subject,
        mutants: &'s [Mutant],
        schedules: usize,
        rasters: &'s Rasters<'s>,
    ) -> Result<Judge<'s>, Failure> {
        let module = Module::parse(&subject.ptx)?;
        let mut alternatives = Alternatives::default();
        let numbers = mutants.iter().map(|mutant| {
            let other = Module::parse(&mutant.apply(&subject.ptx)).ok()?;
            Some(alternatives.add(&module, &other))
        });
        let numbers = numbers.collect();
        let mut schedules = subject.options(schedules);
        if let Some(last) = schedules.last_mut() {
            last.waits_time_out = true;
        }
        for options in &mut schedules {
            options.counters = false;
            // Mutants run side by side.
            options.parallel = false;
            options.stops_at_error = true;
        }
        let first = schedules.first().cloned().unwrap_or_default();
        // Edges are run under the first schedule, before the launches under the others.
        let edges = subject.edges.iter().map(|launch| (launch, &first));
        let pairs = |options| subject.launches.iter().map(move |launch| (launch, options));
        let later = schedules.iter().skip(1).flat_map(pairs);
        let last = schedules.last().unwrap_or(&first);
        let rounds = subject.rounds.iter().map(|launch| (launch, last));
        let all = pairs(&first).chain(edges).chain(later).chain(rounds);
        let all: Vec<_> = all.collect();
        let tests = all.into_par_iter().map(|(launch, options)| {
            Test::new(
                subject,
                Cow::Borrowed(launch),
                (&module, &alternatives),
                options,
            )
        });
        let tests = tests.collect::<Result<_, Failure>>()?;
        Ok(Judge {
            subject,
            mutants,
            numbers,
            alternatives,
            module,
            tests,
            schedule: first,
            rasters,
            many: OnceLock::new(),
        })
    }

    /// What becomes of a mutant, by its place in the list.
    ///
    /// # Errors
    /// When it could not be launched, which is no verdict on it.
    pub fn judge(&self, index: usize) -> Result<Fate, Failure> {
        let (Some(mutant), Some(Some(number))) = (self.mutants.get(index), self.numbers.get(index))
        else {
            return Ok(Fate::Refused);
        };
        let module = Module::parse(&mutant.apply(&self.subject.ptx))?;
        let mut close = false;
        for test in &self.tests {
            match test.shows(*number, &module)? {
                Fate::Equal => {}
                Fate::Close => close = true,
                fate => return Ok(fate),
            }
        }
        if ["constant", "compare", "guard"].contains(&mutant.operator) {
            for test in self.many()? {
                let fate = test.shows(*number, &module)?;
                if fate.is_killed() {
                    return Ok(fate);
                }
            }
        }
        Ok(if close { Fate::Close } else { Fate::Equal })
    }

    /// Many tiles, which may show what few do not: bytes only, the checks are off.
    fn many(&self) -> Result<&[Test<'s>], Failure> {
        let options = Options {
            sanitize: Sanitize::Off,
            ..self.schedule.clone()
        };
        let made = self.many.get_or_init(|| {
            let launches = (self.rasters)().map_err(|error| error.to_string())?;
            let beside = (&self.module, &self.alternatives);
            let tests = launches
                .into_iter()
                .map(|launch| Test::new(self.subject, Cow::Owned(launch), beside, &options));
            let tests: Result<_, Failure> = tests.collect();
            tests.map_err(|error| error.to_string())
        });
        Ok(made.as_deref().map_err(String::as_str)?)
    }
}

impl<'s> Test<'s> {
    /// Runs the unbroken subject.
    fn new(
        subject: &Subject,
        launch: Cow<'s, Trial>,
        (module, alternatives): (&Module, &Alternatives),
        options: &Options,
    ) -> Result<Test<'s>, Failure> {
        let (ran, differs) = launch.run_beside(module, alternatives, options)?;
        if let Some(finding) = ran.report.errors().next() {
            return Err(format!("{} is not clean: {finding}", subject.name).into());
        }
        if let Some(wrong) = launch.wrong(&ran)? {
            return Err(format!("{} is not right: {wrong}", subject.name).into());
        }
        // A mutant may take a longer way, but not for ever.
        let most = 3 * ran.report.warp_instructions + 10_000;
        let options = Options {
            instructions_total: most,
            instructions_per_warp: most,
            ..options.clone()
        };
        Ok(Test {
            launch,
            options,
            bytes: ran.bytes,
            differs,
        })
    }

    /// What the launch shows of a mutant.
    fn shows(&self, number: usize, module: &Module) -> Result<Fate, Failure> {
        if self.differs.get(number) == Some(&false) {
            return Ok(Fate::Equal);
        }
        let (ran, _) = self
            .launch
            .run_beside(module, &Alternatives::default(), &self.options)?;
        if let Some(finding) = ran.report.errors().next() {
            return Ok(Fate::Found(finding.id.as_str().to_owned()));
        }
        if self.launch.wrong(&ran)?.is_some() {
            return Ok(Fate::Wrong);
        }
        Ok(match ran.bytes == self.bytes {
            true => Fate::Equal,
            false => Fate::Close,
        })
    }
}
