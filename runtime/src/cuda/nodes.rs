//! Kernel nodes of a graph: found while a launch is captured, changed in the executable graph.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use cudarc::driver::sys;

use super::device::CudaDevice;
use super::foreign::{CAPTURE_INFO_DRIVER, Dependencies};
use super::launching::{allow_smem, placed, with_pointers};
use super::module::CudaKernel;
use crate::error::{Error, Refusal};
use crate::launch::fit::Launch;

/// The nodes that the launches of one kernel became.
#[derive(Debug)]
pub(crate) struct Nodes(Vec<sys::CUgraphNode>);

// SAFETY: a node is a number to whoever holds it; it is used only with its graph, by calls that
// their callers order.
unsafe impl Send for Nodes {}
// SAFETY: as above.
unsafe impl Sync for Nodes {}

impl CudaDevice {
    /// Launches on a stream that is being captured, with scratch memory as in `launch_on`. Returns
    /// the nodes, and the address of the scratch memory.
    ///
    /// # Safety
    /// The stream is one of the device's primary context.
    ///
    /// # Errors
    /// When the stream is not being captured, or the driver refuses the launch.
    pub(crate) unsafe fn capture_on(
        &self,
        stream: sys::CUstream,
        kernel: &CudaKernel,
        launch: &Launch,
        workspace: Option<u64>,
    ) -> Result<(Nodes, u64), Error> {
        let has = self.info().driver.unwrap_or(0);
        if has < CAPTURE_INFO_DRIVER {
            let needs = CAPTURE_INFO_DRIVER;
            return Err(Error::Refused {
                kernel: kernel.id.clone(),
                refusals: vec![Refusal::Driver { needs, has }],
            });
        }
        self.bind_for(kernel)?;
        // SAFETY: the caller's promise is the callee's.
        if unsafe { self.capture_id(stream) }?.is_none() {
            let text = "the stream is not being captured: begin a capture of it first";
            return Err(Error::Program(text.to_owned()));
        }
        let mut nodes = Vec::new();
        let found = || {
            // SAFETY: as above.
            nodes.push(unsafe { self.last_node(stream) }?);
            Ok(())
        };
        // SAFETY: as above.
        let workspace = unsafe { self.submit_all(stream, kernel, launch, workspace, found) }?;
        Ok((Nodes(nodes), workspace))
    }

    /// The node that was captured last: what the stream's next work would wait for.
    ///
    /// # Safety
    /// The stream is one of the device's primary context.
    unsafe fn last_node(&self, stream: sys::CUstream) -> Result<sys::CUgraphNode, Error> {
        let mut last = Dependencies {
            nodes: null(),
            edges: null(),
            count: 0,
        };
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.capture_info(stream, Some(&mut last)) }?;
        let Dependencies { nodes, count, .. } = last;
        if count != 1 || nodes.is_null() {
            let text = format!("a captured launch is followed by {count} nodes instead of itself");
            return Err(Error::Program(text));
        }
        // SAFETY: the driver's array has `count` nodes, and lives until the stream's next call.
        Ok(unsafe { *nodes })
    }

    /// Gives the nodes of a kernel in an executable graph the numbers of another launch of it.
    ///
    /// # Safety
    /// The graph is made of the one that the nodes are of, and does not run meanwhile.
    ///
    /// # Errors
    /// When the driver refuses the change.
    pub(crate) unsafe fn set_nodes(
        &self,
        executable: *mut c_void,
        nodes: &Nodes,
        kernel: &CudaKernel,
        launch: &Launch,
        workspace: u64,
    ) -> Result<(), Error> {
        self.bind_for(kernel)?;
        // A launch without work has no nodes, and nodes none that does nothing.
        if launch.parts.len() != nodes.0.len() {
            let (has, needs) = (nodes.0.len(), launch.parts.len());
            let text = format!(
                "the launch was captured as {has} nodes and is {needs} now, as only one of the \
                 problems is empty: capture it again"
            );
            return Err(Error::Program(text));
        }
        let parts = launch.parts.iter().zip(&kernel.functions);
        for ((part, function), node) in parts.zip(&nodes.0) {
            allow_smem(function, part.dynamic_smem_bytes)?;
            let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (part.grid, part.block);
            let part = placed(part, kernel, workspace)?;
            with_pointers(&part, &workspace, |params| {
                let numbers = sys::CUDA_KERNEL_NODE_PARAMS_v2 {
                    func: function.handle,
                    gridDimX: grid_x,
                    gridDimY: grid_y,
                    gridDimZ: grid_z,
                    blockDimX: block_x,
                    blockDimY: block_y,
                    blockDimZ: block_z,
                    sharedMemBytes: part.dynamic_smem_bytes,
                    kernelParams: params.as_mut_ptr(),
                    extra: null_mut(),
                    kern: null_mut(),
                    ctx: null_mut(),
                };
                let call = sys::cuGraphExecKernelNodeSetParams_v2;
                // SAFETY: the graph is the caller's promise; the function is loaded in the current
                // context, and the driver copies the parameters before it returns.
                unsafe { call(executable.cast(), *node, &numbers) }
                    .result()
                    .map_err(self.failed("cuGraphExecKernelNodeSetParams"))
            })?;
        }
        Ok(())
    }
}
