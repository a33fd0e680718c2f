//! The subcommands, a file each: in comes what clap parsed, out goes the artefact and a verdict.

#[cfg(feature = "codegen")]
mod init;
#[cfg(feature = "codegen")]
mod compiled;
#[cfg(feature = "codegen")]
mod check;
#[cfg(feature = "codegen")]
mod plan;
#[cfg(feature = "codegen")]
mod ir;
#[cfg(feature = "codegen")]
mod ptx;
#[cfg(feature = "codegen")]
mod explain;
#[cfg(feature = "codegen")]
mod build;
#[cfg(feature = "codegen")]
mod schema;
mod emulate;
mod doctor;
mod completions;
mod help;
mod bundle;
mod run;
mod select;
mod bench;
mod verify;
mod tune;
mod pack;
mod diff;
mod layout;

use crate::args::{Cli, Command};
#[cfg(feature = "codegen")]
use crate::jobs;
#[cfg(not(feature = "codegen"))]
use crate::outcome::Failure;
use crate::outcome::Outcome;

/// What the subcommands of the generator say where it is not there.
#[cfg(not(feature = "codegen"))]
const NO_LLVM: &str = "this subcommand works on specs, for which the command needs LLVM, and this \
                       build of it has none: \
                       ci/setup.sh installs LLVM, and `cargo install --path codegen/cli` then \
                       builds one that does; \
                       bundles are used without";

/// Runs the subcommand that was asked for.
pub fn run(cli: Cli) -> Outcome {
    match cli.command {
        #[cfg(feature = "codegen")]
        Command::Init(args) => init::run(&args),
        #[cfg(feature = "codegen")]
        Command::Check(args) => check::run(&args),
        #[cfg(feature = "codegen")]
        Command::Plan(args) => plan::run(&args),
        #[cfg(feature = "codegen")]
        Command::Ir(args) => ir::run(&args),
        #[cfg(feature = "codegen")]
        Command::Ptx(args) => ptx::run(&args),
        #[cfg(feature = "codegen")]
        Command::Explain(args) => explain::run(&args),
        #[cfg(feature = "codegen")]
        Command::Build(args) => build::run(&args),
        #[cfg(feature = "codegen")]
        Command::Schema => schema::run(),
        #[cfg(not(feature = "codegen"))]
        Command::Init(_)
        | Command::Check(_)
        | Command::Plan(_)
        | Command::Ir(_)
        | Command::Ptx(_)
        | Command::Explain(_)
        | Command::Build(_)
        | Command::Schema(_) => Err(Failure::CouldNotRun(NO_LLVM.to_owned())),
        Command::Verify(args) => verify::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Select(args) => select::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Layout(args) => layout::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Help(args) => help::run(&args),
        #[cfg(feature = "codegen")]
        Command::CompileWorker => jobs::serve(),
    }
}
