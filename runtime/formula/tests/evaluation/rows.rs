//! Norms, softmax, scales of blocks, largest indices.

use tilewright_formula::{DType, Operand, Signature};

use super::super::*;

#[test]
fn rms_norm() {
    let (x, g) = (Array::eighths(&[3, 40], 1), Array::eighths(&[40], 2));
    let data = Data::default()
        .size("m", 3)
        .size("n", 40)
        .scalar("eps", 0.001);
    let eps = f64::from(0.001f32);
    let out = evaluate(&formula("rmsnorm"), &data.with("x", &x).with("g", &g));
    expect(&out[0], 1e-5, |at| {
        let squares: f64 = (0..40).map(|n| x.at(&[at[0], n]).powi(2)).sum();
        x.at(at) / (squares / 40.0 + eps).sqrt() * g.at(&at[1..])
    });
}

#[test]
fn layer_norm_folds_twice() {
    let x = Array::eighths(&[3, 24], 3);
    let data = Data::default().size("m", 3).size("n", 24).with("x", &x);
    let out = evaluate(&formula("layernorm"), &data);
    expect(&out[0], 1e-5, |at| {
        let mean =
            |f: &dyn Fn(f64) -> f64| (0..24).map(|n| f(x.at(&[at[0], n]))).sum::<f64>() / 24.0;
        let center = mean(&|x| x);
        let spread = mean(&|x| (x - center).powi(2));
        (x.at(at) - center) / (spread + f64::from(1e-5f32)).sqrt()
    });
}

/// Long rows are computed in parts, many lanes at a time; elements alone are not.
#[test]
fn long_rows_are_what_their_elements_are() {
    let (m, n) = (2, 9001);
    let x = Array::eighths(&[m, n], 3).map(|x| f64::from((x / 3.0) as f32));
    let formula = formula("layernorm");
    let strides = x.strides();
    let inputs = Inputs::default().size("m", m as i64).size("n", n as i64);
    let inputs = inputs.tensor("x", Tensor::floats(&x.values, &strides));
    let evaluator = Evaluator::new(&formula, &inputs, &Fma).unwrap();
    let output = &evaluator.outputs().unwrap()[0];
    let columns = (0..n as i64).filter(|n| n % 4096 < 3 || n % 997 == 0 || *n > 8990);
    let places: Vec<[i64; 2]> = columns.flat_map(|n| [[0, n], [1, n]]).collect();
    let slices: Vec<&[i64]> = places.iter().map(|place| place.as_slice()).collect();
    let elements = evaluator.elements(&output.name, &slices).unwrap();
    for ([row, column], element) in places.iter().zip(elements) {
        let at = (row * n as i64 + column) as usize;
        let whole = [output.values[at], output.errors[at]].map(f64::to_bits);
        assert_eq!(
            [element.value, element.error].map(f64::to_bits),
            whole,
            "{row} {column}"
        );
    }
}

/// Each statement reads the one before it twice: by a tree of reads the last would take 2^48 steps.
#[test]
fn chains_of_folds_take_as_long_as_they_are() {
    let (m, n, links) = (2_usize, 37_usize, 48);
    let x = Array::eighths(&[m, n], 3);
    let mut text = "y0[m,n] = x[m,n] * 2\n".to_owned();
    for link in 1..links {
        let before = link - 1;
        text += &format!("y{link}[m,n] = y{before}[m,n] - (max[n] y{before}[m,n]) / 4\n");
    }
    text += &format!("d[m,n] = y{}[m,n]", links - 1);
    let signature = Signature {
        operands: vec![
            Operand::new("x", DType::F32, &["m", "n"]),
            Operand::new("d", DType::F32, &["m", "n"]),
        ],
        ..Signature::default()
    };
    let formula = check(&text, &signature).unwrap_or_else(|all| panic!("{}", report(&text, &all)));
    let data = Data::default().size("m", m as i64).size("n", n as i64);
    let out = evaluate(&formula, &data.with("x", &x));
    let rows = |row: usize| {
        let mut row: Vec<f64> = (0..n).map(|n| 2.0 * x.at(&[row, n])).collect();
        for _ in 1..links {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|y| *y -= most / 4.0);
        }
        row
    };
    expect(&out[0], 1e-3, |at| rows(at[0])[at[1]]);
}

#[test]
fn softmax_and_what_is_infinite_in_it() {
    let mut x = Array::eighths(&[3, 10], 4);
    x.values[4] = f64::NEG_INFINITY;
    x.values[12] = f64::INFINITY;
    x.values[22] = f64::NAN;
    let data = Data::default().size("m", 3).size("n", 10).with("x", &x);
    let out = evaluate(&formula("softmax"), &data);
    expect(&out[0], 1e-5, |at| {
        let row: Vec<f64> = (0..10).map(|n| x.at(&[at[0], n])).collect();
        if at[0] > 0 {
            // inf - inf and NaN reach the whole row through its sum.
            return f64::NAN;
        }
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = row.iter().map(|x| (x - most).exp()).sum();
        (row[at[1]] - most).exp() / total
    });
}

#[test]
fn scales_of_blocks_are_read_as_they_are_stored() {
    let y = Array::eighths(&[2, 32, 3], 5)
        .map(|y| 0.3 * y)
        .map(|y| f64::from(y as f32));
    let data = Data::default().size("m", 2).size("g", 3).with("y", &y);
    let out = evaluate(&formula("block_scales"), &data);
    let scale = |m: usize, g: usize| {
        let most = (0..32).map(|i| y.at(&[m, i, g]).abs()).fold(0.0, f64::max);
        most / 448.0
    };
    expect(&out[0], 1e-6, |at| scale(at[0], at[1]));
    expect(&out[1], 1e-3, |at| y.at(at) / scale(at[0], at[2]));
    for at in 0..out[1].values.len() {
        let [least, most] = out[1].at(at).stored(out[1].dtype);
        assert!(least >= -448.0 && most <= 448.0);
    }
}

