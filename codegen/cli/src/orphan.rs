//! Children of this command that do not outlive it.
//!
//! A child that works for this process alone, as the tuner's and the compilers do, is tied to it by
//! [`tie`] and says [`end_with_parent`] before it begins. Whatever ends the parent (a signal that
//! nobody can catch among them) then ends the child in the middle of its work, and what the child
//! holds (a lock, a GPU, a core) is free again. On systems other than Linux a child ends when it
//! next writes to its parent or reads from it.

use std::process::Command;

/// The variable that tells a child which process it belongs to.
const PARENT: &str = "TILEWRIGHT_PARENT";

/// Makes a command to be started a child of this process that ends with it.
///
/// NOTE: Linux ends the child when the *thread* that started it ends, so that thread has to wait
/// for its child.
pub fn tie(command: &mut Command) -> &mut Command {
    command.env(PARENT, std::process::id().to_string())
}

/// In the child: from now on this process ends when the one that started it does, at once if that
/// is gone already. A process that nobody tied to another, as one started by hand, stays free.
pub fn end_with_parent() {
    let parent = std::env::var(PARENT).ok().and_then(|id| id.parse().ok());
    if let Some(parent) = parent {
        follow(parent);
    }
}

#[cfg(target_os = "linux")]
fn follow(parent: u32) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // A kernel that refuses leaves the child as on other systems.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // A parent that ended before the line above has told nobody, and its children have another now.
    if std::os::unix::process::parent_id() != parent {
        std::process::exit(2);
    }
}

#[cfg(not(target_os = "linux"))]
fn follow(_parent: u32) {}
