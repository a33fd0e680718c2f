//! The thread that owns the engine: takes work from the queue, and rows of one weight together.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::Bytes;
use tilewright_runtime::Error;
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::engine::{Engine, Failure, Offered};
use crate::job::{Job, Task};
use crate::matrix::{Shape, Types};
use crate::metrics::Metrics;
use crate::needs::Needs;
use crate::problem::{For, Problem};
use crate::queue::{Queue, Refused};
use crate::room::{Part, Room};

/// How much work is taken.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that may wait.
    pub queue: usize,
    /// Rows that go through the device together at most.
    pub most_rows: usize,
    /// How long rows wait for others to go with.
    pub linger: Duration,
    /// Weights that are kept.
    pub weights: usize,
    /// Bytes of a body.
    pub body_bytes: usize,
}

/// The engine as the rest of the service sees it.
#[derive(Debug, Clone)]
pub struct Worker {
    queue: Arc<Queue<Job>>,
    /// Whether a kernel has taken the device with it.
    is_lost: watch::Receiver<bool>,
    /// The functions that there are.
    pub functions: Arc<[Offered]>,
    /// How much work is taken.
    pub limits: Limits,
    needs: Needs,
    /// What weights and products are counted in.
    pub memory: Room,
    metrics: Metrics,
}

/// The engine's thread.
#[derive(Debug)]
pub struct Thread {
    handle: JoinHandle<()>,
    /// Nothing comes, and the other end is gone when the thread has ended.
    ends: Receiver<Infallible>,
}

impl Thread {
    /// Waits so long for it to end; `None` when it has not, as in the middle of a launch.
    pub fn end_within(self, limit: Duration) -> Option<std::thread::Result<()>> {
        match self.ends.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => None,
            _ => Some(self.handle.join()),
        }
    }
}

/// Someone who waits for a job. When that is over, the queue is rid of the job.
#[derive(Debug)]
pub struct Waiting<'w>(&'w Worker);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let left = self.0.queue.retain(|job| !job.is_left());
        self.0.metrics.left(left);
    }
}

impl Worker {
    /// Starts the thread, which ends when it is told to.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(
        engine: Engine,
        limits: Limits,
        room: Room,
        metrics: Metrics,
    ) -> std::io::Result<(Worker, Thread)> {
        let queue = Arc::new(Queue::new(limits.queue));
        let (tells, is_lost) = watch::channel(false);
        let worker = Worker {
            queue: queue.clone(),
            is_lost,
            functions: engine.functions(),
            limits,
            needs: engine.needs(),
            memory: engine.memory(),
            metrics: metrics.clone(),
        };
        let mut working = Working {
            engine,
            limits,
            room,
            metrics,
            queue: Closes(queue),
            is_lost: tells,
        };
        let (running, ends) = mpsc::channel();
        let thread = std::thread::Builder::new().name("engine".to_owned());
        let handle = thread.spawn(move || {
            let _running: mpsc::Sender<Infallible> = running;
            working.run();
        })?;
        Ok((worker, Thread { handle, ends }))
    }

    /// Whether a kernel has taken the device with it: no work is done any more.
    pub fn is_lost(&self) -> bool {
        *self.is_lost.borrow()
    }

    /// Returns when the device is lost.
    pub async fn lost(&self) {
        let mut is_lost = self.is_lost.clone();
        if is_lost.wait_for(|is_lost| *is_lost).await.is_err() {
            // The engine's thread has ended, and not for that.
            std::future::pending::<()>().await;
        }
    }

    /// Refuses a weight that there is never memory for, before it comes.
    ///
    /// # Errors
    /// [`Problem::NoMemory`] when weights and products may not have as much together.
    pub fn admit(&self, types: Types, weight: Shape) -> Result<(), Problem> {
        let bytes = weight.bytes(types.b).unwrap_or(usize::MAX);
        let needs = bytes.saturating_add(self.needs.product(types, weight, 1));
        let most = self.memory.most_bytes();
        if needs <= most {
            return Ok(());
        }
        Err(Problem::NoMemory {
            what: For::Weight,
            needs,
            held: self.memory.held_bytes(),
            most,
        })
    }

    /// Puts a job into the queue, unless that is full. The job stays there no longer than what is
    /// returned.
    ///
    /// # Errors
    /// [`Problem::Busy`] when it is, [`Problem::Ending`] when nobody works any more.
    pub fn give(&self, job: Job) -> Result<Waiting<'_>, Problem> {
        self.metrics.waiting.inc();
        match self.queue.push(job) {
            Ok(()) => Ok(Waiting(self)),
            Err(refused) => {
                self.metrics.waiting.dec();
                Err(match refused {
                    Refused::Full => Problem::Busy,
                    Refused::Closed => Problem::Ending,
                })
            }
        }
    }

    /// Tells the thread to end, as soon as it is through with what it is at.
    pub fn end(&self) {
        self.queue.close();
    }
}

