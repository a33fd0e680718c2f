//! Opening a bundle on a device, and closing it.

use std::ffi::c_char;
use std::path::Path;
use std::sync::OnceLock;

use tilewright_runtime::bundle::Bundle;
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{Device, Error, Options, Runtime};

use crate::described::{DeviceText, FunctionText, KernelText};
use crate::failure::Failure;
use crate::foreign::{Growable, Plain, place, put, read_array, read_text, write_struct, zeroed};
use crate::guard::{call, call_on};
use crate::handles::{self, Kind, Object};
use crate::options::{
    self, Asked, MOST_PATH_BYTES, TW_BACKEND_CUDA, TW_BACKEND_EMULATOR, tw_open_options,
};
use crate::problem::Home;
use crate::status::tw_status;

/// A bundle open on a device. Freed by `tw_close`.
pub struct tw_runtime {
    _opaque: [u8; 0],
}

/// Most files of a bundle from memory.
const MOST_FILES: usize = 1 << 16;

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
    fn new(bundle: Bundle, device: Device, options: &Options) -> Result<Opened, Failure> {
        let device_text = DeviceText::of(device.info());
        let runtime = Runtime::new(bundle, device).with_options(options)?;
        let functions = runtime.functions().into_iter();
        Ok(Opened {
            kernels: runtime.kernels().iter().map(|_| OnceLock::new()).collect(),
            functions: functions.map(|k| FunctionText::of(&runtime, k)).collect(),
            device: device_text,
            runtime,
        })
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

/// Opens a bundle where and as options ask for, and gives it a handle.
fn give(bundle: Bundle, asked: &Asked) -> Result<*mut tw_runtime, Failure> {
    // Code that is loaded now needs the device's context; the thread gets its own back.
    let (device, _current) = asked.device()?;
    let opened = Opened::new(bundle, device, &asked.options)?;
    Ok(handles::give(opened)?.cast())
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
        let (path, asked) = unsafe {
            let path = read_text(path, MOST_PATH_BYTES, "path")?;
            (path, options::read(options)?)
        };
        let bundle = asked.policy.open(Path::new(path)).map_err(Error::from)?;
        let given = give(bundle, &asked)?;
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
        let (files, asked) = unsafe {
            let files = read_array(files, file_count, MOST_FILES, "files")?;
            (files, options::read(options)?)
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
        let bundle = asked.policy.open_files(read).map_err(Error::from)?;
        let given = give(bundle, &asked)?;
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
