//! One kernel on one problem, from loading it to its outcome.

use tilewright_bundle::Kernel;
use tilewright_emulator as emulator;

use super::Outcome;
use super::data::Data;
use super::host_memory;
use super::problems::Case;
use super::trace::Trace;
use super::trial::Trial;
use tilewright_runtime::Device;
use tilewright_runtime::Error;
use tilewright_runtime::Runtime;
use tilewright_runtime::cuda::BlasLt;

/// A kernel that is to be run on one problem.
pub(crate) struct Attempt<'a> {
    pub runtime: &'a Runtime,
    /// Makes the references of large problems on a GPU.
    pub blas: Option<&'a BlasLt>,
    pub kernel: &'a Kernel,
    /// What the inputs hold; `None` for indices.
    pub data: Option<Data>,
    /// The seed of the inputs.
    pub seed: u64,
    /// The runtime's device, under the schedule of this turn.
    pub device: &'a Device,
    /// Whether the outcome is to have a trace; indices have none.
    pub traced: bool,
    /// Whether what was traced is known to be right already: it is not judged again then.
    pub is_known: Option<&'a dyn Fn(&Trace) -> bool>,
}

impl<'a> Attempt<'a> {
    /// A problem that is small, and traced.
    pub fn traced(
        runtime: &'a Runtime,
        kernel: &'a Kernel,
        data: Data,
        seed: u64,
        device: &'a Device,
    ) -> Attempt<'a> {
        Attempt {
            runtime,
            blas: None,
            kernel,
            data: Some(data),
            seed,
            device,
            traced: true,
            is_known: None,
        }
    }

    /// Runs one problem. What goes wrong with the kernel is the outcome's failure; what leaves the
    /// device unusable is an error, and so is a want of memory.
    pub fn run(&self, draw: impl FnOnce(&Device) -> Result<Case, Error>) -> Result<Outcome, Error> {
        let Attempt {
            runtime,
            blas,
            kernel,
            data,
            seed,
            device,
            ..
        } = *self;
        let mut outcome = Outcome::of(kernel, data.map_or("indices", Data::text));
        let ready = runtime
            .load(kernel)
            .and_then(|loaded| Ok((loaded, draw(device)?)));
        let (loaded, case) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                outcome.failure = Some(error.to_string());
                outcome.stopped = true;
                return Ok(outcome);
            }
        };
        outcome.problem = describe(&case, kernel);
        let free = kernel.free_extents();
        let extents =
            free.filter_map(|(_, name)| Some((name.to_owned(), case.problem.extent(name)?)));
        outcome.extents = extents.collect();
        host_memory::check(device, kernel, &case).map_err(|error| no_memory(error, &outcome))?;
        let trial = Trial {
            device,
            loaded: &loaded,
            case: &case,
            data: data.unwrap_or(Data::Integers),
            seed,
            traced: self.traced,
            is_known: self.is_known,
        };
        let ran = match (kernel.product(), data) {
            (None, _) => trial.formula(&mut outcome),
            (Some(_), Some(_)) => trial.product(blas, &mut outcome),
            (Some(_), None) if trial.shares_addresses() => trial.product(blas, &mut outcome),
            (Some(_), None) => trial.indices(&mut outcome),
        };
        let ran = match ran {
            Err(error) if error.is_memory() => return Err(no_memory(error, &outcome)),
            Err(error @ Error::Stopped { .. }) => return Err(error),
            ran => ran,
        };
        outcome.stopped = ran.is_err();
        outcome.failure = ran.unwrap_or_else(|error| Some(error.to_string()));
        // A kernel that faults takes the context of the driver with it.
        device.synchronize().map_err(|error| Error::Cuda {
            call: format!("{} on {}", kernel.id, outcome.problem),
            reason: error.to_string(),
        })?;
        Ok(outcome)
    }
}

/// A want of memory, and what wanted it.
fn no_memory(error: Error, outcome: &Outcome) -> Error {
    Error::OutOfMemory {
        kernel: outcome.kernel.clone(),
        problem: outcome.problem.clone(),
        error: Box::new(error),
    }
}

/// The seed of a problem's inputs, and the device under the schedule of its turn: what a run of
/// `seed` uses for the problem numbered `index`.
pub(crate) fn turn(device: &Device, seed: u64, index: u64) -> (u64, Device) {
    (
        inputs_seed(seed, index),
        scheduled(device, seed.wrapping_add(index)),
    )
}

/// The seed of the inputs of a problem of a number.
pub(super) fn inputs_seed(seed: u64, index: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(index)
}

/// The emulator under one of several schedules; a GPU as it is.
fn scheduled(device: &Device, index: u64) -> Device {
    match device {
        Device::Cuda(_) => device.clone(),
        Device::Emulator(emulated) => {
            use emulator::{AsyncOrder, WarpOrder};
            let (async_order, warp_order) = match index % 4 {
                0 => (AsyncOrder::Late, WarpOrder::RoundRobin),
                1 => (AsyncOrder::Late, WarpOrder::Reverse),
                2 => (AsyncOrder::Early, WarpOrder::Random(index)),
                _ => (AsyncOrder::Late, WarpOrder::Random(index)),
            };
            Device::Emulator(emulated.with_schedule(async_order, warp_order))
        }
    }
}

fn describe(case: &Case, kernel: &Kernel) -> String {
    let mut text = case.problem.to_string();
    for (operand, offset) in kernel.semantics.operands.iter().zip(&case.offsets) {
        if *offset != 0 {
            text.push_str(&format!(" {}+{offset}B", operand.name));
        }
    }
    text
}
