//! Launches on a GPU: clusters, shared memory beyond the default, scratch memory.
//!
//! Everything is enqueued on the device's stream, so the same calls are captured into graphs.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};
use tilewright_bundle::{Kernel, LaunchAbi};

use super::device::CudaDevice;
use super::module::{CudaKernel, Function, Room, set_attribute};
use super::tensor_map;
use crate::error::{Error, Refusal, refused};
use crate::events;
use crate::launch::fit::{Launch, LaunchPart};
use crate::observe::nvtx;

/// Most parameters of a launch whose pointers need no allocation.
const STACK_PARAMS: usize = 64;

impl CudaDevice {
    /// Enqueues a kernel's launches, which passed every check, on a stream, in a range of the
    /// kernel's id, with the address of scratch memory as large as the launch wants it, whose start
    /// is zero as promised; without one, with scratch memory that is kept for the stream. Nothing
    /// is allocated but that, once.
    ///
    /// # Safety
    /// The stream is one of the device's primary context; null is the default stream.
    ///
    /// # Errors
    /// When the driver refuses it; failures of the kernel itself show at the next wait.
    pub(crate) unsafe fn launch_on(
        &self,
        stream: sys::CUstream,
        kernel: &CudaKernel,
        launch: &Launch,
        workspace: Option<u64>,
    ) -> Result<(), Error> {
        self.bind_for(kernel)?;
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.submit_all(stream, kernel, launch, workspace, || Ok(())) }.map(|_| ())
    }

    /// Submits every part of a launch, and does something after each. Returns the address of the
    /// scratch memory.
    ///
    /// # Safety
    /// As [`CudaDevice::launch_on`]; the kernel's context is current.
    pub(super) unsafe fn submit_all(
        &self,
        stream: sys::CUstream,
        kernel: &CudaKernel,
        launch: &Launch,
        workspace: Option<u64>,
        mut after_each: impl FnMut() -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let workspace = match workspace {
            Some(address) => address,
            // SAFETY: the caller's promise is the callee's.
            None => unsafe { self.scratch(stream, kernel, launch) }?,
        };
        let _range = nvtx::range(&kernel.id);
        let work = &launch.work;
        events::launched(&work.kernel, &work.problem, stream.addr());
        self.context().watch().begin(stream.addr(), work);
        kernel.counts.launch(&kernel.id, || {
            for (part, function) in launch.parts.iter().zip(&kernel.functions) {
                allow_smem(function, part.dynamic_smem_bytes)?;
                let part = placed(part, kernel, workspace)?;
                with_pointers(&part, &workspace, |params| {
                    self.submit(stream, function, &part, params)
                })?;
                after_each()?;
            }
            Ok(workspace)
        })
    }

    /// Makes the context current, in which the kernel must have been loaded.
    pub(super) fn bind_for(&self, kernel: &CudaKernel) -> Result<(), Error> {
        self.bind()?;
        if self.context().is_home_of(kernel.context()) {
            return Ok(());
        }
        let text = "the kernel was loaded on another device, or before its context was lost";
        Err(Error::Program(text.to_owned()))
    }

    /// The address of scratch memory that is kept for a stream; 0 for a launch that wants none.
    ///
    /// # Safety
    /// The stream is one of the device's primary context; null is the default stream.
    unsafe fn scratch(
        &self,
        stream: sys::CUstream,
        kernel: &CudaKernel,
        launch: &Launch,
    ) -> Result<u64, Error> {
        match launch.workspace() {
            0 => Ok(0),
            // SAFETY: the caller's promise is the callee's.
            bytes => unsafe {
                let (id, counts) = (&kernel.id, &kernel.counts);
                kernel.scratch.address(self, stream, id, counts, bytes)
            },
        }
    }

    fn submit(
        &self,
        stream: sys::CUstream,
        function: &Function,
        launch: &LaunchPart,
        params: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        let smem = launch.dynamic_smem_bytes;
        let cluster = launch.cluster.map(cluster_attribute);
        let (mut one, mut two);
        let attributes: &mut [_] = match (cluster, launch.programmatic) {
            (None, false) => &mut [],
            (Some(cluster), false) => {
                one = [cluster];
                &mut one
            }
            (None, true) => {
                one = [programmatic_attribute()];
                &mut one
            }
            (Some(cluster), true) => {
                two = [cluster, programmatic_attribute()];
                &mut two
            }
        };
        if attributes.is_empty() {
            // SAFETY: the function is loaded in the current context; `params` has one pointer per
            // parameter, of the sizes that `check` compared; the driver copies them before it
            // returns. The buffers' addresses and sizes passed `prepare`.
            return unsafe {
                result::launch_kernel(
                    function.handle,
                    (gx, gy, gz),
                    (bx, by, bz),
                    smem,
                    stream,
                    params,
                )
            }
            .map_err(self.failed("cuLaunchKernel"));
        }
        let config = config(launch.grid, launch.block, smem, stream, attributes);
        let none = std::ptr::null_mut();
        // SAFETY: as for `launch_kernel` above; `attributes` outlives the call.
        unsafe { sys::cuLaunchKernelEx(&config, function.handle, params.as_mut_ptr(), none) }
            .result()
            .map_err(self.failed("cuLaunchKernelEx"))
    }

    /// How many clusters of one launch of a kernel the device holds at once when each CTA has
    /// `smem_bytes` of dynamic shared memory; without clusters, how many CTAs.
    ///
    /// # Errors
    /// [`Refusal::NoRoom`] when it is none, else the driver's failure.
    pub(crate) fn max_clusters(
        &self,
        kernel: &Kernel,
        code: &CudaKernel,
        at: usize,
        smem_bytes: u32,
    ) -> Result<u32, Error> {
        let (Some(abi), Some(code)) = (kernel.launches.get(at), code.functions.get(at)) else {
            return Ok(0);
        };
        let mut held = code.room.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = held.as_ref().filter(|room| room.smem_bytes == smem_bytes) {
            return Ok(room.clusters);
        }
        self.bind()?;
        allow_smem(code, smem_bytes)?;
        let clusters = match abi.cluster {
            Some(cluster) => self.resident_clusters(abi, code, cluster, smem_bytes)?,
            None => self.resident_ctas(abi, code, smem_bytes)?,
        };
        if clusters == 0 {
            let cluster = abi.cluster.unwrap_or([1; 3]);
            let refusal = Refusal::NoRoom {
                cluster,
                smem_bytes,
            };
            return Err(refused(kernel, vec![refusal]));
        }
        *held = Some(Room {
            smem_bytes,
            clusters,
        });
        Ok(clusters)
    }

    fn resident_clusters(
        &self,
        abi: &LaunchAbi,
        code: &Function,
        cluster: [u32; 3],
        smem_bytes: u32,
    ) -> Result<u32, Error> {
        let mut attributes = [cluster_attribute(cluster)];
        let stream = self.stream().cu_stream();
        // The grid only has to be whole clusters.
        let config = config(cluster, abi.block, smem_bytes, stream, &mut attributes);
        let mut clusters = 0;
        // SAFETY: the function is loaded; the driver reads the configuration and its attributes
        // and writes one integer, all of which outlive the call.
        unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, code.handle, &config) }
            .result()
            .map_err(self.failed("cuOccupancyMaxActiveClusters"))?;
        Ok(u32::try_from(clusters).unwrap_or(0))
    }

    fn resident_ctas(
        &self,
        abi: &LaunchAbi,
        code: &Function,
        smem_bytes: u32,
    ) -> Result<u32, Error> {
        let threads = i32::try_from(abi.threads()).unwrap_or(i32::MAX);
        let (mut ctas, smem) = (0, smem_bytes as usize);
        let call = sys::cuOccupancyMaxActiveBlocksPerMultiprocessor;
        // SAFETY: the function is loaded; the driver writes one integer that outlives the call.
        unsafe { call(&mut ctas, code.handle, threads, smem) }
            .result()
            .map_err(self.failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))?;
        Ok(u32::try_from(ctas)
            .unwrap_or(0)
            .saturating_mul(self.info().sms))
    }
}

