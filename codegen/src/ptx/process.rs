//! An outside program run to its end: all it printed, within a time.
//!
//! It may be a script that starts others, so it runs in a process group of its own, which is ended
//! as a whole when the program has ended, when the time is up, and when this process is gone,
//! whatever ended that (a signal that nobody can catch among them). For the last of the three the
//! group has a watch in it: a shell that reads from a pipe of which this process alone holds the
//! other end. A process that itself leads a group for its parent to end says so
//! ([`stay_in_group`]), and what it runs stays in that.

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
    let mut group = match IS_LED.load(Ordering::Relaxed) {
        true => None,
        false => Some(Group::of(command)),
    };
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
                if let Some(group) = &mut group {
                    group.end(&child);
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

/// The group of a program and of all that it starts, which ends where this does.
struct Group {
    /// The shell that leads the group and ends it when this process is gone; none where there is no
    /// such shell, and the program leads.
    watch: Option<Child>,
}

#[cfg(unix)]
impl Group {
    /// What the watch does: a line never comes, so that what it reads is the end of the pipe.
    const WATCH: &'static str = "read -r line; kill -s KILL 0";

    /// The group that a command will run in.
    fn of(command: &mut Command) -> Group {
        use std::os::unix::process::CommandExt as _;
        let mut watch = Command::new("/bin/sh");
        watch.args(["-c", Group::WATCH]).current_dir("/");
        watch.stdin(Stdio::piped()).stdout(Stdio::null());
        watch.stderr(Stdio::null()).process_group(0);
        let watch = watch.spawn().ok();
        let leader = watch.as_ref().map(Child::id);
        let leader = leader.and_then(|id| i32::try_from(id).ok());
        command.process_group(leader.unwrap_or(0));
        end_with_this(command);
        Group { watch }
    }

    /// Ends all of the group; `child` is the program, not waited for yet where it leads.
    fn end(&mut self, child: &Child) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let leader = self.watch.as_ref().unwrap_or(child);
        // Where all have ended there is nobody to be ended.
        let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        if let Some(watch) = &mut self.watch {
            // Its number is the group's for as long as nobody has waited for it.
            let _ = kill_process_group(Pid::from_child(watch), Signal::KILL);
            let _ = watch.wait();
        }
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(_: &mut Command) -> Group {
        Group { watch: None }
    }

    fn end(&mut self, _: &Child) {}
}

/// Makes a program end with the thread that waits for it, which holds where there is no watch.
#[cfg(target_os = "linux")]
fn end_with_this(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt as _;
    let end = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(Into::into);
    // SAFETY: between fork and exec the closure makes one system call, prctl, which is safe
    // there: it takes no lock and no memory.
    unsafe { command.pre_exec(end) };
}

#[cfg(all(unix, not(target_os = "linux")))]
fn end_with_this(_: &mut Command) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// Whether a process is still at work, as the system lists it.
    fn is_there(process: &str) -> bool {
        let about = std::fs::read_to_string(format!("/proc/{process}/stat"));
        about.is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// A script that starts a program which runs on, and tells of it in a file when it has.
    fn starts_one(file: &Path) -> String {
        format!(
            "sleep 600 >/dev/null 2>&1 & echo $! > {0}.new; mv {0}.new {0}",
            file.display()
        )
    }

    /// Waits until the process that a file names has ended.
    fn has_ended(file: &Path) {
        let started = std::fs::read_to_string(file).unwrap();
        let (begun, limit) = (Instant::now(), Duration::from_secs(30));
        while is_there(started.trim()) && begun.elapsed() < limit {
            thread::yield_now();
        }
        let is_there = is_there(started.trim());
        assert!(!is_there, "process {started} is still there");
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("started");
        let script = format!("{}; wait", starts_one(&file));
        let mut hangs = Command::new("sh");
        let limit = Duration::from_secs(3);
        let told = run(hangs.args(["-c", &script]), limit, "TOOL").unwrap_err();
        assert!(told.contains("did not end"), "{told}");
        has_ended(&file);
    }

    #[test]
    fn what_a_program_left_behind_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("started");
        let script = format!("{}; echo said >&2; exit 3", starts_one(&file));
        let mut leaves = Command::new("sh");
        let limit = Duration::from_secs(60);
        let told = run(leaves.args(["-c", &script]), limit, "TOOL").unwrap();
        assert_eq!(told, ("said\n".to_owned(), false));
        has_ended(&file);
    }

    /// Where the process that runs a program is told, in a variable, which script that is: it is
    /// this test in a process of its own.
    const SCRIPT: &str = "TILEWRIGHT_TEST_SCRIPT";

    #[test]
    fn a_process_that_is_ended_takes_all_along_that_its_programs_started() {
        if let Ok(script) = std::env::var(SCRIPT) {
            let mut hangs = Command::new("sh");
            let _ = run(
                hangs.args(["-c", &script]),
                Duration::from_secs(600),
                "TOOL",
            );
            return;
        }
        for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("started");
            let name = "a_process_that_is_ended_takes_all_along_that_its_programs_started";
            let mut user = Command::new(std::env::current_exe().unwrap());
            user.args([
                &format!("{}::{name}", module_path!())["tilewright_codegen::".len()..],
                "--exact",
            ]);
            user.env(SCRIPT, format!("{}; wait", starts_one(&file)));
            let mut user = user.stdout(Stdio::null()).spawn().unwrap();
            let (begun, limit) = (Instant::now(), Duration::from_secs(60));
            while !file.exists() && begun.elapsed() < limit {
                thread::yield_now();
            }
            kill_process(Pid::from_child(&user), signal).unwrap();
            user.wait().unwrap();
            has_ended(&file);
        }
    }
}
