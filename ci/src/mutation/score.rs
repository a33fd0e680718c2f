//! The fates counted: over all kernels, and kernel by kernel as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::campaign::Judged;
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

/// Digits of a hash that tell texts apart.
const DIGITS: usize = 12;
/// What stands behind the row of a kernel whose text has changed since, and behind one that is no
/// longer shipped.
const NOTES: [&str; 2] = [" its text has changed", " no longer shipped"];
/// The head of the list of shipped kernels without a row.
const MISSING: &str = "\n# Not judged\n";

/// A line for each kernel, then how often each reason was given and what told the others.
pub fn table(judged: &[Judged], rules: &Rules) -> String {
    let mut judged: Vec<&Judged> = judged.iter().collect();
    judged.sort_by(|a, b| a.subject.cmp(&b.subject));
    let names = judged.iter().map(|one| one.subject.len());
    let width = names.max().unwrap_or(0);
    let mut text = format!(
        "{:width$} {:DIGITS$} mutants  judged  killed   equal  unexplained  refused\n",
        "# kernel", "text"
    );
    let mut row = |name: &str, ptx: &str, all: usize, score: &Score| {
        let ptx = ptx.get(..DIGITS).unwrap_or(ptx);
        let (killed, equal, refused) = (score.killed, score.explained, score.refused);
        let (judged, unexplained) = (score.total() + refused, score.unexplained.len());
        let _ = writeln!(
            text,
            "{name:width$} {ptx:DIGITS$} {all:>7} {judged:>7} {killed:>7} {equal:>7} \
             {unexplained:>12} {refused:>8}"
        );
    };
    for one in &judged {
        row(
            &one.subject,
            &one.ptx,
            one.all,
            &Score::of(&one.lines, rules),
        );
    }
    let all = Score::of(judged.iter().flat_map(|one| &one.lines), rules);
    let count = judged.iter().map(|one| one.all).sum();
    row("all", "", count, &all);
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

/// A table with a note at each row that is not about a shipped kernel as it is now, and the names
/// of those without a row. `shipped` has the hash of each by name.
pub fn marked(table: &str, shipped: &BTreeMap<String, String>) -> String {
    let (table, _) = table.split_once(MISSING).unwrap_or((table, ""));
    let mut missing: Vec<&str> = shipped.keys().map(String::as_str).collect();
    let mut text = String::new();
    for line in table.trim_end().lines() {
        let row = NOTES.iter().find_map(|note| line.strip_suffix(note));
        let row = row.unwrap_or(line);
        let mut words = row.split_whitespace();
        let (name, ptx) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        text.push_str(row);
        if name.contains('@') {
            missing.retain(|one| *one != name);
            text.push_str(match shipped.get(name) {
                Some(hash) if hash.starts_with(ptx) => "",
                Some(_) => NOTES[0],
                None => NOTES[1],
            });
        }
        text.push('\n');
    }
    if !missing.is_empty() {
        text.push_str(MISSING);
        missing.iter().for_each(|name| {
            let _ = writeln!(text, "{name}");
        });
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
        let judged = ["a", "b"].map(|name| Judged {
            subject: name.into(),
            ptx: "0123456789abcdef".into(),
            all: 5,
            lines: lines
                .iter()
                .filter(|one| one.subject == name)
                .cloned()
                .collect(),
        });
        let table = table(&judged, &rules);
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let text = "0123456789ab";
        assert_eq!(rows[1], ["a", text, "5", "2", "1", "1", "0", "0"]);
        assert_eq!(rows[2], ["b", text, "5", "2", "0", "0", "1", "1"]);
        assert_eq!(rows[3], ["all", "10", "4", "1", "1", "1", "1"]);
        assert!(table.contains("1 it only orders"));
    }

    #[test]
    fn rows_of_other_texts_are_marked() {
        let shipped = |list: &[(&str, &str)]| {
            let owned = list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            owned.collect::<BTreeMap<String, String>>()
        };
        let table = "# kernel text\na@1 01 5 5\nb@1 02 6 6\nc@1 03 7 7\nall 18\n";
        let now = shipped(&[("a@1", "0123"), ("b@1", "0345"), ("d@1", "04")]);
        let text = marked(table, &now);
        assert_eq!(
            text,
            "# kernel text\na@1 01 5 5\nb@1 02 6 6 its text has changed\n\
             c@1 03 7 7 no longer shipped\nall 18\n\n# Not judged\nd@1\n"
        );
        assert_eq!(marked(&text, &now), text);
        let before = shipped(&[("a@1", "01"), ("b@1", "02"), ("c@1", "03")]);
        assert_eq!(marked(&text, &before), table);
    }
}
