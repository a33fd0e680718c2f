//! Captures: what the kernels of a bundle wrote on one device, kept as rows of hashes, to compare
//! another device with it bit for bit.
//!
//! ```no_run
//! use tilewright_lab::bench::Stamp;
//! use tilewright_lab::capture::{Options, Row, capture, replay};
//! use tilewright_lab::verify::Inputs;
//! use tilewright_runtime::{Device, Runtime};
//! let on_gpu = Runtime::open("kernels.bundle".as_ref(), Device::cuda(0)?)?;
//! let kernels: Vec<_> = on_gpu.kernels().iter().collect();
//! let inputs = Inputs::All;
//! let options = Options { problems: 12, seed: 1, inputs, stamp: Stamp::default() };
//! let captured = capture(&on_gpu, &kernels, &options, |_| {})?;
//!
//! let emulated = Runtime::open("kernels.bundle".as_ref(), Device::emulator())?;
//! assert!(replay(&emulated, &captured.rows, |_| {})?.is_good());
//! # Ok::<(), tilewright_runtime::Error>(())
//! ```
//!
//! A row says which problem was run on which inputs and what came out, and is compared even where
//! the kernel's PTX is another one by now: it is then counted apart, as stale. Small integers give
//! the same bits in every order of additions. With other inputs the bits are those of the kernel's
//! instructions in their order, which the emulator follows; NaN are compared as they are. Where
//! tiles are cut along k the order depends on the number of CTAs: of such kernels integers alone
//! are kept.

mod row;

mod replay;

use std::ops::RangeInclusive;

use tilewright_bundle::{Kernel, Sha256Hex};

pub use replay::{Replay, Replayed, Verdict, replay};
pub use row::{CAPTURE_FORMAT, Row, RowOperand, RowOutput, read};

use crate::bench::{Sensors, Stamp};
use crate::verify::{Attempt, Case, Data, Draw, Inputs, Outcome, Summary, held_at, turn};
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Runtime;

/// Extents of every second problem: more than a tile of most kernels, along each mode.
const SEVERAL_TILES: RangeInclusive<i64> = 129..=320;

/// What to capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Problems for each kernel.
    pub problems: usize,
    /// The same seed draws the same problems and inputs.
    pub seed: u64,
    /// What the inputs hold. Indices take several launches and are not captured.
    pub inputs: Inputs,
    /// What the rows say of the run.
    pub stamp: Stamp,
}

/// What a device did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Captured {
    /// Every problem against f64, as `verify` has it.
    pub summary: Summary,
    /// A row for each problem that passed.
    pub rows: Vec<Row>,
}

/// Runs kernels on random problems, judges them as [`verify`](crate::verify::verify) does, and
/// keeps what those wrote that passed. Problems are small enough for the emulator, on every device;
/// each kernel has its own, every second one of a kind of several tiles.
///
/// # Errors
/// When the device itself fails, and nothing more can be learned from it.
pub fn capture(
    runtime: &Runtime,
    kernels: &[&Kernel],
    options: &Options,
    mut report: impl FnMut(&Outcome),
) -> Result<Captured, Error> {
    let mut captured = Captured::default();
    let driver = driver(runtime.device());
    for kernel in kernels {
        for index in 0..options.problems as u64 {
            let data = held_at(options.inputs, index, kernel).unwrap_or(Data::Integers);
            let (seed, device) = turn(runtime.device(), options.seed, index);
            let mut drawn = None;
            let attempt = Attempt::traced(runtime, kernel, data, seed, &device);
            let outcome = attempt.run(|device| {
                let own = seed ^ number(&kernel.id);
                let draw = || Draw::new(kernel, device.info(), own).for_the_emulator();
                let several = several_tiles(options.inputs, index)
                    .then(|| draw().with_extents(SEVERAL_TILES).next_case());
                // A kernel may take none of those, as one does that holds all of an extent.
                let case: Case = match several {
                    Some(Ok(case)) => case,
                    Some(Err(_)) | None => draw().next_case()?,
                };
                drawn = Some(case.clone());
                Ok(case)
            })?;
            report(&outcome);
            let kept = drawn.zip(outcome.trace.clone());
            let hopeless = outcome.problem.is_empty();
            let whole = kernel
                .semantics
                .sums
                .as_ref()
                .is_none_or(|sums| sums.splits.is_none());
            let comparable = whole || data == Data::Integers;
            if let (true, Some((case, trace))) = (outcome.passed() && comparable, kept) {
                let origin = row::Origin {
                    data,
                    info: device.info(),
                    driver: &driver,
                    options,
                    index,
                };
                captured.rows.push(origin.row(kernel, &case, trace));
            }
            captured.summary.outcomes.push(outcome);
            if hopeless {
                break;
            }
        }
        runtime.unload(kernel);
    }
    Ok(captured)
}

/// Whether a problem is of several tiles: every second one of a kind.
fn several_tiles(inputs: Inputs, index: u64) -> bool {
    let kinds = inputs.kinds();
    let turn = if kinds == 1 {
        index
    } else {
        index + index / kinds
    };
    turn % 2 == 1
}

/// A number of a kernel's own, so that no two kernels draw the same problems.
fn number(id: &str) -> u64 {
    let digits = Sha256Hex::of(id.as_bytes());
    digits
        .as_str()
        .get(..16)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}

/// The version of the device's driver; the emulator has none.
fn driver(device: &Device) -> String {
    match device {
        Device::Cuda(gpu) => Sensors::open(gpu).driver(device.info()),
        Device::Emulator(_) => String::new(),
    }
}
