//! What connections ask of the engine, and who waits for it.

use std::time::Instant;

use axum::body::Bytes;
use tokio::sync::oneshot;

use crate::matrix::Shape;
use crate::problem::Problem;

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
    /// Whoever waits: gets the product, in its part of the room, and its shape, or nothing of a
    /// weight.
    pub reply: oneshot::Sender<Result<(Shape, Bytes), Problem>>,
}

impl Job {
    /// Whether nobody waits for it any more: the client has gone, or its time is over.
    pub fn is_left(&self) -> bool {
        self.reply.is_closed()
    }

    /// What its weight is known by.
    pub fn key(&self) -> (usize, &str) {
        (self.function, &self.weight)
    }

    /// How many rows it wants multiplied.
    pub fn rows(&self) -> usize {
        match self.task {
            Task::Put(_) => 0,
            Task::Multiply(shape) => shape.rows,
        }
    }

    /// How many columns its matrix has.
    pub fn columns(&self) -> usize {
        match self.task {
            Task::Put(shape) | Task::Multiply(shape) => shape.columns,
        }
    }
}
