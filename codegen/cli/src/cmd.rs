//! The subcommands, a file each: in comes what clap parsed, out goes the artefact and a verdict.

#[cfg(feature = "codegen")]
mod init;
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
mod verify;
mod run;
mod select;
mod emulate;
mod bench;
mod tune;
mod pack;
mod bundle;
mod diff;
mod layout;
mod doctor;
mod completions;

use crate::args::{Cli, Command};
#[cfg(feature = "codegen")]
use crate::jobs;
use crate::outcome::Outcome;

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
        #[cfg(feature = "codegen")]
        Command::CompileWorker => jobs::serve(),
    }
}
