//! Launches on memory of the host: on the emulator arrays go in, are run on, and what was written
//! comes back.
//!
//! Arrays that overlap stand in one buffer, each at its place, and every buffer begins as far
//! behind a multiple of 256 as its arrays do: so alignment and overlap are judged as they are on a
//! GPU. The memory itself is touched through [`HostMemory`] alone.

use std::sync::Arc;

use crate::device::{Arg, Buffer, Device, LoadedKernel};
use crate::error::{Error, refused};
use crate::launch::fit::{LaunchReport, View, prepare};
use crate::launch::problem::Problem;
use crate::launch::request::Placed;
use crate::run::prepared::check_workspace;

/// What the emulator's buffers are aligned to.
const ALIGNMENT_BYTES: u64 = 256;

/// Memory of the host that a caller lends for a launch, by address.
pub trait HostMemory {
    /// Copies the bytes from `address` on into `into`.
    fn read(&self, address: u64, into: &mut [u8]);

    /// Copies `from` to the bytes from `address` on.
    fn write(&self, address: u64, from: &[u8]);
}

/// A kernel on a problem of operands in memory of the host, checked.
#[derive(Debug, Clone)]
pub struct HostLaunch {
    loaded: Arc<LoadedKernel>,
    problem: Problem,
    workspace_bytes: u64,
    /// Whether there is nothing to do.
    is_empty: bool,
}

impl HostLaunch {
    /// Checks everything that a launch checks, without launching.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason.
    pub fn new(
        device: &Device,
        loaded: Arc<LoadedKernel>,
        problem: Problem,
        operands: &[Placed<'_>],
    ) -> Result<HostLaunch, Error> {
        let kernel = loaded.kernel();
        let fit = device.fit(kernel, &problem)?;
        let views: Vec<View<'_>> = operands.iter().map(Placed::view).collect();
        let launch = prepare(kernel, &fit, device.info(), &views);
        let launch = launch.map_err(|refusals| refused(kernel, refusals))?;
        Ok(HostLaunch {
            loaded,
            problem,
            workspace_bytes: launch.workspace(),
            is_empty: fit.is_empty(),
        })
    }

    /// The kernel.
    pub fn loaded(&self) -> &LoadedKernel {
        &self.loaded
    }

    /// What is computed.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Scratch memory that it wants; 0 where it takes none.
    pub fn workspace_bytes(&self) -> u64 {
        self.workspace_bytes
    }

    /// Refuses scratch memory as a launch on a GPU does. The emulator has its own all the same.
    ///
    /// # Errors
    /// [`Error::Refused`] when it is too small or not aligned.
    pub fn check_workspace(&self, address: u64, bytes: u64) -> Result<(), Error> {
        check_workspace(self.loaded.kernel(), self.workspace_bytes, address, bytes)
    }

    /// Runs the kernel on operands that lie as those it was made with.
    ///
    /// # Errors
    /// As [`Device::launch`]; nothing is written then.
    pub fn run(
        &self,
        device: &Device,
        operands: &[Placed<'_>],
        memory: &impl HostMemory,
    ) -> Result<LaunchReport, Error> {
        if self.is_empty {
            return Ok(LaunchReport::default());
        }
        let ranges = ranges(operands);
        let mut buffers: Vec<Buffer> = Vec::new();
        for range in &ranges {
            buffers.push(range.buffer(device, memory)?);
        }
        let mut args: Vec<Arg<'_>> = Vec::new();
        for placed in operands {
            let (at, offset) = place(&ranges, placed.address).ok_or(Error::ForeignBuffer)?;
            args.push(Arg::at(placed.tensor.operand, &buffers[at], offset));
        }
        let report = device.launch(&self.loaded, &self.problem, &args)?;
        let kernel = self.loaded.kernel();
        for (at, buffer) in buffers.iter().enumerate() {
            let content = device.download(buffer)?;
            for placed in operands {
                let operand = kernel.semantics.operand(placed.tensor.operand);
                let is_written = operand.is_some_and(|operand| operand.role.is_written());
                match place(&ranges, placed.address) {
                    Some((of, offset)) if is_written && of == at => {
                        let image = content.get(offset as usize..).unwrap_or_default();
                        write_back(placed, image, memory);
                    }
                    _ => {}
                }
            }
        }
        Ok(report)
    }
}

/// Bytes of the host that arrays share.
struct Range {
    start: u64,
    end: u64,
}

impl Range {
    /// Bytes of the buffer before the first of the range.
    fn lead(&self) -> u64 {
        self.start % ALIGNMENT_BYTES
    }

    /// A buffer that holds what the range does.
    fn buffer(&self, device: &Device, memory: &impl HostMemory) -> Result<Buffer, Error> {
        let bytes = self.end - self.start;
        let buffer = device.alloc(self.lead() + bytes)?;
        let mut content: Vec<u8> = Vec::new();
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let kept = content.try_reserve_exact(size);
        kept.map_err(|error| Error::NoMemory {
            bytes,
            reason: error.to_string(),
        })?;
        content.resize(size, 0);
        memory.read(self.start, &mut content);
        device.upload(&buffer, self.lead(), &content)?;
        Ok(buffer)
    }
}

/// The ranges of some tensors, those that touch made one.
fn ranges(operands: &[Placed<'_>]) -> Vec<Range> {
    let range = |placed: &Placed<'_>| Range {
        start: placed.address,
        end: placed.address.saturating_add(placed.span_bytes()),
    };
    let mut all: Vec<Range> = operands.iter().map(range).collect();
    all.sort_by_key(|range| range.start);
    let mut joined: Vec<Range> = Vec::new();
    for range in all {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The range that an address lies in, and how far into its buffer.
fn place(ranges: &[Range], address: u64) -> Option<(usize, u64)> {
    let holds = |range: &Range| (range.start..range.end.max(range.start + 1)).contains(&address);
    let at = ranges.iter().position(holds)?;
    let range = ranges.get(at)?;
    Some((at, range.lead() + (address - range.start)))
}

/// Copies the elements of a tensor out of an image of its memory.
fn write_back(placed: &Placed<'_>, image: &[u8], memory: &impl HostMemory) {
    let dtype = placed.tensor.dtype;
    let (together, size) = (i64::from(dtype.per_byte()), i64::from(dtype.bytes()));
    placed.tensor.place.for_each_run(|offset, _, count| {
        // Of two elements in a byte the other one is as it was, in the image too.
        let at = offset / together * size;
        let end = (offset + count + together - 1) / together * size;
        let [at, end] = [at, end].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if let Some(from) = image.get(at..end) {
            memory.write(placed.address + at as u64, from);
        }
    });
}

#[cfg(test)]
mod tests;
