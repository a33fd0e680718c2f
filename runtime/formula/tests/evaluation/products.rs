//! Contractions with their epilogues, and attention.

use super::super::*;

/// The sum of products along the last axis of two rows.
fn dot(a: &Array, i: &[usize], b: &Array, j: &[usize], k: usize) -> f64 {
    let term = |l: usize| a.at(&[i, &[l]].concat()) * b.at(&[j, &[l]].concat());
    (0..k).map(term).sum()
}

#[test]
fn products_of_small_numbers_are_exact() {
    let (a, b) = (Array::eighths(&[5, 19], 1), Array::eighths(&[7, 19], 2));
    let data = || Data::default().size("m", 5).size("n", 7).size("k", 19);
    let out = evaluate(&formula("gemm"), &data().with("a", &a).with("b", &b));
    expect(&out[0], 1e-4, |x| dot(&a, &x[..1], &b, &x[1..], 19));
    let whole = [&a, &b].map(|array| array.clone().map(|x| x * 8.0));
    let out = evaluate(
        &formula("gemm"),
        &data().with("a", &whole[0]).with("b", &whole[1]),
    );
    expect(&out[0], 0.0, |x| {
        dot(&whole[0], &x[..1], &whole[1], &x[1..], 19)
    });
    let data = Data::default().size("i", 5).size("j", 7).size("k", 19);
    let out = evaluate(
        &formula("gemm_direct"),
        &data.with("left", &a).with("right", &b),
    );
    expect(&out[0], 1e-4, |x| dot(&a, &x[1..], &b, &x[..1], 19));
    assert_eq!(out[0].extents, [7, 5]);
}

#[test]
fn an_f16_accumulator_has_an_f16_bound() {
    let (a, b) = (Array::eighths(&[3, 40], 3), Array::eighths(&[4, 40], 4));
    let data = Data::default().size("m", 3).size("n", 4).size("k", 40);
    let out = evaluate(&formula("gemm_f16"), &data.with("a", &a).with("b", &b));
    expect(&out[0], 2.0, |x| dot(&a, &x[..1], &b, &x[1..], 40));
    assert!(out[0].errors.iter().any(|error| *error > 1e-2));
}

#[test]
fn integers_are_exact_and_wrap_around() {
    let (a, b) = (Array::eighths(&[3, 9], 5), Array::eighths(&[2, 9], 6));
    let (a, b) = (a.map(|x| (x * 63.0).round()), b.map(|x| (x * 63.0).round()));
    let data = Data::default().size("m", 3).size("n", 2).size("k", 9);
    let out = evaluate(&formula("gemm_s8"), &data.with("a", &a).with("b", &b));
    expect(&out[0], 0.0, |x| dot(&a, &x[..1], &b, &x[1..], 9));
    let text = "d[m] = sum[k] a[m,k] * a[m,k]";
    let (signature, _) = read("a: s32 (m,k)\nd: s32 (m)\ncompute:\n");
    let squares = check(text, &signature).unwrap();
    let a = Array::integers(&[1, 2], &[65_536, 3]);
    let out = evaluate(
        &squares,
        &Data::default().size("m", 1).size("k", 2).with("a", &a),
    );
    assert_eq!((out[0].values[0], out[0].errors[0]), (9.0, 0.0));
}

#[test]
fn an_epilogue_combines_and_casts() {
    let (m, n, k) = (4, 5, 16);
    let (a, b) = (Array::eighths(&[m, k], 7), Array::eighths(&[n, k], 8));
    let (c, bias) = (Array::eighths(&[m, n], 9), Array::eighths(&[n], 10));
    let data = Data::default().size("m", 4).size("n", 5).size("k", 16);
    let data = data
        .with("a", &a)
        .with("b", &b)
        .with("c", &c)
        .with("bias", &bias);
    let data = data
        .scalar("alpha", 0.5)
        .scalar("beta", 0.25)
        .scalar("scale", 8.0);
    let y = |x: &[usize]| {
        let product = 0.5 * dot(&a, &x[..1], &b, &x[1..], k);
        silu(product + bias.at(&x[1..])) + 0.25 * c.at(x)
    };
    let most = (0..m * n)
        .map(|at| y(&[at / n, at % n]).abs())
        .fold(0.0, f64::max);
    for (before, want) in [(0.0, most), (1e6, 1e6)] {
        let data = Data {
            sizes: data.sizes.clone(),
            scalars: data.scalars.clone(),
            tensors: data.tensors.clone(),
        };
        let out = evaluate(
            &formula("epilogue"),
            &data.with("amax", &Array::of(&[], &[before])),
        );
        assert_eq!(out[0].name, "amax");
        expect(&out[0], 1e-4, |_| want);
        expect(&out[1], 1e-4, |x| 8.0 * y(x));
    }
}

