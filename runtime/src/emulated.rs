//! The emulator as a device: memory held on the host, launches that fault where a GPU would not.

mod buffer;
mod summary;
mod tensor_map;

use std::sync::Arc;
use std::time::Instant;

use tilewright_bundle::{Kernel, LaunchAbi};
use tilewright_emulator as emulator;
use tilewright_emulator::tensor_core::Rules;

pub use buffer::EmulatedBuffer;
use buffer::complement;
pub use tensor_map::encode as encode_map;

use crate::emulated::summary::summarize;
use crate::error::{Error, Fault, Refusal, other_device, refused};
use crate::events;
use crate::launch::fit::{Fit, Launch, LaunchReport, View, other_params, prepare};
use crate::launch::info::{Backend, DeviceInfo};
use crate::observe::counters::{CodeFrom, KernelCounts, ns_since};
use crate::observe::nvtx;
use crate::observe::watch::Watch;

/// How the emulator runs.
#[derive(Debug, Clone)]
pub struct EmulatorSettings {
    /// Multiprocessors it pretends to have, which persistent kernels size their grid by.
    pub sms: u32,
    /// The compute capability it pretends to have; `None` takes kernels of every one.
    pub sm: Option<u32>,
    /// Order of execution, checks and budgets.
    pub options: emulator::Options,
    /// Whether a fault takes the device with it, as it does on a GPU: so that a service's tests
    /// meet what it will meet. Otherwise the next launch runs as if nothing had been.
    pub sticky_faults: bool,
}

impl Default for EmulatorSettings {
    /// Four multiprocessors, every capability, the emulator's own defaults, faults that pass.
    fn default() -> Self {
        EmulatorSettings {
            sms: 4,
            sm: None,
            options: emulator::Options::default(),
            sticky_faults: false,
        }
    }
}

/// The emulator; clones share its settings, memory and kernels, other ones take none of them.
#[derive(Debug, Clone)]
pub struct EmulatorDevice {
    info: Arc<DeviceInfo>,
    options: Arc<emulator::Options>,
    watch: Arc<Watch>,
    sticky_faults: bool,
}

/// Memory for one operand of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmulatedArg<'a> {
    pub operand: &'a str,
    pub buffer: &'a EmulatedBuffer,
    pub offset_bytes: u64,
}

impl<'a> EmulatedArg<'a> {
    /// What it is called, of a launch that touches no memory.
    fn unplaced(&self) -> View<'a> {
        View {
            operand: self.operand,
            address: 0,
            bytes: 0,
        }
    }
}

/// PTX parsed for the emulator.
#[derive(Debug)]
pub struct EmulatedKernel {
    module: emulator::Module,
    /// What the device that it was loaded on shares with its clones.
    owner: Arc<Watch>,
}

impl EmulatedKernel {
    /// Parses a kernel's PTX and checks that its entry is what the manifest says.
    fn parse(kernel: &Kernel, ptx: &str, owner: &Arc<Watch>) -> Result<EmulatedKernel, Error> {
        let module = emulator::Module::parse(ptx).map_err(|e| Error::Load {
            kernel: kernel.id.clone(),
            reason: "the emulator's parser refused it".to_owned(),
            log: e.to_string(),
        })?;
        let mut refusals = Vec::new();
        for abi in &kernel.launches {
            match module.entry(&abi.entry) {
                Some(entry) => compare(abi, entry, &mut refusals),
                None => {
                    let problem = format!("the PTX has no entry {}", abi.entry);
                    refusals.push(Refusal::Abi { problem });
                }
            }
        }
        if refusals.is_empty() {
            Ok(EmulatedKernel {
                module,
                owner: owner.clone(),
            })
        } else {
            Err(refused(kernel, refusals))
        }
    }
}

/// Adds what differs between an entry of the code and what the manifest says of it.
fn compare(abi: &LaunchAbi, entry: &emulator::Entry, refusals: &mut Vec<Refusal>) {
    let found: Vec<(u32, u32)> = entry
        .params
        .iter()
        .map(|p| (p.offset_bytes, p.bytes))
        .collect();
    refusals.extend(other_params(abi, &found));
    let mut contradiction = |problem: String| refusals.push(Refusal::Abi { problem });
    if let Some(block) = entry.reqntid
        && block != abi.block
    {
        contradiction(format!("block is {block:?}; manifest says {:?}", abi.block));
    }
    if let Some(cluster) = entry.reqnctapercluster
        && cluster != abi.cluster.unwrap_or([1; 3])
    {
        contradiction(format!(
            "cluster is {cluster:?}; manifest says {:?}",
            abi.cluster
        ));
    }
}

impl EmulatorDevice {
    pub(crate) fn new(settings: EmulatorSettings) -> EmulatorDevice {
        let info = DeviceInfo {
            backend: Backend::Emulator,
            name: "emulator".to_owned(),
            sm: settings.sm,
            sms: settings.sms.max(1),
            driver: None,
            // What sm_90 allows a CTA (CUDA programming guide, compute capabilities).
            max_smem_bytes: 232_448,
            l2_bytes: 0,
            memory_bytes: 16 << 30,
            cubin_only: false,
        };
        EmulatorDevice {
            info: Arc::new(info),
            options: Arc::new(settings.options),
            watch: Arc::default(),
            sticky_faults: settings.sticky_faults,
        }
    }

