//! A prepared launch in a CUDA graph: captured once, given other memory and numbers later.
//!
//! A graph is captured by its owner or by [`CudaDevice::capture`]. Launches that are enqueued
//! meanwhile become nodes of it; those enqueued by [`CudaDevice::enqueue_captured`] are known, so
//! that [`CudaDevice::update`] changes them in the executable graph, which costs no new capture.

use std::ffi::c_void;
use std::sync::Arc;

use crate::cuda::{CudaDevice, DeviceMemory, Nodes};
use crate::device::LoadedKernel;
use crate::error::{Error, Refusal, refused};
use crate::run::prepared::Prepared;

/// The nodes of a graph that one prepared launch became.
#[derive(Debug)]
pub struct Captured {
    /// Its code lives as long as the nodes are used.
    loaded: Arc<LoadedKernel>,
    nodes: Nodes,
    /// Address and bytes of its scratch memory.
    workspace: (u64, u64),
}

impl CudaDevice {
    /// As [`CudaDevice::enqueue_on`] on a stream that is being captured, and says which nodes of
    /// the graph the launch became.
    ///
    /// # Safety
    /// As of [`CudaDevice::enqueue_on`].
    ///
    /// # Errors
    /// As [`CudaDevice::enqueue_on`], and [`Error::Program`] when the stream is not being captured.
    pub unsafe fn enqueue_captured(
        &self,
        stream: *mut c_void,
        prepared: &Prepared,
        workspace: Option<&DeviceMemory>,
    ) -> Result<Captured, Error> {
        let (lent, code) = (prepared.lent(workspace)?, prepared.code()?);
        // SAFETY: the caller's promise is the callee's.
        let captured = unsafe { self.capture_on(stream.cast(), code, prepared.launch(), lent) };
        let (nodes, address) = captured?;
        let bytes = workspace.map_or(prepared.workspace_bytes(), DeviceMemory::bytes);
        Ok(Captured {
            loaded: prepared.loaded().clone(),
            nodes,
            workspace: (address, bytes),
        })
    }

    /// Puts another launch of the same kernel in the place of a captured one, in an executable
    /// graph: other memory, extents, strides or scalars. Replays from now on use it; scratch memory
    /// stays what it was, or is the caller's.
    ///
    /// # Safety
    /// `executable` is a `CUgraphExec` or `cudaGraphExec_t` made of the graph that was captured,
    /// and no replay of it is under way. For the new launch the promise of
    /// [`CudaDevice::enqueue_on`] holds.
    ///
    /// # Errors
    /// [`Error::Program`] when the launch is one of another kernel; when the scratch memory is too
    /// small; when the driver refuses the change. The graph is as it was then, but for a driver
    /// that refuses the second launch of a kernel of several.
    pub unsafe fn update(
        &self,
        executable: *mut c_void,
        captured: &mut Captured,
        prepared: &Prepared,
        workspace: Option<&DeviceMemory>,
    ) -> Result<(), Error> {
        if !Arc::ptr_eq(&captured.loaded, prepared.loaded()) {
            let (was, is) = (&captured.loaded.kernel().id, &prepared.kernel().id);
            return Err(Error::Program(format!(
                "the captured launch is one of {was}, the other one of {is}: they must share one \
                 loaded kernel; capture another graph"
            )));
        }
        let needs = prepared.workspace_bytes();
        let place = match prepared.lent(workspace)? {
            Some(address) => (address, workspace.map_or(0, DeviceMemory::bytes)),
            None if captured.workspace.1 < needs => {
                let has = captured.workspace.1;
                let refusal = Refusal::WorkspaceTooSmall { needs, has };
                return Err(refused(prepared.kernel(), vec![refusal]));
            }
            None => captured.workspace,
        };
        let (code, launch) = (prepared.code()?, prepared.launch());
        // SAFETY: the caller's promise is the callee's; the nodes are of this kernel.
        unsafe { self.set_nodes(executable, &captured.nodes, code, launch, place.0) }?;
        captured.workspace = place;
        Ok(())
    }
}
