//! Findings of all schedules as one list: what a reader has to look at.

use tilewright_emulator::Finding;

use super::Outcome;
use super::record::FindingRecord;

/// A finding, with the schedules it was made under.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// The first occurrence.
    pub finding: &'a FindingRecord,
    /// The same as the emulator gives it.
    pub found: &'a Finding,
    /// The number of the schedule that made it first.
    pub first: usize,
    /// The names of the schedules, in the order they were run.
    pub schedules: Vec<&'a str>,
}

impl Outcome {
    /// Every finding once: those of one id, place and other side are the same one. Errors come
    /// first, then warnings; each in the order of the text.
    pub fn findings(&self) -> Vec<Summary<'_>> {
        let mut list: Vec<Summary<'_>> = Vec::new();
        for (first, schedule) in self.schedules.iter().enumerate() {
            for (finding, found) in schedule.findings.iter().zip(&schedule.found) {
                let known = list.iter_mut().find(|one| key(one.finding) == key(finding));
                match known {
                    // A line of several instructions may make it several times in one.
                    Some(known) if known.schedules.last() == Some(&schedule.name.as_str()) => {}
                    Some(known) => known.schedules.push(&schedule.name),
                    None => list.push(Summary {
                        finding,
                        found,
                        first,
                        schedules: vec![&schedule.name],
                    }),
                }
            }
        }
        let rank = |level: &str| {
            ["error", "warning", "info"]
                .iter()
                .position(|l| *l == level)
        };
        list.sort_by_key(|one| (rank(one.finding.level), one.finding.line));
        list
    }
}

fn key(finding: &FindingRecord) -> (&str, u32, Option<u32>) {
    let other = finding.other.as_ref().map(|other| other.line);
    (&finding.id, finding.line, other)
}