    /// Whether it is lost.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Reads a kernel's PTX.
    pub(crate) fn load(
        &self,
        kernel: &Kernel,
        ptx: &str,
        counts: &KernelCounts,
    ) -> Result<EmulatedKernel, Error> {
        self.watch.usable()?;
        let start = Instant::now();
        let code = EmulatedKernel::parse(kernel, ptx, &self.watch)?;
        counts.load(&kernel.id, CodeFrom::Emulator, ns_since(start));
        Ok(code)
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Poisoned memory.
    pub(crate) fn alloc(&self, bytes: u64) -> Result<EmulatedBuffer, Error> {
        self.watch.usable()?;
        EmulatedBuffer::new(bytes, &self.watch)
    }

    /// Whether memory may be used here.
    ///
    /// # Errors
    /// When it is another device's, or this one is lost.
    pub(crate) fn may_use(&self, buffer: &EmulatedBuffer) -> Result<(), Error> {
        self.watch.usable()?;
        match buffer.is_of(&self.watch) {
            true => Ok(()),
            false => Err(Error::ForeignBuffer),
        }
    }

    /// Whether code may run here on this memory.
    ///
    /// # Errors
    /// When any of it is another device's, or this one is lost.
    fn may_launch(&self, code: &EmulatedKernel, args: &[EmulatedArg<'_>]) -> Result<(), Error> {
        self.watch.usable()?;
        if !Arc::ptr_eq(&code.owner, &self.watch) {
            return Err(other_device());
        }
        args.iter().try_for_each(|arg| self.may_use(arg.buffer))
    }

    /// The same device under another schedule.
    #[doc(hidden)]
    pub fn with_schedule(
        &self,
        async_order: emulator::AsyncOrder,
        warp_order: emulator::WarpOrder,
    ) -> EmulatorDevice {
        self.with_options(|options| {
            (options.async_order, options.warp_order) = (async_order, warp_order);
        })
    }

    /// The same device with the tensor cores of a compute capability.
    #[doc(hidden)]
    pub fn with_tensor_cores(&self, sm: u32) -> EmulatorDevice {
        let rules = Rules::of(&format!("sm_{sm}"));
        self.with_options(|options| options.tensor_cores = Some(rules))
    }

    /// The same device, noting the lines of PTX that it executes.
    #[doc(hidden)]
    pub fn with_reached(&self, reached: &emulator::Reached) -> EmulatorDevice {
        self.with_options(|options| options.reached = Some(reached.clone()))
    }

    /// The same device under other options.
    fn with_options(&self, change: impl FnOnce(&mut emulator::Options)) -> EmulatorDevice {
        let mut device = self.clone();
        change(Arc::make_mut(&mut device.options));
        device
    }

    /// Whether it judges by the words of the PTX document.
    pub fn is_strict(&self) -> bool {
        self.options.sanitize == emulator::Sanitize::Strict
    }

    /// The tensor cores that it has, whatever the kernel; none where they are those of the kernel's
    /// own target.
    #[doc(hidden)]
    pub fn tensor_cores(&self) -> Option<&'static Rules> {
        self.options.tensor_cores
    }

    /// The error of a fault, which takes the device with it where faults do.
    fn faulted(&self, fault: Arc<Fault>) -> Error {
        if self.sticky_faults {
            return self.watch.lose(Arc::new(Fault {
                is_sticky: true,
                ..(*fault).clone()
            }));
        }
        events::faulted(&fault);
        Error::Fault(fault)
    }

    /// Runs a kernel's launches to their end, in a range of its id.
    pub(crate) fn launch(
        &self,
        kernel: &Kernel,
        code: &EmulatedKernel,
        fit: &Fit,
        args: &[EmulatedArg<'_>],
        counts: &KernelCounts,
    ) -> Result<LaunchReport, Error> {
        self.may_launch(code, args)?;
        let _range = nvtx::range(&kernel.id);
        let failed = |reason: String| Error::Emulator {
            kernel: kernel.id.clone(),
            reason,
        };
        let no_room = |error: emulator::MemoryError| match error {
            emulator::MemoryError::Full { bytes, .. } => Error::NoMemory {
                bytes,
                reason: error.to_string(),
            },
            other => failed(other.to_string()),
        };
        if fit.is_empty() {
            let views: Vec<View<'_>> = args.iter().map(EmulatedArg::unplaced).collect();
            let launch = prepare(kernel, fit, &self.info, &views);
            return launch
                .map(|_| LaunchReport::default())
                .map_err(|refusals| refused(kernel, refusals));
        }
        let mut memory = emulator::Memory::new();
        let buffers = distinct(args);
        let mut ids = Vec::new();
        for (name, buffer) in &buffers {
            ids.push(copy_in(&mut memory, name, buffer).map_err(no_room)?);
        }
        let mut views = Vec::new();
        for arg in args {
            let at = buffers.iter().position(|(_, b)| b.is_same(arg.buffer));
            let id = at.and_then(|at| ids.get(at)).ok_or(Error::ForeignBuffer)?;
            views.push(View {
                operand: arg.operand,
                address: memory.address(*id).saturating_add(arg.offset_bytes),
                bytes: arg.buffer.bytes().saturating_sub(arg.offset_bytes),
            });
        }
        let mut launch =
            prepare(kernel, fit, &self.info, &views).map_err(|r| refused(kernel, r))?;
        launch
            .encode_maps(encode_map)
            .map_err(|r| refused(kernel, r))?;
        let workspace = workspace(&launch, &mut memory).map_err(no_room)?;
        let address = workspace.map_or(0, |id| memory.address(id));
        let run = || self.run(kernel, code, &launch, address, &mut memory);
        let total = counts.launch(&kernel.id, run)?;
        for ((_, buffer), id) in buffers.iter().zip(&ids) {
            let mut content = buffer.lock();
            content.bytes = memory.read(*id);
            content.undefined = memory.undefined(*id);
        }
        let zero = launch.workspace_zero_bytes as usize;
        let promised = workspace.filter(|_| zero > 0);
        let workspace = promised.map(|id| memory.read(id)).unwrap_or_default();
        match workspace.iter().take(zero).position(|byte| *byte != 0) {
            Some(at) => Err(failed(format!(
                "byte {at} of the workspace is not 0 after the launch; the kernel promises to \
                 leave the first {zero} zero"
            ))),
            None => Ok(total),
        }
    }
}

impl EmulatorDevice {
    /// Runs launches that are ready, one after the other.
    fn run(
        &self,
        kernel: &Kernel,
        code: &EmulatedKernel,
        launch: &Launch,
        workspace: u64,
        memory: &mut emulator::Memory,
    ) -> Result<LaunchReport, Error> {
        let work = &launch.work;
        events::launched(&work.kernel, &work.problem, 0);
        let mut total = LaunchReport::default();
        for (part, abi) in launch.parts.iter().zip(&kernel.launches) {
            let params = part.params_with(workspace, encode_map);
            let params = params.map_err(|reason| Error::Emulator {
                kernel: kernel.id.clone(),
                reason,
            })?;
            let request = emulator::Launch {
                entry: abi.entry.clone(),
                grid: part.grid,
                block: part.block,
                cluster: part.cluster.unwrap_or([1; 3]),
                programmatic: part.programmatic,
                dynamic_shared_bytes: part.dynamic_smem_bytes,
                params: emulator::Params::Packed(params),
            };
            let report = emulator::run(&code.module, &request, memory, &self.options);
            let report = report.map_err(|error| Error::Emulator {
                kernel: kernel.id.clone(),
                reason: error.to_string(),
            })?;
            if report.is_cut_short {
                return Err(Error::Stopped {
                    kernel: kernel.id.clone(),
                });
            }
            let summary = summarize(kernel, work, &report);
            total.add(summary.map_err(|fault| self.faulted(fault))?);
        }
        Ok(total)
    }
}

/// Each buffer of a launch once, named after the first operand in it.
fn distinct<'a>(args: &[EmulatedArg<'a>]) -> Vec<(&'a str, &'a EmulatedBuffer)> {
    let mut buffers: Vec<(&str, &EmulatedBuffer)> = Vec::new();
    for arg in args {
        if !buffers.iter().any(|(_, b)| b.is_same(arg.buffer)) {
            buffers.push((arg.operand, arg.buffer));
        }
    }
    buffers
}

