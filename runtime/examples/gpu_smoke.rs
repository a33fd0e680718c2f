//! What only a GPU can show of the runtime: a fault, which costs its process the GPU and no other,
//! graphs that are changed, the PTX cache, several GPUs, what a launch costs the host.
//!
//! `gpu_smoke [BUNDLE]` prints a line for each and ends with 1 when one is not as it should be; the
//! kernels of a bundle are loaded with and without the cache. `CUDA_CACHE_DISABLE=1` keeps the
//! driver's own cache out of it. `gpu_smoke --fault` faults and nothing else.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use tilewright_fixture::{COPY, bundle_of, copy_kernel};
use tilewright_runtime::bundle::{Bundle, DType};
use tilewright_runtime::cuda::{CudaDevice, DeviceMemory};
use tilewright_runtime::{
    Described, Device, Error as RuntimeError, Extents, Load, Options, Placed, Prepared, Problem,
    PtxCache, Request, Runtime,
};

type Outcome = Result<String, Box<dyn Error>>;

const ROWS: i64 = 64;
const COLUMNS: i64 = 128;
const BYTES: u64 = (ROWS * COLUMNS * 4) as u64;

fn runtime(ordinal: usize) -> Result<(Runtime, CudaDevice), RuntimeError> {
    let bundle = bundle_of([(copy_kernel("copy_f32@plain-1"), COPY)]);
    let runtime = Runtime::new(bundle, Device::cuda(ordinal)?);
    match runtime.device().clone() {
        Device::Cuda(device) => Ok((runtime, device)),
        Device::Emulator(_) => Err(RuntimeError::NoDriver),
    }
}

fn content(first: usize) -> Vec<u8> {
    let numbers = (0..(ROWS * COLUMNS) as usize).map(|at| (first + at) as f32);
    numbers.flat_map(f32::to_le_bytes).collect()
}

/// A copy from one memory to another, prepared.
fn copy(
    runtime: &Runtime,
    device: &CudaDevice,
    from: u64,
    to: u64,
) -> Result<Prepared, RuntimeError> {
    let placed = |operand, address| Placed {
        tensor: Described {
            operand,
            dtype: DType::F32,
            place: Extents::new([(ROWS, COLUMNS), (COLUMNS, 1)]),
        },
        address,
        bytes: Some(BYTES),
    };
    let request = Request {
        operands: vec![placed("s", from), placed("d", to)],
        given: Problem::default(),
    };
    let kernel = runtime.named("copy_f32")?;
    let refused = |refusals| RuntimeError::Refused {
        kernel: kernel.id.clone(),
        refusals,
    };
    let problem = request.problem(kernel).map_err(refused)?;
    device.prepare(runtime.load(kernel)?, &problem, &request.operands)
}

fn memories(device: &CudaDevice, first: usize) -> Result<[DeviceMemory; 2], RuntimeError> {
    let [from, to] = [device.alloc(BYTES)?, device.alloc(BYTES)?];
    device.upload(&from, 0, &content(first))?;
    Ok([from, to])
}

fn wanted(is: bool, text: String) -> Outcome {
    if is { Ok(text) } else { Err(text.into()) }
}

/// A kernel that writes where no memory is, and what this process can do after it.
fn fault() -> Outcome {
    let (lost, device) = runtime(0)?;
    let [from, to] = memories(&device, 0)?;
    let good = copy(&lost, &device, from.address(), to.address())?;
    // In the pages that nobody is given, and a multiple of every alignment.
    let bad = copy(&lost, &device, from.address(), 1 << 14)?;
    // SAFETY: the memory outlives the wait; what the other one does is what is looked at.
    unsafe { device.enqueue(&good, None) }?;
    device.synchronize()?;
    // SAFETY: as above.
    unsafe { device.enqueue(&bad, None) }?;
    let first = device.synchronize().err().ok_or("the fault was not seen")?;
    let second = device
        .alloc(16)
        .err()
        .ok_or("work is taken after the fault")?;
    let is_told = matches!(&first, RuntimeError::Fault(fault) if fault.suspects.len() == 1);
    let is_refused = matches!(second, RuntimeError::ContextLost { .. });
    // What is lost is not freed, which would be refused.
    drop((good, bad, from, to, lost));
    let third = Device::cuda(0)
        .err()
        .ok_or("the process gets the GPU again: the runtime can say so")?;
    let is_lost = matches!(third, RuntimeError::ProcessLost { .. });
    let text = format!("{first} | then: {second} | then: {third}");
    wanted(is_told && is_refused && is_lost, text)
}

/// The fault in a process of its own, with work of this one on the GPU before and after.
fn fault_aside() -> Outcome {
    let (here, device) = runtime(0)?;
    let [from, to] = memories(&device, 3)?;
    let copy = copy(&here, &device, from.address(), to.address())?;
    let aside = Command::new(std::env::current_exe()?)
        .arg("--fault")
        .output()?;
    let told = String::from_utf8_lossy(&aside.stdout).trim().to_owned();
    // SAFETY: the download waits for it.
    unsafe { device.enqueue(&copy, None) }?;
    let works = device.download(&to)? == content(3);
    let text = format!("{told}; work of another process goes on: {works}");
    wanted(aside.status.success() && works, text)
}

