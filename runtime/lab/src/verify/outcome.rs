//! What came of verifying: an outcome for each problem, and their summary.

use std::collections::BTreeMap;

use serde::Serialize;
use tilewright_bundle::Kernel;
use tilewright_emulator::LineProfile;

use super::trace::Trace;
use super::unreached::Unreached;
use crate::rules::RulesRecord;

/// One kernel on one problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The kernel's id.
    pub kernel: String,
    /// Extents, strides and offsets, as text.
    pub problem: String,
    /// The extents by name.
    pub extents: BTreeMap<String, i64>,
    /// What the inputs held.
    pub data: &'static str,
    /// Whether it was added to those that were drawn, for what they left open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
    /// Types of the factors, of the sums and of the output.
    pub types: String,
    /// Why it failed; `None` when it passed.
    pub failure: Option<String>,
    /// Whether it failed without an output: refused, or stopped by a fault or a budget.
    #[serde(skip)]
    pub stopped: bool,
    /// `‖out − ref‖ / ‖ref‖`.
    pub rel_err: f64,
    /// Largest error over allowed error.
    pub max_err: f64,
    /// Elements of which the bound says little, and which were computed again in the kernel's order
    /// and found equal, bit for bit.
    pub replayed: usize,
    /// Instructions the emulator executed, counted per thread.
    pub thread_instructions: u64,
    /// Whose tensor cores the emulator summed by, where a sum is an architecture's own.
    pub tensor_cores: Option<RulesRecord>,
    /// Time of the launch on a GPU, alone and cold; `bench` measures properly.
    pub launch_us: Option<f64>,
    /// What the launch read and wrote, where that was asked for and it touched nothing else.
    #[serde(skip)]
    pub trace: Option<Trace>,
    /// What each instruction did on the emulator, when its options ask for it.
    #[serde(skip)]
    pub profile: Vec<LineProfile>,
}

impl Outcome {
    /// Of a kernel about which nothing is known yet, on inputs that hold `data`.
    pub(super) fn of(kernel: &Kernel, data: &'static str) -> Outcome {
        Outcome {
            kernel: kernel.id.clone(),
            problem: String::new(),
            extents: BTreeMap::new(),
            data,
            added: false,
            types: types(kernel),
            failure: None,
            stopped: false,
            rel_err: 0.0,
            max_err: 0.0,
            replayed: 0,
            thread_instructions: 0,
            tensor_cores: None,
            launch_us: None,
            trace: None,
            profile: Vec::new(),
        }
    }

    /// Of a kernel that was not put to the test.
    pub(super) fn unchecked(kernel: &Kernel, reason: String) -> Outcome {
        Outcome {
            failure: Some(reason),
            stopped: true,
            ..Outcome::of(kernel, "none")
        }
    }

    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }
}

/// All outcomes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Kernel by kernel, problem by problem.
    pub outcomes: Vec<Outcome>,
    /// Kernels that were not verified, or not to the end, because it was to stop before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Of kernels that the emulator ran all problems of, in order: lines that none executed, and
    /// comparisons that none made equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Unreached>,
}

impl Summary {
    /// Problems that passed.
    pub fn passed(&self) -> usize {
        self.outcomes.iter().filter(|o| o.passed()).count()
    }

    /// Problems that failed.
    pub fn failed(&self) -> usize {
        self.outcomes.len() - self.passed()
    }

    /// Whose tensor cores summed that nobody has compared with the hardware, each once.
    pub fn unproved(&self) -> Vec<RulesRecord> {
        let rules = self.outcomes.iter().filter_map(|one| one.tensor_cores);
        let mut unproved: Vec<_> = rules.filter(|rules| !rules.proved).collect();
        unproved.sort_unstable();
        unproved.dedup();
        unproved
    }

    /// How close to the bound problems came, by their types and inputs.
    pub fn closeness(&self) -> Vec<Closeness> {
        let mut groups: BTreeMap<(&str, &str), Closeness> = BTreeMap::new();
        for outcome in &self.outcomes {
            let group = groups.entry((&outcome.types, outcome.data)).or_default();
            group.problems += 1;
            group.failed += usize::from(!outcome.passed());
            group.max_err = group.max_err.max(outcome.max_err);
            group.replayed += outcome.replayed;
        }
        let named = groups.into_iter().map(|((types, data), group)| Closeness {
            types: types.to_owned(),
            data: data.to_owned(),
            ..group
        });
        named.collect()
    }
}

/// How close to the bound the problems of some types and inputs came.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Closeness {
    /// Types of the factors, of the sums and of the output.
    pub types: String,
    /// What the inputs held.
    pub data: String,
    /// How many problems there were.
    pub problems: usize,
    /// Those that failed.
    pub failed: usize,
    /// Largest error over allowed error.
    pub max_err: f64,
    /// Elements that were computed again in the kernel's order.
    pub replayed: usize,
}

/// The types of a kernel: of its factors, its sums and its output.
fn types(kernel: &Kernel) -> String {
    let semantics = &kernel.semantics;
    let read = semantics.operands.iter().filter(|o| o.role.is_read());
    let read: Vec<&str> = read.map(|o| o.dtype.text()).collect();
    let written = semantics.operands.iter().filter(|o| o.role.is_written());
    let sums = kernel.accumulator().into_iter();
    let mut text = read.join("·");
    for dtype in sums.chain(written.map(|o| o.dtype)) {
        text.push_str(&format!(" → {dtype}"));
    }
    text
}
