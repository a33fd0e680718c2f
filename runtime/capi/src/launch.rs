//! A kernel on a problem: checked once, launched as often as one likes.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use tilewright_runtime::cuda::CudaDevice;
use tilewright_runtime::{
    Described, Device, HostLaunch, Placed, Prepared, Request, WORKSPACE_ALIGNMENT_BYTES,
};

use crate::failure::{Failure, Why};
use crate::foreign::{Growable, Plain, c_text, place, put, write_struct, zeroed};
use crate::guard::{call, call_on};
use crate::handles::{self, Held, Kind, Object};
use crate::host_memory::Lent;
use crate::open::{Opened, tw_runtime};
use crate::problem::{self, tw_problem};
use crate::status::tw_status;

/// A kernel on a problem, ready to be launched. Freed by `tw_launch_free`.
pub struct tw_launch {
    _opaque: [u8; 0],
}

/// What a launch is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_launch_info {
    /// `sizeof(tw_launch_info)`, set by the caller.
    pub struct_size: usize,
    /// The kernel's index.
    pub kernel: usize,
    /// Extents, strides and scalars as one line, which lives as long as the launch.
    pub problem: *const c_char,
    /// Scratch memory that it wants; 0 where it takes none.
    pub workspace_bytes: u64,
    /// What the scratch memory's address is a multiple of.
    pub workspace_alignment: u64,
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_launch_info {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_launch_info {
    const NAME: &'static str = "tw_launch_info";
    const LEAST_BYTES: usize = 40;
}

/// What stands behind a launch's handle.
struct Ready {
    /// The runtime lives as long as its launches.
    opened: Arc<Held<Opened>>,
    kernel: usize,
    problem: CString,
    way: Way,
}

enum Way {
    Cuda(CudaDevice, Box<Prepared>),
    Host(HostLaunch, Vec<Kept>),
}

/// An operand with its name.
struct Kept {
    name: String,
    placed: Placed<'static>,
}

impl Kept {
    fn of(placed: &Placed<'_>) -> Kept {
        let Described { dtype, place, .. } = placed.tensor;
        Kept {
            name: placed.tensor.operand.to_owned(),
            placed: Placed {
                tensor: Described {
                    operand: "",
                    dtype,
                    place,
                },
                ..*placed
            },
        }
    }

    fn placed(&self) -> Placed<'_> {
        let mut placed: Placed<'_> = self.placed.clone();
        placed.tensor.operand = &self.name;
        placed
    }
}

impl Object for Ready {
    const KIND: Kind = Kind::Launch;
}

impl Ready {
    fn new(
        opened: &Arc<Held<Opened>>,
        index: usize,
        request: &Request<'_>,
    ) -> Result<Ready, Failure> {
        let Opened { runtime, .. } = &opened.object;
        let (kernel, _) = opened.object.kernel(index)?;
        let problem = request.problem(kernel).map_err(|refusals| {
            let kernel = kernel.id.clone();
            tilewright_runtime::Error::Refused { kernel, refusals }
        })?;
        let _current = opened.object.current()?;
        let loaded = runtime.load(kernel)?;
        let text = c_text(&problem.to_string());
        let way = match runtime.device() {
            Device::Cuda(device) => {
                let prepared = device.prepare(loaded, &problem, &request.operands)?;
                Way::Cuda(device.clone(), Box::new(prepared))
            }
            device @ Device::Emulator(_) => {
                let launch = HostLaunch::new(device, loaded, problem, &request.operands)?;
                Way::Host(launch, request.operands.iter().map(Kept::of).collect())
            }
        };
        Ok(Ready {
            opened: opened.clone(),
            kernel: index,
            problem: text,
            way,
        })
    }

    fn workspace_bytes(&self) -> u64 {
        match &self.way {
            Way::Cuda(_, prepared) => prepared.workspace_bytes(),
            Way::Host(launch, _) => launch.workspace_bytes(),
        }
    }

