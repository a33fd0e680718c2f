//! `doctor`: what this machine has, what it lacks, and how to get it.
//!
//! Each part is looked for by itself, so that one missing part hides none of the others. The
//! verdict is negative only when something is broken that could have been whole: an assembler that
//! does not run. A machine without a GPU is in good order.

use serde::Serialize;

use crate::args;
use crate::outcome::{Outcome, Verdict};
use crate::ptxas::{self, PtxasError};
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
    fn present(name: &'static str, detail: impl Into<String>) -> Part {
        Part {
            name,
            state: State::Present,
            detail: detail.into(),
        }
    }

    fn absent(name: &'static str, detail: impl Into<String>) -> Part {
        Part {
            name,
            state: State::Absent,
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
    let parts = vec![llvm(), assembler(), emulator()];
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

#[cfg(feature = "codegen")]
fn llvm() -> Part {
    let (major, minor, patch) = tilewright_codegen::ptx::llvm_version();
    Part::present(
        "llvm",
        format!("{major}.{minor}.{patch}, linked into this command"),
    )
}

#[cfg(not(feature = "codegen"))]
fn llvm() -> Part {
    let way =
        "this build compiles no specs; `cargo install --path codegen/cli` gives one that does";
    Part::absent("llvm", way)
}

fn assembler() -> Part {
    match ptxas::find() {
        Ok(found) => Part::present(
            "ptxas",
            format!("{} at {}", found.version, found.path.display()),
        ),
        Err(error @ PtxasError::Missing) => Part::absent("ptxas", error.to_string()),
        Err(error @ PtxasError::Unusable { .. }) => Part {
            name: "ptxas",
            state: State::Broken,
            detail: error.to_string(),
        },
    }
}

fn emulator() -> Part {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Part::present("emulator", format!("runs kernels on {threads} CPU threads"))
}
