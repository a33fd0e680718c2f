//! What a terminal shows while kernels are tuned: where the tuner is, and what became of kernels.

use tilewright_lab::tune::{Outcome, Record, Step};

use crate::quantity::counted;

/// Counts of the run so far.
#[derive(Debug, Default)]
pub struct StatusLine {
    /// The problem at work, from 1, and how many of its kernels were looked at.
    problem: usize,
    looked: usize,
    measured: usize,
    screened: usize,
    dropped: usize,
}

impl StatusLine {
    /// The line for what is done next.
    pub fn next(&mut self, step: &Step) -> String {
        let [problem, problems] = step.place;
        if self.problem != problem {
            (self.problem, self.looked) = (problem, 0);
        }
        let looks = step.what == "screen";
        self.looked += usize::from(looks);
        let of = match looks {
            true => format!(" {}/{}", self.looked, step.candidates),
            false => String::new(),
        };
        let kernels = match step.kernels.as_slice() {
            [one] => one.row.kernel.clone(),
            [] => counted(step.candidates, "kernel"),
            some => counted(some.len(), "kernel"),
        };
        let StatusLine {
            measured,
            screened,
            dropped,
            ..
        } = self;
        format!(
            "{problem}/{problems} {}: {}{of}, {measured} measured, {screened} screened out, \
             {dropped} dropped: {kernels}",
            step.problem, step.what
        )
    }

    /// Counts what became of a kernel.
    pub fn recorded(&mut self, record: &Record) {
        *match record.outcome {
            Outcome::Measured => &mut self.measured,
            Outcome::Screened => &mut self.screened,
            Outcome::Dropped => &mut self.dropped,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use tilewright_lab::tune::Reason;

    use super::super::supervise::tests::record;
    use super::*;

    fn step(what: &str, place: [usize; 2], kernels: usize) -> Step {
        Step {
            what: what.to_owned(),
            problem: "512x512x512".to_owned(),
            place,
            candidates: 40,
            kernels: vec![record(); kernels],
            limit_s: 60.0,
        }
    }

    #[test]
    fn problem_kernel_and_counts_are_told() {
        let mut status = StatusLine::default();
        let line = status.next(&step("prepare", [1, 3], 0));
        assert!(line.ends_with(": 40 kernels"), "{line}");
        status.next(&step("screen", [1, 3], 1));
        status.recorded(&record().dropped(Reason::Load, "refused"));
        let line = status.next(&step("screen", [1, 3], 1));
        let wanted = "1/3 512x512x512: screen 2/40, 0 measured, 0 screened out, 1 dropped: \
                      gemm@bad-1";
        assert_eq!(line, wanted);
        let line = status.next(&step("race", [1, 3], 16));
        assert!(
            line.contains(": race, 0 measured") && line.ends_with(": 16 kernels"),
            "{line}"
        );
        // The next problem's kernels are counted anew.
        let line = status.next(&step("screen", [2, 3], 1));
        assert!(line.starts_with("2/3 512x512x512: screen 1/40, "), "{line}");
    }
}
