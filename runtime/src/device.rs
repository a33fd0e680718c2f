//! One set of calls for both backends: memory, loading, launching.
//!
//! `cuda` runs kernels on a GPU through the driver, `emulator` runs their PTX on the CPU. Memory
//! of either starts poisoned with [`POISON`].

mod loaded;

use std::sync::Arc;

use tilewright_bundle::{Bundle, Kernel, Name};

use loaded::Code;
pub use loaded::LoadedKernel;

use crate::cuda;
#[cfg(feature = "emulator")]
use crate::emulated::EmulatorSettings;
use crate::emulated::{EmulatedArg, EmulatedBuffer, EmulatorDevice};
use crate::error::{Error, Refusal, other_device, refused};
use crate::launch::fit::{
    Fit, Launch, LaunchReport, View, dynamic_smem_bytes, fit, prepare, runs_on,
};
use crate::launch::info::{DeviceInfo, POISON};
use crate::launch::problem::Problem;
use crate::observe::counters::KernelCounts;
use crate::ptx_cache::PtxCache;

/// A device; clones share it.
#[derive(Debug, Clone)]
pub enum Device {
    /// A GPU.
    Cuda(cuda::CudaDevice),
    /// The emulator.
    Emulator(EmulatorDevice),
}

/// Global memory of a device.
#[derive(Debug)]
pub enum Buffer {
    /// Of a GPU.
    Cuda(cuda::DeviceMemory),
    /// Of the emulator.
    Emulated(EmulatedBuffer),
}

impl Buffer {
    /// Size in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Buffer::Cuda(memory) => memory.bytes(),
            Buffer::Emulated(buffer) => buffer.bytes(),
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Memory for one operand of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// The operand's name in the kernel: `a`, `b`, `d`, `s`.
    pub operand: &'a str,
    /// Where it lives.
    pub buffer: &'a Buffer,
    /// Bytes from the buffer's start to the operand's first element.
    pub offset_bytes: u64,
}

impl<'a> Arg<'a> {
    /// The operand at the start of `buffer`.
    pub const fn new(operand: &'a str, buffer: &'a Buffer) -> Arg<'a> {
        Arg {
            operand,
            buffer,
            offset_bytes: 0,
        }
    }

    /// The operand `offset_bytes` into `buffer`.
    pub const fn at(operand: &'a str, buffer: &'a Buffer, offset_bytes: u64) -> Arg<'a> {
        Arg {
            operand,
            buffer,
            offset_bytes,
        }
    }
}

impl Device {
    /// The GPU with this ordinal.
    ///
    /// # Errors
    /// [`Error::NoDriver`] on a machine without one; an error of the driver otherwise.
    pub fn cuda(ordinal: usize) -> Result<Device, Error> {
        cuda::CudaDevice::open(ordinal).map(Device::Cuda)
    }

    /// The GPU whose primary context is current on this thread, such as that of a framework.
    ///
    /// # Errors
    /// As [`CudaDevice::current`](cuda::CudaDevice::current).
    pub fn current() -> Result<Device, Error> {
        cuda::CudaDevice::current().map(Device::Cuda)
    }

    /// The emulator with its defaults.
    #[cfg(feature = "emulator")]
    pub fn emulator() -> Device {
        Device::emulator_with(EmulatorSettings::default())
    }

    /// The emulator with other settings.
    #[cfg(feature = "emulator")]
    pub fn emulator_with(settings: EmulatorSettings) -> Device {
        Device::Emulator(EmulatorDevice::new(settings))
    }

    /// What the device says about itself.
    pub fn info(&self) -> &DeviceInfo {
        match self {
            Device::Cuda(device) => device.info(),
            Device::Emulator(device) => device.info(),
        }
    }

    /// The same, which runs the machine code of bundles alone, or their PTX as well; the emulator
    /// knows PTX only.
    pub(crate) fn with_cubins_only(self, cubin_only: bool) -> Device {
        match self {
            Device::Cuda(device) => Device::Cuda(device.with_cubins_only(cubin_only)),
            Device::Emulator(device) => Device::Emulator(device),
        }
    }

    /// Whether a kernel has faulted and taken the device's context with it. Everything is refused
    /// then with [`Error::ContextLost`], on this device, its clones and all runtimes on them.
    ///
    /// With a GPU's context it is lost to the whole process, to which the driver gives no other
    /// one: opening the device is [`Error::ProcessLost`], so end the process and start it anew. An
    /// emulator, which loses its context with `sticky_faults` alone, is replaced by a new
    /// `Device::emulator_with`, and a runtime that is opened on that; another runtime on this
    /// device or a clone of it does not help.
    pub fn is_lost(&self) -> bool {
        match self {
            Device::Cuda(device) => device.is_lost(),
            Device::Emulator(device) => device.watch().is_lost(),
        }
    }

