//! Copies a matrix with a kernel that was compiled into this very program: on the GPU where there
//! is one, otherwise on the emulator. No compiler and no file is needed at run time.

use std::error::Error;

use tilewright_runtime::cuda::CudaDevice;
use tilewright_runtime::typed::{Array, In, Out};
use tilewright_runtime::{Buffer, Device, Error as RuntimeError, Runtime};

/// The bundle and its launchers, put here by `build.rs`.
mod kernels {
    tilewright_runtime::include_kernels!();
}

/// Rows of the matrix.
const ROWS: usize = 37;
/// Columns of the matrix.
const COLUMNS: usize = 100;
/// Elements from one row of the source to the next; the destination is packed.
const SOURCE_LEADING: usize = 104;

fn main() -> Result<(), Box<dyn Error>> {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(RuntimeError::NoDriver | RuntimeError::NoDevice { .. }) => Device::emulator(),
        Err(error) => return Err(error.into()),
    };
    let runtime = kernels::open(device)?;
    let device = runtime.device();

    let source: Vec<f32> = (0..ROWS * SOURCE_LEADING).map(|at| at as f32).collect();
    // The source stays on the device; the destination is a slice of the host's.
    let on_device = Array::from_slice(device, &source)?;
    let mut copy = vec![0.0f32; ROWS * COLUMNS];
    let (kernel, _) = kernels::Rows {
        s: In::from(&on_device).strides([SOURCE_LEADING, 1]),
        d: Out::from(&mut copy),
        m: ROWS,
        n: COLUMNS,
    }
    .launch(&runtime)?;

    let wanted: Vec<f32> = source
        .chunks_exact(SOURCE_LEADING)
        .flat_map(|row| &row[..COLUMNS])
        .copied()
        .collect();
    let wrong = wrong(&copy, &wanted);
    println!(
        "{}: copied {ROWS} x {COLUMNS} on {}, {wrong} wrong",
        kernel.id,
        device.info().name
    );
    let wrong = match device {
        Device::Cuda(gpu) => wrong + on_a_stream(&runtime, gpu, &on_device, &wanted)?,
        Device::Emulator(_) => wrong,
    };
    if wrong == 0 {
        Ok(())
    } else {
        Err("the copy is not the source".into())
    }
}

fn wrong(copy: &[f32], wanted: &[f32]) -> usize {
    copy.iter()
        .zip(wanted)
        .filter(|(got, want)| got != want)
        .count()
}

/// The same as a loop of a service does it: checked once and enqueued often, on a stream of the
/// caller's; then from memory that is somebody else's.
fn on_a_stream(
    runtime: &Runtime,
    gpu: &CudaDevice,
    source: &Array<f32>,
    wanted: &[f32],
) -> Result<usize, Box<dyn Error>> {
    let stream = gpu.raw_stream();
    let mut copy = Array::zeros(runtime.device(), wanted.len())?;
    let rows = kernels::Rows {
        s: In::from(source).strides([SOURCE_LEADING, 1]),
        d: Out::from(&mut copy),
        m: ROWS,
        n: COLUMNS,
    };
    let prepared = rows.call().prepare(runtime)?;
    for _ in 0..3 {
        // SAFETY: both arrays outlive the wait, and nobody else uses them.
        unsafe { gpu.enqueue_on(stream, &prepared, None) }?;
    }
    runtime.device().synchronize()?;
    let often = wrong(&copy.to_vec()?, wanted);
    copy.write(0, &vec![0.0; wanted.len()])?;

    let Buffer::Cuda(memory) = source.buffer() else {
        return Err("the source does not lie on the GPU".into());
    };
    // SAFETY: the array stays until the wait, and is only read.
    let foreign = unsafe { In::from_raw(memory.address(), source.len()) };
    let rows = kernels::Rows {
        s: foreign.strides([SOURCE_LEADING, 1]),
        d: Out::from(&mut copy),
        m: ROWS,
        n: COLUMNS,
    };
    // SAFETY: as above; the stream is the device's own.
    unsafe { rows.call().enqueue_on(runtime, stream) }?;
    runtime.device().synchronize()?;
    let borrowed = wrong(&copy.to_vec()?, wanted);
    println!("enqueued three times: {often} wrong; of another's memory: {borrowed} wrong");
    Ok(often + borrowed)
}
