//! The command line as clap parses it: names, types and help texts, and nothing about what they do.
//!
//! Each subcommand's file under `cmd` turns its struct here into the request it works on.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

/// The last lines of `--help`.
const EXIT_CODES: &str = "Exit codes: 0 good, 1 a negative verdict (your spec, a failed check),\n\
                          2 it could not run (usage, file, missing tool), 3 our bug.";

/// Turns YAML kernel specs into PTX, checks the PTX on the CPU, and ships it as bundles.
#[derive(Debug, Parser)]
#[command(
    name = "tilewright",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
#[command(
after_help = EXIT_CODES
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One subcommand per artefact.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look into a bundle
    #[command(subcommand)]
    Bundle(Bundle),
    /// Report what is installed, what is missing and how to get it
    Doctor(Doctor),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// `bundle`.
#[derive(Debug, Subcommand)]
pub enum Bundle {
    /// List the kernels of a bundle
    Show(BundlePath),
    /// Check every hash and every rule of a bundle
    Verify(BundlePath),
}

/// A bundle and how to print what is found in it.
#[derive(Debug, Args)]
pub struct BundlePath {
    /// The bundle's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub bundle: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell to complete in
    pub shell: clap_complete::Shell,
}
