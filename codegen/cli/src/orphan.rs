//! Children of this command that do not outlive it, nor do those that they start.
//!
//! A child that works for this process alone, as the tuner's and the compilers do, is tied to it by
//! [`tie`]. A tuner starts nothing and says [`end_with_parent`] before it begins. A compiler starts
//! an assembler, which may be a script that starts others: it leads a process group of its own
//! ([`lead`]), and the whole group ends at once, by [`reap`] and [`end_group`] of its parent, or by
//! itself when its parent is gone ([`end_own_group`]), whatever ended that (a signal that nobody
//! can catch among them). What they held (a lock, a GPU, a core) is free again then. On systems
//! without process groups a child ends when it next writes to its parent or reads from it.

#[cfg(feature = "codegen")]
use std::io;
use std::process::Command;
#[cfg(feature = "codegen")]
use std::process::{Child, ExitStatus};

/// The variable that tells a child which process it belongs to.
const PARENT: &str = "TILEWRIGHT_PARENT";

/// Makes a command to be started a child of this process that ends with it.
///
/// NOTE: Linux ends the child when the *thread* that started it ends, so that thread has to wait
/// for its child.
pub fn tie(command: &mut Command) -> &mut Command {
    command.env(PARENT, std::process::id().to_string())
}

/// The process that this one was tied to.
fn parent() -> Option<u32> {
    std::env::var(PARENT).ok().and_then(|id| id.parse().ok())
}

/// In the child: from now on this process ends when the one that started it does, at once if that
/// is gone already. A process that nobody tied to another, as one started by hand, stays free.
pub fn end_with_parent() {
    if let Some(parent) = parent() {
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

/// Makes a command to be started a tied child that leads a process group of its own.
#[cfg(feature = "codegen")]
pub fn lead(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    tie(command)
}

/// Ends a child that leads its group, and all others of that group. Its number is the group's for
/// as long as nobody has waited for it.
#[cfg(feature = "codegen")]
pub fn end_group(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        // Where all have ended by themselves there is nobody to be ended.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    // A group is made by the child itself, which may not have come to that yet.
    let _ = child.kill();
}

/// Waits for a child that leads its group until it ends by itself, and then ends the others.
///
/// # Errors
/// When it cannot be waited for.
#[cfg(feature = "codegen")]
pub fn reap(child: &mut Child) -> io::Result<ExitStatus> {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let until_it_ends = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // What cannot be waited for here cannot be below, where it is told.
        while waitid(WaitId::Pid(Pid::from_child(child)), until_it_ends)
            .is_err_and(|error| error == rustix::io::Errno::INTR)
        {}
        end_group(child);
    }
    child.wait()
}

/// In a child that is tied and leads its group: ends all of that group, itself among them. Of one
/// that was started by hand nothing is ended.
#[cfg(feature = "codegen")]
pub fn end_own_group() {
    if parent().is_none() {
        return;
    }
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
        if getpgrp() == getpid() {
            // It has no end where it succeeds.
            let _ = kill_current_process_group(Signal::KILL);
        }
    }
    std::process::exit(2);
}
