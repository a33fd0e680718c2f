//! How a run of the command ends, and the exit code that says so.
//!
//! In: the closure that is the whole command. Out: an [`ExitCode`], with whatever went wrong told
//! on stderr. Invariant: a panic never shows a bare backtrace to the user; it is reported as our
//! bug.

use std::fmt::Display;
use std::io;
use std::panic;
use std::process::ExitCode;

use crate::terminal;

/// The verdict of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything asked about is in order; exit code 0.
    Good,
    /// The command did its work and the answer is no; exit code 1.
    Negative,
}

impl Verdict {
    /// Good when `good`, negative otherwise.
    pub fn from_good(good: bool) -> Verdict {
        if good {
            Verdict::Good
        } else {
            Verdict::Negative
        }
    }
}

/// Why a command did not run to its end.
#[derive(Debug)]
pub enum Failure {
    /// The input was examined and found wrong; the text is the diagnostic. Exit code 1.
    Rejected(String),
    /// A file, a tool or an argument stood in the way; exit code 2.
    CouldNotRun(String),
    /// A check of our own failed; exit code 3.
    Bug(String),
    /// The reader of stdout went away, as `head` does; quiet, exit code 0.
    ReaderGone,
    /// A child of this command has told why on the same stderr; the exit code is the child's.
    Told(u8),
}

/// What every subcommand returns.
pub type Outcome = Result<Verdict, Failure>;

impl Failure {
    /// The failure of an input or output operation on `what`, usually a path.
    pub fn io(what: impl Display, error: &io::Error) -> Failure {
        Failure::CouldNotRun(format!("{what}: {error}"))
    }

    /// A failure the user can mend, from any error.
    pub fn could_not_run(error: impl Display) -> Failure {
        Failure::CouldNotRun(error.to_string())
    }
}

impl Failure {
    /// The one failure that several are told as: the reports of all, under the worst exit code.
    pub fn all(failures: Vec<Failure>) -> Option<Failure> {
        let mut worst: Option<Failure> = None;
        for failure in failures {
            worst = Some(match worst {
                None => failure,
                Some(before) => before.and(failure),
            });
        }
        worst
    }

    fn and(self, other: Failure) -> Failure {
        let text = match (self.text(), other.text()) {
            ("", text) | (text, "") => text.to_owned(),
            (one, two) => format!("{}\n{two}", one.trim_end()),
        };
        match (self, other) {
            (Failure::Told(one), Failure::Told(two)) => Failure::Told(one.max(two)),
            (Failure::Told(_), other) | (other, Failure::Told(_)) => other,
            (Failure::Bug(_), _) | (_, Failure::Bug(_)) => Failure::Bug(text),
            (Failure::CouldNotRun(_), _) | (_, Failure::CouldNotRun(_)) => {
                Failure::CouldNotRun(text)
            }
            (Failure::Rejected(_), _) | (_, Failure::Rejected(_)) => Failure::Rejected(text),
            (Failure::ReaderGone, Failure::ReaderGone) => Failure::ReaderGone,
        }
    }

    fn text(&self) -> &str {
        match self {
            Failure::Rejected(text) | Failure::CouldNotRun(text) | Failure::Bug(text) => text,
            Failure::ReaderGone | Failure::Told(_) => "",
        }
    }
}

/// A worker whose reader has gone ends quietly: what it answers is nobody's.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::CouldNotRun(format!("cannot write to stdout: {error}")),
        }
    }
}

/// Runs the command, tells its failure on stderr and gives its exit code.
pub fn guard(command: impl FnOnce() -> Outcome + panic::UnwindSafe) -> ExitCode {
    panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, |at| format!(" at {at}"));
        let reason = info.payload_as_str().unwrap_or("no message");
        terminal::complain("bug", &format!("{reason}{place}"));
    }));
    let outcome = panic::catch_unwind(command).unwrap_or_else(|_| {
        Err(Failure::Bug(
            "the command stopped in the middle of its work".to_owned(),
        ))
    });
    ExitCode::from(report(outcome))
}

fn report(outcome: Outcome) -> u8 {
    match outcome {
        Ok(Verdict::Good) | Err(Failure::ReaderGone) => 0,
        Ok(Verdict::Negative) => 1,
        Err(Failure::Told(code)) => code,
        Err(Failure::Rejected(diagnostic)) => {
            terminal::diagnose(&diagnostic);
            1
        }
        Err(Failure::CouldNotRun(reason)) => {
            terminal::complain("error", &reason);
            2
        }
        Err(Failure::Bug(reason)) => {
            terminal::complain("bug", &reason);
            terminal::diagnose(
                "This is a bug of tilewright, not of your input. Please report it with the command \
                 line and the input files.",
            );
            3
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_exit_code() {
        assert_eq!(report(Ok(Verdict::Good)), 0);
        assert_eq!(report(Ok(Verdict::Negative)), 1);
        assert_eq!(report(Err(Failure::Rejected("spec".into()))), 1);
        assert_eq!(report(Err(Failure::CouldNotRun("file".into()))), 2);
        assert_eq!(report(Err(Failure::Bug("verifier".into()))), 3);
        assert_eq!(report(Err(Failure::Told(2))), 2);
    }

    #[test]
    fn several_failures_are_told_together_under_the_worst_code() {
        let rejected = |text: &str| Failure::Rejected(text.to_owned());
        let one = Failure::all(vec![rejected("a"), Failure::Bug("b".into()), rejected("c")]);
        assert!(
            matches!(&one, Some(Failure::Bug(text)) if text == "a\nb\nc"),
            "{one:?}"
        );
        assert!(matches!(
            Failure::all(vec![rejected("a")]),
            Some(Failure::Rejected(_))
        ));
        assert!(Failure::all(Vec::new()).is_none());
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(report(Err(Failure::from(gone))), 0);
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(report(Err(Failure::from(full))), 2);
    }

    #[test]
    fn a_panic_is_our_bug() {
        let code = guard(|| panic::resume_unwind(Box::new("index out of bounds")));
        assert_eq!(code, ExitCode::from(3));
    }
}
