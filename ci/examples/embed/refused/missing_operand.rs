//! A launcher without one of its operands does not compile.

use tilewright_runtime::typed::Out;

mod kernels {
    tilewright_runtime::include_kernels!();
}

fn main() {
    let mut copy = vec![0.0f32; 12];
    let _ = kernels::Rows {
        d: Out::from(&mut copy),
        m: 3,
        n: 4,
    };
}
