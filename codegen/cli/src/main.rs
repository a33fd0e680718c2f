//! The `tilewright` command: one subcommand per artefact of the way from a YAML spec to a launch.
//!
//! In: command-line arguments. Out: the artefact on stdout, diagnostics on stderr, and an exit
//! code: 0 good, 1 a negative verdict (a spec with problems, a failed check), 2 it could not run
//! (usage, file, missing tool), 3 our bug.
//!
//! The modules, each using only those above it: [`terminal`] (stdout, colour, tables), [`outcome`]
//! (the four exit codes as types), [`output`] (files it may write over), [`progress`],
//! [`interrupt`] (Ctrl-C as a wish to end), [`orphan`] (children that end with this process),
//! [`worker`] (child processes of this binary), [`quantity`] (sizes and extents as people write
//! them), [`args`] (what clap parses), [`guidance`] (examples in helps),
//! [`device`] (where kernels run), [`problem`] (extents and strides by a kernel's names),
//! [`atoms`] (the catalogue of instructions, for the calculator of layouts), [`specs`] (which specs
//! and points), [`jobs`] (what workers compile), [`explain`] (a kernel's pipeline, memory and
//! occupancy as text and drawing), [`cmd`] (a file per subcommand).

mod terminal;
mod outcome;
mod output;
mod progress;
mod interrupt;
mod orphan;
#[cfg(feature = "codegen")]
mod worker;
mod profile;
mod quantity;
mod args;
mod guidance;
mod device;
mod problem;
mod atoms;
#[cfg(feature = "codegen")]
mod specs;
#[cfg(feature = "codegen")]
mod jobs;
#[cfg(feature = "codegen")]
mod explain;
mod cmd;

use std::process::ExitCode;

use clap::FromArgMatches as _;

fn main() -> ExitCode {
    outcome::guard(|| {
        let typed = guidance::command().get_matches();
        cmd::run(args::Cli::from_arg_matches(&typed).unwrap_or_else(|error| error.exit()))
    })
}
