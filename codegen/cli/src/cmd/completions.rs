//! `completions`: a completion script for a shell, on stdout.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::outcome::{Outcome, Verdict};
use crate::terminal;

/// Prints the script.
pub fn run(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tilewright", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Verdict::Good)
}
