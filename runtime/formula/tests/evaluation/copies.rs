//! Copies by layout: transposes, gathers, scatters.

use super::super::*;

#[test]
fn copies_and_transposes_are_exact() {
    let s = Array::eighths(&[4, 6], 1);
    let data = || Data::default().size("m", 4).size("n", 6).with("s", &s);
    expect(&evaluate(&formula("copy"), &data())[0], 0.0, |x| s.at(x));
    expect(&evaluate(&formula("copy_raw"), &data())[0], 0.0, |x| {
        s.at(x).trunc()
    });
    expect(&evaluate(&formula("transpose"), &data())[0], 0.0, |x| {
        s.at(&[x[1], x[0]])
    });
}

#[test]
fn a_gather_beyond_the_end_is_zero() {
    let s = Array::eighths(&[4, 3], 2);
    let rows = Array::integers(&[5], &[3, 0, -1, 4, 2]);
    let data = Data::default().size("r", 4).size("m", 5).size("n", 3);
    let out = evaluate(&formula("gather"), &data.with("s", &s).with("rows", &rows));
    expect(&out[0], 0.0, |x| match [3, 0, 9, 9, 2][x[0]] {
        9 => 0.0,
        row => s.at(&[row, x[1]]),
    });
}

#[test]
fn a_scatter_leaves_other_rows_as_they_were() {
    let (s, before) = (Array::eighths(&[3, 2], 3), Array::eighths(&[5, 2], 4));
    let rows = Array::integers(&[3], &[4, -1, 0]);
    let data = Data::default().size("r", 5).size("m", 3).size("n", 2);
    let data = data.with("s", &s).with("rows", &rows).with("d", &before);
    let out = evaluate(&formula("scatter"), &data);
    assert_eq!(
        out[0].written,
        [
            true, true, false, false, false, false, false, false, true, true
        ]
    );
    expect(&out[0], 0.0, |x| match x[0] {
        4 => s.at(&[0, x[1]]),
        0 => s.at(&[2, x[1]]),
        _ => before.at(x),
    });
    assert!(out[0].allows(2, before.values[2], Some(before.values[2])));
    assert!(!out[0].allows(2, 77.0, Some(before.values[2])));
}

#[test]
fn rows_that_are_added_meet() {
    let (s, before) = (Array::eighths(&[3, 2], 5), Array::eighths(&[2, 2], 6));
    let rows = Array::integers(&[3], &[1, 1, 7]);
    let data = Data::default().size("r", 2).size("m", 3).size("n", 2);
    let data = data.with("s", &s).with("rows", &rows).with("d", &before);
    let out = evaluate(&formula("scatter_add"), &data);
    expect(&out[0], 1e-6, |x| match x[0] {
        1 => before.at(x) + s.at(&[0, x[1]]) + s.at(&[1, x[1]]),
        _ => before.at(x),
    });
}

#[test]
fn what_a_table_wrote_is_read_again_where_it_is() {
    let (signature, text) = read(
        "s: f32 (m,n)\nrows: s32 (m)\nd: f32 (r,n)\ne: f32 (m,n)\ncompute:\n\
         d[rows[m],n] = s[m,n]\ne[m,n] = d[rows[m],n] * 2\n",
    );
    let formula = check(&text, &signature).unwrap();
    let s = Array::eighths(&[3, 2], 8);
    let rows = Array::integers(&[3], &[1, -1, 0]);
    let data = Data::default().size("r", 2).size("m", 3).size("n", 2);
    let before = Array::eighths(&[2, 2], 9);
    let data = data.with("s", &s).with("rows", &rows).with("d", &before);
    let out = evaluate(&formula, &data);
    // An entry outside of d names nothing that was written, also where it is looked for.
    expect(&out[1], 0.0, |x| match x[0] {
        1 => 0.0,
        _ => 2.0 * s.at(x),
    });
}
