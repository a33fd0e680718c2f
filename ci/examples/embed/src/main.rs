//! Copies a matrix with a kernel that was compiled into this very program: on the GPU where there
//! is one, otherwise on the emulator. No compiler and no file is needed at run time.

use std::error::Error;

use tilewright_runtime::bundle::Bundle;
use tilewright_runtime::{Arg, Device, Error as RuntimeError, Problem, Query, Runtime};

/// The bundle's files by their names, put here by `build.rs`.
static KERNELS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

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
    let runtime = Runtime::new(Bundle::from_files(KERNELS.iter().copied())?, device);
    let device = runtime.device();

    let source: Vec<f32> = (0..ROWS * SOURCE_LEADING)
        .map(|index| index as f32)
        .collect();
    let bytes: Vec<u8> = source
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let from = device.alloc_with(&bytes)?;
    let to = device.alloc((ROWS * COLUMNS * size_of::<f32>()) as u64)?;

    let problem = Problem::new(ROWS as i64, COLUMNS as i64, 1)
        .row_major("s", SOURCE_LEADING as i64)
        .row_major("d", COLUMNS as i64);
    let args = [Arg::new("s", &from), Arg::new("d", &to)];
    let (kernel, _) = runtime.launch_best(&Query::copy(), &problem, &args)?;

    let result = device.download(&to)?;
    let (fours, _) = result.as_chunks::<4>();
    let copied = fours.iter().map(|four| f32::from_le_bytes(*four));
    let wanted = source
        .chunks_exact(SOURCE_LEADING)
        .flat_map(|row| &row[..COLUMNS]);
    let wrong = copied
        .zip(wanted)
        .filter(|(got, want)| got != *want)
        .count();
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
