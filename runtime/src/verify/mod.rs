//! Every kernel of a bundle on random problems against f64.
//!
//! For each problem the outputs are poisoned first. Afterwards every element must satisfy the rule
//! of [`compare`], inputs must be unchanged, and no byte outside the output's elements may have
//! changed: gaps between rows, and red zones before and behind. Findings of the emulator of level
//! error fail a problem as well. Half of the problems hold small integers and must match exactly.
//! Inputs may also name their elements, which tells what arrived where ([`Inputs::Indices`]).
//! On a GPU, kernels that start before the one before them has ended also run a [`chain`].

mod format;

mod numbers;

mod data;

mod rows;

mod elements;

mod placement;

mod problems;

mod coverage;

mod reference;

mod form;

mod steps;

mod bound;

mod compare;

mod model;

mod judge;

pub mod planted;

mod trace;

mod trial;

mod indices;

mod host_memory;

mod attempt;

mod chain;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;
use tilewright_bundle::Kernel;

pub(crate) use attempt::{Attempt, turn};
pub use bound::{Expected, Rule};
pub use chain::chain;
pub use compare::{Comparison, Worst, compare};
pub use data::Data;
pub use elements::{random_bytes, random_elements};
pub(crate) use form::GemmForm;
pub(crate) use judge::Judge;
pub(crate) use model::Samples;
pub use numbers::{decode, encode, round, unit_roundoff};
pub use problems::{Case, Draw, TOO_LARGE};
pub use reference::{CPU_MOST, Reference, Shape, on_cpu, on_gpu};
pub use steps::Steps;
pub use trace::{Trace, Written};

use coverage::Coverage;

use crate::cuda::BlasLt;
use crate::device::Device;
use crate::error::Error;
use crate::info::RulesRecord;
use crate::problem::Problem;
use crate::runtime::Runtime;

/// What the inputs of a gemm hold. Those of a copy hold random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inputs {
    /// Integers in one problem, normals in the next.
    #[default]
    Mixed,
    /// Every kind of random numbers in turn.
    All,
    /// Random numbers.
    Random(Data),
    /// One factor names its elements, the other selects among them: an output that is wrong says
    /// which element it holds. A problem takes several launches; extents are a few tiles.
    Indices,
}

impl Inputs {
    /// Kinds that take turns.
    const fn turns(self) -> &'static [Data] {
        match self {
            Inputs::Mixed => &[Data::Integers, Data::Normals],
            Inputs::All => &Data::ALL,
            Inputs::Random(_) | Inputs::Indices => &[],
        }
    }

    /// How many kinds take turns, problem by problem.
    pub fn kinds(self) -> u64 {
        self.turns().len().max(1) as u64
    }

    /// What the inputs of the problem numbered `index` hold; `None` for indices.
    pub fn data(self, index: u64) -> Option<Data> {
        let turns = self.turns();
        match self {
            Inputs::Random(data) => Some(data),
            _ => turns.get((index % self.kinds()) as usize).copied(),
        }
    }
}

/// How much to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Problems for each kernel.
    pub problems: usize,
    /// The same seed draws the same problems and data, under the same schedules of the emulator.
    pub seed: u64,
    /// What the inputs hold.
    pub inputs: Inputs,
}

/// Extents of problems whose inputs are indices: so few elements that every one of them can be
/// selected, more than most tiles have.
const INDEXED: RangeInclusive<i64> = 64..=288;

/// Extents of the gemms of a chain: enough tiles that one launch's end meets the next one's start.
const CHAIN_SIDE: i64 = 2048;
/// Launches of a chain.
const CHAIN_LINKS: usize = 64;

impl Default for Options {
    /// Eight problems.
    fn default() -> Self {
        Options {
            problems: 8,
            seed: 1,
            inputs: Inputs::Mixed,
        }
    }
}

/// One kernel on one problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The kernel's id.
    pub kernel: String,
    /// Extents, strides and offsets, as text.
    pub problem: String,
    /// What the inputs held.
    pub data: &'static str,
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
}