#[test]
fn the_smallest_index_of_the_largest() {
    let x = Array::of(
        &[3, 4],
        &[
            1.0,
            5.0,
            5.0,
            2.0,
            3.0,
            0.0,
            3.0,
            3.0,
            -1.0,
            f64::NAN,
            9.0,
            9.0,
        ],
    );
    let data = |n| Data::default().size("m", 3).size("n", n);
    let out = evaluate(&formula("argmax"), &data(4).with("x", &x));
    assert_eq!(out[0].values, [1.0, 0.0, 1.0]);
    assert!(out[0].choices.is_empty());
    let out = evaluate(
        &formula("argmax"),
        &data(0).with("x", &Array::of(&[3, 0], &[])),
    );
    assert_eq!(out[0].values, [-1.0; 3]);
}

#[test]
fn an_index_within_the_bounds_of_the_largest_is_right() {
    let (signature, text) = read(
        "x: f32 (m,n)\nbest: s32 (m)\ncompute:\ny[m,n] = exp(x[m,n])\nbest[m] = argmax[n] y[m,n]\n",
    );
    let formula = check(&text, &signature).unwrap();
    let x = Array::of(&[1, 4], &[0.5, 1.0, f64::from(1f32.next_down()), 0.25]);
    let out = evaluate(
        &formula,
        &Data::default().size("m", 1).size("n", 4).with("x", &x),
    );
    assert_eq!(out[0].choices[&0], [1, 2]);
    let right = [0.0, 1.0, 2.0, 3.0].map(|got| out[0].allows(0, got, None));
    assert_eq!(right, [false, true, true, false]);
}

/// NaN of an element is NaN of what it is in, whatever the others are off by; what may be NaN or
/// nothing, as -inf times a factor near 0, is any.
#[test]
fn what_is_no_number_is_judged() {
    let (signature, text) = read(
        "x: f32 (m,n)\ns: f32 (m)\nd: f32 (m,n)\nbest: s32 (m)\ncompute:\n\
         s[m] = sum[n] exp(x[m,n])\nd[m,n] = exp(x[m,n]) / s[m]\n\
         best[m] = argmax[n] gelu(x[m,n])\n",
    );
    let formula = check(&text, &signature).unwrap();
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let x = [
        [0.3, nan, 0.7], // One that is none, and all of its row with it.
        [0.3, inf, 0.7],
        [0.3, -inf, 0.7],
    ];
    let x = Array::of(&[3, 3], x.as_flattened());
    let out = evaluate(
        &formula,
        &Data::default().size("m", 3).size("n", 3).with("x", &x),
    );
    let [s, d, best] = &out[..] else {
        panic!("{out:?}")
    };
    let takes = |output: &Output, at: usize| {
        [nan, inf, 0.0, 0.4, 0.6, 2.0].map(|got| output.allows(at, got, None))
    };
    assert_eq!(takes(s, 0), [true, false, false, false, false, false]);
    assert_eq!(takes(s, 1), [false, true, false, false, false, false]);
    for at in 0..3 {
        assert_eq!(takes(d, at), [true, false, false, false, false, false]);
    }
    assert_eq!(takes(d, 3), [false, false, true, false, false, false]);
    assert_eq!(takes(d, 4), [true, false, false, false, false, false]);
    assert_eq!(takes(d, 7), [false, false, true, false, false, false]);
    let of_best = |at| [0.0, 1.0, 2.0].map(|got| best.allows(at, got, None));
    assert_eq!(of_best(0), [false, true, false]);
    assert_eq!(of_best(1), [false, true, false]);
    assert_eq!(of_best(2), [false, true, true]);
}

#[test]
fn a_condition_that_bounds_leave_open_covers_both_branches() {
    let (signature, text) =
        read("x: f32 (m)\nd: f32 (m)\ncompute:\ny[m] = exp(x[m])\nd[m] = where(y[m] > 1, 10, 0)\n");
    let formula = check(&text, &signature).unwrap();
    let x = Array::of(&[3], &[-1.0, 0.0, 1.0]);
    let out = evaluate(&formula, &Data::default().size("m", 3).with("x", &x));
    assert_eq!(out[0].values, [0.0, 0.0, 10.0]);
    let [below, at, above] = out[0].errors[..] else {
        panic!("{:?}", out[0].errors);
    };
    assert!(below == 0.0 && above == 0.0 && (10.0..10.000_001).contains(&at));
}

#[test]
fn quantization_to_integers_saturates() {
    let x = Array::of(&[1, 5], &[1.0, -0.26, 1e9, f64::NAN, -1e9]);
    let data = Data::default().size("m", 1).size("n", 5).scalar("s", 0.5);
    let out = evaluate(&formula("quantize_s8"), &data.with("x", &x));
    let stored: Vec<[f64; 2]> = (0..5)
        .map(|at| out[0].at(at).stored(out[0].dtype))
        .collect();
    let want = [2.0, -1.0, 127.0, 0.0, -127.0];
    assert_eq!(stored, want.map(|value| [value; 2]));
    assert!(out[0].allows(3, 0.0, None) && !out[0].allows(3, 1.0, None));
}