    /// Poisoned memory of `bytes` bytes, aligned to 256.
    ///
    /// # Errors
    /// When there is not enough.
    pub fn alloc(&self, bytes: u64) -> Result<Buffer, Error> {
        match self {
            Device::Cuda(device) => device.alloc(bytes).map(Buffer::Cuda),
            Device::Emulator(device) => device.alloc(bytes).map(Buffer::Emulated),
        }
    }

    /// Memory that holds `content`.
    ///
    /// # Errors
    /// When there is not enough, or the driver fails.
    pub fn alloc_with(&self, content: &[u8]) -> Result<Buffer, Error> {
        let buffer = self.alloc(content.len() as u64)?;
        self.upload(&buffer, 0, content)?;
        Ok(buffer)
    }

    /// Copies `content` to `offset` bytes into `buffer`.
    ///
    /// # Errors
    /// When it does not fit, or the driver fails.
    pub fn upload(&self, buffer: &Buffer, offset: u64, content: &[u8]) -> Result<(), Error> {
        let bytes = content.len() as u64;
        if offset
            .checked_add(bytes)
            .is_none_or(|end| end > buffer.len())
        {
            return Err(Error::OutOfBuffer {
                offset,
                bytes,
                len: buffer.len(),
            });
        }
        match (self, buffer) {
            (Device::Cuda(device), Buffer::Cuda(memory)) => device.upload(memory, offset, content),
            (Device::Emulator(device), Buffer::Emulated(buffer)) => {
                device.may_use(buffer)?;
                buffer.upload(offset, content);
                Ok(())
            }
            _ => Err(Error::ForeignBuffer),
        }
    }

    /// The content of `buffer`, after all launches on the device.
    ///
    /// # Errors
    /// When an earlier launch or the driver fails.
    pub fn download(&self, buffer: &Buffer) -> Result<Vec<u8>, Error> {
        match (self, buffer) {
            (Device::Cuda(device), Buffer::Cuda(memory)) => device.download(memory),
            (Device::Emulator(device), Buffer::Emulated(buffer)) => {
                device.may_use(buffer)?;
                Ok(buffer.download())
            }
            _ => Err(Error::ForeignBuffer),
        }
    }

    /// Fills `buffer` with [`POISON`] again; on the emulator, reading it is a fault again.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn poison(&self, buffer: &Buffer) -> Result<(), Error> {
        match (self, buffer) {
            (Device::Cuda(device), Buffer::Cuda(memory)) => device.fill(memory, POISON),
            (Device::Emulator(device), Buffer::Emulated(buffer)) => {
                device.may_use(buffer)?;
                buffer.poison();
                Ok(())
            }
            _ => Err(Error::ForeignBuffer),
        }
    }

    /// Waits for all launches on the device.
    ///
    /// # Errors
    /// When one of them failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        match self {
            Device::Cuda(device) => device.synchronize(),
            Device::Emulator(device) => device.watch().usable(),
        }
    }

    /// Loads a kernel, and checks that the code is what the manifest says.
    ///
    /// # Errors
    /// When the device is the wrong one, or the code is refused.
    pub fn load(&self, bundle: &Bundle, kernel: &Kernel) -> Result<LoadedKernel, Error> {
        self.load_counted(bundle, kernel, None, Arc::default())
    }

    /// The same by way of a cache of compiled PTX, counted where the caller says.
    pub(crate) fn load_counted(
        &self,
        bundle: &Bundle,
        kernel: &Kernel,
        cache: Option<&PtxCache>,
        counts: Arc<KernelCounts>,
    ) -> Result<LoadedKernel, Error> {
        let refusals = runs_on(kernel, self.info());
        if !refusals.is_empty() {
            return Err(refused(kernel, refusals));
        }
        let code = match self {
            Device::Cuda(device) => {
                let (ptx, cubin) = (bundle.ptx(kernel), bundle.cubin(kernel));
                Code::Cuda(device.load(kernel, ptx, cubin, cache, &counts)?)
            }
            Device::Emulator(device) => {
                Code::Emulated(device.load(kernel, bundle.ptx(kernel), &counts)?)
            }
        };
        Ok(LoadedKernel {
            kernel: kernel.clone(),
            code,
            counts,
        })
    }

    /// Whether a kernel takes a problem here; see [`fit`].
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason.
    pub fn fit(&self, kernel: &Kernel, problem: &Problem) -> Result<Fit, Error> {
        fit(kernel, problem, self.info()).map_err(|refusals| refused(kernel, refusals))
    }

    /// The same of a kernel that is loaded: with as many clusters as the driver says that its code
    /// has room for here, where its launch goes by that.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason, or what the driver says.
    pub fn fit_loaded(&self, loaded: &LoadedKernel, problem: &Problem) -> Result<Fit, Error> {
        let fit = self.fit(loaded.kernel(), problem)?;
        match self {
            Device::Cuda(device) => counted(loaded, &fit, device),
            _ => Ok(fit),
        }
    }

    /// Checks everything, then launches. On a GPU the launch is enqueued: its own failure shows at
    /// the next [`Device::synchronize`] or [`Device::download`].
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason, before anything runs; [`Error::Fault`] when the
    /// emulator found one.
    pub fn launch(
        &self,
        loaded: &LoadedKernel,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<LaunchReport, Error> {
        loaded.counted(self.launch_now(loaded, problem, args))
    }

    fn launch_now(
        &self,
        loaded: &LoadedKernel,
        problem: &Problem,
        args: &[Arg<'_>],
    ) -> Result<LaunchReport, Error> {
        let kernel = &loaded.kernel;
        let fit = self.fit(kernel, problem)?;
        match (self, &loaded.code) {
            (Device::Cuda(device), Code::Cuda(_)) => {
                let launch = prepare_cuda(loaded, &fit, device, &views(args)?)?;
                device.launch(loaded, &launch, None)?;
                Ok(LaunchReport::default())
            }
            (Device::Emulator(device), Code::Emulated(code)) => {
                device.launch(kernel, code, &fit, &emulated(args)?, &loaded.counts)
            }
            _ => Err(other_device()),
        }
    }
}

/// The same arguments, all of them in the emulator's memory.
fn emulated<'a>(args: &[Arg<'a>]) -> Result<Vec<EmulatedArg<'a>>, Error> {
    let one = |arg: &Arg<'a>| match arg.buffer {
        Buffer::Emulated(buffer) => {
            let (operand, offset_bytes) = (arg.operand, arg.offset_bytes);
            Ok(EmulatedArg {
                operand,
                buffer,
                offset_bytes,
            })
        }
        Buffer::Cuda(_) => Err(Error::ForeignBuffer),
    };
    args.iter().map(one).collect()
}

