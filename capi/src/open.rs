//! Opening a bundle on a device, and closing it.

use std::ffi::c_char;
use std::path::Path;
use std::sync::OnceLock;

use tilewright_runtime::bundle::Bundle;
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{Device, EmulatorSettings, Runtime};

use crate::described::{DeviceText, FunctionText, KernelText};
use crate::failure::{Failure, Why};
use crate::foreign::{
    Growable, Plain, place, put, read_array, read_struct, read_text, write_struct, zeroed,
};
use crate::guard::{call, call_on};
use crate::handles::{self, Kind, Object};
use crate::problem::Home;
use crate::status::tw_status;

/// A bundle open on a device. Freed by `tw_close`.
pub struct tw_runtime {
    _opaque: [u8; 0],
}

/// A GPU.
pub const TW_BACKEND_CUDA: i32 = 1;
/// The emulator: kernels run on the host, on memory of the host, before the call returns.
pub const TW_BACKEND_EMULATOR: i32 = 2;

/// Most bytes of a path.
const MOST_PATH_BYTES: usize = 4096;
/// Most files of a bundle from memory.
const MOST_FILES: usize = 1 << 16;

/// How a bundle is opened. Set everything to 0 and then `struct_size` and what is wanted: what is
/// added later does nothing at 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_open_options {
    /// `sizeof(tw_open_options)`.
    pub struct_size: usize,
    /// `TW_BACKEND_*`; 0 is a GPU.
    pub backend: i32,
    /// Which GPU, opened on its primary context.
    pub device_ordinal: i32,
    /// Multiprocessors that the emulator pretends to have; 0 for as many as it likes.
    pub emulator_sms: u32,
    /// The compute capability that the emulator pretends to have, 90 for 9.0; 0 for every one.
    pub emulator_sm: u32,
}

/// A file of a bundle in memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_file {
    /// Path in the bundle: `manifest.json`.
    pub path: *const c_char,
    /// Its content.
    pub data: *const u8,
    /// Bytes of it.
    pub bytes: usize,
}

/// What a device says of itself. Texts live as long as the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_device_info {
    /// `sizeof(tw_device_info)`, set by the caller.
    pub struct_size: usize,
    /// `NVIDIA H200`, `emulator`.
    pub name: *const c_char,
    /// `TW_BACKEND_*`.
    pub backend: i32,
    /// The GPU's ordinal; -1 on the emulator.
    pub device_ordinal: i32,
    /// Compute capability, 90 for 9.0; 0 on an emulator that takes every one.
    pub sm: u32,
    /// Streaming multiprocessors.
    pub sms: u32,
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_open_options {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_open_options {
    const NAME: &'static str = "tw_open_options";
    const LEAST_BYTES: usize = 24;
}
// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_file {}
// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_device_info {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_device_info {
    const NAME: &'static str = "tw_device_info";
    const LEAST_BYTES: usize = 32;
}

/// What stands behind a runtime's handle.
pub struct Opened {
    pub runtime: Runtime,
    /// Texts of the kernels, each made when it is first asked for.
    pub kernels: Vec<OnceLock<KernelText>>,
    pub functions: Vec<FunctionText>,
    device: DeviceText,
}

impl Object for Opened {
    const KIND: Kind = Kind::Runtime;
}

impl Opened {
    fn new(bundle: Bundle, device: Device) -> Opened {
        let device_text = DeviceText::of(device.info());
        let runtime = Runtime::new(bundle, device);
        let functions = runtime.functions().into_iter();
        Opened {
            kernels: runtime.kernels().iter().map(|_| OnceLock::new()).collect(),
            functions: functions.map(|k| FunctionText::of(&runtime, k)).collect(),
            device: device_text,
            runtime,
        }
    }

    /// Where operands lie.
    pub fn home(&self) -> Home {
        match self.runtime.device() {
            Device::Cuda(device) => Home::Cuda(i32::try_from(device.ordinal()).unwrap_or(-1)),
            Device::Emulator(_) => Home::Host,
        }
    }

    /// On a GPU, keeps the context that is current on the thread for as long as the value lives.
    pub fn current(&self) -> Result<Option<Current>, Failure> {
        match self.runtime.device() {
            Device::Cuda(_) => Ok(Some(Current::kept()?)),
            Device::Emulator(_) => Ok(None),
        }
    }
}

