//! The emulator as a device: memory held on the host, launches that fault where a GPU would not.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tilewright_bundle::{Kernel, LaunchAbi};
use tilewright_emulator as emulator;
use tilewright_emulator::tensor_core::Rules;

use crate::error::{Error, Refusal, refused};
use crate::host;
use crate::info::{Backend, DeviceInfo, POISON};
use crate::launch::{Fit, Launch, LaunchReport, View, other_params, prepare};
use crate::nvtx;
use crate::summary::summarize;

/// How the emulator runs.
#[derive(Debug, Clone)]
pub struct EmulatorSettings {
    /// Multiprocessors it pretends to have, which persistent kernels size their grid by.
    pub sms: u32,
    /// The compute capability it pretends to have; `None` takes kernels of every one.
    pub sm: Option<u32>,
    /// Order of execution, checks and budgets.
    pub options: emulator::Options,
}

impl Default for EmulatorSettings {
    /// Four multiprocessors, every capability, the emulator's own defaults.
    fn default() -> Self {
        EmulatorSettings {
            sms: 4,
            sm: None,
            options: emulator::Options::default(),
        }
    }
}

/// The emulator; clones share its settings.
#[derive(Debug, Clone)]
pub struct EmulatorDevice {
    info: Arc<DeviceInfo>,
    options: Arc<emulator::Options>,
}

/// Memory of the emulator, with the ranges nobody has written yet.
#[derive(Debug)]
pub struct EmulatedBuffer {
    content: Mutex<Content>,
    bytes: u64,
}

#[derive(Debug)]
struct Content {
    bytes: Vec<u8>,
    undefined: Vec<Range<u64>>,
}

/// Memory for one operand of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmulatedArg<'a> {
    pub operand: &'a str,
    pub buffer: &'a EmulatedBuffer,
    pub offset_bytes: u64,
}

/// PTX parsed for the emulator.
#[derive(Debug)]
pub struct EmulatedKernel {
    module: emulator::Module,
}

