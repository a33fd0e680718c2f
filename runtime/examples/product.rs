//! One product of files: `d[m,n] = sum[k] a[m,k] * b[n,k]` of bf16, by the kernel of that id.
//!
//! ```text
//! cargo run --release -p tilewright-runtime --example product -- \
//!     BUNDLE KERNEL cuda|emulator M N K A B D
//! ```
//!
//! A, B and D are files of elements, row after row. See `runtime/python/bench/equal.py`, which
//! compares what is written with what C++ and Python write.

use std::error::Error;

use tilewright_runtime::{Arg, Device, Problem, Runtime};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bundle, kernel, device, m, n, k, a, b, d] = args.as_slice() else {
        return Err("usage: product BUNDLE KERNEL cuda|emulator M N K A B D".into());
    };
    let device = match device.as_str() {
        "cuda" => Device::cuda(0)?,
        _ => Device::emulator(),
    };
    let runtime = Runtime::open(bundle.as_ref(), device)?;
    let (m, n, k): (i64, i64, i64) = (m.parse()?, n.parse()?, k.parse()?);
    let problem = Problem::new(m, n, k)
        .row_major("a", k)
        .row_major("b", k)
        .row_major("d", n);
    let bytes = |rows: i64, columns: i64| 2 * rows.unsigned_abs() * columns.unsigned_abs();
    let read = |path: &str, wanted: u64| -> Result<Vec<u8>, Box<dyn Error>> {
        let all = std::fs::read(path)?;
        match all.len() as u64 == wanted {
            true => Ok(all),
            false => Err(format!("{path} has {} bytes, not {wanted}", all.len()).into()),
        }
    };
    let device = runtime.device();
    let held_a = device.alloc_with(&read(a, bytes(m, k))?)?;
    let held_b = device.alloc_with(&read(b, bytes(n, k))?)?;
    let held_d = device.alloc(bytes(m, n))?;
    let args = [
        Arg::new("a", &held_a),
        Arg::new("b", &held_b),
        Arg::new("d", &held_d),
    ];
    let kernel = runtime.find(kernel, Some(&problem))?.kernel;
    runtime.launch(kernel, &problem, &args)?;
    std::fs::write(d, device.download(&held_d)?)?;
    Ok(())
}
