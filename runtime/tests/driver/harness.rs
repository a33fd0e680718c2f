//! The driver without GPUs, compiled and loaded in the place of the machine's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::Library;
use tilewright_fixture::{COPY, SCALED, bundle_of, copy_kernel, scaled_kernel};
use tilewright_runtime::bundle::Bundle;
use tilewright_runtime::cuda::{CudaDevice, DeviceMemory};
use tilewright_runtime::{Described, Device, Placed, Prepared, Problem, Request, Runtime};

/// `CUDA_ERROR_ILLEGAL_ADDRESS`.
pub const ILLEGAL_ADDRESS: i32 = 700;

/// What the driver counts.
#[derive(Clone, Copy)]
pub enum Count {
    Launches = 0,
    Compiled = 1,
    LoadedCode = 2,
    Linked = 3,
    Streams = 4,
    Modules = 5,
    Memory = 6,
}

/// The driver, of one test at a time.
pub struct Driver {
    library: &'static Library,
    _turn: MutexGuard<'static, ()>,
}

/// Loads the driver. It has the name of the real one, so that whoever opens that gets it.
pub fn driver() -> Driver {
    static TURN: Mutex<()> = Mutex::new(());
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let library = LIBRARY.get_or_init(|| {
        // SAFETY: the library has no initializers.
        unsafe { Library::new(built()) }.unwrap()
    });
    Driver {
        library,
        _turn: turn,
    }
}

/// Compiles the driver, for this process alone.
fn built() -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver");
    let name = format!("fake-driver-{}.so", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wl,-soname,libcuda.so", "-pthread", "-o"])
        .arg(&path)
        .args(["fake.c", "fake_code.c"].map(|file| home.join(file)))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    path
}

impl Driver {
    pub fn count(&self, which: Count) -> u64 {
        // SAFETY: the driver has a function of this type by that name.
        let call = unsafe { self.library.get::<extern "C" fn(i32) -> u64>(b"fake_count") };
        call.unwrap()(which as i32)
    }

    /// What the linker makes of PTX needs so many registers more than what a load makes of it.
    pub fn link_with(&self, more_registers: i32) {
        // SAFETY: as above.
        let call = unsafe { self.library.get::<extern "C" fn(i32)>(b"fake_link") };
        call.unwrap()(more_registers);
    }

    /// What is asked of a device's context from now on fails, as behind a kernel that faulted, and
    /// this process gets no other.
    pub fn fault(&self, ordinal: i32) {
        // SAFETY: as above.
        let call = unsafe { self.library.get::<extern "C" fn(i32, i32)>(b"fake_fault") };
        call.unwrap()(ordinal, ILLEGAL_ADDRESS);
    }

    /// What a fresh process meets.
    pub fn fresh_process(&self) {
        // SAFETY: as above.
        let call = unsafe { self.library.get::<extern "C" fn()>(b"fake_process") };
        call.unwrap()();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.fresh_process();
        let name = format!("fake-driver-{}.so", std::process::id());
        // It stays loaded, and needs its file no more.
        let _ = std::fs::remove_file(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    }
}

/// A copy, and a kernel of two launches with scratch memory.
pub fn kernels() -> Bundle {
    bundle_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (scaled_kernel("scaled_f32@two-1"), SCALED),
    ])
}

pub fn runtime(ordinal: usize) -> Runtime {
    Runtime::new(kernels(), Device::cuda(ordinal).unwrap())
}

pub fn cuda(runtime: &Runtime) -> &CudaDevice {
    match runtime.device() {
        Device::Cuda(device) => device,
        Device::Emulator(_) => unreachable!("it was opened on a GPU"),
    }
}

/// A copy of 3 rows of 5 elements, prepared, with its memory.
pub struct Copy {
    pub prepared: Prepared,
    /// Kept for the launches.
    pub _from: DeviceMemory,
    pub to: DeviceMemory,
}

/// Rows of the copy.
pub const ROWS: i64 = 3;
/// Columns of the copy.
pub const COLUMNS: i64 = 5;

impl Copy {
    /// Of numbers that count from `first`.
    pub fn new(runtime: &Runtime, first: f32) -> Copy {
        let device = cuda(runtime);
        let bytes = (ROWS * COLUMNS * 4) as u64;
        let (from, to) = (device.alloc(bytes).unwrap(), device.alloc(bytes).unwrap());
        device.upload(&from, 0, &Copy::content(first)).unwrap();
        let dtype = tilewright_runtime::bundle::DType::F32;
        let dense = tilewright_runtime::Extents::new([(ROWS, COLUMNS), (COLUMNS, 1)]);
        let placed = |operand, memory: &DeviceMemory| Placed {
            tensor: Described {
                operand,
                dtype,
                place: dense,
            },
            address: memory.address(),
            bytes: Some(memory.bytes()),
        };
        let request = Request {
            operands: vec![placed("s", &from), placed("d", &to)],
            given: Problem::default(),
        };
        let kernel = runtime.named("copy_f32").unwrap();
        let problem = request.problem(kernel).unwrap();
        let loaded = runtime.load(kernel).unwrap();
        let prepared = device.prepare(loaded, &problem, &request.operands);
        Copy {
            prepared: prepared.unwrap(),
            _from: from,
            to,
        }
    }

    /// The bytes of the numbers from `first` on.
    pub fn content(first: f32) -> Vec<u8> {
        let numbers = (0..ROWS * COLUMNS).map(|at| first + at as f32);
        numbers.flat_map(f32::to_le_bytes).collect()
    }

    pub fn enqueue(&self, device: &CudaDevice) -> Result<(), tilewright_runtime::Error> {
        // SAFETY: the memory lives as long as the value, and the driver copies at once.
        unsafe { device.enqueue(&self.prepared, None) }
    }
}