/// A captured launch that is given other memory.
fn graph() -> Outcome {
    let (runtime, device) = runtime(0)?;
    let [a, b] = memories(&device, 0)?;
    let [c, d] = memories(&device, 500)?;
    let first = copy(&runtime, &device, a.address(), b.address())?;
    let second = copy(&runtime, &device, c.address(), d.address())?;
    let mut captured = None;
    let graph = device.capture(|| {
        // SAFETY: the memory outlives the replays.
        let one = unsafe { device.enqueue_captured(device.raw_stream(), &first, None) };
        captured = Some(one?);
        Ok(())
    })?;
    device.replay(&graph)?;
    let before = device.download(&b)? == content(0) && device.download(&d)? != content(500);
    let mut captured = captured.ok_or("nothing was captured")?;
    let start = Instant::now();
    // SAFETY: the download above waited for the replay.
    unsafe { device.update(graph.executable(), &mut captured, &second, None) }?;
    let taken = start.elapsed();
    device.replay(&graph)?;
    let after = device.download(&d)? == content(500);
    wanted(
        before && after,
        format!("before: {before}, after the change: {after}, in {taken:?}"),
    )
}

/// The kernels of a bundle, loaded without a cache, with an empty one and with a full one.
fn cache(bundle: &Path) -> Outcome {
    let home = std::env::temp_dir().join(format!("tilewright-ptx-{}", std::process::id()));
    let mut told = Vec::new();
    let mut is_right = true;
    for (name, cached) in [("without", false), ("cold", true), ("warm", true)] {
        let ptx_cache = cached.then(|| PtxCache::open(&home)).transpose()?;
        let load = Load::Eager;
        let opened = Runtime::new(Bundle::open(bundle)?, Device::cuda(0)?);
        let start = Instant::now();
        let runtime = opened.with_options(&Options {
            load,
            ptx_cache,
            ..Options::default()
        })?;
        let taken = start.elapsed();
        let kernels = runtime.counters().kernels;
        let from_cache: u64 = kernels.values().map(|kernel| kernel.loads_from_cache).sum();
        let from_bundle: u64 = kernels
            .values()
            .map(|kernel| kernel.loads_from_bundle)
            .sum();
        let loads: u64 = kernels.values().map(|kernel| kernel.loads).sum();
        // Of some kernels the driver's linker makes other code than a load, which is not kept; of
        // those that come with machine code there is nothing to keep.
        let is_kept = name == "warm" && from_bundle < loads;
        is_right &= loads > 0 && (from_cache > 0) == is_kept;
        told.push(format!(
            "{name}: {loads} kernels in {taken:?}, {from_bundle} of the bundle, {from_cache} of \
             the cache"
        ));
    }
    std::fs::remove_dir_all(&home)?;
    wanted(is_right, told.join("; "))
}

/// Threads that launch on all GPUs by turns.
fn several(count: usize) -> Outcome {
    let opened = (0..count).map(runtime).collect::<Result<Vec<_>, _>>()?;
    let worked: Vec<Result<bool, RuntimeError>> = std::thread::scope(|scope| {
        let threads = (0..4).map(|thread| {
            let opened = &opened;
            scope.spawn(move || {
                let mut works = true;
                for turn in 0..50 {
                    let (runtime, device) = &opened[(thread + turn) % count];
                    let device = device.aside()?;
                    let [from, to] = memories(&device, thread * 100 + turn)?;
                    let one = copy(runtime, &device, from.address(), to.address())?;
                    // SAFETY: the download waits for it.
                    unsafe { device.enqueue(&one, None) }?;
                    works &= device.download(&to)? == content(thread * 100 + turn);
                }
                Ok(works)
            })
        });
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or(Ok(false))).collect()
    });
    let works = worked.into_iter().collect::<Result<Vec<_>, _>>()?;
    let is_right = works.iter().all(|works| *works);
    wanted(
        is_right,
        format!("{count} GPUs, 4 threads of 50 launches each: {works:?}"),
    )
}

/// Nanoseconds of the host for a launch that was prepared, the median of slices.
fn overhead() -> Outcome {
    let (runtime, device) = runtime(0)?;
    let [from, to] = memories(&device, 0)?;
    let one = copy(&runtime, &device, from.address(), to.address())?;
    let stream = device.raw_stream();
    let mut slices = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        for _ in 0..50 {
            // SAFETY: the memory outlives the wait below.
            unsafe { device.enqueue_on(stream, &one, None) }?;
        }
        slices.push(start.elapsed().as_nanos() as f64 / 50.0);
        device.synchronize()?;
    }
    slices.sort_by(f64::total_cmp);
    let counters = runtime.counters().kernels["copy_f32@plain-1"];
    let [median, quarter, three_quarters] = [slices[100], slices[50], slices[150]];
    let (first, load) = (counters.first_launch_ns, counters.load_ns);
    Ok(format!(
        "{median:.0} ns a launch (quarter {quarter:.0}, three quarters {three_quarters:.0}); the \
         first took {first} ns, loading {load} ns"
    ))
}

fn main() -> ExitCode {
    let bundle = std::env::args().nth(1);
    if bundle.as_deref() == Some("--fault") {
        return print(vec![("fault", fault())]);
    }
    let count = (0..)
        .take_while(|ordinal| Device::cuda(*ordinal).is_ok())
        .count();
    if count == 0 {
        eprintln!("there is no GPU here");
        return ExitCode::from(2);
    }
    let mut outcomes = vec![("overhead", overhead()), ("graph", graph())];
    if let Some(bundle) = bundle {
        outcomes.push(("ptx cache", cache(bundle.as_ref())));
    }
    outcomes.push(("several GPUs", several(count)));
    outcomes.push(("fault", fault_aside()));
    outcomes.push(("after the fault", graph()));
    print(outcomes)
}

/// Prints how it went; 1 where something is not as it should be.
fn print(outcomes: Vec<(&str, Outcome)>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (name, outcome) in outcomes {
        match outcome {
            Ok(text) => println!("{name}: as it should be: {text}"),
            Err(error) => {
                println!("{name}: WRONG: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
