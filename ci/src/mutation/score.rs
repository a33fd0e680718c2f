//! The fates counted: over all kernels, and kernel by kernel as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::judge::Fate;
use super::record::Line;
use super::survivors::Rules;

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
    /// Counts fates, looking up the reasons of survivors.
    pub fn of<'l>(lines: impl IntoIterator<Item = &'l Line>, rules: &Rules) -> Score {
        let mut score = Score::default();
        for line in lines {
            let fate = Fate::parse(&line.fate);
            if fate == Fate::Refused {
                score.refused += 1;
            } else if fate.is_killed() {
                score.killed += 1;
                *score.by.entry(line.fate.clone()).or_default() += 1;
            } else if let Some(rule) = rules.find(line) {
                score.explained += 1;
                *score.rules.entry(rule).or_default() += 1;
            } else {
                score.unexplained.push(line.clone());
            }
        }
        score
    }

    /// Mutants that are PTX.
    pub fn total(&self) -> usize {
        self.killed + self.explained + self.unexplained.len()
    }

    /// Noticed or explained, in percent.
    pub fn percent(&self) -> f64 {
        let total = self.total().max(1) as f64;
        100.0 * (total - self.unexplained.len() as f64) / total
    }

    /// `killed 97 of 100, 2 equal with a reason, 1 unexplained (99.00%); 0 refused`.
    pub fn closing_line(&self) -> String {
        format!(
            "killed {} of {}, {} equal with a reason, {} unexplained ({:.2}%); {} refused",
            self.killed,
            self.total(),
            self.explained,
            self.unexplained.len(),
            self.percent(),
            self.refused
        )
    }
}

/// A line for each kernel, then how often each reason was given and what told the others.
pub fn table(lines: &[Line], rules: &Rules) -> String {
    let mut of: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        of.entry(&line.subject).or_default().push(line);
    }
    let width = of.keys().map(|name| name.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$} mutants  killed   equal  unexplained  refused\n",
        "# kernel"
    );
    let mut row = |name: &str, score: &Score| {
        let (total, unexplained) = (score.total(), score.unexplained.len());
        let (killed, equal, refused) = (score.killed, score.explained, score.refused);
        let _ = writeln!(
            text,
            "{name:width$} {total:>7} {killed:>7} {equal:>7} {unexplained:>12} {refused:>8}"
        );
    };
    for (name, lines) in &of {
        row(name, &Score::of(lines.iter().copied(), rules));
    }
    let all = Score::of(lines, rules);
    row("all", &all);
    text.push_str("\n# Told by\n");
    for (id, count) in &all.by {
        let _ = writeln!(text, "{count:>7} {id}");
    }
    text.push_str("\n# Equal, by reason\n");
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (rule, count) in &all.rules {
        let reason = rules.0.get(*rule).map_or("", |rule| &rule.reason);
        *reasons.entry(reason).or_default() += count;
    }
    for (reason, count) in reasons {
        let _ = writeln!(text, "{count:>7} {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(subject: &str, mutant: &str, fate: &str) -> Line {
        Line {
            subject: subject.into(),
            ptx: String::new(),
            mutant: mutant.into(),
            was: "bar.sync 0;".into(),
            meaning: String::new(),
            nth: 1,
            is: String::new(),
            fate: fate.into(),
        }
    }

    #[test]
    fn fates_are_counted_by_kernel_and_reason() {
        let rules = Rules::parse("a* | *:duplicate | * | it only orders\n").unwrap_or_default();
        let lines = [
            line("a", "1:drop", "race_shared"),
            line("a", "1:duplicate", "equal"),
            line("b", "1:duplicate", "equal"),
            line("b", "1:drop", "refused"),
        ];
        let score = Score::of(&lines, &rules);
        assert_eq!(
            score.closing_line(),
            "killed 1 of 3, 1 equal with a reason, 1 unexplained (66.67%); 1 refused"
        );
        let table = table(&lines, &rules);
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[1], ["a", "2", "1", "1", "0", "0"]);
        assert_eq!(rows[2], ["b", "1", "0", "0", "1", "1"]);
        assert_eq!(rows[3], ["all", "3", "1", "1", "1", "1"]);
        assert!(table.contains("1 it only orders"));
    }
}
