//! Time on a GPU: events, and graphs that replay launches without the host.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUevent_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaEvent, result};

use super::context::{Context, Held};
use super::device::CudaDevice;
use crate::error::{Error, Work};

/// A point in the device's stream.
#[derive(Debug)]
pub struct Event(Held<CudaEvent>);

impl Event {
    /// Microseconds from this event to a later one; waits for both.
    ///
    /// # Errors
    /// When work before either failed.
    pub fn us_until(&self, later: &Event) -> Result<f64, Error> {
        let ms = self.0.elapsed_ms(&later.0);
        let ms = ms.map_err(self.0.context().failed("cuEventElapsedTime"))?;
        Ok(f64::from(ms) * 1e3)
    }
}

/// Captured launches, ready to be replayed.
pub struct Graph {
    context: Arc<Context>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
    /// All of its launches as one, for messages.
    work: Arc<Work>,
}

impl Graph {
    /// The executable graph, a `CUgraphExec`, which lives as long as the value.
    pub fn executable(&self) -> *mut c_void {
        self.executable.cast()
    }
}

// SAFETY: the handles are used only through `CudaDevice`, which makes their context current first,
// and a graph is replayed by one owner at a time.
unsafe impl Send for Graph {}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: both handles were made by `capture` and are destroyed once, here.
            let _ = unsafe { result::graph::exec_destroy(self.executable) };
            // SAFETY: as above.
            let _ = unsafe { result::graph::destroy(self.graph) };
        }
    }
}

impl CudaDevice {
    /// Marks the current end of the stream.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn event(&self) -> Result<Event, Error> {
        let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
        self.bind()?;
        let event = self.stream().record_event(flags);
        let event = event.map_err(self.failed("cuEventRecord"))?;
        Ok(Event(Held::new(self.context(), event)))
    }

    /// Captures what `enqueue` puts into the device's stream instead of running it.
    ///
    /// Allocating and waiting are not allowed while capturing.
    ///
    /// # Errors
    /// When `enqueue` fails, or the driver does.
    pub fn capture(&self, enqueue: impl FnOnce() -> Result<(), Error>) -> Result<Graph, Error> {
        self.bind()?;
        let stream = self.stream().cu_stream();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive and not capturing: captures end in this function.
        unsafe { result::stream::begin_capture(stream, mode) }
            .map_err(self.failed("cuStreamBeginCapture"))?;
        let (watch, handle) = (self.context().watch(), stream.addr());
        let first = watch.next();
        let enqueued = enqueue();
        let launches = watch.take(handle, first);
        // SAFETY: the capture began above on this thread.
        let ended = unsafe { result::stream::end_capture(stream) };
        enqueued?;
        let graph = ended.map_err(self.failed("cuStreamEndCapture"))?;
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is the one just captured; the driver writes one handle.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0) };
        if let Err(error) = made.result() {
            // SAFETY: the graph is destroyed once; nothing else holds it.
            let _ = unsafe { result::graph::destroy(graph) };
            return Err(self.failed("cuGraphInstantiate")(error));
        }
        let graph = Graph {
            context: self.context().clone(),
            graph,
            executable,
            work: Arc::new(one_work(&launches)),
        };
        // SAFETY: graph and stream are alive.
        unsafe { result::graph::upload(graph.executable, stream) }
            .map_err(self.failed("cuGraphUpload"))?;
        Ok(graph)
    }

    /// Enqueues one replay.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn replay(&self, graph: &Graph) -> Result<(), Error> {
        self.bind()?;
        let stream = self.stream().cu_stream();
        self.context().watch().begin(stream.addr(), &graph.work);
        // SAFETY: graph and stream are alive; what the launches point to is kept alive by the
        // caller of `capture`, and freeing device memory waits for enqueued work.
        unsafe { result::graph::launch(graph.executable, stream) }
            .map_err(self.failed("cuGraphLaunch"))
    }

    /// Microseconds the stream needs for what `enqueue` puts into it; `meanwhile` runs on the host
    /// before the wait.
    ///
    /// # Errors
    /// When any of it fails.
    pub fn time_us(
        &self,
        enqueue: impl FnOnce() -> Result<(), Error>,
        meanwhile: impl FnOnce(),
    ) -> Result<f64, Error> {
        let start = self.event()?;
        enqueue()?;
        let end = self.event()?;
        meanwhile();
        start.us_until(&end)
    }
}

/// The launches of a graph as one, each kernel and problem once.
fn one_work(launches: &[Arc<Work>]) -> Work {
    let joined = |text: fn(&Work) -> &str| {
        let mut all: Vec<&str> = launches.iter().map(|work| text(work)).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    };
    Work {
        kernel: format!("a graph of {}", joined(|work| &work.kernel)),
        problem: joined(|work| &work.problem),
    }
}
