//! Time on a GPU: events, and graphs that replay launches without the host.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUevent_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaEvent, result};

use super::{CudaDevice, failed};
use crate::error::Error;

/// A point in the device's stream.
#[derive(Debug)]
pub struct Event(CudaEvent);

impl Event {
    /// Microseconds from this event to a later one; waits for both.
    ///
    /// # Errors
    /// When work before either failed.
    pub fn us_until(&self, later: &Event) -> Result<f64, Error> {
        let ms = self
            .0
            .elapsed_ms(&later.0)
            .map_err(failed("cuEventElapsedTime"))?;
        Ok(f64::from(ms) * 1e3)
    }
}

/// Captured launches, ready to be replayed.
pub struct Graph {
    context: Arc<CudaContext>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
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
        if self.context.bind_to_thread().is_ok() {
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
        self.stream()
            .record_event(flags)
            .map(Event)
            .map_err(failed("cuEventRecord"))
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
            .map_err(failed("cuStreamBeginCapture"))?;
        let enqueued = enqueue();
        // SAFETY: the capture began above on this thread.
        let ended = unsafe { result::stream::end_capture(stream) };
        enqueued?;
        let graph = ended.map_err(failed("cuStreamEndCapture"))?;
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is the one just captured; the driver writes one handle.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0) };
        if let Err(error) = made.result() {
            // SAFETY: the graph is destroyed once; nothing else holds it.
            let _ = unsafe { result::graph::destroy(graph) };
            return Err(failed("cuGraphInstantiate")(error));
        }
        let graph = Graph {
            context: self.context().clone(),
            graph,
            executable,
        };
        // SAFETY: graph and stream are alive.
        unsafe { result::graph::upload(graph.executable, stream) }
            .map_err(failed("cuGraphUpload"))?;
        Ok(graph)
    }

    /// Enqueues one replay.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn replay(&self, graph: &Graph) -> Result<(), Error> {
        self.bind()?;
        // SAFETY: graph and stream are alive; what the launches point to is kept alive by the
        // caller of `capture`, and freeing device memory waits for enqueued work.
        unsafe { result::graph::launch(graph.executable, self.stream().cu_stream()) }
            .map_err(failed("cuGraphLaunch"))
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
