//! Compilation in worker processes of this very binary.
//!
//! LLVM ends its process on what it cannot select. So jobs go to child processes that run the
//! hidden subcommand [`SUBCOMMAND`]: a job is one line of JSON on the child's stdin, its answer one
//! line of JSON on the child's stdout. A child that dies costs its job, whose answer becomes a
//! [`WorkerError`] with what the child said on stderr; the next job gets a fresh child. So does one
//! that takes longer than the pool's limit: its child is ended.
//!
//! In: a list of jobs. Out: one answer per job, in the order of the jobs. Invariant: a pool never
//! runs more children than it has jobs, and neither a child nor what it started outlives the call,
//! nor this process ([`crate::orphan`]).

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::orphan;
use crate::outcome::{Failure, Outcome, Verdict};

/// The hidden subcommand that makes this binary a worker.
pub const SUBCOMMAND: &str = "__compile-worker";

/// How much of a dead worker's stderr is kept, from its end.
const KEPT_STDERR_BYTES: usize = 8 * 1024;

/// Why a job has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// No child could be started.
    #[error("cannot start a compile worker ({program}): {source}", program = program.display())]
    Start {
        /// The program that was to be started.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The child ended before it answered.
    #[error(
        "the compile worker ended with {status} before it answered{}",
        quoted(stderr)
    )]
    Died {
        /// How it ended.
        status: ExitStatus,
        /// The last of what it wrote on stderr.
        stderr: String,
    },
    /// The child was ended from outside.
    #[error(
        "the compile worker was ended by signal {signal}, from outside; signal 9 is what the \
         system sends when memory runs out: free some, or compile fewer kernels at once (--jobs 1)"
    )]
    Ended {
        /// The signal.
        signal: i32,
    },
    /// The child took too long and was ended.
    #[error("it does not compile in {} s", limit.as_secs())]
    TooLong {
        /// The longest time.
        limit: Duration,
    },
    /// The child answered something that is no answer.
    #[error("the compile worker answered what cannot be read: {0}")]
    Garbled(String),
}

fn quoted(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!(", saying: {text}"),
    }
}

/// Answers jobs from stdin until it ends: the whole of a worker process. Where it ends before the
/// last job is answered, whoever asked is gone, and so is this process then, with all it started.
///
/// # Errors
///
/// When stdin holds a line that is no job, or a stream breaks.
pub fn serve<J: DeserializeOwned, R: Serialize>(handle: impl Fn(J) -> R) -> Outcome {
    tilewright_codegen::ptx::stay_in_group();
    let mut answers = io::stdout().lock();
    let unanswered = Arc::new(AtomicUsize::new(0));
    for line in asked(Arc::clone(&unanswered)) {
        let line = line.map_err(|error| Failure::io("stdin", &error))?;
        let job = serde_json::from_str(&line)
            .map_err(|error| Failure::CouldNotRun(format!("stdin holds no job: {error}")))?;
        serde_json::to_writer(&mut answers, &handle(job)).map_err(io::Error::from)?;
        answers.write_all(b"\n")?;
        answers.flush()?;
        unanswered.fetch_sub(1, Ordering::SeqCst);
    }
    Ok(Verdict::Good)
}

/// The lines of stdin, read while jobs are at work.
fn asked(unanswered: Arc<AtomicUsize>) -> Receiver<io::Result<String>> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            unanswered.fetch_add(1, Ordering::SeqCst);
            if send.send(line).is_err() {
                return;
            }
        }
        if unanswered.load(Ordering::SeqCst) > 0 {
            orphan::end_own_group();
        }
    });
    lines
}

/// A number of worker processes and how to start one.
#[derive(Debug)]
pub struct WorkerPool {
    program: PathBuf,
    args: Vec<OsString>,
    size: NonZeroUsize,
    limit: Duration,
}

