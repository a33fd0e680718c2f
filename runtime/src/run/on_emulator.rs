//! Prepared launches on either device, by the same calls: what is enqueued on a GPU runs to its end
//! on the emulator.

use std::ffi::c_void;
use std::sync::Arc;

use crate::cuda::DeviceMemory;
use crate::device::{Arg, Buffer, Device, LoadedKernel};
use crate::emulated::EmulatedBuffer;
use crate::error::{Error, Refusal, refused};
use crate::launch::fit::{View, prepare};
use crate::launch::problem::Problem;
use crate::run::prepared::{Emulated, Prepared, WORKSPACE_ALIGNMENT_BYTES, check_workspace};

/// Memory of the emulator for an operand, from so many bytes behind its start on.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    pub operand: &'a str,
    pub memory: &'a EmulatedBuffer,
    pub at_bytes: u64,
}

impl Prepared {
    /// Checks everything that a launch on the emulator checks, without launching.
    ///
    /// # Errors
    /// [`Error::Refused`] with every reason; [`Error::ForeignBuffer`] for memory of another device.
    pub(crate) fn on_emulator(
        device: &Device,
        loaded: Arc<LoadedKernel>,
        problem: &Problem,
        operands: &[Lent<'_>],
    ) -> Result<Prepared, Error> {
        let kernel = loaded.kernel();
        if let Device::Emulator(device) = device {
            let mut memories = operands.iter().map(|one| one.memory);
            memories.try_for_each(|memory| device.may_use(memory))?;
        }
        let prepared = || {
            let fits = device.fit(kernel, problem)?;
            let launch = prepare(kernel, &fits, device.info(), &apart(operands));
            launch.map_err(|refusals| refused(kernel, refusals))
        };
        let launch = loaded.counted(prepared())?;
        let memories = operands.iter().map(|one| one.memory);
        let memories = memories.map(EmulatedBuffer::shared).map(Buffer::Emulated);
        let kept = operands.iter().zip(memories);
        let kept = kept.map(|(one, memory)| (one.operand.to_owned(), memory, one.at_bytes));
        let emulated = Emulated {
            problem: problem.clone(),
            operands: kept.collect(),
        };
        Ok(Prepared {
            loaded,
            launch,
            emulated: Some(Arc::new(emulated)),
        })
    }

    /// Runs it to its end on the emulator.
    fn run(&self, device: &Device) -> Result<(), Error> {
        let emulated = self.emulated.as_ref().ok_or(Error::ForeignBuffer)?;
        let operands = emulated.operands.iter();
        let args: Vec<Arg<'_>> = operands
            .map(|(operand, memory, at)| Arg::at(operand, memory, *at))
            .collect();
        device.launch(&self.loaded, &emulated.problem, &args)?;
        Ok(())
    }
}

/// The memory of operands at addresses that tell which of them share it.
fn apart<'a>(operands: &[Lent<'a>]) -> Vec<View<'a>> {
    let mut next = WORKSPACE_ALIGNMENT_BYTES;
    let mut starts: Vec<u64> = Vec::new();
    for (at, one) in operands.iter().enumerate() {
        let mut before = operands.iter().take(at).zip(&starts);
        let same = before.find(|(other, _)| other.memory.is_same(one.memory));
        let start = same.map_or(next, |(_, start)| *start);
        starts.push(start);
        let end = start.saturating_add(one.memory.bytes());
        let end = end.checked_next_multiple_of(WORKSPACE_ALIGNMENT_BYTES);
        next = next.max(end.unwrap_or(u64::MAX));
    }
    let view = |(one, start): (&Lent<'a>, &u64)| View {
        operand: one.operand,
        address: start.saturating_add(one.at_bytes),
        bytes: one.memory.bytes().saturating_sub(one.at_bytes),
    };
    operands.iter().zip(&starts).map(view).collect()
}

