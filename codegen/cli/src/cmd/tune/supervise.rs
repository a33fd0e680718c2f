//! A tuner in a process of its own, watched.
//!
//! A kernel may take its process with it, or never end. So the tuning itself runs in a child of
//! this very binary, which says on stdout what it does next, one JSON object a line. When the child
//! dies or stays longer at a step than the step may take, the kernels of that step are recorded as
//! crashed or hung, and a new child goes on where the records end.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tilewright_lab::tune::{Reason, Record, Step};

/// What a child says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// This is next.
    Next(Box<Step>),
    /// This was recorded.
    Recorded(Box<Record>),
    /// Something for the user to read.
    Note(String),
    /// No kernel is at work any more: what goes wrong from here on is no kernel's fault.
    Tuned,
    /// It is over; the text is the artefact.
    Done(String),
    /// The device was lost; whose fault it is stands in the records.
    Lost(String),
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// With its artefact.
    Done(String),
    /// The device was lost, and that was recorded.
    Lost,
    /// By itself; its stderr has told why, and this is its exit code.
    Failed(u8),
    /// In another way, with nothing at work that could be blamed: how, and at what.
    Stopped(String),
    /// In the middle of a step that has kernels.
    Died(Box<Step>, Reason, String),
}

/// Longest silence where no step says otherwise: start, tables, the end.
const SILENCE: Duration = Duration::from_secs(300);

/// Runs a child to its end; `hear` is told of every line.
///
/// # Errors
/// When the child cannot be started.
pub fn watch(command: &mut Command, mut hear: impl FnMut(&Line)) -> std::io::Result<End> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = lines_of(&mut child);
    let mut step: Option<Box<Step>> = None;
    let mut last = None;
    let hung = loop {
        let patience = step.as_ref().map_or(SILENCE, |step| {
            Duration::try_from_secs_f64(step.limit_s).unwrap_or(SILENCE)
        });
        match lines.recv_timeout(patience) {
            Ok(line) => {
                hear(&line);
                match line {
                    Line::Next(next) => step = Some(next),
                    Line::Tuned => step = None,
                    Line::Done(_) | Line::Lost(_) => last = Some(line),
                    Line::Recorded(_) | Line::Note(_) => {}
                }
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => break Some(patience),
        }
    };
    if hung.is_some() {
        // Its failure means that the child has just ended by itself.
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok(match (last, hung, step) {
        (Some(Line::Done(artefact)), ..) => End::Done(artefact),
        (Some(_), ..) => End::Lost,
        (None, Some(patience), Some(step)) if !step.kernels.is_empty() => {
            let detail = format!(
                "{}: no end after {:.0} s",
                step.what,
                patience.as_secs_f64()
            );
            End::Died(step, Reason::Hung, detail)
        }
        (None, None, Some(step)) if !step.kernels.is_empty() && died(status) => {
            let detail = format!("{}: the process ended with {status}", step.what);
            End::Died(step, cause(status), detail)
        }
        (None, None, _) if told(status).is_some() => End::Failed(told(status).unwrap_or_default()),
        (None, hung, step) => End::Stopped(stopped(status, hung, step.as_deref())),
    })
}

/// The exit code of a command that told why it failed.
fn told(status: ExitStatus) -> Option<u8> {
    let code = u8::try_from(status.code()?).ok()?;
    (1..=3).contains(&code).then_some(code)
}

/// How a child ended that told nothing.
fn stopped(status: ExitStatus, hung: Option<Duration>, step: Option<&Step>) -> String {
    let at = step.map_or_else(String::new, |step| {
        format!(" while it was to {} {}", step.what, step.problem)
    });
    match hung {
        Some(patience) => format!("no word from the tuner for {} s{at}", patience.as_secs()),
        None => format!("the tuner ended with {status}{at}"),
    }
}

/// Whether a process was ended rather than ended: by a signal, or by what a panic exits with.
fn died(status: ExitStatus) -> bool {
    !matches!(status.code(), Some(0..=2))
}

/// Why a process died: by its own fault, or by what ends those for which there is no memory.
fn cause(status: ExitStatus) -> Reason {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        /// `SIGABRT`, by which an allocator ends its process, and `SIGKILL`, by which Linux does.
        const FOR_MEMORY: [i32; 2] = [6, 9];
        let signal = status.signal();
        if signal.is_some_and(|signal| FOR_MEMORY.contains(&signal)) {
            return Reason::Killed;
        }
    }
    Reason::Crashed
}

