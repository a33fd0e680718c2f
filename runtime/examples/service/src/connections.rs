//! Connections: taken up to a number, each with a limit on every wait for its client, and ended
//! without waiting for those that stand still.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep, timeout};
use tracing::{debug, warn};

use crate::ending::{Ending, STANDSTILL};

/// Bytes of a connection's buffer, which its requests' heads have to go into.
const BUFFER_BYTES: usize = 64 << 10;
/// How long no connection is taken after one could not be, as when there are no more files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Limits of connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many are open at a time.
    pub most: u32,
    /// How long a request's head may take to come, and how long an answer may take to be taken.
    pub time: Duration,
    /// How long requests have after the end has begun.
    pub drain: Duration,
}

/// How far a connection is.
#[derive(Debug, Default)]
struct Progress {
    /// Whether the service has a request whose answer is not there yet.
    is_asked: AtomicBool,
    /// Bytes that the client's side has taken.
    written: AtomicU64,
}

/// Serves connections until the end; how many requests were left over then: without an answer, or
/// with one that was still being taken.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, ending: Ending) -> usize {
    let open = Arc::new(Semaphore::new(limits.most as usize));
    let asked = Arc::new(AtomicUsize::new(0));
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let place = open.clone().acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = ending.begun() => None,
        };
        match accepted {
            None => break,
            Some((place, Ok((stream, _)))) => {
                let (router, ending, asked) = (router.clone(), ending.clone(), asked.clone());
                tokio::spawn(async move {
                    connection(stream, router, limits, &ending, asked).await;
                    drop(place);
                });
            }
            Some((_, Err(error))) => {
                warn!(%error, "no connection can be taken");
                sleep(AFTER_FAILURE).await;
            }
        }
    }
    drop(listener);
    // Every connection gives its place back.
    match timeout(limits.drain, open.acquire_many(limits.most)).await {
        Ok(_) => 0,
        Err(_) => asked.load(Ordering::Acquire),
    }
}

/// Serves a connection until its client, a limit or the end ends it.
async fn connection(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    ending: &Ending,
    asked: Arc<AtomicUsize>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "a connection waits before it sends");
    }
    let progress = Arc::new(Progress::default());
    let router = TowerToHyperService::new(router);
    let at = progress.clone();
    let service = service_fn(|request: hyper::Request<Incoming>| {
        at.is_asked.store(true, Ordering::Release);
        let counted = Counted::one(&asked);
        let (answer, at) = (router.call(request), at.clone());
        async move {
            let answer = answer.await;
            at.is_asked.store(false, Ordering::Release);
            drop(counted);
            answer
        }
    });
    let io = TokioIo::new(Timed::new(
        stream,
        limits.time,
        (progress.clone(), asked.clone()),
    ));
    let mut serving = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.time)
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(io, service)
    );
    tokio::select! {
        _ = serving.as_mut() => return,
        () = ending.begun() => serving.as_mut().graceful_shutdown(),
    }
    loop {
        let before = progress.written.load(Ordering::Acquire);
        if timeout(STANDSTILL, serving.as_mut()).await.is_ok() {
            return;
        }
        let stands_still = before == progress.written.load(Ordering::Acquire);
        if stands_still && !progress.is_asked.load(Ordering::Acquire) {
            debug!("a connection stood still at the end");
            return;
        }
    }
}

/// Counts one as long as it is there.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, Ordering::AcqRel);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A connection whose client has so long to take what is written.
struct Timed {
    stream: TcpStream,
    limit: Duration,
    /// When whatever waits to be written has to be gone.
    until: Option<Pin<Box<Sleep>>>,
    progress: Arc<Progress>,
    /// Requests that are not answered, or whose answer is being taken.
    asked: Arc<AtomicUsize>,
    /// The answer that waits to be taken.
    owed: Option<Counted>,
}

impl Timed {
    fn new(
        stream: TcpStream,
        limit: Duration,
        (progress, asked): (Arc<Progress>, Arc<AtomicUsize>),
    ) -> Timed {
        Timed {
            stream,
            limit,
            until: None,
            progress,
            asked,
            owed: None,
        }
    }

    /// What came of a write, unless the client has been waited for too long.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = &written {
            let bytes = result.as_ref().map_or(0, |bytes| *bytes as u64);
            self.progress.written.fetch_add(bytes, Ordering::AcqRel);
            return written;
        }
        self.owed.get_or_insert_with(|| Counted::one(&self.asked));
        let limit = self.limit;
        let until = self.until.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(until.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Timed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl AsyncWrite for Timed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, from);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, from);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when everything is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        (self.until, self.owed) = (None, None);
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
