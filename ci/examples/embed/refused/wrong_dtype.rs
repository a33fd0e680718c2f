//! Elements of another type than the function's do not compile.

use tilewright_runtime::typed::{In, Out};

mod kernels {
    tilewright_runtime::include_kernels!();
}

fn main() {
    let (source, mut copy) = (vec![0.0f64; 12], vec![0.0f32; 12]);
    let _ = kernels::Rows {
        s: In::from(&source),
        d: Out::from(&mut copy),
        m: 3,
        n: 4,
    };
}
