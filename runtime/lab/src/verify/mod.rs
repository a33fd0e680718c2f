//! Every kernel of a bundle on random problems against f64.
//!
//! The reference is the kernel's own formula: products of matrices by fast routines of the host and
//! the GPU, all others by the formula's interpreter ([`FormulaReference`]). For each problem the
//! outputs are poisoned first. Afterwards every element must satisfy the rule of [`compare`],
//! inputs must be unchanged, and no byte outside the output's elements may have
//! changed: gaps between rows, and red zones before and behind. Findings of the emulator of level
//! error fail a problem as well. Half of the problems hold small integers and must match exactly;
//! of what is no product every second of these holds numbers far from normal ones instead.
//! Inputs may also name their elements, which tells what arrived where ([`Inputs::Indices`]).
//! The emulator also notes what PTX the problems executed ([`Unreached`]), and further problems are
//! aimed at what they left open.
//! On a GPU, kernels that start before the one before them has ended also run a [`chain`].

mod format;

mod numbers;

mod data;

mod tables;

mod rows;

mod elements;

mod along;

mod extremes;

mod far;

mod long_sums;

mod placement;

mod hard;

mod work;

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

mod formula;

mod inputs;

mod trace;

mod unreached;

mod outcome;

mod further;

mod trial;

mod indices;

mod host_memory;

mod attempt;

mod chain;

use std::ops::{ControlFlow, RangeInclusive};

use tilewright_bundle::Kernel;

use attempt::inputs_seed;
pub(crate) use attempt::{Attempt, turn};
pub use bound::{Expected, Rule};
pub use chain::chain;
pub use compare::{Comparison, Worst, compare};
pub use data::Data;
pub use elements::{random_bytes, random_codes, random_elements};
pub(crate) use form::{Factor, GemmForm};
pub use formula::{Dense, Expect, FormulaReference, Verdict};
pub(crate) use inputs::held_at;
pub(crate) use judge::Judge;
pub use long_sums::has_long_sums;
pub(crate) use model::Samples;
pub use numbers::{decode, encode, round, unit_roundoff};
pub use outcome::{Closeness, Outcome, Summary};
pub use problems::{Case, Draw, TOO_LARGE};
pub use reference::{CPU_MOST, Reference, Shape, on_cpu, on_gpu};
pub use steps::Steps;
pub use tables::promised;
pub use trace::{Trace, Written};
pub use unreached::Unreached;

use coverage::Coverage;
use further::Further;
use hard::Aim;
use unreached::Noted;

use tilewright_runtime::Device;
use tilewright_runtime::DeviceInfo;
use tilewright_runtime::Error;
use tilewright_runtime::Problem;
use tilewright_runtime::Runtime;
use tilewright_runtime::cuda::BlasLt;

/// What the inputs of a gemm hold. Those of a copy hold random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inputs {
    /// Integers in one problem, normals in the next; of a kernel that folds by order some rows of
    /// every eighth problem end with the answer, and where it is no product some of every fourth
    /// have NaN or an infinity, and every fourth has numbers far from normal ones in place of
    /// integers.
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
            Inputs::Mixed => &Data::MIXED,
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
    /// Largest product of a problem's extents, where the kernel takes smaller ones; without it as
    /// much as the device does in time.
    pub volume: Option<u64>,
    /// Most problems of each kernel that are added on the emulator where all drawn ones passed:
    /// aimed at comparisons of integers whose sides none made equal and at lines that none ran,
    /// with no more instructions than the drawn ones had. None where inputs are indices.
    pub further: usize,
}

/// What problems are made for, one after another; the others are drawn.
const AIMS: [Option<Aim>; 10] = [
    Some(Aim::Steps),
    Some(Aim::Turns),
    Some(Aim::Whole),
    None,
    Some(Aim::Bands),
    Some(Aim::Steps),
    Some(Aim::Turns),
    Some(Aim::WholeTurns),
    None,
    None,
];
/// In one problem of so many, the last, scalars may be 0.
const ZEROS_EVERY: u64 = 4;

