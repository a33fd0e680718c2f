//! The subcommands, a file each: in comes what clap parsed, out goes the artefact and a verdict.

mod bundle;
mod doctor;
mod completions;

use crate::args::{Cli, Command};
use crate::outcome::Outcome;

/// Runs the subcommand that was asked for.
pub fn run(cli: Cli) -> Outcome {
    match cli.command {
        Command::Bundle(args) => bundle::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
