//! Code that a folder keeps from one start to the next.

use std::ffi::CStr;

use cudarc::driver::sys::CUfunction_attribute as Attribute;
use tilewright_bundle::{Kernel, Sha256Hex};

use super::device::CudaDevice;
use super::module::{Module, attribute};
use crate::error::Error;
use crate::events;
use crate::observe::counters::CodeFrom;
use crate::ptx_cache::{Key, PtxCache};

impl CudaDevice {
    /// The module of what a cache has of PTX, or else of what the driver makes of it.
    ///
    /// What can be kept is the work of the driver's linker, which compiles some kernels otherwise
    /// than a module's load does: into more registers, or local memory (driver 580.159.04, three
    /// of ten products). It is kept where both need the same; where not, that is kept, so that the
    /// next start does not try again. What the load made is what runs.
    pub(super) fn load_cached(
        &self,
        kernel: &Kernel,
        ptx: &str,
        cache: &PtxCache,
    ) -> Result<((Module, String), CodeFrom), Error> {
        let (driver, sm) = (self.info().driver, self.info().sm);
        let key = Key {
            ptx: Sha256Hex::of(ptx.as_bytes()),
            driver: driver.unwrap_or(0),
            sm: sm.unwrap_or(0),
        };
        let text = self.terminated(kernel, ptx)?;
        let from_ptx = || self.load_image(kernel, text.as_bytes_with_nul());
        match cache.get(&key) {
            Some(code) if code.is_empty() => return Ok((from_ptx()?, CodeFrom::Compiled)),
            Some(code) => match self.load_image(kernel, &code) {
                Ok(loaded) => return Ok((loaded, CodeFrom::Cache)),
                Err(error @ Error::Load { .. }) => cache.remove(&key, &error),
                Err(error) => return Err(error),
            },
            None => {}
        }
        let loaded = from_ptx()?;
        let kept = self.linked(kernel, &text, &loaded.0)?;
        if kept.is_none() {
            events::compiled_otherwise(&kernel.id);
        }
        cache.put(&key, &kept.unwrap_or_default());
        Ok((loaded, CodeFrom::Compiled))
    }

    /// What the linker makes of PTX, where it needs what the loaded module does.
    fn linked(
        &self,
        kernel: &Kernel,
        ptx: &CStr,
        loaded: &Module,
    ) -> Result<Option<Vec<u8>>, Error> {
        let linked = self.compile(kernel, ptx).and_then(|code| {
            let (module, _) = self.load_image(kernel, &code)?;
            Ok((self.needs(kernel, &module)?, code))
        });
        match linked {
            Ok((needs, code)) => Ok((needs == self.needs(kernel, loaded)?).then_some(code)),
            Err(Error::Load { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Registers, local and static shared memory of each launch's code.
    fn needs(&self, kernel: &Kernel, module: &Module) -> Result<Vec<[u32; 3]>, Error> {
        let launches = kernel.launches.iter();
        let needs = launches.map(|abi| {
            let handle = self.entry(abi, module)?;
            Ok([
                attribute(handle, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
                attribute(handle, Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
                attribute(handle, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            ])
        });
        needs.collect()
    }
}
