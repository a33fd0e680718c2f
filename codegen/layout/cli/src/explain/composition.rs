//! Composition: strides of the right layout in the digits of the left one.

use tilewright_layout::{Layout, coalesce, composition};

use super::board::Board;
use super::values;

/// The steps of `composition(a, b)`.
pub fn walk(board: &mut Board, a: &Layout, b: &Layout) -> bool {
    let Ok(simple) = coalesce(a) else {
        return false;
    };
    board.step(
        "Wanted: a layout r of the shape of b, perhaps finer, with r(i) = a(b(i))".to_owned(),
    );
    board.note(format!("b gives {}", values(b)));
    board.step(format!(
        "a coalesced is {simple}: the same values, the fewest modes"
    ));
    let radices: Vec<i64> = simple.leaves().map(|(extent, _)| *extent).collect();
    board.note(format!(
        "an offset of b is split into digits of radix {}",
        radix(&radices)
    ));
    board.step("Each mode N:r of b alone, its stride r written in those digits".to_owned());
    let mut reach = vec![0i128; radices.len()];
    for (&extent, &stride) in b.leaves() {
        let digits = digits(stride, &radices);
        for (sum, digit) in reach.iter_mut().zip(&digits) {
            *sum += i128::from(extent - 1) * i128::from(*digit);
        }
        let alone = Layout::single(extent, stride).and_then(|mode| composition(a, &mode));
        let told = match alone {
            Ok(part) => format!("a o {extent}:{stride} = {part}"),
            Err(error) => error.to_string(),
        };
        board.note(format!(
            "{extent}:{stride}: {stride} is {} there; {told}",
            tuple(&digits)
        ));
    }
    carries(board, b, &radices, &reach);
    true
}

/// Whether the modes together stay below each radix.
fn carries(board: &mut Board, b: &Layout, radices: &[i64], reach: &[i128]) {
    if b.leaves().len() < 2 {
        return;
    }
    board.step("The modes together: no digit may carry into the next when they add up".to_owned());
    let inner = radices.len().saturating_sub(1);
    for (at, (&radix, &sum)) in radices.iter().zip(reach).take(inner).enumerate() {
        let verdict = match sum < i128::from(radix) {
            true => "stays below, nothing carries",
            false => "may carry: modes are split where they wrap, or a counterexample is found",
        };
        board.note(format!(
            "digit {at}: at most {sum} by extents alone, radix {radix}: {verdict}"
        ));
    }
    if inner == 0 {
        board.note("a has one mode, so there is nothing to carry into".to_owned());
    }
}

/// A number in mixed radix, the last digit without limit.
fn digits(number: i64, radices: &[i64]) -> Vec<i64> {
    let mut left = number;
    let mut digits = Vec::new();
    for (at, &radix) in radices.iter().enumerate() {
        let is_last = at + 1 == radices.len();
        digits.push(if is_last { left } else { left % radix });
        left /= radix;
    }
    digits
}

fn tuple(digits: &[i64]) -> String {
    let digits: Vec<String> = digits.iter().map(ToString::to_string).collect();
    format!("({})", digits.join(","))
}

fn radix(radices: &[i64]) -> String {
    match radices.split_last() {
        Some((_, [])) | None => "without limit".to_owned(),
        Some((_, inner)) => format!("{}, then one without limit", tuple(inner)),
    }
}