impl Device {
    /// Enqueues a prepared launch on the device's own stream; see [`Device::enqueue_on`].
    ///
    /// # Safety
    /// As of [`Device::enqueue_on`].
    ///
    /// # Errors
    /// As [`Device::enqueue_on`].
    pub unsafe fn enqueue(
        &self,
        prepared: &Prepared,
        workspace: Option<&Buffer>,
    ) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's promise is the callee's.
            Device::Cuda(device) => unsafe { device.enqueue(prepared, of_gpu(workspace)?) },
            Device::Emulator(_) => self.enqueue_emulated(prepared, workspace),
        }
    }

    /// Enqueues a prepared launch on a stream of the caller's, as
    /// [`CudaDevice::enqueue_on`](crate::cuda::CudaDevice::enqueue_on) does. On the emulator, which
    /// has no streams, the stream is null and the launch runs to its end; a workspace is refused
    /// where a GPU would refuse it or it is not zero where it has to be, and the emulator has its
    /// own all the same.
    ///
    /// # Safety
    /// On a GPU as of [`CudaDevice::enqueue_on`](crate::cuda::CudaDevice::enqueue_on); on the
    /// emulator nothing is asked, as a launch keeps its memory there.
    ///
    /// # Errors
    /// When the launch or the workspace is another device's; when the workspace is too small or not
    /// aligned, or the driver refuses the launch; on the emulator as [`Device::launch`], and for a
    /// stream.
    pub unsafe fn enqueue_on(
        &self,
        stream: *mut c_void,
        prepared: &Prepared,
        workspace: Option<&Buffer>,
    ) -> Result<(), Error> {
        match self {
            Device::Cuda(device) => {
                let workspace = of_gpu(workspace)?;
                // SAFETY: the caller's promise is the callee's.
                unsafe { device.enqueue_on(stream, prepared, workspace) }
            }
            Device::Emulator(_) if !stream.is_null() => Err(Error::Program(
                "a stream of a GPU is of no use on the emulator, which runs a launch to its end: \
                 give a null one"
                    .to_owned(),
            )),
            Device::Emulator(_) => self.enqueue_emulated(prepared, workspace),
        }
    }

    fn enqueue_emulated(
        &self,
        prepared: &Prepared,
        workspace: Option<&Buffer>,
    ) -> Result<(), Error> {
        if let Some(lent) = workspace {
            match (self, lent) {
                (Device::Emulator(device), Buffer::Emulated(memory)) => device.may_use(memory)?,
                _ => return Err(Error::ForeignBuffer),
            }
            // Memory of the emulator is aligned as that of a GPU.
            check_workspace(prepared.kernel(), prepared.workspace_bytes(), 0, lent.len())?;
            self.check_zeros(prepared, lent)?;
        }
        prepared.run(self)
    }

    /// Refuses lent scratch memory that is not zero where the kernel counts in it: on a GPU it
    /// would wait for ever, or not at all. What leaves zeros there finds them at each launch.
    fn check_zeros(&self, prepared: &Prepared, lent: &Buffer) -> Result<(), Error> {
        let zero = prepared.launch().workspace_zero_bytes;
        if zero == 0 {
            return Ok(());
        }
        let bytes = self.download(lent)?;
        match bytes.iter().take(zero as usize).position(|byte| *byte != 0) {
            Some(at) => Err(refused(
                prepared.kernel(),
                vec![Refusal::WorkspaceNotZero {
                    at: at as u64,
                    zero: zero.into(),
                }],
            )),
            None => Ok(()),
        }
    }
}

/// Scratch memory on a GPU.
fn of_gpu(workspace: Option<&Buffer>) -> Result<Option<&DeviceMemory>, Error> {
    match workspace {
        None => Ok(None),
        Some(Buffer::Cuda(memory)) => Ok(Some(memory)),
        Some(Buffer::Emulated(_)) => Err(Error::ForeignBuffer),
    }
}
