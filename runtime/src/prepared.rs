//! A launch that passed every check once, to be enqueued as often as its memory lives.

use std::sync::Arc;

use tilewright_bundle::Kernel;

use crate::cuda::{CudaDevice, DeviceMemory};
use crate::device::{Arg, LoadedKernel, prepare_cuda};
use crate::error::{Error, refused};
use crate::launch::{Launch, fit};
use crate::problem::Problem;

/// Address of scratch memory is a multiple of it.
pub const WORKSPACE_ALIGNMENT_BYTES: u64 = 256;

/// A kernel on a problem and on memory of a GPU, checked and packed.
#[derive(Debug, Clone)]
pub struct Prepared {
    loaded: Arc<LoadedKernel>,
    launch: Launch,
}

impl Prepared {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.loaded.kernel()
    }

    /// The launches as numbers.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Scratch memory that it wants; 0 where it takes none.
    pub fn workspace_bytes(&self) -> u64 {
        match self.launch.wants_workspace() {
            true => self.launch.scratch_bytes(),
            false => 0,
        }
    }
}

impl CudaDevice {
    /// Checks everything and packs a launch, without launching.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason.
    pub fn prepare(
        &self,
        loaded: Arc<LoadedKernel>,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<Prepared, Error> {
        let kernel = loaded.kernel();
        let fits = fit(kernel, problem, self.info()).map_err(|r| refused(kernel, r))?;
        let launch = prepare_cuda(&loaded, &fits, self, args)?;
        Ok(Prepared { loaded, launch })
    }

    /// Enqueues a prepared launch, with scratch memory that the runtime keeps for this stream: it
    /// is made at the first launch, and for a capture at the first launch in it.
    ///
    /// # Safety
    /// The memory that the launch was prepared with is still there, and stays until the work is
    /// done; that of a captured launch as long as the graph is replayed.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub unsafe fn enqueue(&self, prepared: &Prepared) -> Result<(), Error> {
        let code = prepared.loaded.cuda().ok_or(Error::ForeignBuffer)?;
        CudaDevice::launch(self, code, &prepared.launch)
    }

    /// The same with scratch memory of the caller's: zero before the first launch, and no other
    /// work's meanwhile.
    ///
    /// # Safety
    /// As of [`CudaDevice::enqueue`], for the scratch memory as well.
    ///
    /// # Errors
    /// When it is too small or not aligned, or the driver refuses the launch.
    pub unsafe fn enqueue_with(
        &self,
        prepared: &Prepared,
        workspace: &DeviceMemory,
    ) -> Result<(), Error> {
        let (needs, has) = (prepared.workspace_bytes(), workspace.bytes());
        let address = workspace.address();
        if needs > has || !address.is_multiple_of(WORKSPACE_ALIGNMENT_BYTES) {
            return Err(Error::Request(format!(
                "the workspace has {has} bytes at {address:#x}; {} needs {needs} at a multiple of \
                 {WORKSPACE_ALIGNMENT_BYTES}",
                prepared.kernel().id
            )));
        }
        let code = prepared.loaded.cuda().ok_or(Error::ForeignBuffer)?;
        self.launch_with(code, &prepared.launch, address)
    }
}