#[test]
fn beta_of_zero_reads_no_nan() {
    let a = Array::of(&[1, 1], &[3.0]);
    let c = Array::of(&[1, 1], &[f64::NAN]);
    let data = |beta| {
        let data = Data::default().size("m", 1).size("n", 1).size("k", 1);
        let data = data.scalar("alpha", 2.0).scalar("beta", beta);
        data.with("a", &a).with("b", &a).with("c", &c)
    };
    let out = evaluate(&formula("blas"), &data(0.0));
    assert_eq!((out[0].values[0], out[0].errors[0]), (18.0, 0.0));
    let out = evaluate(&formula("blas"), &data(1.0));
    assert!(out[0].values[0].is_nan() && out[0].errors[0] == 0.0);
}

#[test]
fn swiglu_reads_gate_and_up_rows() {
    let (a, b) = (Array::eighths(&[3, 8], 11), Array::eighths(&[4, 2, 8], 12));
    let data = Data::default().size("m", 3).size("h", 4).size("k", 8);
    let out = evaluate(&formula("swiglu"), &data.with("a", &a).with("b", &b));
    expect(&out[0], 1e-4, |x| {
        let row = |p| dot(&a, &x[..1], &b, &[x[1], p], 8);
        silu(row(0)) * row(1)
    });
}

#[test]
fn weights_of_four_bits_are_scaled_and_rounded_before_the_product() {
    let (x, s) = (Array::eighths(&[2, 64], 13), Array::eighths(&[3, 2], 14));
    let w = Array::eighths(&[3, 64], 15).map(|w| (w * 4.0).round().clamp(-8.0, 7.0));
    let data = Data::default().size("m", 2).size("n", 3).size("k", 64);
    let out = evaluate(
        &formula("int4"),
        &data.with("x", &x).with("w", &w).with("s", &s),
    );
    // Products of integers to 8 and eighths to 2 have bf16's eight bits.
    expect(&out[0], 1e-2, |at| {
        let term = |k: usize| x.at(&[at[0], k]) * w.at(&[at[1], k]) * s.at(&[at[1], k / 32]);
        (0..64).map(term).sum()
    });
}

#[test]
fn sums_of_parts_are_scaled_by_blocks() {
    let (m, n, g) = (2, 130, 3);
    let (a, b) = (
        Array::eighths(&[m, 32, g], 16),
        Array::eighths(&[n, 32, g], 17),
    );
    let (sa, sb) = (Array::eighths(&[m, g], 18), Array::eighths(&[2, g], 19));
    let data = Data::default().size("m", 2).size("n", 130).size("g", 3);
    let data = data
        .with("a", &a)
        .with("b", &b)
        .with("sa", &sa)
        .with("sb", &sb);
    let out = evaluate(&formula("fp8_blocks"), &data);
    expect(&out[0], 1e-3, |x| {
        let part = |g: usize| {
            let term = |i: usize| a.at(&[x[0], i, g]) * b.at(&[x[1], i, g]);
            (0..32).map(term).sum::<f64>() * sa.at(&[x[0], g]) * sb.at(&[x[1] / 128, g])
        };
        (0..g).map(part).sum()
    });
}

/// The nearest number whose f32 word ends in sixteen zeros, the even one of two.
fn bf16(value: f64) -> f64 {
    let word = (value as f32).to_bits();
    let up = 0x7fff + (word >> 16 & 1);
    f64::from(f32::from_bits((word + up) & 0xffff_0000))
}

