//! The ends that a spec may come to, and which of them are faults.

use serde::{Deserialize, Serialize};

/// The end that a spec came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The checks of the file refused it.
    RefusedByParse,
    /// No point has a plan.
    RefusedByPlan,
    /// The assembler refused all of its kernels, and the refusal names a key that is written, its
    /// place and a value, with which it builds.
    RefusedByAssembler,
    /// It computes the right thing.
    Right,
    /// It was accepted, and its constant strides take more memory than the emulator is given.
    TooLarge,
    /// It was accepted and the assembler refused it, where the plan was free to decide on registers
    /// or would have been refused as well if it were.
    RefusedUnwritten,
    /// The assembler refused what was written, and the refusal lacks the key, its place or a value.
    RefusedWithoutWay,
    /// The assembler refused what was written, and the value that the refusal names does not build.
    WayFails,
    /// It was accepted, and a stage behind the plan refused it.
    RefusedLate,
    /// It computes the wrong thing, or the emulator found fault with it.
    Wrong,
    /// It was accepted and takes no problem that could be drawn.
    NoProblem,
    /// A check of the compiler's own work failed.
    Bug,
    /// The process that judged it died.
    Died,
    /// It was not judged in time.
    Slow,
}

impl End {
    /// Whether the generator broke its word.
    pub fn is_fault(self) -> bool {
        self > End::TooLarge
    }

    /// Whether `check` takes the spec, whatever came of it later.
    pub fn is_accepted(self) -> bool {
        !matches!(self, End::RefusedByParse | End::RefusedByPlan)
    }

    /// The end as a line of a table has it.
    pub fn name(self) -> &'static str {
        match self {
            End::RefusedByParse => "refused by parse",
            End::RefusedByPlan => "refused by plan",
            End::RefusedByAssembler => "accepted, refused by ptxas with a value that builds",
            End::Right => "accepted, right",
            End::TooLarge => "accepted, strides too far to be run",
            End::RefusedUnwritten => "accepted, refused by ptxas with NO KEY WRITTEN",
            End::RefusedWithoutWay => "accepted, refused by ptxas WITHOUT key, place or value",
            End::WayFails => "accepted, refused by ptxas with a value that DOES NOT BUILD",
            End::RefusedLate => "accepted, REFUSED LATER",
            End::Wrong => "accepted, WRONG",
            End::NoProblem => "accepted, takes NO PROBLEM",
            End::Bug => "BUG (exit 3)",
            End::Died => "DIED",
            End::Slow => "SLOW",
        }
    }
}

/// What became of a spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The end.
    pub end: End,
    /// Which check said so: the code of the first problem or violation, or the stage.
    pub code: String,
    /// All that was said.
    pub text: String,
}

impl Verdict {
    /// A verdict.
    pub fn new(end: End, code: &str, text: impl Into<String>) -> Verdict {
        Verdict {
            end,
            code: code.to_owned(),
            text: text.into(),
        }
    }

    /// What makes two faults the same one.
    pub fn class(&self) -> (End, &str) {
        (self.end, &self.code)
    }
}
