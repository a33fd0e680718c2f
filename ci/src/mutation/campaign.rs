//! Many mutants on every core, with a record that a later run takes up.
//!
//! Each mutant's fate is one JSON line: `subject`, `ptx` (the hash of the text), `mutant`, `was`,
//! `is`, `fate`. A run skips what its record has for the same text. With a sample, the mutants of
//! each subject are drawn by a seed.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tilewright_bundle::Sha256Hex;

use super::Subject;
use super::judge::{Fate, Judge};
use super::operators::{Mutant, mutants};
use super::survivors::Rules;
use crate::subject::Failure;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Schedules of each launch.
    pub schedules: usize,
    /// Mutants of each subject, and the seed they are drawn by; all without it.
    pub sample: Option<(usize, u64)>,
    /// The record to take up and continue.
    pub record: Option<PathBuf>,
}

/// One mutant's fate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// The kernel.
    pub subject: String,
    /// The hash of its text.
    pub ptx: String,
    /// The mutant's id.
    pub mutant: String,
    /// The instruction.
    pub was: String,
    /// What it became.
    pub is: String,
    /// What became of the mutant.
    pub fate: String,
}

/// All fates.
#[derive(Clone, Debug, Default)]
pub struct Result {
    /// In the order of subjects and texts.
    pub lines: Vec<Line>,
}

/// Runs the mutants of all subjects; `progress` is called with each that is judged.
///
/// # Errors
/// When a subject is not right without a change, or the record cannot be read or written.
pub fn run(
    subjects: &[Subject],
    plan: &Plan,
    progress: impl Fn(&Line) + Sync,
) -> std::result::Result<Result, Failure> {
    let known = known(plan)?;
    let record = plan.record.as_ref().map(|path| {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map(Mutex::new)
    });
    let record = record.transpose()?;
    let mut lines = Vec::new();
    for subject in subjects {
        lines.extend(one(subject, plan, &known, record.as_ref(), &progress)?);
    }
    Ok(Result { lines })
}

type Known = HashMap<(String, String, String), String>;

fn known(plan: &Plan) -> std::result::Result<Known, Failure> {
    let Some(path) = plan.record.as_ref().filter(|path| path.exists()) else {
        return Ok(Known::new());
    };
    let text = std::fs::read_to_string(path)?;
    let mut known = Known::new();
    for line in text.lines() {
        // A run that was stopped may have left half a line.
        if let Ok(line) = serde_json::from_str::<Line>(line) {
            known.insert((line.subject, line.ptx, line.mutant), line.fate);
        }
    }
    Ok(known)
}

fn one(
    subject: &Subject,
    plan: &Plan,
    known: &Known,
    record: Option<&Mutex<File>>,
    progress: &(impl Fn(&Line) + Sync),
) -> std::result::Result<Vec<Line>, Failure> {
    let hash = Sha256Hex::of(subject.ptx.as_bytes()).to_string();
    let mutants = chosen(subject, plan.sample);
    let judge = Judge::new(subject, plan.schedules)?;
    let fates = mutants.par_iter().map(|mutant| {
        let key = (subject.name.clone(), hash.clone(), mutant.id.clone());
        let told = known.get(&key);
        let fate = match told {
            Some(fate) => Fate::parse(fate),
            None => judge.judge(mutant)?,
        };
        let line = Line {
            subject: key.0,
            ptx: key.1,
            mutant: key.2,
            was: mutant.was.clone(),
            is: mutant.is.clone(),
            fate: fate.text().to_owned(),
        };
        if let (None, Some(record)) = (told, record) {
            let text = format!("{}\n", serde_json::to_string(&line)?);
            let file = record.lock();
            file.map_err(|_| "another worker failed")?
                .write_all(text.as_bytes())?;
        }
        progress(&line);
        Ok(line)
    });
    fates.collect()
}

/// The mutants to run: all, or as many as the sample asks for.
fn chosen(subject: &Subject, sample: Option<(usize, u64)>) -> Vec<Mutant> {
    let mut all = mutants(&subject.ptx);
    let Some((count, seed)) = sample else {
        return all;
    };
    // The order of hashes is as good as drawing lots, and does not depend on other mutants.
    let lot = |one: &Mutant| {
        let text = format!("{seed} {} {}", subject.name, one.id);
        Sha256Hex::of(text.as_bytes()).to_string()
    };
    all.sort_by_cached_key(lot);
    all.truncate(count);
    all
}

/// The fates counted.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Noticed by the emulator.
    pub killed: usize,
    /// Never told from the kernel, for a reason that is written down.
    pub explained: usize,
    /// No PTX.
    pub refused: usize,
    /// Never told from the kernel, and nobody has said why.
    pub unexplained: Vec<Line>,
    /// How often each rule spoke, by its place.
    pub rules: BTreeMap<usize, usize>,
    /// Killed mutants by what told them.
    pub by: BTreeMap<String, usize>,
}

impl Score {
    /// Mutants that are PTX.
    pub fn total(&self) -> usize {
        self.killed + self.explained + self.unexplained.len()
    }

    /// `killed 97 of 100, 2 equal with a reason, 1 unexplained (99.0%); 0 refused`.
    pub fn closing_line(&self) -> String {
        let (total, unexplained) = (self.total(), self.unexplained.len());
        let good = 100.0 * (total - unexplained) as f64 / total.max(1) as f64;
        format!(
            "killed {} of {total}, {} equal with a reason, {unexplained} unexplained ({good:.2}%); \
             {} refused",
            self.killed, self.explained, self.refused
        )
    }
}

impl Result {
    /// Counts the fates, looking up the reasons of survivors.
    pub fn score(&self, rules: &Rules) -> Score {
        let mut score = Score::default();
        for line in &self.lines {
            let fate = Fate::parse(&line.fate);
            if fate == Fate::Refused {
                score.refused += 1;
            } else if fate.is_killed() {
                score.killed += 1;
                *score.by.entry(line.fate.clone()).or_default() += 1;
            } else if let Some(rule) = rules.find(&line.subject, &line.mutant, &line.was) {
                score.explained += 1;
                *score.rules.entry(rule).or_default() += 1;
            } else {
                score.unexplained.push(line.clone());
            }
        }
        score
    }
}
