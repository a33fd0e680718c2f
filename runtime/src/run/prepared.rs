//! A launch that passed every check once, to be enqueued as often as its memory lives.

use std::ffi::c_void;
use std::sync::Arc;

use tilewright_bundle::Kernel;

use crate::cuda::{CudaDevice, CudaKernel, DeviceMemory};
use crate::device::{Buffer, LoadedKernel, prepare_cuda};
use crate::error::{Error, Refusal, refused};
use crate::launch::fit::{Launch, View, fit};
use crate::launch::problem::Problem;
use crate::launch::request::Placed;

/// Address of scratch memory is a multiple of it.
pub const WORKSPACE_ALIGNMENT_BYTES: u64 = 256;

/// A kernel on a problem and on memory of a device, checked and packed.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(super) loaded: Arc<LoadedKernel>,
    pub(super) launch: Launch,
    /// What a launch on the emulator is of; `None` on a GPU.
    pub(super) emulated: Option<Arc<Emulated>>,
}

/// What a prepared launch on the emulator is of.
#[derive(Debug)]
pub(super) struct Emulated {
    pub problem: Problem,
    /// Each operand with its memory, which stays as long as the launch does, and where in it the
    /// operand begins, in bytes.
    pub operands: Vec<(String, Buffer, u64)>,
}

impl Prepared {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.loaded.kernel()
    }

    /// The launches as numbers; on the emulator, which places memory anew at each launch, its
    /// addresses are none that a launch has.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Scratch memory that it wants; 0 where it takes none.
    pub fn workspace_bytes(&self) -> u64 {
        self.launch.workspace()
    }

    /// The kernel with its code.
    pub(crate) fn loaded(&self) -> &Arc<LoadedKernel> {
        &self.loaded
    }

    pub(crate) fn code(&self) -> Result<&CudaKernel, Error> {
        self.loaded.cuda().ok_or(Error::ForeignBuffer)
    }

    /// The address of scratch memory of the caller's, if it is large and aligned enough.
    pub(crate) fn lent(&self, workspace: Option<&DeviceMemory>) -> Result<Option<u64>, Error> {
        lent(self.kernel(), &self.launch, workspace)
    }
}

/// The address of scratch memory that a caller lends a launch, if it is large and aligned enough.
fn lent(
    kernel: &Kernel,
    launch: &Launch,
    workspace: Option<&DeviceMemory>,
) -> Result<Option<u64>, Error> {
    let Some(lent) = workspace else {
        return Ok(None);
    };
    let (address, bytes) = (lent.address(), lent.bytes());
    check_workspace(kernel, launch.workspace(), address, bytes)?;
    Ok(Some(address))
}

impl CudaDevice {
    /// Checks everything and packs a launch on memory of anybody's, without launching.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason.
    pub fn prepare(
        &self,
        loaded: Arc<LoadedKernel>,
        problem: &Problem,
        operands: &[Placed<'_>],
    ) -> Result<Prepared, Error> {
        let kernel = loaded.kernel();
        let prepared = || {
            let fits = fit(kernel, problem, self.info()).map_err(|r| refused(kernel, r))?;
            // A stride that is no stride is refused before memory is spoken of.
            let views: Vec<View<'_>> = operands.iter().map(Placed::view).collect();
            prepare_cuda(&loaded, &fits, self, &views)
        };
        let launch = loaded.counted(prepared())?;
        Ok(Prepared {
            loaded,
            launch,
            emulated: None,
        })
    }

    /// Enqueues a prepared launch, with scratch memory that the runtime keeps for this stream: it
    /// is made at the first launch, and for a capture at the first launch in it.
    ///
    /// # Safety
    /// The memory that the launch was prepared with is still there, and stays until the work is
    /// done; that of a captured launch as long as the graph is replayed. So is scratch memory of
    /// the caller's, which takes the place of the runtime's own where it is given: zero before the
    /// first launch, and no other work's meanwhile.
    ///
    /// # Errors
    /// When scratch memory is too small or not aligned, or the driver refuses the launch.
    pub unsafe fn enqueue(
        &self,
        prepared: &Prepared,
        workspace: Option<&DeviceMemory>,
    ) -> Result<(), Error> {
        let stream = self.stream().cu_stream();
        // SAFETY: the stream is the device's; the rest is the caller's promise.
        unsafe { self.enqueue_on(stream.cast(), prepared, workspace) }
    }

    /// The same on a stream of the caller's, `CUstream` or `cudaStream_t`, null the default one.
    /// It allocates nothing but scratch memory of its own, once a stream.
    ///
    /// # Safety
    /// As of [`CudaDevice::enqueue`]; the stream belongs to the device's primary context.
    ///
    /// # Errors
    /// As [`CudaDevice::enqueue`].
    pub unsafe fn enqueue_on(
        &self,
        stream: *mut c_void,
        prepared: &Prepared,
        workspace: Option<&DeviceMemory>,
    ) -> Result<(), Error> {
        let address = prepared.lent(workspace)?;
        let code = prepared.code()?;
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.launch_on(stream.cast(), code, &prepared.launch, address) }
    }
}

impl CudaDevice {
    /// Enqueues a launch that passed every check on the device's stream, with scratch memory of the
    /// caller's, zero before the first launch and no other work's until this one is done; with
    /// `None` with what the runtime keeps for the stream, as long as the kernel is loaded.
    ///
    /// # Errors
    /// As [`CudaDevice::enqueue`]; when the kernel is not of a GPU.
    pub fn launch(
        &self,
        loaded: &LoadedKernel,
        launch: &Launch,
        workspace: Option<&DeviceMemory>,
    ) -> Result<(), Error> {
        let address = lent(loaded.kernel(), launch, workspace)?;
        let code = loaded.cuda().ok_or(Error::ForeignBuffer)?;
        let stream = self.stream().cu_stream();
        // SAFETY: the stream is the device's own, or one that outlives the device: see `on_stream`.
        unsafe { self.launch_on(stream, code, launch, address) }
    }
}

/// Refuses scratch memory that is too small for a launch, or not aligned.
pub(crate) fn check_workspace(
    kernel: &Kernel,
    needs: u64,
    address: u64,
    bytes: u64,
) -> Result<(), Error> {
    let mut refusals = Vec::new();
    if needs > bytes {
        refusals.push(Refusal::WorkspaceTooSmall { needs, has: bytes });
    }
    if !address.is_multiple_of(WORKSPACE_ALIGNMENT_BYTES) {
        let needs = WORKSPACE_ALIGNMENT_BYTES;
        refusals.push(Refusal::WorkspaceAlignment { needs, address });
    }
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(refused(kernel, refusals)),
    }
}
