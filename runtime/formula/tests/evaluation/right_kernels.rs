//! Kernels as they are written, in f32, are within the bounds; kernels with a mistake are not.

use super::super::*;

/// Numbers of any size within a few binades, as f32 holds them.
fn uneven(extents: &[usize], seed: u64) -> Array {
    let scale = Array::eighths(extents, seed + 100);
    let mut array = Array::eighths(extents, seed);
    for (value, scale) in array.values.iter_mut().zip(scale.values) {
        let uneven = (*value + 0.013) * (1.7f64).powf(scale * 3.0);
        *value = f64::from(uneven as f32);
    }
    array
}

/// A sum in f32, from the front, from the back, or in pairs.
fn sum(terms: &[f32], order: usize) -> f32 {
    match order {
        0 => terms.iter().sum(),
        1 => terms.iter().rev().sum(),
        _ if terms.len() < 2 => terms.iter().sum(),
        _ => {
            let (a, b) = terms.split_at(terms.len() / 2);
            sum(a, order) + sum(b, order)
        }
    }
}

/// Judges what a kernel computed, in f32, and counts what is wrong.
fn wrong(output: &Output, kernel: impl Fn(&[usize]) -> f32) -> usize {
    let all = 0..output.values.len();
    let judged = all.filter(|at| {
        let index: Vec<usize> = index_of(*at, &output.extents).collect();
        !output.allows(*at, f64::from(kernel(&index)), None)
    });
    judged.count()
}

#[test]
fn softmax_in_any_order() {
    let x = uneven(&[6, 50], 1);
    let data = Data::default().size("m", 6).size("n", 50).with("x", &x);
    let out = evaluate(&formula("softmax"), &data);
    let row = |m: usize| (0..50).map(|n| x.at(&[m, n]) as f32).collect::<Vec<f32>>();
    let kernel = |at: &[usize], order: usize, skip: usize| {
        let row = row(at[0]);
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let terms: Vec<f32> = row.iter().map(|x| (x - most).exp()).collect();
        (row[at[1]] - most).exp() / sum(&terms[..50 - skip], order)
    };
    for order in 0..3 {
        assert_eq!(wrong(&out[0], |at| kernel(at, order, 0)), 0);
    }
    assert!(wrong(&out[0], |at| kernel(at, 0, 1)) > 0);
}

#[test]
fn a_norm_and_one_without_its_epsilon() {
    let (x, g) = (uneven(&[4, 33], 2), uneven(&[33], 3));
    let (signature, text) = read(
        "x: f32 (m,n)\ng: f32 (n)\nd: f32 (m,n)\neps: f32\ncompute:\n\
         q[m] = sum[n] x[m,n] * x[m,n]\nd[m,n] = x[m,n] * rsqrt(q[m] / size(n) + eps) * g[n]\n",
    );
    let formula = check(&text, &signature).unwrap();
    let data = Data::default()
        .size("m", 4)
        .size("n", 33)
        .scalar("eps", 0.01);
    let out = evaluate(&formula, &data.with("x", &x).with("g", &g));
    let kernel = |at: &[usize], order: usize, eps: f32| {
        let row = (0..33).map(|n| x.at(&[at[0], n]) as f32);
        let squares: Vec<f32> = row.map(|x| x * x).collect();
        let scale = 1.0 / (sum(&squares, order) / 33.0 + eps).sqrt();
        x.at(at) as f32 * scale * g.at(&at[1..]) as f32
    };
    for order in 0..3 {
        assert_eq!(wrong(&out[0], |at| kernel(at, order, 0.01)), 0);
    }
    assert!(wrong(&out[0], |at| kernel(at, 0, 0.0)) > 0);
}