/// Memory of a GPU as the checks see it.
pub fn views<'a>(args: &[Arg<'a>]) -> Result<Vec<View<'a>>, Error> {
    let one = |arg: &Arg<'a>| match arg.buffer {
        Buffer::Cuda(memory) => Ok(View {
            operand: arg.operand,
            address: memory.address().saturating_add(arg.offset_bytes),
            bytes: memory.bytes().saturating_sub(arg.offset_bytes),
        }),
        Buffer::Emulated(_) => Err(Error::ForeignBuffer),
    };
    args.iter().map(one).collect()
}

/// Checks and packs a launch on GPU memory.
pub fn prepare_cuda(
    loaded: &LoadedKernel,
    fit: &Fit,
    device: &cuda::CudaDevice,
    views: &[View<'_>],
) -> Result<Launch, Error> {
    let kernel = loaded.kernel();
    let fit = counted(loaded, fit, device)?;
    let refused = |refusals| refused(kernel, refusals);
    let mut launch = prepare(kernel, &fit, device.info(), views).map_err(refused)?;
    launch
        .encode_maps(cuda::encode_tensor_map)
        .map_err(refused)?;
    Ok(launch)
}

/// That a loaded kernel wants more scratch memory than a problem allows, where that is known of its
/// code alone: for as many clusters as the driver says that the device has room for.
///
/// # Errors
/// What the driver says.
pub(crate) fn beyond_limit(
    device: &Device,
    loaded: &LoadedKernel,
    problem: &Problem,
) -> Result<Option<Refusal>, Error> {
    let kernel = loaded.kernel();
    let mut names = kernel.workspace.bytes.names();
    let depends = problem.workspace_limit().is_some() && names.any(|one| one == Name::MAX_CLUSTERS);
    if !(depends && matches!(device, Device::Cuda(_))) {
        return Ok(None);
    }
    // What else speaks against it is told by who asks the kernel, or launches it.
    let fit = match device.fit_loaded(loaded, problem) {
        Err(Error::Refused { .. }) => return Ok(None),
        fit => fit?,
    };
    let mut refusals = Vec::new();
    fit.workspace(kernel, &mut refusals);
    Ok(refusals.pop())
}

/// The fit with the driver's own number of clusters, if the launch depends on it.
fn counted(loaded: &LoadedKernel, fit: &Fit, device: &cuda::CudaDevice) -> Result<Fit, Error> {
    let kernel = loaded.kernel();
    let mut names = kernel.exprs().flat_map(|(_, expr)| expr.names());
    let depends = !fit.is_empty() && names.any(|name| name == Name::MAX_CLUSTERS);
    let (true, Some(code)) = (depends, loaded.cuda()) else {
        return Ok(fit.clone());
    };
    let at = kernel.counted_launch();
    let smem_bytes = dynamic_smem_bytes(kernel, at, fit, device.info())
        .map_err(|refusals| refused(kernel, refusals))?;
    let clusters = device.max_clusters(kernel, code, at, smem_bytes)?;
    Ok(fit.clone().with_max_clusters(clusters))
}