/// A launch with what lies in the workspace at this address.
pub(super) fn placed<'p>(
    part: &'p LaunchPart,
    kernel: &CudaKernel,
    workspace: u64,
) -> Result<Cow<'p, LaunchPart>, Error> {
    part.placed(workspace, tensor_map::encode)
        .map_err(|problem| {
            let parameter = "tensor map in the workspace".to_owned();
            let refusals = vec![Refusal::TensorMap { parameter, problem }];
            let kernel = kernel.id.clone();
            Error::Refused { kernel, refusals }
        })
}

/// Calls with a pointer to each parameter of a launch, in the launch's own block but for the
/// workspace's address. The driver reads them alone.
pub(super) fn with_pointers<R>(
    part: &LaunchPart,
    workspace: &u64,
    call: impl FnOnce(&mut [*mut c_void]) -> R,
) -> R {
    let pointer = |offset: &u32| {
        let at = *offset as usize;
        let block = part.params.get(at..).unwrap_or_default();
        match part.workspace_at {
            Some(place) if place == at => std::ptr::from_ref(workspace).cast_mut().cast(),
            _ => block.as_ptr().cast_mut().cast(),
        }
    };
    let mut short = [std::ptr::null_mut(); STACK_PARAMS];
    match short.get_mut(..part.param_offsets.len()) {
        Some(pointers) => {
            for (place, offset) in pointers.iter_mut().zip(&part.param_offsets) {
                *place = pointer(offset);
            }
            call(pointers)
        }
        None => call(&mut part.param_offsets.iter().map(pointer).collect::<Vec<_>>()),
    }
}

