//! The thread that owns the engine: takes work from the queue, and rows of one weight together.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tilewright_runtime::Error;
use tokio::sync::{oneshot, watch};
use tracing::{error, info, warn};

use crate::engine::{Engine, Offered};
use crate::matrix::Shape;
use crate::metrics::Metrics;
use crate::problem::Problem;

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

/// What is asked of the engine.
#[derive(Debug)]
pub enum Task {
    /// To keep a weight.
    Put(Shape),
    /// To multiply rows with a weight.
    Multiply(Shape),
}

/// A task with its matrix, and who waits for it.
#[derive(Debug)]
pub struct Job {
    /// The function's place among those that are offered.
    pub function: usize,
    /// The weight's name.
    pub weight: String,
    /// What is asked.
    pub task: Task,
    /// The elements.
    pub content: Bytes,
    /// When it came to the queue.
    pub arrived: Instant,
    /// Whoever waits: gets the product and its shape, or nothing of a weight.
    pub reply: oneshot::Sender<Result<(Shape, Vec<u8>), Problem>>,
}

/// The engine as the rest of the service sees it.
#[derive(Debug, Clone)]
pub struct Worker {
    queue: SyncSender<Job>,
    /// Whether a kernel has taken the device with it.
    is_lost: watch::Receiver<bool>,
    /// The functions that there are.
    pub functions: Arc<[Offered]>,
    /// How much work is taken.
    pub limits: Limits,
    metrics: Metrics,
}

impl Worker {
    /// Starts the thread, which ends when the last clone of the value is gone and the queue is
    /// empty.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(
        engine: Engine,
        limits: Limits,
        metrics: Metrics,
    ) -> std::io::Result<(Worker, JoinHandle<()>)> {
        let (queue, jobs) = sync_channel(limits.queue);
        let (tells, is_lost) = watch::channel(false);
        let worker = Worker {
            queue,
            is_lost,
            functions: engine.functions(),
            limits,
            metrics: metrics.clone(),
        };
        let mut working = Working {
            engine,
            limits,
            metrics,
            is_lost: tells,
        };
        let thread = std::thread::Builder::new().name("engine".to_owned());
        let thread = thread.spawn(move || working.run(&jobs))?;
        Ok((worker, thread))
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

    /// Puts a job into the queue, unless that is full.
    ///
    /// # Errors
    /// [`Problem::Busy`] when it is, [`Problem::Ending`] when nobody works any more.
    pub fn give(&self, job: Job) -> Result<(), Problem> {
        self.metrics.waiting.inc();
        self.queue.try_send(job).map_err(|refused| {
            self.metrics.waiting.dec();
            match refused {
                TrySendError::Full(_) => Problem::Busy,
                TrySendError::Disconnected(_) => Problem::Ending,
            }
        })
    }
}

/// What the thread has.
struct Working {
    engine: Engine,
    limits: Limits,
    metrics: Metrics,
    is_lost: watch::Sender<bool>,
}

impl Working {
    fn run(&mut self, jobs: &Receiver<Job>) {
        let mut next: Option<Job> = None;
        while let Some(first) = next.take().or_else(|| jobs.recv().ok()) {
            match first.task {
                _ if *self.is_lost.borrow() => self.answer(first, Err(Problem::Ending)),
                Task::Put(shape) => self.put(first, shape),
                Task::Multiply(_) => {
                    let batch;
                    (batch, next) = self.gather(first, jobs);
                    self.multiply(batch);
                }
            }
        }
        info!("the engine has nothing left to do");
    }