    /// # Safety
    /// As of [`tw_enqueue`].
    unsafe fn enqueue(
        &self,
        stream: *mut c_void,
        workspace: Option<(u64, u64)>,
    ) -> Result<(), Failure> {
        match &self.way {
            Way::Cuda(device, prepared) => {
                let _current = self.opened.object.current()?;
                // SAFETY: the caller says that the scratch memory is there.
                let borrow = |(at, bytes)| unsafe { device.borrow(at, bytes) };
                let lent = workspace.map(borrow);
                // SAFETY: the caller says that operands, stream and scratch memory are there until
                // the work is done.
                Ok(unsafe { device.enqueue_on(stream, prepared, lent.as_ref()) }?)
            }
            Way::Host(launch, operands) => {
                if !stream.is_null() {
                    let text = "the emulator has no streams: give null";
                    return Err(Why::of("stream", "stream", text)
                        .with("null", "a stream")
                        .into());
                }
                if let Some((address, bytes)) = workspace {
                    launch.check_workspace(address, bytes)?;
                }
                let operands: Vec<Placed<'_>> = operands.iter().map(Kept::placed).collect();
                // SAFETY: the caller says that the operands are there during the call.
                let memory = unsafe { Lent::new() };
                let device = self.opened.object.runtime.device();
                launch.run(device, &operands, &memory)?;
                Ok(())
            }
        }
    }
}

/// Checks a kernel on a problem once, and loads its code: everything that a launch needs is known
/// then. The operands' memory must be there from now until the last launch is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_prepare(
    runtime: *const tw_runtime,
    kernel: usize,
    problem: *const tw_problem,
    launch: *mut *mut tw_launch,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |held, opened| {
        place(launch, "launch")?;
        opened.kernel(kernel)?;
        // SAFETY: the caller says that the problem is there.
        let request = unsafe { problem::read(problem, opened.home()) }?;
        let given = handles::give(Ready::new(held, kernel, &request)?)?.cast();
        // SAFETY: the place is not null.
        unsafe { put(launch, given) };
        Ok(())
    })
}

/// What a launch is, and how much scratch memory it wants.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_launch_describe(
    launch: *const tw_launch,
    info: *mut tw_launch_info,
) -> tw_status {
    call_on::<Ready>(launch.cast(), |_, ready| {
        let value = tw_launch_info {
            kernel: ready.kernel,
            problem: ready.problem.as_ptr(),
            workspace_bytes: ready.workspace_bytes(),
            workspace_alignment: WORKSPACE_ALIGNMENT_BYTES,
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}

/// Launches: on a GPU enqueues on a stream and returns, on the emulator runs to the end.
///
/// `stream` is a `CUstream` or `cudaStream_t` of the device's primary context, null the default
/// one. `workspace` is scratch memory of the device, of `workspace_bytes` bytes: zero before its
/// first launch, which leaves zero what must be, and no other work's meanwhile. Null is scratch
/// memory that the library keeps for the stream. Nothing else is allocated on a GPU. The emulator
/// takes no stream but null, and checks scratch memory without using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_enqueue(
    launch: *const tw_launch,
    stream: *mut c_void,
    workspace: *mut c_void,
    workspace_bytes: u64,
) -> tw_status {
    call_on::<Ready>(launch.cast(), |_, ready| {
        if workspace.is_null() && workspace_bytes > 0 {
            let text = format!("workspace is null, and has {workspace_bytes} bytes");
            return Err(Why::of("null", "workspace", text).into());
        }
        let address = workspace.addr() as u64;
        let lent = (!workspace.is_null()).then_some((address, workspace_bytes));
        // SAFETY: the caller's promise is the callee's.
        unsafe { ready.enqueue(stream, lent) }
    })
}

/// Frees a launch; null is none. Wait for the work that it enqueued first: the kernel's code and
/// scratch memory go with the last launch of a closed runtime.
#[unsafe(no_mangle)]
pub extern "C" fn tw_launch_free(launch: *mut tw_launch) -> tw_status {
    call(|| {
        if launch.is_null() {
            return Ok(());
        }
        let held = handles::get::<Ready>(launch.cast())?;
        // The last launch of a closed runtime ends it, as in `tw_close`.
        let current = held.object.opened.object.current();
        let freed = handles::free::<Ready>(launch.cast());
        drop(held);
        drop(current);
        freed
    })
}

#[cfg(test)]
mod tests;
