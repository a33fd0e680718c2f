//! Launches on the emulator: arrays of the host go in, are run on, and what was written comes back.
//!
//! Arrays that overlap stand in one buffer, each at its place, and every buffer begins as far
//! behind a multiple of 256 as its arrays do: so alignment and overlap are judged as they are on a
//! GPU.

use pyo3::prelude::*;
use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::{Arg, Buffer, Device, LaunchReport, LoadedKernel, Problem};

use crate::failure::{Error, raised};
use crate::tensor::{Home, Tensor};

/// What the emulator's buffers are aligned to.
const ALIGNMENT_BYTES: u64 = 256;

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
}

/// The ranges of some tensors, those that touch made one.
fn ranges(tensors: &[(String, Tensor)]) -> Vec<Range> {
    let mut all: Vec<Range> = tensors
        .iter()
        .map(|(_, tensor)| Range {
            start: tensor.address,
            end: tensor.address.saturating_add(tensor.span_bytes()),
        })
        .collect();
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

/// Refuses arrays that a launch on the host cannot use.
pub(crate) fn check(kernel: &Kernel, tensors: &[(String, Tensor)]) -> PyResult<()> {
    for (name, tensor) in tensors {
        if tensor.home != Home::Host {
            let text = format!("`{name}` is on a GPU; the emulator takes arrays of the host");
            return Err(Error::new_err(text));
        }
        let operand = kernel.semantics.operand(name);
        if tensor.is_read_only && operand.is_some_and(|o| o.role.is_written()) {
            let text = format!("`{name}` is written, and the array given is read-only");
            return Err(Error::new_err(text));
        }
    }
    Ok(())
}

/// Runs a kernel on arrays of the host, which the caller keeps.
///
/// # Errors
/// As the runtime's launch; nothing is written then.
pub(crate) fn run(
    device: &Device,
    loaded: &LoadedKernel,
    problem: &Problem,
    tensors: &[(String, Tensor)],
) -> Result<LaunchReport, PyErr> {
    let kernel = loaded.kernel();
    let ranges = ranges(tensors);
    let mut buffers: Vec<Buffer> = Vec::new();
    for range in &ranges {
        let lead = range.lead();
        let buffer = device
            .alloc(lead + (range.end - range.start))
            .map_err(raised)?;
        device
            .upload(
                &buffer,
                lead,
                &bytes_at(range.start, range.end - range.start),
            )
            .map_err(raised)?;
        buffers.push(buffer);
    }
    let place = |tensor: &Tensor| {
        let at = ranges
            .iter()
            .position(|r| (r.start..r.end.max(r.start + 1)).contains(&tensor.address));
        let at = at.unwrap_or(0);
        (at, ranges[at].lead() + (tensor.address - ranges[at].start))
    };
    let args: Vec<Arg<'_>> = tensors
        .iter()
        .map(|(name, tensor)| {
            let (at, offset) = place(tensor);
            Arg::at(name, &buffers[at], offset)
        })
        .collect();
    let report = device.launch(loaded, problem, &args).map_err(raised)?;
    let contents: Vec<Vec<u8>> = buffers
        .iter()
        .map(|buffer| device.download(buffer).map_err(raised))
        .collect::<Result<_, _>>()?;
    for (name, tensor) in tensors {
        let operand = kernel.semantics.operand(name);
        if operand.is_some_and(|operand| operand.role.is_written()) {
            let (at, offset) = place(tensor);
            write_back(
                tensor,
                contents[at].get(offset as usize..).unwrap_or_default(),
            );
        }
    }
    Ok(report)
}

/// A copy of bytes of the host.
fn bytes_at(address: u64, bytes: u64) -> Vec<u8> {
    if bytes == 0 {
        return Vec::new();
    }
    let start = std::ptr::with_exposed_provenance::<u8>(address as usize);
    // SAFETY: the range is that of tensors which say that it is theirs; they are kept alive, and
    // the problem's fit has shown that extents and strides are positive.
    unsafe { std::slice::from_raw_parts(start, bytes as usize) }.to_vec()
}

/// Copies the elements of a tensor out of an image of its memory.
fn write_back(tensor: &Tensor, image: &[u8]) {
    tensor.place.for_each_run(|offset, _, count| {
        let bytes_of = |elems: i64| tensor.dtype.row_bytes(elems.unsigned_abs());
        // Runs of elements of less than a byte begin and end with whole bytes: see `paired`.
        let [at, bytes] = [offset, count].map(|elems| bytes_of(elems).unwrap_or(0) as usize);
        let Some(from) = image.get(at..at + bytes) else {
            return;
        };
        let to = std::ptr::with_exposed_provenance_mut::<u8>(tensor.address as usize + at);
        // SAFETY: the run lies inside the tensor's memory, which may be written: see `check`. The
        // image is a copy, so the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, bytes) };
    });
}

/// The elements of a tensor of the host, last axis innermost.
pub(crate) fn dense(tensor: &Tensor) -> Vec<u8> {
    gathered(tensor, &bytes_at(tensor.address, tensor.span_bytes()))
}

/// The elements of a tensor in an image of its memory, last axis innermost.
pub(crate) fn gathered(tensor: &Tensor, image: &[u8]) -> Vec<u8> {
    tensor.place.gather(tensor.dtype, image, 0)
}