    /// The jobs that go together with the first one, and the one that came instead of another: work
    /// keeps its order, so that what is put before a product is used by it.
    fn gather(&self, first: Job, jobs: &Receiver<Job>) -> (Vec<Job>, Option<Job>) {
        let until = first.arrived + self.limits.linger;
        let mut rows = rows_of(&first);
        let mut batch = vec![first];
        while rows < self.limits.most_rows {
            let left = until.saturating_duration_since(Instant::now());
            let job = match jobs.recv_timeout(left) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            let fits = matches!(job.task, Task::Multiply(_))
                && batch.iter().any(|of| key(of) == key(&job))
                && rows + rows_of(&job) <= self.limits.most_rows;
            if !fits {
                return (batch, Some(job));
            }
            rows += rows_of(&job);
            batch.push(job);
        }
        (batch, None)
    }

    fn put(&mut self, job: Job, shape: Shape) {
        let is_known = self.engine.shape(key(&job)).is_some();
        let result = if !is_known && self.engine.weights() >= self.limits.weights {
            let most = self.limits.weights;
            Err(Problem::TooManyWeights { most })
        } else {
            let put = self.engine.put(key(&job), shape, &job.content);
            put.map_err(|error| self.failed(error))
        };
        self.answer(job, result.map(|()| (shape, Vec::new())));
    }

    fn multiply(&mut self, batch: Vec<Job>) {
        let Some((function, name)) = batch.first().map(|job| (job.function, job.weight.clone()))
        else {
            return;
        };
        let Some(weight) = self.engine.shape((function, &name)) else {
            for job in batch {
                let name = name.clone();
                self.answer(job, Err(Problem::NoWeight(name)));
            }
            return;
        };
        let columns = |job: &Job| match job.task {
            Task::Put(shape) | Task::Multiply(shape) => shape.columns,
        };
        let (batch, others): (Vec<Job>, Vec<Job>) = batch
            .into_iter()
            .partition(|job| columns(job) == weight.columns);
        for job in others {
            let (has, needs) = (columns(&job), weight.columns);
            let text = format!("the rows have {has} columns; those of {name:?} have {needs}");
            self.answer(job, Err(Problem::Request(vec![text])));
        }
        let rows: usize = batch.iter().map(rows_of).sum();
        if rows == 0 {
            return;
        }
        self.metrics.batch_rows.observe(rows as f64);
        let product = match batch.as_slice() {
            [one] => self.engine.multiply((function, &name), rows, &one.content),
            all => {
                let contents: Vec<&[u8]> = all.iter().map(|job| job.content.as_ref()).collect();
                self.engine
                    .multiply((function, &name), rows, &contents.concat())
            }
        };
        let product = product.map_err(|error| self.failed(error));
        let row_bytes = weight.rows * self.engine.types(function).d.bytes() as usize;
        let mut at = 0;
        for job in batch {
            let rows = rows_of(&job);
            let from = at * row_bytes;
            at += rows;
            let shape = Shape {
                rows,
                columns: weight.rows,
            };
            // Each answer has bytes of its own: a client that is slow keeps no others'.
            let slice = |all: &Vec<u8>| (shape, all[from..at * row_bytes].to_vec());
            let result = product.as_ref().map(slice).map_err(Clone::clone);
            self.answer(job, result);
        }
    }

    fn answer(&self, job: Job, result: Result<(Shape, Vec<u8>), Problem>) {
        self.metrics.waiting.dec();
        self.metrics
            .seconds
            .observe(job.arrived.elapsed().as_secs_f64());
        // Whoever asked may have gone.
        let _ = job.reply.send(result);
    }

    /// What a failure is to the clients. After a fault a process has lost its GPU, and another one
    /// goes on: this one answers who waits and ends.
    fn failed(&mut self, error: Error) -> Problem {
        if error.is_lost() || self.engine.is_lost() {
            error!(%error, "a kernel faulted: the device is lost to this process");
            self.is_lost.send_replace(true);
        } else {
            warn!(%error, "a batch failed");
        }
        Problem::from(error)
    }
}

/// What a job's weight is known by.
fn key(job: &Job) -> (usize, &str) {
    (job.function, &job.weight)
}

fn rows_of(job: &Job) -> usize {
    match job.task {
        Task::Put(_) => 0,
        Task::Multiply(shape) => shape.rows,
    }
}