#[test]
fn activations_of_sums_with_and_without_fused_steps() {
    let (a, b) = (uneven(&[5, 40], 4), uneven(&[6, 40], 5));
    for (name, f) in [
        ("silu", (|x| x / (1.0 + (-x).exp())) as fn(f32) -> f32),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("relu", |x| x.max(0.0)),
        ("softcap", |x| 20.0 * (x / 20.0).tanh()),
    ] {
        let call = match name {
            "softcap" => "softcap(y[m,n], 20)".to_owned(),
            name => format!("{name}(y[m,n])"),
        };
        let (signature, text) = read(&format!(
            "a: f32 (m,k)\nb: f32 (n,k)\nd: f32 (m,n)\ncompute:\n\
             y[m,n] = 0.25 * (sum[k] a[m,k] * b[n,k]) - 1\nd[m,n] = {call}\n"
        ));
        let formula = check(&text, &signature).unwrap();
        let data = Data::default().size("m", 5).size("n", 6).size("k", 40);
        let out = evaluate(&formula, &data.with("a", &a).with("b", &b));
        let pair = |at: &[usize], k: usize| (a.at(&[at[0], k]) as f32, b.at(&[at[1], k]) as f32);
        let apart = |at: &[usize]| {
            let terms = (0..40).map(|k| pair(at, k)).map(|(a, b)| a * b);
            f(0.25 * sum(&terms.collect::<Vec<f32>>(), 2) - 1.0)
        };
        let fused = |at: &[usize]| {
            let terms = (0..40).map(|k| pair(at, k));
            f(terms
                .fold(0f32, |sum, (a, b)| a.mul_add(b, sum))
                .mul_add(0.25, -1.0))
        };
        assert_eq!(wrong(&out[0], apart), 0, "{name}");
        assert_eq!(wrong(&out[0], fused), 0, "{name}");
        assert!(wrong(&out[0], |at| apart(at) + 0.01) > 20, "{name}");
    }
}

#[test]
fn what_overflows_and_what_may() {
    let (signature, text) = read("x: f32 (m)\nd: f32 (m)\ncompute:\nd[m] = x[m] * x[m]\n");
    let formula = check(&text, &signature).unwrap();
    let edge = f64::from(f32::MAX).sqrt();
    let x = Array::of(&[4], &[1e30, edge * 0.999, -1e-20, 3.0]).map(|x| f64::from(x as f32));
    let out = evaluate(&formula, &Data::default().size("m", 4).with("x", &x));
    assert_eq!((out[0].values[0], out[0].errors[0]), (f64::INFINITY, 0.0));
    assert!(out[0].errors[1] < 1e32);
    // Below the normal range it is rounded, not flushed to zero.
    let subnormal = f64::from(x.values[2] as f32 * x.values[2] as f32);
    assert!(subnormal > 0.0 && out[0].allows(2, subnormal, None) && !out[0].allows(2, 0.0, None));
    assert!(!out[0].allows(3, 9.000_002, None) && out[0].allows(3, 9.0, None));
}

#[test]
fn products_may_be_added_unrounded() {
    let (signature, text) = read(
        "x: f32 (m)\ny: f32 (m)\nz: f32 (m)\nd: f32 (m)\nlost: f32 (m)\ncompute:\n\
         t[m] = x[m] * y[m]\nd[m] = t[m] + z[m]\nlost[m] = max(x[m] * y[m], 0) + z[m]\n",
    );
    let formula = check(&text, &signature).unwrap();
    let most = f64::from(f32::MAX);
    let x = Array::of(&[5], &[1e30, 1e30, 1e30, most, 2.0]).map(|x| f64::from(x as f32));
    let y = Array::of(&[5], &[1e30, 1e30, -1e30, 1.25, 3.0]).map(|x| f64::from(x as f32));
    let none = f64::NEG_INFINITY;
    let z = Array::of(&[5], &[none, 1.0, none, -0.5 * most, 1.0]);
    let data = Data::default().size("m", 5);
    let out = evaluate(&formula, &data.with("x", &x).with("y", &y).with("z", &z));
    // Infinity and its opposite; the product as it is, and the opposite.
    assert_eq!(out[0].errors[0], f64::INFINITY);
    assert_eq!((out[0].values[1], out[0].errors[1]), (f64::INFINITY, 0.0));
    assert_eq!((out[0].values[2], out[0].errors[2]), (none, 0.0));
    // The sum is within the range, the product is not.
    assert_eq!(out[0].errors[3], f64::INFINITY);
    assert_eq!((out[0].values[4], out[0].errors[4]), (7.0, 0.0));
    // What goes through another operation is rounded.
    assert!(out[1].values[0].is_nan() && out[1].errors[0] == 0.0);
    assert_eq!((out[1].values[3], out[1].errors[3]), (f64::INFINITY, 0.0));
}