/// The lines of a child's stdout; what is no line of ours is passed over.
fn lines_of(child: &mut Child) -> Receiver<Line> {
    let (send, receive) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for line in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receive
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The record of a kernel before anything is known of it.
    pub(in crate::cmd::tune) fn record() -> Record {
        serde_json::from_value(row()).unwrap_or_else(|error| unreachable!("{error}"))
    }

    fn row() -> serde_json::Value {
        serde_json::json!({
            "format": 1, "outcome": "screened", "content_hash": "ab", "backend": "mock", "sms": 1,
            "date": "", "commit": "", "gpu": "mock", "driver": "", "cublaslt": null, "ptxas": "",
            "sm_clock_mhz": null, "power_w": null, "family": "gemm", "kernel": "gemm@bad-1",
            "problem": {"m": 1, "n": 1, "k": 1, "batch": 1},
            "dtype": {"a": null, "b": null, "c": null, "d": null, "acc": null}, "layout": "TN",
            "mode": "sustained", "ours_us": 0.0, "default_us": null, "best_us": 0.0, "peer": "",
            "ratio_default": null, "ratio_best": 0.0, "aa_ratio": null, "tflops": 0.0, "tbps": 0.0,
            "rel_err": 0.0, "max_err": 0.0, "rounds": 0, "spread": 0.0, "aa_spread": null,
        })
    }

    /// A step of one kernel, as a child prints it.
    fn step(limit_s: f64) -> String {
        let step = serde_json::json!({"next": {
            "what": "screen", "problem": "1x1x1", "place": [1, 1], "candidates": 1,
            "kernels": [row()], "limit_s": limit_s,
        }});
        format!("echo '{step}'")
    }

    fn run(script: &str) -> (End, usize) {
        let mut heard = 0;
        let mut shell = Command::new("sh");
        let end = watch(shell.args(["-c", script]), |_| heard += 1);
        (end.unwrap_or(End::Failed(0)), heard)
    }

    #[test]
    fn a_child_that_ends_well_hands_over_its_artefact() {
        let script = format!("{}; echo noise; echo '{{\"done\":\"table\"}}'", step(60.0));
        assert_eq!(run(&script), (End::Done("table".to_owned()), 2));
    }

    #[test]
    fn a_child_that_dies_blames_the_kernel_at_work() {
        let (end, _) = run(&format!("{}; kill -SEGV $$", step(60.0)));
        let End::Died(step, Reason::Crashed, detail) = end else {
            unreachable!("{end:?}");
        };
        assert_eq!(step.kernels[0].row.kernel, "gemm@bad-1");
        assert!(detail.contains("signal: 11"), "{detail}");
    }

    #[test]
    fn a_child_that_is_killed_as_for_memory_blames_nobody_for_good() {
        for signal in ["KILL", "ABRT"] {
            let (end, _) = run(&format!("{}; kill -{signal} $$", step(60.0)));
            let End::Died(step, Reason::Killed, detail) = end else {
                unreachable!("{end:?}");
            };
            let record = step.kernels[0].clone().dropped(Reason::Killed, detail);
            assert!(record.is_for_memory(), "{record:?}");
        }
    }

    #[test]
    fn a_child_that_hangs_is_ended() {
        let (end, _) = run(&format!("{}; exec sleep 600", step(0.2)));
        let End::Died(_, Reason::Hung, detail) = end else {
            unreachable!("{end:?}");
        };
        assert!(detail.contains("screen: no end"), "{detail}");
    }

    #[test]
    fn what_no_kernel_did_is_no_kernels_fault() {
        assert_eq!(run("exit 2").0, End::Failed(2));
        // It told of its own failure and ended as commands do.
        assert_eq!(run(&format!("{}; exit 2", step(60.0))).0, End::Failed(2));
        // Nor what went wrong when all kernels were done with.
        let tuned = format!("{}; echo '\"tuned\"'; exit 3", step(60.0));
        assert_eq!(run(&tuned).0, End::Failed(3));
        let killed = "the tuner ended with signal: 9 (SIGKILL)".to_owned();
        assert_eq!(run("kill -9 $$").0, End::Stopped(killed));
        let lost = format!("{}; echo '{{\"lost\":\"why\"}}'; exit 1", step(60.0));
        assert_eq!(run(&lost).0, End::Lost);
    }
}
