//! Many specs, judged by processes that may die of one, counted, and their faults made small.
//!
//! In: seeds, or texts of specs. Out: a verdict of each. A process answers a line of JSON with a
//! line of JSON; one that dies or takes too long costs the spec it was at.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::judge::{End, JudgeOptions, Verdict, judge};
use super::refusal::is_decided;

/// How much of what a process said before it died is kept.
const KEPT_STDERR_BYTES: u64 = 4096;
/// Most specs judged to make one fault small.
const MOST_TRIALS: usize = 80;

/// What a process is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    text: String,
    how: JudgeOptions,
}

/// A spec of a seed and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The seed.
    pub seed: u64,
    /// Whether keys are written that only the assembler can refuse.
    pub is_decided: bool,
    /// What became of its spec.
    pub verdict: Verdict,
}

/// Processes that judge.
#[derive(Clone, Debug)]
pub struct WorkerPool {
    /// The program that answers when it is given `--worker`.
    pub program: PathBuf,
    /// How many run at once.
    pub size: usize,
    /// Longest time for one spec.
    pub limit: Duration,
    /// How specs are judged.
    pub how: JudgeOptions,
    /// The spec of a seed.
    pub draw: fn(u64) -> Draft,
}

/// Answers questions from stdin until it ends: the whole of a judging process.
///
/// # Errors
/// When a stream breaks, or a line is no question.
pub fn serve() -> io::Result<()> {
    let mut answers = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let question: Question = serde_json::from_str(&line?)?;
        let verdict = judge(&question.text, question.how);
        serde_json::to_writer(&mut answers, &verdict)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
    }
    Ok(())
}

impl WorkerPool {
    /// Judges the specs of the seeds from `first` on, as long as `go_on` says so of the number that
    /// were begun; in the order of the seeds. Each is told as soon as it is judged.
    pub fn run(
        &self,
        first: u64,
        go_on: impl Fn(u64) -> bool + Sync,
        told: impl Fn(&Judged) + Sync,
    ) -> Vec<Judged> {
        let next = AtomicU64::new(0);
        let all = Mutex::new(Vec::new());
        let work = || {
            let mut process = None;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if !go_on(number) {
                    return;
                }
                let seed = first + number;
                let draft = (self.draw)(seed);
                let one = Judged {
                    seed,
                    is_decided: is_decided(&draft),
                    verdict: self.ask(&mut process, &draft.yaml()),
                };
                let mut all = all.lock().unwrap_or_else(|poison| poison.into_inner());
                told(&one);
                all.push(one);
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.size.max(1) {
                scope.spawn(work);
            }
        });
        let mut all = all
            .into_inner()
            .unwrap_or_else(|poison| poison.into_inner());
        all.sort_by_key(|one| one.seed);
        all
    }

    /// The least spec that comes to the same fault as the one of a seed.
    pub fn shrink(
        &self,
        Judged {
            seed,
            verdict: fault,
            ..
        }: &Judged,
    ) -> Draft {
        let mut draft = (self.draw)(*seed);
        let mut process = None;
        let mut trials = 0;
        while trials < MOST_TRIALS && fault.end != End::Slow {
            let smaller = draft.smaller().into_iter().find(|smaller| {
                trials += 1;
                trials <= MOST_TRIALS
                    && self.ask(&mut process, &smaller.yaml()).class() == fault.class()
            });
            match smaller {
                Some(smaller) => draft = smaller,
                None => break,
            }
        }
        draft
    }

    fn ask(&self, process: &mut Option<Process>, text: &str) -> Verdict {
        let started = match process.take() {
            Some(running) => Ok(running),
            None => Process::start(&self.program),
        };
        let mut asked = match started {
            Ok(started) => started,
            Err(error) => return Verdict::new(End::Died, "start", error.to_string()),
        };
        let question = Question {
            text: text.to_owned(),
            how: self.how,
        };
        match asked.answer(&question, self.limit) {
            Ok(verdict) => {
                *process = Some(asked);
                verdict
            }
            Err(RecvTimeoutError::Timeout) => {
                let text = format!("not judged in {} s", self.limit.as_secs());
                Verdict::new(End::Slow, "slow", text)
            }
            Err(RecvTimeoutError::Disconnected) => asked.bury(),
        }
    }
}

/// One running process. Dropping it ends it.
struct Process {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Process {
    fn start(program: &PathBuf) -> io::Result<Process> {
        let mut command = Command::new(program);
        command.arg("--worker").stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(questions), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("its streams are not there"));
        };
        let (send, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut said = Vec::new();
            let mut stderr = stderr;
            // What cannot be read is not told.
            let _ = (&mut stderr).take(KEPT_STDERR_BYTES).read_to_end(&mut said);
            let _ = io::copy(&mut stderr, &mut io::sink());
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Process {
            child,
            questions,
            answers,
            stderr: Some(stderr),
        })
    }

    fn answer(
        &mut self,
        question: &Question,
        limit: Duration,
    ) -> Result<Verdict, RecvTimeoutError> {
        let gone = |_| RecvTimeoutError::Disconnected;
        let mut line = serde_json::to_vec(question).map_err(|_| RecvTimeoutError::Disconnected)?;
        line.push(b'\n');
        self.questions.write_all(&line).map_err(gone)?;
        self.questions.flush().map_err(gone)?;
        let answer = self.answers.recv_timeout(limit)?;
        serde_json::from_str(&answer).map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// The verdict of a spec that its process died of.
    fn bury(mut self) -> Verdict {
        let status = self.child.wait();
        let said = self.stderr.take().and_then(|reader| reader.join().ok());
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        Verdict::new(End::Died, &status, said.unwrap_or_default())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