#[test]
fn terms_of_a_sum_may_be_rounded_before_they_are_added() {
    let (signature, text) =
        read("x: f32 (m,n)\ny: f32 (m,n)\nd: f32 (m)\ncompute:\nd[m] = sum[n] x[m,n] * y[m,n]\n");
    let formula = check(&text, &signature).unwrap();
    let infinity = f64::INFINITY;
    let x = Array::of(&[2, 2], &[infinity, 1e30, infinity, 1e30]).map(|x| f64::from(x as f32));
    let y = Array::of(&[2, 2], &[1.0, -1e30, 1.0, -1.0]).map(|x| f64::from(x as f32));
    let data = Data::default().size("m", 2).size("n", 2);
    let out = evaluate(&formula, &data.with("x", &x).with("y", &y));
    assert_eq!(out[0].errors[0], infinity);
    assert_eq!((out[0].values[1], out[0].errors[1]), (infinity, 0.0));
}

#[test]
fn subnormals_are_lost_where_an_instruction_flushes_them_alone() {
    let (signature, text) = read(
        "x: f32 (m)\ny: f32 (m)\nsums: f32 (m)\nthirds: f32 (m)\npowers: f32 (m)\n\
         slopes: f32 (m)\nlargest: f32 (m)\ncompute:\nsums[m] = x[m] + 0.5 * x[m]\n\
         thirds[m] = x[m] / 3\npowers[m] = exp(y[m])\nslopes[m] = sigmoid(y[m])\n\
         largest[m] = max(x[m], 0)\n",
    );
    let formula = check(&text, &signature).unwrap();
    let x = Array::of(&[2], &[1e-39, 3.0]).map(|x| f64::from(x as f32));
    let y = Array::of(&[2], &[-88.0, 1.0]);
    let data = Data::default().size("m", 2);
    let out = evaluate(&formula, &data.with("x", &x).with("y", &y));
    let tiny = x.values[0] as f32;
    let power = (-88f64).exp() as f32;
    for (at, right) in [tiny + 0.5 * tiny, tiny / 3.0, power, power, tiny]
        .iter()
        .enumerate()
    {
        assert!(
            out[at].allows(0, f64::from(*right), None),
            "{}",
            out[at].name
        );
        let is_flushed = ["powers", "slopes"].contains(&out[at].name.as_str());
        assert_eq!(out[at].allows(0, 0.0, None), is_flushed, "{}", out[at].name);
    }
}

#[test]
fn a_part_of_a_sum_may_be_infinite_beside_an_infinity() {
    let (signature, text) = read("x: f32 (m,n)\nd: f32 (m)\ncompute:\nd[m] = sum[n] x[m,n]\n");
    let formula = check(&text, &signature).unwrap();
    let (infinity, most) = (f64::INFINITY, f64::from(f32::MAX));
    let rows = [
        [infinity, -most, -most],
        [infinity, -1e30, 2.0],
        [infinity, -infinity, most],
    ];
    let x = Array::of(&[3, 3], &rows.concat());
    let data = Data::default().size("m", 3).size("n", 3);
    let out = evaluate(&formula, &data.with("x", &x));
    assert!(out[0].allows(0, f64::NAN, None) && out[0].allows(0, infinity, None));
    assert!(!out[0].allows(1, f64::NAN, None) && out[0].allows(1, infinity, None));
    assert!(out[0].allows(2, f64::NAN, None) && !out[0].allows(2, infinity, None));
}