fn copy_in(
    memory: &mut emulator::Memory,
    name: &str,
    buffer: &EmulatedBuffer,
) -> Result<emulator::BufferId, emulator::MemoryError> {
    let content = buffer.lock();
    if content.undefined.is_empty() {
        return memory.alloc(
            name,
            buffer.bytes(),
            emulator::Content::Bytes(&content.bytes),
        );
    }
    let id = memory.alloc(name, buffer.bytes(), emulator::Content::Undefined)?;
    for range in complement(&content.undefined, buffer.bytes()) {
        let (start, end) = (range.start as usize, range.end as usize);
        memory.write(
            id,
            range.start,
            content.bytes.get(start..end).unwrap_or_default(),
        )?;
    }
    Ok(id)
}

/// Scratch memory, if the kernel wants any. Its start is zero as promised, the rest undefined.
fn workspace(
    launch: &Launch,
    memory: &mut emulator::Memory,
) -> Result<Option<emulator::BufferId>, emulator::MemoryError> {
    if !launch.wants_workspace() {
        return Ok(None);
    }
    let zeros = vec![0; launch.workspace_zero_bytes as usize];
    let bytes = launch.workspace_bytes.max(zeros.len() as u64).max(1);
    let start = emulator::Content::Bytes(&zeros);
    memory.alloc("workspace", bytes, start).map(Some)
}
