//! How a bundle is opened: on which device, whose bundles, and how code comes to be run.

use std::ffi::c_char;
use std::path::PathBuf;

use tilewright_runtime::bundle::{Policy, PublicKey};
use tilewright_runtime::cuda::Current;
use tilewright_runtime::{Device, EmulatorSettings, Load, Options, PtxCache};

use crate::failure::{Failure, Why};
use crate::foreign::{Growable, Plain, read_struct, read_text, zeroed};

/// A GPU.
pub const TW_BACKEND_CUDA: i32 = 1;
/// The emulator: kernels run on the host, on memory of the host, before the call returns.
pub const TW_BACKEND_EMULATOR: i32 = 2;

/// Each kernel's code is loaded when it is first used.
pub const TW_LOAD_LAZY: i32 = 0;
/// The code of all kernels that the device runs is loaded when the bundle is opened: no launch
/// waits for a compiler.
pub const TW_LOAD_EAGER: i32 = 1;

/// Most bytes of a path.
pub(crate) const MOST_PATH_BYTES: usize = 4096;
/// Most bytes of keys.
const MOST_KEY_BYTES: usize = 1 << 20;

/// How a bundle is opened. Set everything to 0 and then `struct_size` and what is wanted: what is
/// added later does nothing at 0. Texts are read during the call alone.
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
    /// `TW_LOAD_*`: when code is loaded.
    pub load: i32,
    /// Not 0 to run the machine code of the bundle alone: kernels without any for the GPU are
    /// refused, and nothing is compiled. The emulator has no use for it.
    pub cubin_only: u32,
    /// A folder, made if it is not there, that keeps what the driver makes of PTX for the next
    /// start. What it holds is run: one that others may write to is refused. Null for none.
    pub ptx_cache: *const c_char,
    /// Bytes that the folder may hold; 0 for a gibibyte.
    pub ptx_cache_bytes: u64,
    /// Public keys as PEM, one behind the other: the bundle is refused unless one of them signed
    /// it. Null opens bundles without a signature too.
    pub public_keys: *const c_char,
    /// Not 0 where a fault on the emulator takes the device with it, as on a GPU: see `tw_is_lost`.
    pub emulator_sticky_faults: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: numbers and pointers take every pattern of bits.
unsafe impl Plain for tw_open_options {}
// SAFETY: the size is the first field.
unsafe impl Growable for tw_open_options {
    const NAME: &'static str = "tw_open_options";
    const LEAST_BYTES: usize = 24;
}

/// Options that make sense.
pub struct Asked {
    /// Which bundles are opened.
    pub policy: Policy,
    /// How code is loaded.
    pub options: Options,
    place: Place,
}

/// Where kernels run.
enum Place {
    Cuda(usize),
    Emulator(EmulatorSettings),
}

impl Asked {
    /// The device, and on a GPU what keeps the context that is current on the thread.
    pub fn device(&self) -> Result<(Device, Option<Current>), Failure> {
        match &self.place {
            Place::Cuda(ordinal) => {
                let current = Current::kept()?;
                Ok((Device::cuda(*ordinal)?, Some(current)))
            }
            Place::Emulator(settings) => Ok((Device::emulator_with(settings.clone()), None)),
        }
    }
}

/// Reads options; none are those of the first GPU.
///
/// # Safety
/// The pointer is null or points to options, whose texts are there.
pub unsafe fn read(from: *const tw_open_options) -> Result<Asked, Failure> {
    let options = match from.is_null() {
        true => zeroed(),
        // SAFETY: the caller's promise is the callee's.
        false => unsafe { read_struct(from, "options") }?,
    };
    let mut wrong = Vec::new();
    let mut noted = |why: Why| wrong.push(why);
    let place = place(&options).map_err(&mut noted).ok();
    let load = load(&options).map_err(&mut noted).ok();
    // SAFETY: the texts are there.
    let (policy, folder) = unsafe { (policy(&options), folder(&options)) };
    let policy = policy.map_err(&mut noted).ok();
    let folder = folder.map_err(&mut noted).ok();
    if options.reserved != 0 {
        let has = options.reserved;
        let text = format!("the reserved field of options is {has}; 0 is allowed");
        noted(Why::of("reserved", "reserved", text).with(0, has));
    }
    let (Some(place), Some(load), Some(policy), Some(folder), true) =
        (place, load, policy, folder, wrong.is_empty())
    else {
        return Err(Failure::arguments(wrong));
    };
    let cache = folder.map(|folder| PtxCache::open(&folder)).transpose()?;
    let ptx_cache = cache.map(|cache| match options.ptx_cache_bytes {
        0 => cache,
        bytes => cache.with_limit(bytes),
    });
    let cubin_only = options.cubin_only != 0;
    Ok(Asked {
        policy,
        options: Options {
            load,
            ptx_cache,
            cubin_only,
        },
        place,
    })
}

fn place(options: &tw_open_options) -> Result<Place, Why> {
    match options.backend {
        0 | TW_BACKEND_CUDA => {
            let given = options.device_ordinal;
            let ordinal = usize::try_from(given).map_err(|_| {
                let text = format!("device_ordinal is {given}; 0 or more is allowed");
                Why::of("device", "device_ordinal", text).with("0 or more", given)
            })?;
            Ok(Place::Cuda(ordinal))
        }
        TW_BACKEND_EMULATOR => {
            let mut settings = EmulatorSettings {
                sm: Some(options.emulator_sm).filter(|sm| *sm > 0),
                sticky_faults: options.emulator_sticky_faults != 0,
                ..EmulatorSettings::default()
            };
            if options.emulator_sms > 0 {
                settings.sms = options.emulator_sms;
            }
            Ok(Place::Emulator(settings))
        }
        other => {
            let needs = "TW_BACKEND_CUDA (1) or TW_BACKEND_EMULATOR (2)";
            let text = format!("backend is {other}; {needs} is allowed");
            Err(Why::of("backend", "backend", text).with(needs, other))
        }
    }
}

fn load(options: &tw_open_options) -> Result<Load, Why> {
    match options.load {
        TW_LOAD_LAZY => Ok(Load::Lazy),
        TW_LOAD_EAGER => Ok(Load::Eager),
        other => {
            let needs = "TW_LOAD_LAZY (0) or TW_LOAD_EAGER (1)";
            let text = format!("load is {other}; {needs} is allowed");
            Err(Why::of("load", "load", text).with(needs, other))
        }
    }
}

/// # Safety
/// As of [`read`].
unsafe fn policy(options: &tw_open_options) -> Result<Policy, Why> {
    if options.public_keys.is_null() {
        return Ok(Policy::Unsigned);
    }
    // SAFETY: the caller's promise is the callee's.
    let text = unsafe { read_text(options.public_keys, MOST_KEY_BYTES, "public_keys") }?;
    let keys = PublicKey::all_from_pem(text);
    let keys = keys.map_err(|error| Why::of("key", "public_keys", format!("public_keys: {error}")));
    Ok(Policy::signed_by(keys?))
}

/// # Safety
/// As of [`read`].
unsafe fn folder(options: &tw_open_options) -> Result<Option<PathBuf>, Why> {
    if options.ptx_cache.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is the callee's.
    let path = unsafe { read_text(options.ptx_cache, MOST_PATH_BYTES, "ptx_cache") }?;
    Ok(Some(PathBuf::from(path)))
}