/// The thread's end of the queue, which takes nothing any more when the thread is gone.
struct Closes(Arc<Queue<Job>>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What the thread has.
struct Working {
    engine: Engine,
    limits: Limits,
    room: Room,
    metrics: Metrics,
    queue: Closes,
    is_lost: watch::Sender<bool>,
}

impl Working {
    fn run(&mut self) {
        let mut next: Option<Job> = None;
        while let Some(first) = next.take().or_else(|| self.queue.0.pop()) {
            match first.task {
                _ if first.is_left() => self.metrics.left(1),
                _ if *self.is_lost.borrow() => self.answer(first, Err(Problem::Ending)),
                Task::Put(shape) => self.put(first, shape),
                Task::Multiply(_) => {
                    let batch;
                    (batch, next) = self.gather(first);
                    self.multiply(batch);
                }
            }
        }
        info!("the engine has nothing left to do");
    }

    /// The jobs that go together with the first one, and the one that came instead of another: work
    /// keeps its order, so that what is put before a product is used by it.
    fn gather(&self, first: Job) -> (Vec<Job>, Option<Job>) {
        let until = first.arrived + self.limits.linger;
        let mut rows = first.rows();
        let mut batch = vec![first];
        while rows < self.limits.most_rows {
            let Some(job) = self.queue.0.pop_until(until) else {
                break;
            };
            let fits = matches!(job.task, Task::Multiply(_))
                && batch.iter().any(|of| of.key() == job.key())
                && rows + job.rows() <= self.limits.most_rows;
            if !fits {
                return (batch, Some(job));
            }
            rows += job.rows();
            batch.push(job);
        }
        (batch, None)
    }

    fn put(&mut self, job: Job, shape: Shape) {
        let is_known = self.engine.shape(job.key()).is_some();
        let result = if !is_known && self.engine.weights() >= self.limits.weights {
            let most = self.limits.weights;
            Err(Problem::TooManyWeights { most })
        } else {
            let put = self.engine.put(job.key(), shape, &job.content);
            put.map_err(|failure| self.failed(failure))
        };
        self.answer(job, result.map(|()| (shape, Bytes::new())));
    }

    /// Multiplies jobs of one weight, as far as they are right.
    fn multiply(&mut self, batch: Vec<Job>) {
        let Some((function, name)) = batch.first().map(|job| (job.function, job.weight.clone()))
        else {
            return;
        };
        let weight = self.engine.shape((function, &name));
        let mut right = Vec::new();
        for job in batch {
            let columns = job.columns();
            match weight {
                None => self.answer(job, Err(Problem::NoWeight(name.clone()))),
                Some(weight) if columns != weight.columns => {
                    let needs = weight.columns;
                    let text =
                        format!("the rows have {columns} columns; those of {name:?} have {needs}");
                    self.answer(job, Err(Problem::Request(vec![text])));
                }
                Some(weight) => {
                    let (rows, columns) = (job.rows(), weight.rows);
                    match self.promised(function, Shape { rows, columns }) {
                        Ok(promised) => right.push((job, promised)),
                        Err(problem) => self.answer(job, Err(problem)),
                    }
                }
            }
        }
        self.multiply_right((function, &name), right);
    }

    /// An answer of a shape, before it is there: its part of the room.
    fn promised(&self, function: usize, shape: Shape) -> Result<Promised, Problem> {
        let bytes = shape.bytes(self.engine.types(function).d);
        let (bytes, most) = (bytes.unwrap_or(usize::MAX), self.room.most_bytes());
        if bytes > most {
            return Err(Problem::ProductTooLarge { bytes, most });
        }
        let mut part = self.room.part();
        match part.grow(bytes) {
            true => Ok(Promised { shape, bytes, part }),
            false => Err(Problem::NoRoom { most }),
        }
    }

    /// Multiplies by one launch; by one for each half where there is no memory for all.
    fn multiply_right(&mut self, key: (usize, &str), mut batch: Vec<(Job, Promised)>) {
        let before = batch.len();
        batch.retain(|(job, _)| !job.is_left());
        self.metrics.left(before - batch.len());
        let rows: usize = batch.iter().map(|(job, _)| job.rows()).sum();
        if rows == 0 {
            return;
        }
        let contents: Vec<&[u8]> = batch.iter().map(|(job, _)| job.content.as_ref()).collect();
        let product = match self.engine.multiply(key, rows, &contents) {
            Err(Failure::NoMemory(_)) if batch.len() > 1 => {
                let behind = batch.split_off(batch.len() / 2);
                self.multiply_right(key, batch);
                return self.multiply_right(key, behind);
            }
            product => product.map_err(|failure| self.failed(failure)),
        };
        self.metrics.batch_rows.observe(rows as f64);
        self.share_out(batch, product);
    }

    /// Answers each job with its rows of a product. Each answer has bytes of its own: a client that
    /// is slow keeps no others'.
    fn share_out(&self, batch: Vec<(Job, Promised)>, product: Result<Vec<u8>, Problem>) {
        let mut product = match product {
            Ok(product) => product,
            Err(problem) => {
                for (job, _) in batch {
                    self.answer(job, Err(problem.clone()));
                }
                return;
            }
        };
        let is_whole = batch.len() == 1;
        let mut at = 0;
        for (job, Promised { shape, bytes, part }) in batch {
            let own = match is_whole {
                true => std::mem::take(&mut product),
                false => product[at..at + bytes].to_vec(),
            };
            at += bytes;
            self.answer(job, Ok((shape, part.keep(own))));
        }
    }

    fn answer(&self, job: Job, result: Result<(Shape, Bytes), Problem>) {
        self.metrics.waiting.dec();
        self.metrics
            .seconds
            .observe(job.arrived.elapsed().as_secs_f64());
        // Whoever asked may have gone.
        let _ = job.reply.send(result);
    }

    /// What a failure is to the clients. After a fault a process has lost its GPU, and another one
    /// goes on: this one answers who waits and ends.
    fn failed(&mut self, failure: Failure) -> Problem {
        let error: Error = match failure {
            // More than the limit is the client's affair; less than it is the operator's.
            Failure::NoMemory(problem) => {
                if let Problem::OutOfMemory(error) = &problem {
                    warn!(error, "there is less memory than the limit");
                }
                return problem;
            }
            Failure::Failed(error) => error,
        };
        if error.is_lost() || self.engine.is_lost() {
            error!(%error, "a kernel faulted: the device is lost to this process");
            self.is_lost.send_replace(true);
        } else {
            warn!(%error, "a batch failed");
        }
        Problem::from(error)
    }
}

/// An answer that is not there yet.
#[derive(Debug)]
struct Promised {
    shape: Shape,
    bytes: usize,
    part: Part,
}
