//! A service that multiplies matrices, and the client that puts load on it.
//!
//! A weight `b` of n rows and k columns is put under a name; clients post rows of `a` and get back
//! `d[m,n] = sum[k] a[m,k] * b[n,k]`. Rows of many clients of one weight travel through the GPU
//! together. Bodies are the elements as they lie in memory, row after row; headers say the rest.
//!
//! | call | body | answer |
//! |---|---|---|
//! | `GET /v1/function` | | the functions with their types, and the limits, as JSON |
//! | `PUT /v1/weights/NAME` | n rows of k elements | 204 |
//! | `POST /v1/products/NAME` | m rows of k elements | 200, m rows of n elements |
//! | `GET /healthz` | | 200 while the process is of use |
//! | `GET /readyz` | | 200 while it takes work, else 503 |
//! | `GET /metrics` | | counters as Prometheus reads them |
//!
//! A bundle may have several functions that are such products, of other types: the header
//! `x-function` names one then. Weights of different functions are different ones, also under one
//! name.
//!
//! Nothing waits for a client for ever: a request's head, the rest of a request with its answer,
//! and the taking of the answer have [the time limit] each ([`connections`]). What nobody waits for
//! any more is dropped before it is computed ([`queue`]). At its end the service answers what has
//! come in whole, lets go of what stands still ([`ending`]), and does not wait for the engine.
//!
//! No memory grows beyond limits by what clients do. Everything of theirs is counted before it is
//! taken ([`room`]): bodies and answers in one room, weights and what products with them take in
//! another ([`needs`], [`scratch`]); what passes a limit is refused with 413, 503 or 507. What is
//! not counted has limits of its own: connections, of which each has a buffer, jobs in the queue,
//! and the code of the bundle's kernels.
//!
//! [the time limit]: connections::Limits::time
//!
//! What is wrong is told as `application/problem+json` (RFC 9457).
//!
//! One thread owns the runtime ([`engine`]) and takes work from a bounded queue ([`worker`]): a
//! full one is answered with 503 and `Retry-After`. A kernel that faults takes the GPU from the
//! process: the requests of its batch are told so, the others come again, and the process ends with
//! 3, for whoever supervises it to start another.

pub mod matrix;

pub mod problem;

pub mod room;

pub mod needs;

pub mod scratch;

pub mod job;

pub mod queue;

pub mod body;

pub mod ending;

pub mod connections;

pub mod engine;

pub mod metrics;

pub mod worker;

pub mod http;

pub mod client;
