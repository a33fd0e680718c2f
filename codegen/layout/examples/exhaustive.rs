//! Every operation against brute force over all layouts up to a stated size.
//!
//! Run with `cargo run --release -p tilewright-layout --example exhaustive`. A wrong answer, a
//! valid case that is refused, or a counterexample that is not the smallest panics; else the counts
//! are printed.

#[path = "../tests/brute/mod.rs"]
mod brute;

use brute::*;

/// All pairs whose left side has up to three modes and whose right side has up to `rank`.
fn composition_pairs(rank: usize) -> Count {
    let mut left = layouts(1, &[1, 2, 3, 4, 5, 6, 8], &[0, 1, 2, 5]);
    left.extend(layouts(2, &[2, 3, 4, 5, 6], &[0, 1, 2, 3, 7]));
    left.extend(layouts(3, &[1, 2, 3, 4], &[0, 1, 3, 10]));
    let right = match rank {
        1 => layouts(
            1,
            &[1, 2, 3, 4, 5, 6, 8, 9, 12],
            &[0, 1, 2, 3, 4, 5, 6, 8, 9, 12],
        ),
        2 => layouts(2, &[2, 3, 4], &[0, 1, 2, 3, 4, 6]),
        _ => layouts(3, &[2, 3], &[1, 2, 3, 6]),
    };
    compositions(&left, &right)
}

fn main() {
    for rank in 1..=3 {
        println!("composition, b of {rank}: {}", composition_pairs(rank));
    }
    let mut all = layouts(1, &[1, 2, 3, 4, 5, 6], &[-2, -1, 0, 1, 2, 3]);
    all.extend(layouts(2, &[1, 2, 3, 4], &[-2, -1, 0, 1, 2, 3, 4, 5, 6]));
    all.extend(layouts(3, &[2, 3], &[-1, 0, 1, 2, 3, 4, 6]));
    println!("right_inverse: {}", right_inverses(&all));
    let Count { cases, answered } = common_layouts(&all, &all);
    println!("max_common_layout: {cases} cases, {answered} of more than one element, 0 wrong");
    // Offsets of both signs leave more extents to try.
    let down = |l: &Modes| l.iter().any(|m| m.1 < 0);
    all.retain(|l| cosize(l) <= if down(l) { 13 } else { 18 });
    println!("left_inverse: {}", left_inverses(&all));
    println!("left_pseudo_inverse: {}", left_pseudo_inverses(&all));
    let mut tiles = layouts(1, &[1, 2, 3, 4, 6], &[0, 1, 2, 3, 4, 6]);
    tiles.extend(layouts(2, &[2, 3, 4], &[0, 1, 2, 3, 4, 6, 8, 12]));
    tiles.extend(layouts(3, &[2, 3], &[1, 2, 4, 6, 12]));
    println!(
        "complement: {}",
        complements(&tiles, &[1, 2, 6, 8, 12, 24, 30, 64])
    );
    let mut left = layouts(1, &[4, 6, 8, 12], &[0, 1, 2]);
    left.extend(layouts(2, &[2, 3, 4, 6], &[1, 3, 12]));
    println!("logical_divide: {}", divides(&left, &tiles));
    println!("logical_product: {}", products(&tiles, &tiles[..600]));
}