/// Extents of problems whose inputs are indices: so few elements that every one of them can be
/// selected, more than most tiles have.
const INDEXED: RangeInclusive<i64> = 64..=288;

/// Extents of the gemms of a chain: enough tiles that one launch's end meets the next one's start.
const CHAIN_SIDE: i64 = 2048;
/// Launches of a chain.
const CHAIN_LINKS: usize = 64;

impl Default for Options {
    /// Eight problems, and up to eight further ones.
    fn default() -> Self {
        Options {
            problems: 8,
            seed: 1,
            inputs: Inputs::Mixed,
            volume: None,
            further: 8,
        }
    }
}

/// What verifying has to say while it runs.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A problem is done.
    Outcome(&'a Outcome),
    /// A kernel is done: these are all of its problems.
    Kernel(&'a [Outcome]),
}

/// Verifies kernels of a runtime's bundle, reporting each outcome as it comes.
///
/// # Errors
/// As [`verify_while`].
pub fn verify(
    runtime: &Runtime,
    kernels: &[&Kernel],
    options: Options,
    mut report: impl FnMut(&Outcome),
) -> Result<Summary, Error> {
    verify_while(runtime, kernels, options, |event| {
        if let Event::Outcome(outcome) = event {
            report(outcome);
        }
        ControlFlow::Continue(())
    })
}

/// Verifies kernels of a runtime's bundle for as long as `report`, which is told of each problem
/// and each kernel, wants to go on, and until the emulator is told to
/// [stop](tilewright_emulator::Stop). Kernels that were not done by then are named in the summary.
///
/// Of every few problems one is made to be hard: several tiles along every tiled mode, with a part
/// of one behind them, and more steps along a sum than a kernel has stages; another has more tiles
/// than a persistent kernel has CTAs, a third more than a band of the raster is wide, and whole
/// tiles take turns with tails. All others are drawn.
///
/// Whatever is wrong with a kernel is an outcome that failed, and so is a kernel that the device
/// refuses; the caller leaves out those it knows to be for other devices. So is a kernel that takes
/// no problem but those of a single row, column or product.
///
/// # Errors
/// When the device itself fails, and nothing more can be learned from it.
pub fn verify_while(
    runtime: &Runtime,
    kernels: &[&Kernel],
    options: Options,
    mut report: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    let blas = reference_library(runtime);
    let session = Session {
        runtime,
        blas: blas.as_ref(),
        options,
    };
    for (at, kernel) in kernels.iter().enumerate() {
        let first = summary.outcomes.len();
        let noted = Noted::of(runtime, kernel);
        let done = session.kernel(kernel, noted.as_ref(), &mut |outcome| {
            let go_on = report(Event::Outcome(&outcome));
            summary.outcomes.push(outcome);
            go_on
        })?;
        runtime.unload(kernel);
        let own = summary.outcomes.get(first..).unwrap_or_default();
        let mut go_on = done;
        if done.is_continue() {
            let left = noted.and_then(|noted| noted.left(kernel));
            summary.unreached.extend(left);
            go_on = report(Event::Kernel(own));
        }
        if go_on.is_break() {
            let done = at + usize::from(done.is_continue());
            let left = kernels.get(done..).unwrap_or_default();
            summary.left_out = left.iter().map(|kernel| kernel.id.clone()).collect();
            break;
        }
    }
    Ok(summary)
}

/// What all kernels of one run share.
struct Session<'a> {
    runtime: &'a Runtime,
    blas: Option<&'a BlasLt>,
    options: Options,
}

