//! Copies a matrix with a kernel that was compiled into this very program: on the GPU where there
//! is one, otherwise on the emulator. No compiler and no file is needed at run time.

use std::error::Error;

use tilewright_runtime::typed::{Array, In, Out};
use tilewright_runtime::{Device, Error as RuntimeError};

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

    let wanted = source
        .chunks_exact(SOURCE_LEADING)
        .flat_map(|row| &row[..COLUMNS]);
    let wrong = copy.iter().zip(wanted).filter(|(got, want)| got != want).count();
    println!(
        "{}: copied {ROWS} x {COLUMNS} on {}, {wrong} wrong",
        kernel.id,
        device.info().name
    );
    if wrong == 0 {
        Ok(())
    } else {
        Err("the copy is not the source".into())
    }
}