impl EmulatedBuffer {
    pub(crate) fn new(bytes: u64) -> Result<EmulatedBuffer, Error> {
        let no_memory = |reason: String| Error::NoMemory { bytes, reason };
        host::check(bytes)?;
        let size = usize::try_from(bytes).map_err(|e| no_memory(e.to_string()))?;
        let mut content = Vec::new();
        content
            .try_reserve_exact(size)
            .map_err(|e| no_memory(e.to_string()))?;
        content.resize(size, POISON);
        let content = Content {
            bytes: content,
            undefined: std::iter::once(0..bytes).collect(),
        };
        Ok(EmulatedBuffer {
            content: Mutex::new(content),
            bytes,
        })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The content; a thread that panicked while holding it left whole bytes behind.
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `content` in; the caller has checked the range.
    pub(crate) fn upload(&self, offset: u64, content: &[u8]) {
        let mut inner = self.lock();
        let range = offset..offset.saturating_add(content.len() as u64);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(place) = inner
            .bytes
            .get_mut(start..start.saturating_add(content.len()))
        {
            place.copy_from_slice(content);
        }
        inner.undefined = subtract(&inner.undefined, &range);
    }

    pub(crate) fn download(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    pub(crate) fn poison(&self) {
        let mut inner = self.lock();
        inner.bytes.fill(POISON);
        inner.undefined = std::iter::once(0..self.bytes).collect();
    }
}

/// `ranges` without `gone`.
fn subtract(ranges: &[Range<u64>], gone: &Range<u64>) -> Vec<Range<u64>> {
    let parts = ranges
        .iter()
        .flat_map(|r| [r.start..r.end.min(gone.start), r.start.max(gone.end)..r.end]);
    parts.filter(|r| r.start < r.end).collect()
}

/// The gaps between sorted `ranges` in `0..bytes`.
fn complement(ranges: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    ranges
        .iter()
        .fold(std::iter::once(0..bytes).collect(), |left, r| {
            subtract(&left, r)
        })
}

impl EmulatedKernel {
    /// Parses a kernel's PTX and checks that its entry is what the manifest says.
    pub(crate) fn parse(kernel: &Kernel, ptx: &str) -> Result<EmulatedKernel, Error> {
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
            Ok(EmulatedKernel { module })
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
        };
        EmulatorDevice {
            info: Arc::new(info),
            options: Arc::new(settings.options),
        }
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The same device under another schedule.
    pub(crate) fn with_schedule(
        &self,
        async_order: emulator::AsyncOrder,
        warp_order: emulator::WarpOrder,
    ) -> EmulatorDevice {
        let options = emulator::Options {
            async_order,
            warp_order,
            ..(*self.options).clone()
        };
        EmulatorDevice {
            info: self.info.clone(),
            options: Arc::new(options),
        }
    }

    /// The same device with the tensor cores of a compute capability.
    pub(crate) fn with_tensor_cores(&self, sm: u32) -> EmulatorDevice {
        let options = emulator::Options {
            tensor_cores: Some(Rules::of(&format!("sm_{sm}"))),
            ..(*self.options).clone()
        };
        EmulatorDevice {
            info: self.info.clone(),
            options: Arc::new(options),
        }
    }

    /// The tensor cores that it has, whatever the kernel; none where they are those of the kernel's
    /// own target.
    pub(crate) fn tensor_cores(&self) -> Option<&'static Rules> {
        self.options.tensor_cores
    }

    /// Runs a kernel's launches to their end, in a range of its id.
    pub(crate) fn launch(
        &self,
        kernel: &Kernel,
        code: &EmulatedKernel,
        fit: &Fit,
        args: &[EmulatedArg<'_>],
    ) -> Result<LaunchReport, Error> {
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
        let mut memory = emulator::Memory::new();
        let buffers = distinct(args);
        let mut ids = Vec::new();
        for (name, buffer) in &buffers {
            ids.push(copy_in(&mut memory, name, buffer).map_err(no_room)?);
        }
        let mut views = Vec::new();
        for arg in args {
            let at = buffers
                .iter()
                .position(|(_, b)| std::ptr::eq(*b, arg.buffer));
            let id = at.and_then(|at| ids.get(at)).ok_or(Error::ForeignBuffer)?;
            views.push(View {
                operand: arg.operand,
                address: memory.address(*id).saturating_add(arg.offset_bytes),
                bytes: arg.buffer.bytes.saturating_sub(arg.offset_bytes),
            });
        }
        let mut launch =
            prepare(kernel, fit, &self.info, &views).map_err(|r| refused(kernel, r))?;
        launch
            .encode_maps(|placed| placed.map.encode().map_err(|e| e.to_string()))
            .map_err(|r| refused(kernel, r))?;
        let workspace = workspace(&launch, &mut memory).map_err(no_room)?;
        let address = workspace.map_or(0, |id| memory.address(id));
        let mut total = LaunchReport::default();
        for (part, abi) in launch.parts.iter().zip(&kernel.launches) {
            let request = emulator::Launch {
                entry: abi.entry.clone(),
                grid: part.grid,
                block: part.block,
                cluster: part.cluster.unwrap_or([1; 3]),
                programmatic: part.programmatic,
                dynamic_shared_bytes: part.dynamic_smem_bytes,
                params: emulator::Params::Packed(part.params_with(address)),
            };
            let report = emulator::run(&code.module, &request, &mut memory, &self.options)
                .map_err(|e| failed(e.to_string()))?;
            total.add(summarize(kernel, &report)?);
        }
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

/// Each buffer of a launch once, named after the first operand in it.
fn distinct<'a>(args: &[EmulatedArg<'a>]) -> Vec<(&'a str, &'a EmulatedBuffer)> {
    let mut buffers: Vec<(&str, &EmulatedBuffer)> = Vec::new();
    for arg in args {
        if !buffers.iter().any(|(_, b)| std::ptr::eq(*b, arg.buffer)) {
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
        return memory.alloc(name, buffer.bytes, emulator::Content::Bytes(&content.bytes));
    }
    let id = memory.alloc(name, buffer.bytes, emulator::Content::Undefined)?;
    for range in complement(&content.undefined, buffer.bytes) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_subtracted() {
        let one = |range: Range<u64>| vec![range];
        assert_eq!(subtract(&one(0..10), &(3..5)), vec![0..3, 5..10]);
        assert_eq!(subtract(&[0..4, 6..9], &(2..7)), vec![0..2, 7..9]);
        assert_eq!(subtract(&one(0..4), &(0..4)), vec![]);
        assert_eq!(complement(&[2..3, 5..10], 10), vec![0..2, 3..5]);
    }
}