impl Session<'_> {
    /// All problems of one kernel; breaks where `report` does.
    fn kernel(
        &self,
        kernel: &Kernel,
        noted: Option<&Noted>,
        report: &mut dyn FnMut(Outcome) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let (runtime, options) = (self.runtime, self.options);
        let mut coverage = Coverage::default();
        let mut further = Further::new(kernel, options.seed, options.further);
        let mut fine = true;
        for index in 0..options.problems as u64 {
            let draw =
                |device: &Device| coverage.note(self.case(kernel, index, device.info(), None));
            let outcome = match self.outcome((kernel, noted), index, draw) {
                Err(Error::Stopped { .. }) => return Ok(ControlFlow::Break(())),
                outcome => outcome?,
            };
            let hopeless = outcome.problem.is_empty();
            fine &= outcome.passed();
            if let Some(noted) = noted {
                further.drawn(noted, &outcome);
            }
            if report(outcome).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if hopeless {
                break;
            }
        }
        if let Some(noted) = noted.filter(|_| fine && options.inputs != Inputs::Indices) {
            let more = self.further((kernel, noted), &mut further, &mut |outcome| {
                fine &= outcome.passed();
                report(outcome)
            });
            if more?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if let Some(reason) = coverage
            .missing(kernel, runtime.device(), options.seed)
            .filter(|_| fine)
            && report(Outcome::unchecked(kernel, reason)).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        let early = kernel.launches.iter().any(|launch| launch.programmatic);
        if early && matches!(runtime.device(), Device::Cuda(_)) {
            let chained = chain(runtime, kernel, CHAIN_SIDE, CHAIN_LINKS, options.seed)?;
            if let Some(outcome) = chained
                && report(outcome).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Problems for what the drawn ones left open, until one fails; breaks where `report` does.
    fn further(
        &self,
        (kernel, noted): (&Kernel, &Noted),
        further: &mut Further<'_>,
        report: &mut dyn FnMut(Outcome) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let info = self.runtime.device().info();
        let mut index = self.options.problems as u64;
        while let Some(extents) = further.next(noted) {
            // What the kernel does not take tells nothing.
            let case = self.case(kernel, index, info, Some(extents)).ok();
            let Some(case) = case.filter(|case| further.is_new(&case.problem)) else {
                continue;
            };
            let mut outcome = match self.outcome((kernel, Some(noted)), index, |_| Ok(case)) {
                Err(Error::Stopped { .. }) => return Ok(ControlFlow::Break(())),
                outcome => outcome?,
            };
            outcome.added = true;
            further.added(noted, &outcome);
            let is_wrong = !outcome.passed();
            if report(outcome).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if is_wrong {
                break;
            }
            index += 1;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The problem of a number, drawn or of given extents.
    fn case(
        &self,
        kernel: &Kernel,
        index: u64,
        info: &DeviceInfo,
        extents: Option<Vec<i64>>,
    ) -> Result<Case, Error> {
        let options = self.options;
        let asked = options.inputs.data(index);
        let data = held_at(options.inputs, index, kernel);
        let may_overflow = [asked, data].into_iter().flatten().any(Data::may_overflow);
        let draw = Draw::new(kernel, info, inputs_seed(options.seed, index));
        if let Some(extents) = extents {
            return draw.with_exact(extents).without_zeros().next_case();
        }
        let draw = match options.volume {
            Some(most) => draw.with_volume(most),
            None => draw,
        };
        let aim = AIMS.get((index % AIMS.len() as u64) as usize);
        let draw = match aim.copied().flatten() {
            Some(aim) => draw.with_aim(aim),
            None => draw,
        };
        let draw = match index % ZEROS_EVERY == ZEROS_EVERY - 1 {
            true => draw,
            false => draw.without_zeros(),
        };
        match asked {
            Some(_) if may_overflow => draw.with_volume(CPU_MOST),
            Some(_) => draw,
            None => draw.with_extents(INDEXED),
        }
        .next_case()
    }

    /// What comes of the problem of a number.
    fn outcome(
        &self,
        (kernel, noted): (&Kernel, Option<&Noted>),
        index: u64,
        draw: impl FnOnce(&Device) -> Result<Case, Error>,
    ) -> Result<Outcome, Error> {
        let (runtime, options) = (self.runtime, self.options);
        let (seed, device) = turn(runtime.device(), options.seed, index);
        let device = noted.map_or(device.clone(), |noted| noted.on(device));
        let attempt = Attempt {
            runtime,
            blas: self.blas,
            kernel,
            data: held_at(options.inputs, index, kernel),
            seed,
            device: &device,
            traced: false,
            is_known: None,
        };
        attempt.run(draw)
    }
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
        is_known: None,
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
