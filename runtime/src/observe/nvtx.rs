//! Ranges that profilers show: every launch lies in one that has the kernel's id.
//!
//! In: the tool that a profiler names in `NVTX_INJECTION64_PATH`. Out: a push and a pop in the
//! domain `tilewright` on the thread that launches, whether the launch succeeds or not. Without a
//! tool, with one that cannot be loaded and with one that declines, a range is one load.
//!
//! This is the client's half of NVTX 3, which is a protocol and not a library (nvtxInit.h and
//! nvtxTypes.h of <https://github.com/NVIDIA/NVTX>): a profiler sets the variable for its children;
//! the client loads that file and calls its `InitializeInjectionNvtx2`; the tool asks for tables
//! of the calls it knows and writes its functions into them. Nsight Systems, Nsight Compute and
//! CUPTI all come this way. The library of NVTX 2, `libnvToolsExt.so.1`, would do no more than that
//! and is on few machines. A graph of launches has their ranges when it is captured, not when it is
//! replayed.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

#[cfg(test)]
mod tests;

/// Where a profiler says which tool to load.
const INJECTION: &str = "NVTX_INJECTION64_PATH";
/// The function of a tool that takes the export tables.
const INITIALIZE: &[u8] = b"InitializeInjectionNvtx2\0";
/// The domain of the ranges.
const DOMAIN: &CStr = c"tilewright";
/// The version of the protocol (nvToolsExt.h, `NVTX_VERSION`).
const VERSION: u16 = 3;

/// Calls of each module, which count from 1 (nvtxTypes.h, `NvtxCallbackModule` and the enumeration
/// of each): none, core, CUDA, OpenCL, CUDA runtime, domains, synchronization.
const CALLS: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
/// The module of the calls on domains, `NVTX_CB_MODULE_CORE2`, and its calls.
const DOMAINS: usize = 5;
const RANGE_PUSH: usize = 4;
const RANGE_POP: usize = 5;
const CREATE: usize = 12;
/// The export tables (nvtxTypes.h, `NvtxExportTableID`).
const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;
/// A message of bytes that end with 0 (nvToolsExt.h, `NVTX_MESSAGE_TYPE_ASCII`).
const ASCII: i32 = 1;