/// Attention of one query row, masked by `sees`.
fn attend(scores: &[f64], sees: impl Fn(usize) -> bool, values: impl Fn(usize) -> f64) -> f64 {
    let seen: Vec<usize> = (0..scores.len()).filter(|j| sees(*j)).collect();
    let most = seen.iter().map(|j| scores[*j]).fold(-1e30, f64::max);
    let weight = |j: &usize| (scores[*j] - most).exp();
    let total: f64 = seen.iter().map(weight).sum();
    if total == 0.0 {
        return 0.0;
    }
    // Weights are rounded to bf16 for the product alone.
    seen.iter()
        .map(|j| bf16(weight(j)) * values(*j))
        .sum::<f64>()
        / total
}

#[test]
fn attention_is_causal_and_its_weights_are_rounded() {
    let (u, r, i, j, e) = (2, 2, 5, 5, 4);
    let q = Array::eighths(&[1, u, r, i, e], 20);
    let (k, v) = (
        Array::eighths(&[1, u, j, e], 21),
        Array::eighths(&[1, u, j, 3], 22),
    );
    let data = Data::default()
        .size("z", 1)
        .size("u", 2)
        .size("r", 2)
        .size("i", 5);
    let data = data
        .size("j", 5)
        .size("e", 4)
        .size("o", 3)
        .scalar("scale", 0.5);
    let data = data.with("q", &q).with("k", &k).with("v", &v);
    let out = evaluate(&formula("attention"), &data);
    // A weight near the middle of two may be rounded to either.
    expect(&out[0], 0.02, |x| {
        let query = [x[0], x[1], x[2], x[3]];
        let score = |j| 0.5 * dot(&q, &query, &k, &[x[0], x[1], j], e);
        let scores: Vec<f64> = (0..j).map(score).collect();
        attend(&scores, |j| j <= x[3], |j| v.at(&[x[0], x[1], j, x[4]]))
    });
}

#[test]
fn pages_are_looked_up_and_a_row_that_sees_nothing_is_zero() {
    let (pages, j, e) = (3, 100, 4);
    let q = Array::eighths(&[2, 1, 2, e], 23);
    let k = Array::eighths(&[pages, 64, 1, e], 24);
    let v = Array::eighths(&[pages, 64, 1, 2], 25);
    let page = Array::integers(&[2, 2], &[2, 0, 1, 9]);
    let lens = Array::integers(&[2], &[70, 0]);
    let data = Data::default()
        .size("z", 2)
        .size("u", 1)
        .size("i", 2)
        .size("e", 4);
    let data = data
        .size("pages", 3)
        .size("j", 100)
        .size("o", 2)
        .scalar("scale", 0.5);
    let data = data.with("q", &q).with("k", &k).with("v", &v);
    let out = evaluate(
        &formula("paged"),
        &data.with("page", &page).with("lens", &lens),
    );
    expect(&out[0], 0.02, |x| {
        let seen = lens.at(&x[..1]) as usize;
        let at = |j: usize| page.at(&[x[0], j / 64]) as usize;
        let score = |j: usize| {
            let term = |e: usize| q.at(&[x[0], 0, x[2], e]) * k.at(&[at(j), j % 64, 0, e]);
            0.5 * (0..e).map(term).sum::<f64>()
        };
        let scores: Vec<f64> = (0..j.min(seen)).map(score).collect();
        attend(&scores, |_| true, |j| v.at(&[at(j), j % 64, 0, x[3]]))
    });
}

#[test]
fn a_convolution_reads_nothing_outside() {
    let (x, f) = (
        Array::eighths(&[1, 5, 6, 2], 26),
        Array::eighths(&[3, 3, 3, 2], 27),
    );
    let data = Data::default()
        .size("z", 1)
        .size("hh", 5)
        .size("ww", 6)
        .size("c", 2);
    let data = data
        .size("o", 3)
        .size("r", 3)
        .size("s", 3)
        .size("p", 3)
        .size("q", 3);
    let data = data
        .scalar("u", 2.0)
        .scalar("h", 1.0)
        .with("x", &x)
        .with("f", &f);
    let out = evaluate(&formula("convolution"), &data);
    expect(&out[0], 1e-4, |at| {
        let mut sum = 0.0;
        for (r, s, c) in (0..18).map(|t| (t / 6, t / 2 % 3, t % 2)) {
            let (row, col) = (
                (at[1] * 2 + r).wrapping_sub(1),
                (at[2] * 2 + s).wrapping_sub(1),
            );
            if row < 5 && col < 6 {
                sum += x.at(&[0, row, col, c]) * f.at(&[at[3], r, s, c]);
            }
        }
        sum
    });
}
