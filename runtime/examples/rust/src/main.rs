//! Two kernels that were compiled into this very program, on the GPU where there is one, otherwise
//! on the emulator: a norm with quantization behind it, and a layer with bias and activation. No
//! compiler and no file is needed at run time.

mod reference;

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
const COLUMNS: usize = 1000;
/// Elements from one row of the input to the next; outputs have no gaps.
const LEADING: usize = 1024;
/// Outputs of the layer.
const FEATURES: usize = 65;
const EPS: f32 = 1e-6;

fn main() -> Result<(), Box<dyn Error>> {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(RuntimeError::NoDriver | RuntimeError::NoDevice { .. }) => Device::emulator(),
        Err(error) => return Err(error.into()),
    };
    let runtime = kernels::open(device)?;
    let wrong = normalized(&runtime)? + layer(&runtime)?;
    match wrong {
        0 => Ok(()),
        _ => Err(format!("{wrong} elements are wrong").into()),
    }
}

/// Each row's norm in s8, and its scale.
fn normalized(runtime: &Runtime) -> Result<usize, Box<dyn Error>> {
    let device = runtime.device();
    let rows = reference::drawn(ROWS * LEADING);
    let gain = reference::drawn(COLUMNS);
    // The rows stay on the device; the rest are slices of the host's.
    let on_device = Array::from_slice(device, &rows)?;
    let (mut scale, mut quantized) = (vec![0.0f32; ROWS], vec![0i8; ROWS * COLUMNS]);
    let (kernel, _) = kernels::RmsnormS8 {
        x: In::from(&on_device).strides([LEADING, 1]),
        g: In::from(&gain),
        scale: Out::from(&mut scale),
        d: Out::from(&mut quantized),
        eps: EPS,
        m: ROWS,
        n: COLUMNS,
    }
    .launch(runtime)?;
    let wanted = reference::rmsnorm_s8(&rows, &gain, (COLUMNS, LEADING), EPS);
    let wrong = wanted.wrong(&scale, &quantized);
    let name = &device.info().name;
    println!(
        "{}: normalized {ROWS} x {COLUMNS} on {name}, {wrong} wrong",
        kernel.id
    );
    let often = match device {
        Device::Cuda(gpu) => on_a_stream(runtime, gpu, (&on_device, &gain), &wanted)?,
        Device::Emulator(_) => 0,
    };
    Ok(wrong + often)
}

/// The same as a loop of a service does it: checked once and enqueued often, on a stream of the
/// caller's; then from memory that is somebody else's.
fn on_a_stream(
    runtime: &Runtime,
    gpu: &CudaDevice,
    (rows, gain): (&Array<f32>, &[f32]),
    wanted: &reference::Quantized,
) -> Result<usize, Box<dyn Error>> {
    let device = runtime.device();
    let stream = gpu.raw_stream();
    let gain = Array::from_slice(device, gain)?;
    let mut scale = Array::zeros(device, ROWS)?;
    let mut quantized = Array::zeros(device, ROWS * COLUMNS)?;
    let call = kernels::RmsnormS8 {
        x: In::from(rows).strides([LEADING, 1]),
        g: In::from(&gain),
        scale: Out::from(&mut scale),
        d: Out::from(&mut quantized),
        eps: EPS,
        m: ROWS,
        n: COLUMNS,
    };
    let prepared = call.call().prepare(runtime)?;
    for _ in 0..3 {
        // SAFETY: all arrays outlive the wait, and nobody else uses them.
        unsafe { gpu.enqueue_on(stream, &prepared, None) }?;
    }
    device.synchronize()?;
    let often = wanted.wrong(&scale.to_vec()?, &quantized.to_vec()?);
    quantized.write(0, &vec![0; ROWS * COLUMNS])?;

    let Buffer::Cuda(memory) = rows.buffer() else {
        return Err("the rows do not lie on the GPU".into());
    };
    // SAFETY: the array stays until the wait, and is only read.
    let foreign = unsafe { In::from_raw(memory.address(), rows.len()) };
    let call = kernels::RmsnormS8 {
        x: foreign.strides([LEADING, 1]),
        g: In::from(&gain),
        scale: Out::from(&mut scale),
        d: Out::from(&mut quantized),
        eps: EPS,
        m: ROWS,
        n: COLUMNS,
    };
    // SAFETY: as above; the stream is the device's own.
    unsafe { call.call().enqueue_on(runtime, stream) }?;
    device.synchronize()?;
    let borrowed = wanted.wrong(&scale.to_vec()?, &quantized.to_vec()?);
    println!("enqueued three times: {often} wrong; of another's memory: {borrowed} wrong");
    Ok(often + borrowed)
}

/// A layer with its bias and activation in one launch.
fn layer(runtime: &Runtime) -> Result<usize, Box<dyn Error>> {
    let inputs = reference::drawn(ROWS * COLUMNS);
    let weights = reference::drawn(FEATURES * COLUMNS);
    let bias = reference::drawn(FEATURES);
    let mut outputs = vec![0.0f32; ROWS * FEATURES];
    let (kernel, _) = kernels::Linear {
        x: In::from(&inputs),
        w: In::from(&weights),
        bias: In::from(&bias),
        y: Out::from(&mut outputs),
        m: ROWS,
        n: FEATURES,
        k: COLUMNS,
    }
    .launch(runtime)?;
    let wrong = reference::linear(&inputs, &weights, &bias).wrong(&outputs);
    println!(
        "{}: {ROWS} x {FEATURES} by {COLUMNS}, {wrong} wrong",
        kernel.id
    );
    Ok(wrong)
}
