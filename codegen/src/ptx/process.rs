//! An outside program run to its end: all it printed, within a time.
//!
//! It may be a script that starts others, so it leads a process group, which is ended as a whole
//! when the time is up. On Linux it ends as well when this process does. A process that itself
//! leads a group for its parent to end says so ([`stay_in_group`]), and what it runs stays in that.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Whether this process leads a group that somebody else ends.
static IS_LED: AtomicBool = AtomicBool::new(false);

/// Says that this process leads a group which whoever started it ends: programs that it runs stay
/// in that group.
pub fn stay_in_group() {
    IS_LED.store(true, Ordering::Relaxed);
}

/// Runs a program, which the variable names: all it printed, and whether it succeeded. One that
/// does not end in time is ended.
///
/// # Errors
/// When it does not run, or does not end: in words.
pub(super) fn run(
    command: &mut Command,
    limit: Duration,
    variable: &str,
) -> Result<(String, bool), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error| format!("{program} does not run: {error}");
    let is_led = IS_LED.load(Ordering::Relaxed);
    if !is_led {
        lead(command);
    }
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (send, said) = channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let stdout = stdout.map(|stream| Box::new(stream) as Box<dyn Read + Send>);
    let stderr = stderr.map(|stream| Box::new(stream) as Box<dyn Read + Send>);
    for mut stream in stdout.into_iter().chain(stderr) {
        let send = send.clone();
        thread::spawn(move || {
            let mut text = Vec::new();
            // What was said before a stream broke is still told; nobody listens after the limit.
            let _ = stream.read_to_end(&mut text);
            let _ = send.send(text);
        });
    }
    drop(send);
    let (begun, mut text) = (Instant::now(), Vec::new());
    loop {
        match said.recv_timeout(limit.saturating_sub(begun.elapsed())) {
            Ok(more) => text.extend(more),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if !is_led {
                    end_group(&child);
                }
                // A program that has just ended is not there to be ended.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{program} did not end in {} s and was stopped: see what it waits for, or \
                     name another with {variable}",
                    limit.as_secs()
                ));
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok((
        String::from_utf8_lossy(&text).into_owned(),
        status.success(),
    ))
}

/// Makes a command the leader of a group of its own, which ends with the thread that waits for it.
#[cfg(unix)]
fn lead(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        let end = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(Into::into);
        // SAFETY: between fork and exec the closure makes one system call, prctl, which is safe
        // there: it takes no lock and no memory.
        unsafe { command.pre_exec(end) };
    }
}

#[cfg(not(unix))]
fn lead(_: &mut Command) {}

/// Ends a program that was not waited for yet, and all that it started.
#[cfg(unix)]
fn end_group(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // Where all have ended there is nobody to be ended.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

#[cfg(not(unix))]
fn end_group(_: &Child) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Whether a process is still at work, as the system lists it.
    fn is_there(process: &str) -> bool {
        let about = std::fs::read_to_string(format!("/proc/{process}/stat"));
        about.is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("started");
        let script = format!(
            "sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait",
            file.display()
        );
        let mut hangs = Command::new("sh");
        let limit = Duration::from_secs(3);
        let told = run(hangs.args(["-c", &script]), limit, "TOOL").unwrap_err();
        assert!(told.contains("did not end"), "{told}");
        let started = std::fs::read_to_string(&file).unwrap();
        let (begun, limit) = (Instant::now(), Duration::from_secs(30));
        while is_there(started.trim()) && begun.elapsed() < limit {
            thread::yield_now();
        }
        assert!(
            !is_there(started.trim()),
            "process {started} is still there"
        );
    }
}