/// A function of the tool, null until it writes one there.
type Slot = AtomicPtr<c_void>;
/// What a tool sees of a module: where each call's function goes; the entry behind is null.
type Table = [Option<&'static Slot>; 17];

/// The functions of all calls of all modules.
static SLOTS: [[Slot; 16]; 7] = [const { [const { Slot::new(null_mut()) }; 16] }; 7];
static TABLES: OnceLock<[Table; 7]> = OnceLock::new();
static TOOL: OnceLock<Option<Tool>> = OnceLock::new();

type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;
type Initialize = unsafe extern "C" fn(GetExportTable) -> c_int;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    struct_size: usize,
    get_module_function_table:
        unsafe extern "C" fn(c_uint, *mut *const Option<&'static Slot>, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct VersionInfo {
    struct_size: usize,
    version: u32,
    reserved0: u32,
    set_injection_nvtx_version: extern "C" fn(u32),
}

/// `nvtxEventAttributes_v2`.
#[repr(C)]
struct EventAttributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved0: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

/// A profiler that takes ranges.
#[derive(Debug)]
struct Tool {
    /// What it made of [`DOMAIN`]; null is the default domain.
    domain: AtomicPtr<c_void>,
}

/// A range of the thread that opened it; it ends when this is dropped.
#[must_use]
pub(crate) struct Range {
    tool: Option<&'static Tool>,
    /// A range must end on its thread.
    thread: PhantomData<*const ()>,
}

/// Opens a range, if a profiler takes any.
pub(crate) fn range(name: &str) -> Range {
    Range::open(TOOL.get_or_init(Tool::injected).as_ref(), name)
}

impl Range {
    fn open(tool: Option<&'static Tool>, name: &str) -> Range {
        Range {
            tool: tool.filter(|tool| tool.push(name)),
            thread: PhantomData,
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(tool) = self.tool {
            tool.pop();
        }
    }
}

impl Tool {
    /// The tool that the environment names.
    fn injected() -> Option<Tool> {
        let path = std::env::var_os(INJECTION).filter(|path| !path.is_empty())?;
        // SAFETY: whoever starts the process with the variable set wants the file loaded and its
        // initializers run, as every program with NVTX does.
        let library = unsafe { Library::new(path) }.ok()?;
        // SAFETY: under this name tools export a function of this type (nvtxTypes.h,
        // `NvtxInitializeInjectionNvtxFunc_t`).
        let initialize = *unsafe { library.get::<Initialize>(INITIALIZE) }.ok()?;
        let tool = Tool::attach(initialize);
        if tool.is_some() {
            // Its functions are called as long as the process lives.
            std::mem::forget(library);
        }
        tool
    }

    /// The tool of this function, unless it declines.
    fn attach(initialize: Initialize) -> Option<Tool> {
        // SAFETY: `export_table` keeps to the protocol, and all it leads to is static.
        if unsafe { initialize(export_table) } == 0 {
            return None;
        }
        let domain = match function(CREATE) {
            None => null_mut(),
            Some(create) => {
                // SAFETY: the tool wrote a function of this type into this call's place
                // (nvtxTypes.h, `nvtxDomainCreateA_impl_fntype`); the name is static.
                unsafe {
                    type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
                    std::mem::transmute::<*mut c_void, Create>(create)(DOMAIN.as_ptr())
                }
            }
        };
        Some(Tool {
            domain: AtomicPtr::new(domain),
        })
    }

    /// Whether the tool was told of the range's begin.
    fn push(&self, name: &str) -> bool {
        let (Some(push), Ok(name)) = (function(RANGE_PUSH), CString::new(name)) else {
            return false;
        };
        let attributes = EventAttributes {
            version: VERSION,
            size: size_of::<EventAttributes>() as u16,
            category: 0,
            color_type: 0,
            color: 0,
            payload_type: 0,
            reserved0: 0,
            payload: 0,
            message_type: ASCII,
            message: name.as_ptr(),
        };
        // SAFETY: as in `attach`, of type `nvtxDomainRangePushEx_impl_fntype`; the tool copies what
        // it keeps of the attributes before it returns.
        unsafe {
            type Push = unsafe extern "C" fn(*mut c_void, *const EventAttributes) -> c_int;
            std::mem::transmute::<*mut c_void, Push>(push)(self.domain(), &attributes);
        }
        true
    }

    fn pop(&self) {
        if let Some(pop) = function(RANGE_POP) {
            // SAFETY: as in `attach`, of type `nvtxDomainRangePop_impl_fntype`.
            unsafe {
                type Pop = unsafe extern "C" fn(*mut c_void) -> c_int;
                std::mem::transmute::<*mut c_void, Pop>(pop)(self.domain());
            }
        }
    }

    fn domain(&self) -> *mut c_void {
        self.domain.load(Ordering::Relaxed)
    }
}

/// The tool's function for a call on domains. A tool may take it away again, so that every call
/// asks anew.
fn function(call: usize) -> Option<*mut c_void> {
    let function = SLOTS[DOMAINS][call].load(Ordering::Acquire);
    (!function.is_null()).then_some(function)
}

fn tables() -> &'static [Table; 7] {
    TABLES.get_or_init(|| {
        std::array::from_fn(|module| {
            let calls = 1..CALLS[module].max(1);
            std::array::from_fn(|call| calls.contains(&call).then(|| &SLOTS[module][call]))
        })
    })
}

/// `nvtxGetExportTable`.
unsafe extern "C" fn export_table(id: u32) -> *const c_void {
    static CALLBACK_TABLE: Callbacks = Callbacks {
        struct_size: size_of::<Callbacks>(),
        get_module_function_table: function_table,
    };
    static VERSION_TABLE: VersionInfo = VersionInfo {
        struct_size: size_of::<VersionInfo>(),
        version: VERSION as u32,
        reserved0: 0,
        set_injection_nvtx_version: injection_version,
    };
    match id {
        CALLBACKS => (&raw const CALLBACK_TABLE).cast(),
        VERSION_INFO => (&raw const VERSION_TABLE).cast(),
        _ => null(),
    }
}

/// `GetModuleFunctionTable`: 1 and the table of a module, or 0.
unsafe extern "C" fn function_table(
    module: c_uint,
    table: *mut *const Option<&'static Slot>,
    size: *mut c_uint,
) -> c_int {
    let module = module as usize;
    let Some(calls) = CALLS.get(module).filter(|calls| **calls > 0) else {
        return 0;
    };
    // SAFETY: the tool passes null, or a place of its own for each result.
    unsafe {
        if let Some(size) = size.as_mut() {
            *size = *calls as c_uint;
        }
        if let Some(table) = table.as_mut() {
            *table = tables()[module].as_ptr();
        }
    }
    1
}

/// `SetInjectionNvtxVersion`: tools say which version they were built with, and nobody asks.
extern "C" fn injection_version(_: u32) {}
