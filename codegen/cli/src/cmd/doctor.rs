//! `doctor`: what this machine has, what it lacks, and how to get it.
//!
//! Each part is looked for by itself, so that one missing part hides none of the others. The
//! verdict is negative only when something is there and broken: an assembler that does not run, a
//! driver that fails. A machine without a GPU is in good order.

use serde::Serialize;
use tilewright_runtime::{Device, DeviceInfo, Error};

use crate::args;
use crate::outcome::{Outcome, Verdict};
use crate::terminal::{self, BAD, FAINT, GOOD, STRONG};

/// How one part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// It is there and works.
    Present,
    /// It is not there; the command works without it, with less.
    Absent,
    /// It is there and does not work.
    Broken,
}

/// One part of the machine.
#[derive(Debug, Serialize)]
struct Part {
    name: &'static str,
    state: State,
    /// Version and place, or what is lacking and how to get it.
    detail: String,
}

impl Part {
    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Part {
        Part {
            name,
            state,
            detail: detail.into(),
        }
    }
}

/// What `doctor --json` prints.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    parts: Vec<Part>,
}

/// Looks for every part and prints how it stands.
pub fn run(args: &args::Doctor) -> Outcome {
    let parts = [compiler(), gpus(), vec![emulator()]]
        .into_iter()
        .flatten()
        .collect();
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        parts,
    };
    if args.json {
        terminal::print_json(&report)?;
    } else {
        terminal::print_line(&format!("tilewright {}\n", report.version))?;
        for part in &report.parts {
            terminal::print_line(&line(part))?;
        }
    }
    Ok(Verdict::from_good(
        report.parts.iter().all(|part| part.state != State::Broken),
    ))
}

fn line(part: &Part) -> String {
    let (style, word) = match part.state {
        State::Present => (GOOD, "present"),
        State::Absent => (FAINT, "absent "),
        State::Broken => (BAD, "broken "),
    };
    let name = terminal::paint(STRONG, format_args!("{:<9}", part.name));
    format!("{name} {}  {}", terminal::paint(style, word), part.detail)
}

/// What compiles specs: LLVM, and the assembler that checks the PTX.
#[cfg(feature = "codegen")]
fn compiler() -> Vec<Part> {
    use tilewright_codegen::ptx::{self, ptxas};
    let (major, minor, patch) = ptx::llvm_version();
    let llvm = format!("{major}.{minor}.{patch}, linked into this command");
    let variable = ptxas::VARIABLE;
    let way_out = ptxas::WAY_OUT;
    let assembler = match ptxas::find() {
        None => (
            State::Absent,
            format!(
                "not on the PATH nor in CUDA_HOME/bin, {variable} is not set, no .tools of \
                 ci/setup.sh is above this command's own file, nor in {}, where it was built, and \
                 pip installed none beside it; kernels are not judged: {way_out}",
                ptxas::built_in().display()
            ),
        ),
        Some(path) => match ptxas::version(&path) {
            Ok(version) => (State::Present, format!("{version} at {}", path.display())),
            Err(error) => (
                State::Broken,
                format!("{} ({error}): {way_out}", path.display()),
            ),
        },
    };
    vec![
        Part::new("llvm", State::Present, llvm),
        Part::new("ptxas", assembler.0, assembler.1),
    ]
}

/// A command without LLVM has no use for an assembler either.
#[cfg(not(feature = "codegen"))]
fn compiler() -> Vec<Part> {
    let way_out =
        "this build compiles no specs; `cargo install --path codegen/cli` gives one that does";
    vec![Part::new("llvm", State::Absent, way_out)]
}

/// Every GPU of the driver, or why there is none.
fn gpus() -> Vec<Part> {
    let mut parts = Vec::new();
    loop {
        match Device::cuda(parts.len()) {
            Ok(device) => parts.push(Part::new("cuda", State::Present, gpu(device.info()))),
            Err(Error::NoDevice { .. }) if !parts.is_empty() => return parts,
            Err(error @ (Error::NoDevice { .. } | Error::NoDriver)) => {
                return vec![Part::new("cuda", State::Absent, error.to_string())];
            }
            Err(error) => {
                parts.push(Part::new("cuda", State::Broken, error.to_string()));
                return parts;
            }
        }
    }
}

/// One GPU in words.
fn gpu(info: &DeviceInfo) -> String {
    let sm = info.sm.map_or_else(String::new, |sm| format!(", sm_{sm}"));
    let gib = info.memory_bytes >> 30;
    let driver = info.driver.map_or_else(String::new, |version| {
        format!(
            ", driver for CUDA {}.{}",
            version / 1000,
            version % 1000 / 10
        )
    });
    format!("{}{sm}, {} SMs, {gib} GiB{driver}", info.name, info.sms)
}

fn emulator() -> Part {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Part::new(
        "emulator",
        State::Present,
        format!("runs kernels on {threads} CPU threads"),
    )
}
