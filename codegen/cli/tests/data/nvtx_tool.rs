//! The profiler's half of NVTX 3 as a library of its own: writes what it is told to a file.
//!
//! `NVTX_TOOL_LOG` names the file. A line is `create NAME`, `push NAME` or `pop`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::ptr::null_mut;

type GetExportTable = unsafe extern "C" fn(u32) -> *const Callbacks;
type Table = *mut *mut *const c_void;

#[repr(C)]
pub struct Callbacks {
    struct_size: usize,
    get_module_function_table: unsafe extern "C" fn(c_uint, *mut Table, *mut c_uint) -> c_int,
}

#[repr(C)]
pub struct EventAttributes {
    version_and_size: [u16; 2],
    numbers: [u32; 5],
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

fn log(line: &str) {
    let path = std::env::var_os("NVTX_TOOL_LOG").unwrap();
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    writeln!(file, "{line}").unwrap();
}

unsafe extern "C" fn create(name: *const c_char) -> *mut c_void {
    log(&format!(
        "create {}",
        unsafe { CStr::from_ptr(name) }.to_str().unwrap()
    ));
    null_mut()
}

unsafe extern "C" fn push(_: *mut c_void, attributes: *const EventAttributes) -> c_int {
    let name = unsafe { CStr::from_ptr((*attributes).message) };
    log(&format!("push {}", name.to_str().unwrap()));
    0
}

unsafe extern "C" fn pop(_: *mut c_void) -> c_int {
    log("pop");
    0
}

/// What a client calls first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(export: GetExportTable) -> c_int {
    let (mut table, mut size): (Table, c_uint) = (null_mut(), 0);
    unsafe {
        let callbacks = &*export(1);
        let known = (callbacks.get_module_function_table)(5, &mut table, &mut size);
        assert_eq!((known, size), (1, 16));
        **table.add(12) = create as *const c_void;
        **table.add(4) = push as *const c_void;
        **table.add(5) = pop as *const c_void;
    }
    1
}
