//! A GPU with one stream, its memory, and what is done to memory.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, DriverError, result, sys};

use super::context::{Context, Stream};
use super::driver::{driver_present, driver_version, failed};
use crate::error::Error;
use crate::launch::info::{Backend, DeviceInfo, POISON};

/// A GPU with one stream; clones share both.
#[derive(Debug, Clone)]
pub struct CudaDevice {
    pub(super) context: Arc<Context>,
    pub(super) stream: Arc<Stream>,
    pub(super) info: Arc<DeviceInfo>,
}

/// Global memory of a GPU, freed when dropped unless it is somebody else's.
#[derive(Debug)]
pub struct DeviceMemory {
    pub(super) context: Arc<Context>,
    pub(super) address: sys::CUdeviceptr,
    pub(super) bytes: u64,
    pub(super) owned: bool,
}

impl DeviceMemory {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.owned && self.context.bind().is_ok() {
            // SAFETY: the address came from `malloc_sync` in this context and is freed once, here.
            // `cuMemFree` waits for work that may still use it.
            let freed = unsafe { result::free_sync(self.address) };
            // Nobody hears of a fault here; the next call does.
            let _ = freed.map_err(self.context.failed("cuMemFree"));
        }
    }
}

impl CudaDevice {
    /// Opens a GPU.
    ///
    /// # Errors
    /// [`Error::NoDriver`] or [`Error::NoDevice`] when there is none, else the driver's error.
    pub fn open(ordinal: usize) -> Result<CudaDevice, Error> {
        if !driver_present() {
            return Err(Error::NoDriver);
        }
        result::init().map_err(failed("cuInit"))?;
        let count = CudaContext::device_count().map_err(failed("cuDeviceGetCount"))?;
        let count = usize::try_from(count).unwrap_or(0);
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        let (context, stream) = Context::open(ordinal)?;
        let info = Arc::new(describe(&context)?);
        Ok(CudaDevice {
            context,
            stream: Arc::new(stream),
            info,
        })
    }

    /// What the device says about itself.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The same, which runs the machine code of bundles alone, or their PTX as well.
    pub(crate) fn with_cubins_only(&self, cubin_only: bool) -> CudaDevice {
        let info = DeviceInfo {
            cubin_only,
            ..self.info().clone()
        };
        CudaDevice {
            info: Arc::new(info),
            ..self.clone()
        }
    }

    /// Its number among the devices of this process.
    pub fn ordinal(&self) -> usize {
        self.context.ordinal()
    }

    /// Where the device sits: `0000:17:00.0`.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn bus_id(&self) -> Result<String, Error> {
        let mut text = [0u8; 32];
        let (start, len) = (text.as_mut_ptr().cast(), text.len() as i32);
        // SAFETY: the driver writes at most `len` bytes, a NUL among them, and `text` outlives the
        // call.
        unsafe { sys::cuDeviceGetPCIBusId(start, len, self.context.cu_device()) }
            .result()
            .map_err(failed("cuDeviceGetPCIBusId"))?;
        let end = text.iter().position(|c| *c == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// The same device with a new stream of its own.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn aside(&self) -> Result<CudaDevice, Error> {
        Ok(CudaDevice {
            context: self.context.clone(),
            stream: Arc::new(self.context.new_stream()?),
            info: self.info.clone(),
        })
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes the context current on this thread, as every call below needs.
    pub(super) fn bind(&self) -> Result<(), Error> {
        self.context.bind()
    }

    /// An error of the driver with the call it came from.
    pub(super) fn failed<'a>(&'a self, call: &'a str) -> impl FnOnce(DriverError) -> Error + 'a {
        self.context.failed(call)
    }

    /// Refuses memory of another device, or of a context that is lost.
    pub(super) fn bind_with(&self, memory: &DeviceMemory) -> Result<(), Error> {
        self.bind()?;
        match self.context.is_home_of(&memory.context) {
            true => Ok(()),
            false => Err(Error::ForeignBuffer),
        }
    }

    /// The device's stream, a `CUstream`, which lives as long as the device or its owner lets it.
    pub fn raw_stream(&self) -> *mut c_void {
        self.stream.cu_stream().cast()
    }

    /// Whether a kernel has faulted and taken the context with it: everything is refused then, and
    /// the process gets no other one. See [`Device::is_lost`](crate::Device::is_lost).
    pub fn is_lost(&self) -> bool {
        self.context.watch().is_lost()
    }

    /// Poisoned memory.
    ///
    /// # Errors
    /// When there is not enough.
    pub fn alloc(&self, bytes: u64) -> Result<DeviceMemory, Error> {
        self.bind()?;
        let no_memory = |reason: String| Error::NoMemory { bytes, reason };
        let size = usize::try_from(bytes.max(1)).map_err(|e| no_memory(e.to_string()))?;
        // SAFETY: the size is not zero; the address is owned by the value made here.
        let address = unsafe { result::malloc_sync(size) };
        let address = address.map_err(|error| match self.failed("cuMemAlloc")(error) {
            Error::Cuda { reason, .. } => no_memory(reason),
            lost => lost,
        })?;
        let memory = DeviceMemory {
            context: self.context.clone(),
            address,
            bytes,
            owned: true,
        };
        self.fill(&memory, POISON)?;
        Ok(memory)
    }

    /// Fills memory with one byte.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn fill(&self, memory: &DeviceMemory, byte: u8) -> Result<(), Error> {
        self.bind_with(memory)?;
        let bytes = memory.bytes as usize;
        // SAFETY: `memory` is alive and has `bytes` bytes; the stream belongs to its context.
        unsafe { result::memset_d8_async(memory.address, byte, bytes, self.stream.cu_stream()) }
            .map_err(self.failed("cuMemsetD8Async"))
    }

