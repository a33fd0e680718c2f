//! How fast the reference is: a gemm of 64x64x512 whole, and single elements of it and of others.
//!
//! `cargo run --release -p tilewright-formula --example reference_speed`

use std::time::Instant;

use tilewright_formula::interpret::{Evaluator, Fma, Inputs, Tensor};
use tilewright_formula::{DType, Operand, Signature, check};

/// Milliseconds of the fastest of some runs.
fn fastest(mut run: impl FnMut()) -> f64 {
    let times = (0..9).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let operand = |name, modes| Operand::new(name, DType::BF16, modes);
    let signature = Signature {
        operands: vec![
            operand("a", &["m", "k"]),
            operand("b", &["n", "k"]),
            operand("d", &["m", "n"]),
        ],
        ..Signature::default()
    };
    let [m, n, k] = [64usize, 64, 512];
    let values = |count: usize| -> Vec<f64> {
        (0..count)
            .map(|at| ((at * 7919) % 257) as f64 / 64.0 - 2.0)
            .collect()
    };
    let (a, b) = (values(m * k), values(n * k));
    let inputs = Inputs::default()
        .size("m", m as i64)
        .size("n", n as i64)
        .size("k", k as i64)
        .tensor("a", Tensor::floats(&a, &[k as i64, 1]))
        .tensor("b", Tensor::floats(&b, &[k as i64, 1]));
    for text in [
        "acc[m,n] = sum[k] a[m,k] * b[n,k]\nd[m,n] = acc[m,n]",
        "acc[m,n] = sum[k] a[m,k] * b[n,k]\nd[m,n] = gelu(acc[m,n] * 0.125)",
        "e[m,n,k] = exp(a[m,k] - b[n,k])\nd[m,n] = sum[k] e[m,n,k]",
    ] {
        let formula = check(text, &signature).map_err(|problems| problems[0].message.clone())?;
        let evaluator = Evaluator::new(&formula, &inputs, &Fma)?;
        let whole = fastest(|| {
            let outputs = evaluator.outputs();
            assert!(outputs.is_ok_and(|outputs| outputs[0].values.len() == m * n));
        });
        let one = fastest(|| {
            let element = evaluator.element("d", &[13, 57]);
            assert!(element.is_ok_and(|element| element.written));
        });
        println!(
            "{whole:8.2} ms whole, {:8.2} us an element: {}",
            one * 1e3,
            text.replace('\n', "; ")
        );
    }
    Ok(())
}
