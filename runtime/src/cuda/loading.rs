//! Loading of kernels: from machine code, a cache or PTX, with checks against the manifest.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};
use tilewright_bundle::{Kernel, LaunchAbi, Route};

use super::device::CudaDevice;
use super::driver::failed;
use super::foreign::Outside;
use super::module::{CudaKernel, Function, Module, attribute, set_attribute};
use super::scratch::Scratch;
use crate::error::{Error, Refusal, refused};
use crate::events;
use crate::launch::fit::{cubin_fits, other_params};
use crate::observe::counters::{CodeFrom, KernelCounts, ns_since};
use crate::ptx_cache::PtxCache;

/// Shared memory every launch may use without asking (CUDA programming guide, shared memory).
const SMEM_WITHOUT_ASKING: u32 = 48 << 10;
/// Largest cluster every device of a capability takes (CUDA programming guide, clusters).
const PORTABLE_CLUSTER: i64 = 8;
/// First driver with `cuFuncGetParamInfo`.
const PARAM_INFO_DRIVER: u32 = 12_040;

impl CudaDevice {
    /// Loads a kernel, from machine code when it is made for this device and the driver takes it,
    /// else from PTX: from what a cache has of it, if one is given.
    ///
    /// # Errors
    /// When the driver refuses the code, or the code is not what the manifest says.
    pub(crate) fn load(
        &self,
        kernel: &Kernel,
        ptx: &str,
        cubin: Option<&[u8]>,
        cache: Option<&PtxCache>,
        counts: &Arc<KernelCounts>,
    ) -> Result<CudaKernel, Error> {
        let start = Instant::now();
        self.bind()?;
        // A kernel may be needed first while a stream is being captured.
        let _outside = Outside::begin()?;
        let cubin = cubin.filter(|_| cubin_fits(kernel, self.info().sm));
        let shipped = cubin.map(|code| self.load_shipped(kernel, code));
        let ((module, log), from) = match (shipped.transpose()?.flatten(), cache) {
            (Some(loaded), _) => (loaded, CodeFrom::Bundle),
            (None, Some(cache)) => self.load_cached(kernel, ptx, cache)?,
            (None, None) => {
                let text = self.terminated(kernel, ptx)?;
                (
                    self.load_image(kernel, text.as_bytes_with_nul())?,
                    CodeFrom::Compiled,
                )
            }
        };
        let functions = kernel.launches.iter();
        let functions = functions.map(|abi| self.function(kernel, abi, &module));
        let code = CudaKernel {
            functions: functions.collect::<Result<_, _>>()?,
            id: kernel.id.clone(),
            module,
            log,
            scratch: Scratch::default(),
            counts: counts.clone(),
        };
        // A cluster that can never be resident is found here, so that another kernel is picked.
        for (at, abi) in kernel.launches.iter().enumerate() {
            if abi.cluster.is_some()
                && let Some(smem) = abi.dynamic_smem_bytes.constant_value()
            {
                self.max_clusters(kernel, &code, at, u32::try_from(smem).unwrap_or(u32::MAX))?;
            }
        }
        counts.load(&kernel.id, from, ns_since(start));
        Ok(code)
    }

    /// Loads machine code of the bundle. A driver older than the assembler's CUDA refuses it: then
    /// the PTX is compiled, where the kernel's route and the runtime's options allow that.
    fn load_shipped(
        &self,
        kernel: &Kernel,
        code: &[u8],
    ) -> Result<Option<(Module, String)>, Error> {
        let may_compile = kernel.route == Route::Ptx && !self.info().cubin_only;
        match self.load_image(kernel, code) {
            Ok(loaded) => Ok(Some(loaded)),
            Err(error @ Error::Load { .. }) if may_compile => {
                events::machine_code_refused(&kernel.id, &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The code of one launch, checked against the manifest.
    fn function(
        &self,
        kernel: &Kernel,
        abi: &LaunchAbi,
        module: &Module,
    ) -> Result<Function, Error> {
        let handle = self.entry(abi, module)?;
        let registers = attribute(handle, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        self.check(kernel, abi, handle)?;
        if abi.cluster_ctas() > PORTABLE_CLUSTER {
            let which = Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            set_attribute(handle, which, 1)?;
        }
        Ok(Function {
            handle,
            registers,
            smem_allowed: AtomicU32::new(SMEM_WITHOUT_ASKING),
            room: Mutex::new(None),
        })
    }

    /// Compares the loaded function with the manifest.
    fn check(
        &self,
        kernel: &Kernel,
        abi: &LaunchAbi,
        function: sys::CUfunction,
    ) -> Result<(), Error> {
        let mut refusals = Vec::new();
        let local = attribute(function, Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        if local > 0 {
            refusals.push(Refusal::LocalMemory { bytes: local });
        }
        let threads = attribute(function, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        if u64::from(threads) < abi.threads() {
            refusals.push(Refusal::Abi {
                problem: format!(
                    "it takes {threads} threads a CTA; the manifest says {}",
                    abi.threads()
                ),
            });
        }
        refusals.extend(other_cluster(abi, function)?);
        let found = self.param_layout(function)?;
        refusals.extend(found.and_then(|found| other_params(abi, &found)));
        if refusals.is_empty() {
            Ok(())
        } else {
            Err(refused(kernel, refusals))
        }
    }

    /// Offset from the first and size of each parameter, or `None` on drivers that do not tell.
    ///
    /// NOTE: the driver counts offsets from the start of its own bank, where a first parameter
    /// aligned to 64 bytes does not come at 0 (driver 580.159.04 puts it at 48).
    fn param_layout(&self, function: sys::CUfunction) -> Result<Option<Vec<(u32, u32)>>, Error> {
        if self.info().driver.is_none_or(|v| v < PARAM_INFO_DRIVER) {
            return Ok(None);
        }
        let mut params = Vec::new();
        let mut first = None;
        loop {
            let (mut offset, mut size) = (0usize, 0usize);
            // SAFETY: the function is loaded; the driver writes two integers that outlive the
            // call, and answers an index behind the last parameter with an error.
            let status =
                unsafe { sys::cuFuncGetParamInfo(function, params.len(), &mut offset, &mut size) };
            match status {
                sys::CUresult::CUDA_SUCCESS => {
                    let first = *first.get_or_insert(offset);
                    params.push((offset.saturating_sub(first) as u32, size as u32));
                }
                sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Ok(Some(params)),
                other => return Err(failed("cuFuncGetParamInfo")(DriverError(other))),
            }
        }
    }
}

/// The refusal when the code was compiled for another cluster than the manifest's.
fn other_cluster(abi: &LaunchAbi, function: sys::CUfunction) -> Result<Option<Refusal>, Error> {
    let Some(stated) = abi.cluster else {
        return Ok(None);
    };
    let found = [
        attribute(
            function,
            Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
        )?,
        attribute(
            function,
            Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
        )?,
        attribute(
            function,
            Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
        )?,
    ];
    // Zeros stand for code that takes the launch's cluster.
    let differs = found != [0; 3] && found != stated;
    Ok(differs.then(|| Refusal::Abi {
        problem: format!("cluster is {found:?}; the manifest says {stated:?}"),
    }))
}
