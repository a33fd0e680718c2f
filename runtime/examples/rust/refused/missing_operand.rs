//! A launcher without one of its operands does not compile.

use tilewright_runtime::typed::{In, Out};

mod kernels {
    tilewright_runtime::include_kernels!();
}

fn main() {
    let (gain, mut scale, mut quantized) = (vec![0.0f32; 4], vec![0.0f32; 3], vec![0i8; 12]);
    let _ = kernels::RmsnormS8 {
        g: In::from(&gain),
        scale: Out::from(&mut scale),
        d: Out::from(&mut quantized),
        eps: 0.0,
        m: 3,
        n: 4,
    };
}
