//! Batched and grouped products, with groups that are empty.

use super::super::*;

/// The product of a row of `a` and of a row of `b` in group `g`.
fn dot(a: &Array, i: &[usize], b: &Array, j: &[usize]) -> f64 {
    let k = a.extents[a.extents.len() - 1];
    let term = |l: usize| a.at(&[i, &[l]].concat()) * b.at(&[j, &[l]].concat());
    (0..k).map(term).sum()
}

fn data() -> Data {
    Data::default().size("m", 6).size("n", 2).size("k", 4)
}

#[test]
fn batches_are_apart() {
    let (a, b) = (Array::eighths(&[3, 6, 4], 1), Array::eighths(&[3, 2, 4], 2));
    let out = evaluate(
        &formula("batched"),
        &data().size("z", 3).with("a", &a).with("b", &b),
    );
    expect(&out[0], 1e-5, |x| dot(&a, &x[..2], &b, &[x[0], x[2]]));
}

#[test]
fn groups_by_starts_stand_end_to_end() {
    let (a, b) = (Array::eighths(&[6, 4], 3), Array::eighths(&[3, 2, 4], 4));
    let t = Array::integers(&[4], &[0, 2, 2, 5]);
    let data = data()
        .size("g", 3)
        .with("a", &a)
        .with("b", &b)
        .with("t", &t);
    let out = evaluate(&formula("grouped_starts"), &data);
    let group = [0, 0, 2, 2, 2];
    let written: Vec<bool> = (0..12).map(|at| at < 10).collect();
    assert_eq!(out[0].written, written);
    expect(&out[0], 1e-5, |x| match group.get(x[0]) {
        Some(g) => dot(&a, &x[..1], &b, &[*g, x[1]]),
        None => 0.0,
    });
}

#[test]
fn groups_by_counts_end_early() {
    let (a, b) = (Array::eighths(&[3, 6, 4], 5), Array::eighths(&[3, 2, 4], 6));
    let t = Array::integers(&[3], &[4, 0, 6]);
    let data = data()
        .size("g", 3)
        .with("a", &a)
        .with("b", &b)
        .with("t", &t);
    let out = evaluate(&formula("grouped_counts"), &data);
    expect(&out[0], 1e-5, |x| match x[1] < [4, 0, 6][x[0]] {
        true => dot(&a, &x[..2], &b, &[x[0], x[2]]),
        false => 0.0,
    });
    assert!(out[0].written[0] && !out[0].written[12]);
}

#[test]
fn groups_by_ids_take_rows_as_they_come() {
    let (a, b) = (Array::eighths(&[6, 4], 7), Array::eighths(&[3, 2, 4], 8));
    let ids = [2, -1, 0, 2, 3, 1];
    let data = data().size("g", 3).with("a", &a).with("b", &b);
    let out = evaluate(
        &formula("grouped_ids"),
        &data.with("t", &Array::integers(&[6], &ids)),
    );
    expect(&out[0], 1e-5, |x| match usize::try_from(ids[x[0]]) {
        Ok(g) if g < 3 => dot(&a, &x[..1], &b, &[g, x[1]]),
        _ => 0.0,
    });
    assert!(!out[0].written[2] && !out[0].written[8] && out[0].written[4]);
}

#[test]
fn groups_along_k_are_summed_each() {
    let (a, b) = (Array::eighths(&[6, 9], 9), Array::eighths(&[2, 9], 10));
    let t = Array::integers(&[4], &[1, 4, 4, 9]);
    let data = Data::default()
        .size("m", 6)
        .size("n", 2)
        .size("k", 9)
        .size("g", 3);
    let data = data.with("a", &a).with("b", &b).with("t", &t);
    let out = evaluate(&formula("grouped_k"), &data);
    let ends = [(1, 4), (4, 4), (4, 9)];
    expect(&out[0], 1e-5, |x| {
        let (from, to) = ends[x[0]];
        (from..to)
            .map(|k| a.at(&[x[1], k]) * b.at(&[x[2], k]))
            .sum()
    });
}

#[test]
fn the_size_of_a_ragged_mode_is_its_groups() {
    let x = Array::eighths(&[6, 2], 11);
    let t = Array::integers(&[4], &[0, 4, 4, 6]);
    let data = Data::default().size("m", 6).size("n", 2).size("g", 3);
    let out = evaluate(&formula("group_means"), &data.with("x", &x).with("t", &t));
    let ends = [(0, 4), (4, 4), (4, 6)];
    expect(&out[0], 1e-6, |at| {
        let (from, to) = ends[at[0]];
        let sum: f64 = (from..to).map(|m| x.at(&[m, at[1]])).sum();
        if to > from {
            sum / (to - from) as f64
        } else {
            0.0
        }
    });
}

#[test]
fn rows_of_a_group_by_ids_are_found() {
    let (signature, text) = read(
        "x: f32 (m,n)\nt: s32 (m)\nd: f32 (g,n)\nm in g by ids t\ncompute:\n\
         d[g,n] = sum[m] x[m,n] / size(m)\n",
    );
    let formula = check(&text, &signature).unwrap();
    let x = Array::eighths(&[6, 2], 12);
    let ids = [2, -1, 0, 2, 3, 2];
    let t = Array::integers(&[6], &ids);
    let data = Data::default().size("m", 6).size("n", 2).size("g", 3);
    let out = evaluate(&formula, &data.with("x", &x).with("t", &t));
    expect(&out[0], 1e-6, |at| {
        let rows: Vec<usize> = (0..6).filter(|m| ids[*m] == at[0] as i64).collect();
        rows.iter()
            .map(|m| x.at(&[*m, at[1]]) / rows.len() as f64)
            .sum()
    });
}