/// The device that options ask for.
fn device(options: &tw_open_options) -> Result<Device, Failure> {
    match options.backend {
        0 | TW_BACKEND_CUDA => {
            let given = options.device_ordinal;
            let ordinal = usize::try_from(given).map_err(|_| {
                let text = format!("device_ordinal is {given}; 0 or more is allowed");
                Why::of("device", "device_ordinal", text).with("0 or more", given)
            })?;
            let _current = Current::kept()?;
            Ok(Device::cuda(ordinal)?)
        }
        TW_BACKEND_EMULATOR => {
            let mut settings = EmulatorSettings::default();
            if options.emulator_sms > 0 {
                settings.sms = options.emulator_sms;
            }
            settings.sm = Some(options.emulator_sm).filter(|sm| *sm > 0);
            Ok(Device::emulator_with(settings))
        }
        other => {
            let needs = "TW_BACKEND_CUDA (1) or TW_BACKEND_EMULATOR (2)";
            let text = format!("backend is {other}; {needs} is allowed");
            Err(Why::of("backend", "backend", text)
                .with(needs, other)
                .into())
        }
    }
}

/// # Safety
/// The pointer is null or points to options.
unsafe fn read_options(from: *const tw_open_options) -> Result<tw_open_options, Failure> {
    match from.is_null() {
        true => Ok(zeroed()),
        // SAFETY: the caller's promise is the callee's.
        false => unsafe { read_struct(from, "options") },
    }
}

/// Opens the bundle in a folder, whose path is UTF-8. Options may be null: the first GPU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_open(
    path: *const c_char,
    options: *const tw_open_options,
    runtime: *mut *mut tw_runtime,
) -> tw_status {
    call(|| {
        place(runtime, "runtime")?;
        // SAFETY: the caller says that text and options are there.
        let (path, options) = unsafe {
            let path = read_text(path, MOST_PATH_BYTES, "path")?;
            (path, read_options(options)?)
        };
        let bundle = Bundle::open(Path::new(path)).map_err(tilewright_runtime::Error::from)?;
        let opened = Opened::new(bundle, device(&options)?);
        let given = handles::give(opened)?.cast();
        // SAFETY: the place is not null.
        unsafe { put(runtime, given) };
        Ok(())
    })
}

/// Opens a bundle whose files are in memory, which is not needed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_open_files(
    files: *const tw_file,
    file_count: usize,
    options: *const tw_open_options,
    runtime: *mut *mut tw_runtime,
) -> tw_status {
    call(|| {
        place(runtime, "runtime")?;
        // SAFETY: the caller says that the files and options are there.
        let (files, options) = unsafe {
            let files = read_array(files, file_count, MOST_FILES, "files")?;
            (files, read_options(options)?)
        };
        let mut read: Vec<(&str, &[u8])> = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let place = format!("files[{at}].path");
            // SAFETY: as above.
            let path = unsafe { read_text(file.path, MOST_PATH_BYTES, &place) }?;
            let content = match (file.data.is_null(), file.bytes) {
                (_, 0) => &[],
                (true, _) => return Err(Failure::null(&format!("files[{at}].data"))),
                // SAFETY: as above; nothing is kept of it.
                (false, bytes) => unsafe { std::slice::from_raw_parts(file.data, bytes) },
            };
            read.push((path, content));
        }
        let bundle = Bundle::from_files(read).map_err(tilewright_runtime::Error::from)?;
        let opened = Opened::new(bundle, device(&options)?);
        let given = handles::give(opened)?.cast();
        // SAFETY: the place is not null.
        unsafe { put(runtime, given) };
        Ok(())
    })
}

/// Frees a runtime and its texts; null is none. Launches made with it keep what they need.
#[unsafe(no_mangle)]
pub extern "C" fn tw_close(runtime: *mut tw_runtime) -> tw_status {
    call(|| {
        if runtime.is_null() {
            return Ok(());
        }
        let held = handles::get::<Opened>(runtime.cast())?;
        // Unloading code needs the device's context; the thread gets its own back.
        let current = held.object.current();
        let freed = handles::free::<Opened>(runtime.cast());
        drop(held);
        drop(current);
        freed
    })
}

/// What the runtime's device says of itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_device(
    runtime: *const tw_runtime,
    info: *mut tw_device_info,
) -> tw_status {
    call_on::<Opened>(runtime.cast(), |_, opened| {
        let told = opened.runtime.device().info();
        let (backend, device_ordinal) = match opened.home() {
            Home::Cuda(ordinal) => (TW_BACKEND_CUDA, ordinal),
            Home::Host => (TW_BACKEND_EMULATOR, -1),
        };
        let value = tw_device_info {
            name: opened.device.name.as_ptr(),
            backend,
            device_ordinal,
            sm: told.sm.unwrap_or(0),
            sms: told.sms,
            ..zeroed()
        };
        // SAFETY: the caller says how large its struct is.
        unsafe { write_struct(info, "info", &value) }
    })
}