impl WorkerPool {
    /// A pool of workers of this binary: `size` of them, or one per core; a job may take `limit`.
    ///
    /// # Errors
    ///
    /// When the system does not say where this binary is.
    pub fn of_this_binary(
        size: Option<NonZeroUsize>,
        limit: Duration,
    ) -> Result<WorkerPool, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::io("cannot find this command's own file", &error))?;
        let size = size
            .or_else(|| thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN);
        Ok(WorkerPool {
            program,
            args: vec![SUBCOMMAND.into()],
            size,
            limit,
        })
    }

    /// Runs every job and gives the answers in the order of the jobs; `done` hears of each that is
    /// finished.
    pub fn run<J, R>(&self, jobs: &[J], done: impl Fn() + Sync) -> Vec<Result<R, WorkerError>>
    where
        J: Serialize + Sync,
        R: DeserializeOwned + Send,
    {
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::with_capacity(jobs.len()));
        let work = || {
            let mut worker = None;
            while let Some((index, job)) = take(jobs, &next) {
                let answer = self.answer(&mut worker, job);
                done();
                lock(&answers).push((index, answer));
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.size.get().min(jobs.len()) {
                scope.spawn(work);
            }
        });
        let mut answers = answers
            .into_inner()
            .unwrap_or_else(|poison| poison.into_inner());
        answers.sort_by_key(|&(index, _)| index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Asks `worker`, started when there is none; a worker that failed is let go.
    fn answer<J: Serialize, R: DeserializeOwned>(
        &self,
        worker: &mut Option<Worker>,
        job: &J,
    ) -> Result<R, WorkerError> {
        let mut asked = match worker.take() {
            Some(running) => running,
            None => Worker::start(&self.program, &self.args)?,
        };
        match asked.ask(job, self.limit) {
            Ok(line) => {
                let answer = serde_json::from_str(&line)
                    .map_err(|error| WorkerError::Garbled(error.to_string()))?;
                *worker = Some(asked);
                Ok(answer)
            }
            Err(BrokeOff::TooLong) => Err(WorkerError::TooLong { limit: self.limit }),
            Err(BrokeOff::Stream(error)) => Err(asked.bury(&error)),
        }
    }
}

/// Why a child gave no answer.
enum BrokeOff {
    Stream(io::Error),
    TooLong,
}

impl From<io::Error> for BrokeOff {
    fn from(error: io::Error) -> BrokeOff {
        BrokeOff::Stream(error)
    }
}

fn take<'j, J>(jobs: &'j [J], next: &AtomicUsize) -> Option<(usize, &'j J)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// One running child. Dropping it ends it with all that it started, and waits for that.
#[derive(Debug)]
struct Worker {
    child: Child,
    jobs: Option<ChildStdin>,
    answers: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

impl Worker {
    fn start(program: &PathBuf, args: &[OsString]) -> Result<Worker, WorkerError> {
        let failed = |source| WorkerError::Start {
            program: program.clone(),
            source,
        };
        let mut command = Command::new(program);
        let mut child = orphan::lead(&mut command)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(jobs), Some(answers), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(io::Error::other("its streams are not there")));
        };
        let stderr = thread::spawn(move || last_of(stderr));
        let answers = lines_of(answers);
        Ok(Worker {
            child,
            jobs: Some(jobs),
            answers,
            stderr: Some(stderr),
        })
    }

    /// Sends a job and waits for the line that answers it.
    fn ask<J: Serialize>(&mut self, job: &J, limit: Duration) -> Result<String, BrokeOff> {
        let mut line = serde_json::to_vec(job).map_err(io::Error::from)?;
        line.push(b'\n');
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let jobs = self.jobs.as_mut().ok_or_else(gone)?;
        jobs.write_all(&line)?;
        jobs.flush()?;
        match self.answers.recv_timeout(limit) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(BrokeOff::TooLong),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
            }
        }
    }

    /// Waits for a worker that broke off, and tells how it ended.
    fn bury(mut self, broke_off: &io::Error) -> WorkerError {
        self.jobs = None;
        let status = orphan::reap(&mut self.child);
        let stderr = self
            .stderr
            .take()
            .and_then(|reader| reader.join().ok())
            .unwrap_or_default();
        match status {
            Ok(status) => match ended_by(status) {
                Some(signal) => WorkerError::Ended { signal },
                None => WorkerError::Died { status, stderr },
            },
            Err(error) => WorkerError::Garbled(format!("{broke_off}; {error}")),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        // A child that broke off may still be writing; one that answered has nothing left to do. Of
        // one that is buried nothing is left, and its number may be another's.
        if self.stderr.is_some() {
            orphan::end_group(&mut self.child);
        }
        // A child that cannot be waited for is the system's to reap; there is nobody to tell.
        let _ = self.child.wait();
    }
}

/// The signal of those that others send, not a program to itself.
#[cfg(unix)]
fn ended_by(status: ExitStatus) -> Option<i32> {
    const HUP_INT_KILL_TERM: [i32; 4] = [1, 2, 9, 15];
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    signal.filter(|signal| HUP_INT_KILL_TERM.contains(signal))
}

#[cfg(not(unix))]
fn ended_by(_status: ExitStatus) -> Option<i32> {
    None
}

/// The lines of a stream, as they come.
fn lines_of(stream: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Reads a stream to its end and keeps the last [`KEPT_STDERR_BYTES`] of it.
fn last_of(mut stream: impl Read) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..length]);
        let surplus = kept.len().saturating_sub(KEPT_STDERR_BYTES);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(all(test, unix))]
mod tests;
