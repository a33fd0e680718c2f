//! `completions`: a completion script for a shell, on stdout.

use clap::{Command, CommandFactory};

use crate::args::{Cli, Completions};
use crate::outcome::{Outcome, Verdict};
use crate::terminal;

/// Prints the script.
pub fn run(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    // What clap keeps of a command lives as long as the process, which ends when this is printed.
    let mut command = shown(Box::leak(Box::new(Cli::command())));
    clap_complete::generate(args.shell, &mut command, "tilewright", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Verdict::Good)
}

/// The command without what is hidden: the parts that it runs as its own children.
fn shown(command: &'static Command) -> Command {
    let mut left = Command::new(command.get_name());
    if let Some(about) = command.get_about() {
        left = left.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        left = left.version(version);
    }
    let arguments = command.get_arguments().filter(|one| !one.is_hide_set());
    let subcommands = command.get_subcommands().filter(|one| !one.is_hide_set());
    left.disable_help_subcommand(command.is_disable_help_subcommand_set())
        .args(arguments.cloned())
        .subcommands(subcommands.map(shown))
}