impl Outcome {
    /// Of a kernel about which nothing is known yet, on inputs that hold `data`.
    fn of(kernel: &Kernel, data: &'static str) -> Outcome {
        Outcome {
            kernel: kernel.id.clone(),
            problem: String::new(),
            data,
            types: attempt::types(kernel),
            failure: None,
            stopped: false,
            rel_err: 0.0,
            max_err: 0.0,
            replayed: 0,
            thread_instructions: 0,
            tensor_cores: None,
            launch_us: None,
            trace: None,
        }
    }

    /// Of a kernel that was not put to the test.
    fn unchecked(kernel: &Kernel, reason: String) -> Outcome {
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

/// Verifies kernels of a runtime's bundle, reporting each outcome as it comes.
///
/// Whatever is wrong with a kernel is an outcome that failed, and so is a kernel that the device
/// refuses; the caller leaves out those it knows to be for other devices. So is a kernel that takes
/// no problem but those of a single row, column or product.
///
/// # Errors
/// When the device itself fails, and nothing more can be learned from it.
pub fn verify(
    runtime: &Runtime,
    kernels: &[&Kernel],
    options: Options,
    mut report: impl FnMut(&Outcome),
) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let blas = reference_library(runtime);
    for kernel in kernels {
        let first = summary.outcomes.len();
        let mut coverage = Coverage::default();
        for index in 0..options.problems as u64 {
            let data = options.inputs.data(index);
            let (seed, device) = turn(runtime.device(), options.seed, index);
            let draw = |device: &Device| {
                let draw = Draw::new(kernel, device.info(), seed);
                match data {
                    Some(data) if data.may_overflow() => draw.with_volume(CPU_MOST),
                    Some(_) => draw,
                    None => draw.with_extents(INDEXED),
                }
                .next_case()
            };
            let attempt = Attempt {
                runtime,
                blas: blas.as_ref(),
                kernel,
                data,
                seed,
                device: &device,
                traced: false,
            };
            let outcome = attempt.run(|device| coverage.note(draw(device)))?;
            report(&outcome);
            let hopeless = outcome.problem.is_empty();
            summary.outcomes.push(outcome);
            if hopeless {
                break;
            }
        }
        let fine = summary
            .outcomes
            .get(first..)
            .is_some_and(|all| all.iter().all(Outcome::passed));
        if let Some(reason) = coverage
            .missing(kernel, runtime.device(), options.seed)
            .filter(|_| fine)
        {
            let outcome = Outcome::unchecked(kernel, reason);
            report(&outcome);
            summary.outcomes.push(outcome);
        }
        if kernel.abi.programmatic && matches!(runtime.device(), Device::Cuda(_)) {
            let chained = chain(runtime, kernel, CHAIN_SIDE, CHAIN_LINKS, options.seed)?;
            if let Some(outcome) = chained {
                report(&outcome);
                summary.outcomes.push(outcome);
            }
        }
        runtime.unload(kernel);
    }
    Ok(summary)
}

/// Verifies one kernel on a given problem, whose operands start at aligned addresses.
///
/// # Errors
/// When the device itself fails.
pub fn verify_one(
    runtime: &Runtime,
    kernel: &Kernel,
    problem: &Problem,
    data: Data,
    seed: u64,
) -> Result<Outcome, Error> {
    let blas = reference_library(runtime);
    let draw = |device: &Device| {
        let fit = device.fit(kernel, problem)?;
        let offsets = vec![0; fit.operands.len()];
        Ok(Case {
            problem: problem.clone(),
            fit,
            offsets,
        })
    };
    let attempt = Attempt {
        runtime,
        blas: blas.as_ref(),
        kernel,
        data: Some(data),
        seed,
        device: runtime.device(),
        traced: false,
    };
    attempt.run(draw)
}

/// The reference of large problems on a GPU; small ones do without.
fn reference_library(runtime: &Runtime) -> Option<BlasLt> {
    match runtime.device() {
        Device::Cuda(device) => BlasLt::open(device).ok(),
        Device::Emulator(_) => None,
    }
}
