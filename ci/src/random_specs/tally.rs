//! Counts of verdicts, and what is allowed of them.
//!
//! Comes in: one verdict after another. Goes out: a line while they come, a table at the end, and
//! what exceeds its limit.

use std::collections::BTreeMap;

use super::campaign::Judged;
use super::judge::End;

/// Of a thousand accepted specs that write keys which only the assembler can refuse, how many it
/// may refuse, with a value that builds.
const MOST_REFUSED_OF_1000: usize = 2;

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    ends: BTreeMap<(End, bool), usize>,
    /// By end and check: how many, and the first seed.
    checks: BTreeMap<(End, String), (usize, u64)>,
}

impl Tally {
    /// The counts of these.
    pub fn of(all: &[Judged]) -> Tally {
        let mut tally = Tally::default();
        all.iter().for_each(|one| tally.add(one));
        tally
    }

    /// Counts one.
    pub fn add(&mut self, one: &Judged) {
        let verdict = &one.verdict;
        *self.ends.entry((verdict.end, one.is_decided)).or_default() += 1;
        let check = (verdict.end, verdict.code.clone());
        let check = self.checks.entry(check).or_insert((0, one.seed));
        check.0 += 1;
        check.1 = check.1.min(one.seed);
    }

    /// How many came to ends of that kind; keys that only the assembler can refuse written or not.
    fn count(&self, is_one: impl Fn(End, bool) -> bool) -> usize {
        let of = self
            .ends
            .iter()
            .filter(|((end, decided), _)| is_one(*end, *decided));
        of.map(|(_, count)| count).sum()
    }

    /// How many there are.
    pub fn total(&self) -> usize {
        self.count(|_, _| true)
    }

    /// How many faults there are.
    pub fn faults(&self) -> usize {
        self.count(|end, _| end.is_fault())
    }

    /// Whether more is refused than may be, or anything is a fault.
    pub fn is_exceeded(&self) -> bool {
        let (refused, most, _) = self.refused_of_decided();
        self.faults() > 0 || refused > most
    }

    /// Of accepted specs that write keys which only the assembler can refuse: how many it refused
    /// with a value that builds, how many it may, rounded up, and how many there are.
    fn refused_of_decided(&self) -> (usize, usize, usize) {
        let all = self.count(|end, decided| decided && end.is_accepted());
        let refused = self.count(|end, _| end == End::RefusedByAssembler);
        (refused, (all * MOST_REFUSED_OF_1000).div_ceil(1000), all)
    }

    /// What was seen, in a line.
    pub fn line(&self) -> String {
        let accepted = self.count(|end, _| end.is_accepted());
        let right = self.count(|end, _| end == End::Right);
        let (refused, ..) = self.refused_of_decided();
        format!(
            "{} specs: {accepted} accepted, {right} right, {refused} refused by ptxas with a \
             value, {} faults",
            self.total(),
            self.faults()
        )
    }

    /// How many specs came to each end, and by which check, with the first seed of each; then the
    /// classes that have limits.
    pub fn table(&self) -> String {
        let total = self.total();
        let mut out = format!("{total} specs\n");
        let mut ends: BTreeMap<End, usize> = BTreeMap::new();
        for ((end, _), count) in &self.ends {
            *ends.entry(*end).or_default() += count;
        }
        for (end, count) in ends {
            let percent = 100.0 * count as f64 / total as f64;
            out.push_str(&format!("{count:>7} {percent:>5.1}%  {}\n", end.name()));
            let of = self
                .checks
                .iter()
                .filter(|((of, code), _)| *of == end && !code.is_empty());
            for ((_, code), (count, seed)) in of {
                out.push_str(&format!("{count:>16}  {code} (seed {seed})\n"));
            }
        }
        out + &self.classes()
    }

    /// The classes that have limits, a line each.
    fn classes(&self) -> String {
        let wrong = [End::Wrong, End::NoProblem, End::RefusedLate];
        let broken = [End::Bug, End::Died, End::Slow];
        let silent = [End::RefusedWithoutWay, End::WayFails];
        let free = self.count(|end, decided| !decided && end.is_accepted());
        let (refused, most, decided) = self.refused_of_decided();
        let share = 100.0 * refused as f64 / decided.max(1) as f64;
        let count = |ends: &[End]| self.count(|end, _| ends.contains(&end));
        let unwritten = count(&[End::RefusedUnwritten]);
        format!(
            "{:>7} of {:>5} accepted are not verified or wrong (none may be)\n\
             {unwritten:>7} of {free:>5} that leave registers to the plan are not built (none may \
             be)\n\
             {refused:>7} of {decided:>5} that write what only ptxas can refuse are not built, \
             {share:.2}% ({most} may be, with a value that builds)\n\
             {:>7} of these without key, place or a value that builds (none may be)\n\
             {:>7} exit 3, died or not judged in time (none may be)\n",
            count(&wrong),
            free + decided,
            count(&silent),
            count(&broken)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge::Verdict;
    use super::*;

    fn judged(end: End, is_decided: bool) -> Judged {
        let verdict = Verdict::new(end, "code", "");
        Judged {
            seed: 1,
            is_decided,
            verdict,
        }
    }

    #[test]
    fn refusals_are_allowed_by_their_share() {
        let mut tally = Tally::of(&[
            judged(End::Right, false),
            judged(End::RefusedByPlan, true),
            judged(End::RefusedByAssembler, true),
        ]);
        assert!(!tally.is_exceeded(), "{}", tally.table());
        assert_eq!(tally.refused_of_decided(), (1, 1, 1));
        tally.add(&judged(End::RefusedByAssembler, true));
        assert!(tally.is_exceeded(), "{}", tally.table());
        for _ in 0..600 {
            tally.add(&judged(End::Right, true));
        }
        assert_eq!(tally.refused_of_decided(), (2, 2, 602));
        assert!(!tally.is_exceeded(), "{}", tally.table());
        tally.add(&judged(End::RefusedUnwritten, false));
        assert!(tally.is_exceeded() && tally.faults() == 1);
    }
}
