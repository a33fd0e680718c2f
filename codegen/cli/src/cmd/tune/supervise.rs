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
use tilewright_runtime::tune::{Reason, Record, Step};

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
    /// By itself, with nothing at work that could be blamed; its stderr has told why.
    Failed(Option<i32>),
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
            End::Died(step, Reason::Crashed, detail)
        }
        _ => End::Failed(status.code()),
    })
}

/// Whether a process was ended rather than ended: by a signal, or by what a panic exits with.
fn died(status: ExitStatus) -> bool {
    !matches!(status.code(), Some(0..=2))
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
mod tests {
    use super::*;

    /// A step of one kernel, as a child prints it.
    fn step(limit_s: f64) -> String {
        let row = serde_json::json!({
            "format": 1, "outcome": "screened", "content_hash": "ab", "backend": "mock", "sms": 1,
            "date": "", "commit": "", "gpu": "mock", "driver": "", "cublaslt": null, "ptxas": "",
            "sm_clock_mhz": null, "power_w": null, "family": "gemm", "kernel": "gemm@bad-1",
            "problem": {"m": 1, "n": 1, "k": 1, "batch": 1},
            "dtype": {"a": null, "b": null, "c": null, "d": null, "acc": null}, "layout": "TN",
            "mode": "sustained", "ours_us": 0.0, "default_us": null, "best_us": 0.0, "peer": "",
            "ratio_default": null, "ratio_best": 0.0, "aa_ratio": null, "tflops": 0.0, "tbps": 0.0,
            "rel_err": 0.0, "max_err": 0.0, "rounds": 0, "spread": 0.0, "aa_spread": null,
        });
        let step = serde_json::json!({"next": {
            "what": "screen", "problem": "1x1x1", "kernels": [row], "limit_s": limit_s,
        }});
        format!("echo '{step}'")
    }

    fn run(script: &str) -> (End, usize) {
        let mut heard = 0;
        let mut shell = Command::new("sh");
        let end = watch(shell.args(["-c", script]), |_| heard += 1);
        (end.unwrap_or(End::Failed(None)), heard)
    }

    #[test]
    fn a_child_that_ends_well_hands_over_its_artefact() {
        let script = format!("{}; echo noise; echo '{{\"done\":\"table\"}}'", step(60.0));
        assert_eq!(run(&script), (End::Done("table".to_owned()), 2));
    }

    #[test]
    fn a_child_that_is_killed_blames_the_kernel_at_work() {
        let (end, _) = run(&format!("{}; kill -9 $$", step(60.0)));
        let End::Died(step, Reason::Crashed, detail) = end else {
            unreachable!("{end:?}");
        };
        assert_eq!(step.kernels[0].row.kernel, "gemm@bad-1");
        assert!(detail.contains("signal: 9"), "{detail}");
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
        assert_eq!(run("exit 2").0, End::Failed(Some(2)));
        // It told of its own failure and ended as commands do.
        assert_eq!(
            run(&format!("{}; exit 2", step(60.0))).0,
            End::Failed(Some(2))
        );
        assert_eq!(run("kill -9 $$").0, End::Failed(None));
        let lost = format!("{}; echo '{{\"lost\":\"why\"}}'; exit 1", step(60.0));
        assert_eq!(run(&lost).0, End::Lost);
    }
}