    /// Copies bytes to the device and waits for it.
    ///
    /// # Errors
    /// When they do not fit, or the driver fails.
    pub fn upload(&self, memory: &DeviceMemory, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let size = bytes.len() as u64;
        if offset
            .checked_add(size)
            .is_none_or(|end| end > memory.bytes)
        {
            return Err(Error::OutOfBuffer {
                offset,
                bytes: size,
                len: memory.bytes,
            });
        }
        self.bind_with(memory)?;
        // SAFETY: the range lies inside the allocation, and the wait below keeps `bytes` borrowed
        // until the copy is over.
        unsafe {
            result::memcpy_htod_async(memory.address + offset, bytes, self.stream.cu_stream())
        }
        .map_err(self.failed("cuMemcpyHtoDAsync"))?;
        self.synchronize()
    }

    /// Copies all of a memory to the host, after the work enqueued before.
    ///
    /// # Errors
    /// When earlier work or the driver fails.
    pub fn download(&self, memory: &DeviceMemory) -> Result<Vec<u8>, Error> {
        self.bind_with(memory)?;
        let mut bytes = vec![0u8; memory.bytes as usize];
        // SAFETY: both ranges have the same size, and the wait below keeps `bytes` borrowed until
        // the copy is over.
        unsafe { result::memcpy_dtoh_async(&mut bytes, memory.address, self.stream.cu_stream()) }
            .map_err(self.failed("cuMemcpyDtoHAsync"))?;
        self.synchronize()?;
        Ok(bytes)
    }

    /// Enqueues a plain copy from one memory to another.
    ///
    /// # Errors
    /// When it does not fit, or the driver fails.
    pub fn copy(&self, from: &DeviceMemory, to: &DeviceMemory, bytes: u64) -> Result<(), Error> {
        let len = from.bytes.min(to.bytes);
        if bytes > len {
            return Err(Error::OutOfBuffer {
                offset: 0,
                bytes,
                len,
            });
        }
        self.bind_with(from)?;
        self.bind_with(to)?;
        let stream = self.stream.cu_stream();
        // SAFETY: both allocations are alive and have at least `bytes` bytes; freeing either waits
        // for the copy.
        unsafe { result::memcpy_dtod_async(to.address, from.address, bytes as usize, stream) }
            .map_err(self.failed("cuMemcpyDtoDAsync"))
    }

    /// Waits for all enqueued work.
    ///
    /// # Errors
    /// When any of it failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the caller of `on_stream` keeps a lent stream alive; the others are its own.
        unsafe { self.synchronize_on(self.raw_stream()) }
    }

    /// Waits for all work of a stream of the caller's, `CUstream` or `cudaStream_t`. A fault that
    /// shows at a wait names the launches that no such wait has seen the end of.
    ///
    /// # Safety
    /// The stream belongs to the device's primary context and is alive; null is the default one.
    ///
    /// # Errors
    /// When any of the work failed.
    pub unsafe fn synchronize_on(&self, stream: *mut c_void) -> Result<(), Error> {
        self.bind()?;
        let watch = self.context.watch();
        let next = watch.next();
        // SAFETY: the caller's promise is the callee's.
        unsafe { result::stream::synchronize(stream.cast()) }
            .map_err(self.failed("cuStreamSynchronize"))?;
        watch.ended(stream.addr(), next);
        Ok(())
    }
}

/// Reads name, capability and limits of the context's device.
fn describe(context: &Context) -> Result<DeviceInfo, Error> {
    let attribute = |which: Attribute, name: &str| {
        let value = context.attribute(which).map_err(context.failed(name))?;
        Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
    };
    let major = attribute(
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        "capability",
    )?;
    let minor = attribute(
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        "capability",
    )?;
    let sms = attribute(
        Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        "processors",
    )?;
    let smem = Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    Ok(DeviceInfo {
        backend: Backend::Cuda,
        name: context.name().map_err(failed("cuDeviceGetName"))?,
        sm: Some(major * 10 + minor),
        sms,
        driver: Some(driver_version()?),
        max_smem_bytes: attribute(smem, "shared memory")?,
        l2_bytes: u64::from(attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
            "cache",
        )?),
        memory_bytes: context.total_mem().map_err(failed("cuDeviceTotalMem"))? as u64,
        cubin_only: false,
    })
}
