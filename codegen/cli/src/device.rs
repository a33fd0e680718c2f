//! Which device a command runs on.
//!
//! In: what was asked for on the command line. Out: an open [`Device`]. Asked for nothing, a
//! machine with a GPU uses it and any other machine uses the emulator.

use tilewright_emulator::Options;
use tilewright_runtime::{Device, EmulatorSettings, Error};

use crate::args;
use crate::outcome::Failure;

/// Opens the device that was asked for, or the best there is.
pub fn open(asked: Option<args::Device>) -> Result<Device, Failure> {
    open_with(asked, Options::default())
}

/// The same; the emulator runs as it is told to.
pub fn open_with(asked: Option<args::Device>, options: Options) -> Result<Device, Failure> {
    let emulator = || emulator(options.clone());
    match asked {
        Some(args::Device::Emulator) => Ok(emulator()),
        Some(args::Device::Cuda) => Device::cuda(0).map_err(Failure::could_not_run),
        None => match Device::cuda(0) {
            Err(Error::NoDriver | Error::NoDevice { .. }) => Ok(emulator()),
            found => found.map_err(Failure::could_not_run),
        },
    }
}

/// The GPU, unless the emulator was asked for by name: what is measured there is no time.
pub fn open_measuring(asked: Option<args::Device>) -> Result<Device, Failure> {
    match asked {
        Some(_) => open(asked),
        None => Device::cuda(0).map_err(|error| match error {
            Error::NoDriver | Error::NoDevice { .. } => Failure::CouldNotRun(
                "there is no GPU here, and the emulator measures no time: run it where a GPU is; \
                 --device emulator ranks small problems by the instructions that they execute"
                    .to_owned(),
            ),
            other => Failure::could_not_run(other),
        }),
    }
}

/// The emulator, which counts what each instruction does.
///
/// # Errors
/// When another device was asked for: it does not count.
pub fn open_profiled(asked: Option<args::Device>) -> Result<Device, Failure> {
    match asked {
        Some(args::Device::Cuda) => Err(Failure::CouldNotRun(
            "--profile counts on the emulator: leave --device cuda out, or run under Nsight \
             Compute, which shows the spec for kernels built with --line-info"
                .to_owned(),
        )),
        Some(args::Device::Emulator) | None => Ok(emulator(Options {
            profile: true,
            ..Options::default()
        })),
    }
}

fn emulator(options: Options) -> Device {
    Device::emulator_with(EmulatorSettings {
        options,
        ..EmulatorSettings::default()
    })
}

/// The name of a device for people, such as `cuda (NVIDIA H200, sm_90)`.
pub fn describe(device: &Device) -> String {
    let info = device.info();
    match info.sm {
        Some(sm) => format!("{} ({}, sm_{sm})", info.backend.text(), info.name),
        None => info.backend.text().to_owned(),
    }
}