/// Lets the function use `smem` bytes of dynamic shared memory.
pub(super) fn allow_smem(function: &Function, smem: u32) -> Result<(), Error> {
    if smem > function.smem_allowed.load(Ordering::Relaxed) {
        let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        set_attribute(function.handle, which, smem)?;
        function.smem_allowed.fetch_max(smem, Ordering::Relaxed);
    }
    Ok(())
}

fn cluster_attribute([x, y, z]: [u32; 3]) -> sys::CUlaunchAttribute {
    let dim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
    sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { clusterDim: dim },
    }
}

/// The launch may start while the one before it in the stream still runs.
fn programmatic_attribute() -> sys::CUlaunchAttribute {
    sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            programmaticStreamSerializationAllowed: 1,
        },
    }
}

/// A launch's configuration, which points to `attributes`.
fn config(
    [grid_x, grid_y, grid_z]: [u32; 3],
    [block_x, block_y, block_z]: [u32; 3],
    smem_bytes: u32,
    stream: sys::CUstream,
    attributes: &mut [sys::CUlaunchAttribute],
) -> sys::CUlaunchConfig {
    sys::CUlaunchConfig {
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: smem_bytes,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What the driver reads: `size` bytes from each pointer.
    fn read(part: &LaunchPart, workspace: u64, sizes: &[usize]) -> Vec<Vec<u8>> {
        with_pointers(part, &workspace, |pointers| {
            let all = pointers.iter().zip(sizes);
            all.map(|(from, size)| {
                // SAFETY: each points to a parameter of so many bytes.
                unsafe { std::slice::from_raw_parts(from.cast::<u8>(), *size) }.to_vec()
            })
            .collect()
        })
    }

    #[test]
    fn pointers_lead_to_the_block_and_to_the_workspace() {
        for count in [3, STACK_PARAMS, STACK_PARAMS + 1] {
            let mut part = LaunchPart {
                grid: [1; 3],
                block: [1; 3],
                cluster: None,
                programmatic: false,
                dynamic_smem_bytes: 0,
                params: (0..=255).cycle().take(8 * count).collect(),
                tensor_maps: Vec::new(),
                param_offsets: (0..count).map(|at| 8 * at as u32).collect(),
                workspace_at: Some(8),
                in_workspace: Vec::new(),
            };
            let sizes = vec![8; count];
            let workspace = 0xABCD_EF01_2345_6789;
            let block = |part: &LaunchPart| part.params_with(workspace, |_| Ok([0; 128])).unwrap();
            let given = read(&part, workspace, &sizes).concat();
            assert_eq!(given, block(&part));
            assert_ne!(given, part.params);
            part.workspace_at = None;
            assert_eq!(read(&part, 7, &sizes).concat(), part.params);
            // What lies inside of the workspace is written into a block of its own.
            part.in_workspace = vec![(0, 16)];
            let placed = part.placed(workspace, |_| Ok([0; 128])).unwrap();
            let inside = (workspace + 16).to_le_bytes();
            assert_eq!(placed.params, [&inside, &part.params[8..]].concat());
            assert_eq!(block(&part), placed.params);
        }
    }
}
