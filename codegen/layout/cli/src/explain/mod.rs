//! Operations walked step by step, with the numbers of the case.
//!
//! In: a call with its arguments. Out: lines of text, the way a teacher would write them on a
//! board: what is asked for, each step with its intermediate layout, the answer and a check of it
//! by the definition. Invariant: every intermediate layout comes from the algebra; a refusal ends
//! the walk with the algebra's own words.

mod board;
mod composed;
mod composition;
mod tiling;
mod inverse;

use tilewright_layout::{Layout, Tiler};

use super::functions::{Arguments, Function};
use super::value::{Tensor, Value};
use board::Board;
pub use composed::walk as walk_composed;

/// The walk through a call whose value is known: `Err` is the refusal in words.
pub fn walk(
    function: &Function,
    arguments: &[Value],
    outcome: Result<&Value, &[String]>,
) -> String {
    let args = Arguments(arguments);
    let shown: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let mut board = Board::new(&format!("{}({})", function.name(), shown.join(", ")));
    let known = steps(&mut board, function.name(), args);
    if !known {
        board.step(format!("{}: {}", function.signature, function.about));
        for (parameter, value) in function.parameters().zip(arguments) {
            board.note(format!("{parameter} is {value}"));
        }
    }
    match outcome {
        Ok(value) => {
            board.step(format!("So the answer is {value}"));
            check(&mut board, function.name(), args, value);
        }
        Err(words) => {
            board.step("So there is no answer".to_owned());
            for line in words {
                board.note(line.clone());
            }
        }
    }
    board.text()
}

/// The steps of an operation that has a walk of its own.
fn steps(board: &mut Board, name: &str, args: Arguments<'_>) -> bool {
    let plain = |at: usize| args.layout(at).ok();
    let by_mode = args.is_by_mode(1);
    match (name, plain(0), plain(1)) {
        ("composition", Some(a), Some(b)) if !by_mode => composition::walk(board, &a, &b),
        ("complement", Some(a), _) => {
            complement_size(args, &a).is_some_and(|size| tiling::complement(board, &a, size))
        }
        ("logical_divide", Some(a), Some(b)) if !by_mode => tiling::divide(board, &a, &b),
        ("logical_product", Some(a), Some(b)) if !by_mode => tiling::product(board, &a, &b),
        ("blocked_product" | "raked_product", Some(a), Some(b)) => {
            tiling::paired_product(board, name, &a, &b)
        }
        (
            "composition" | "logical_divide" | "zipped_divide" | "tiled_divide" | "flat_divide",
            Some(a),
            _,
        ) => match args.tiler(1) {
            Ok(Tiler::Modes(tilers)) => tiling::by_mode(board, name, &a, &tilers),
            _ => false,
        },
        ("right_inverse", Some(a), _) => inverse::right(board, &a),
        ("left_inverse", Some(a), _) => inverse::left(board, &a),
        ("coalesce", Some(a), _) if args.count() == 1 => inverse::coalesce(board, &a),
        _ => false,
    }
}

/// The size that a complement is asked to fill.
fn complement_size(args: Arguments<'_>, a: &Layout) -> Option<i64> {
    args.int(1).ok().or_else(|| a.cosize().ok())
}

/// Most indices of a check.
const MOST_CHECKED: i64 = 8;

/// The definition at the first indices, where it is a matter of values.
fn check(board: &mut Board, name: &str, args: Arguments<'_>, value: &Value) {
    let Value::Tensor(Tensor::Plain(r)) = value else {
        return;
    };
    let (a, b) = (args.layout(0).ok(), args.layout(1).ok());
    if let ("complement", Some(a)) = (name, &a)
        && let Some(size) = complement_size(args, a)
        && let Some(left) = tiling::unfilled(a, r, size)
    {
        board.note(format!(
            "which does not fill [0, {size}): {left} are in no copy"
        ));
    }
    let size = r.size().unwrap_or(0).min(MOST_CHECKED);
    let line = |f: &dyn Fn(i64) -> Option<String>| {
        let all: Option<Vec<String>> = (0..size).map(f).collect();
        all.map(|all| all.join(", "))
    };
    let checked = match (name, a, b) {
        ("composition", Some(a), Some(b)) if !args.is_by_mode(1) => line(&|i| {
            let middle = b.at(i).ok()?;
            Some(format!(
                "a(b({i})) = a({middle}) = {} = r({i})",
                same(a.at(middle), r.at(i))?
            ))
        }),
        ("right_inverse", Some(a), _) => line(&|i| {
            let back = r.at(i).ok()?;
            Some(format!(
                "l(r({i})) = l({back}) = {}",
                same(a.at(back), Ok(i))?
            ))
        }),
        ("left_inverse", Some(a), _) => line(&|i| {
            let there = a.at(i % a.size().ok()?).ok()?;
            let back = same(r.at(there), Ok(i % a.size().ok()?))?;
            Some(format!("r(l({back})) = r({there}) = {back}"))
        }),
        _ => None,
    };
    if let Some(checked) = checked {
        board.note(format!(
            "check: {checked}{}",
            if size == MOST_CHECKED { ", …" } else { "" }
        ));
    }
}

/// The value when both sides agree.
fn same(
    left: tilewright_layout::Result<i64>,
    right: tilewright_layout::Result<i64>,
) -> Option<i64> {
    match (left, right) {
        (Ok(left), Ok(right)) if left == right => Some(left),
        _ => None,
    }
}

/// The values of a layout, the first few.
fn values(layout: &Layout) -> String {
    let Ok(all) = layout.offsets() else {
        return "…".to_owned();
    };
    let size = layout.size().unwrap_or(0);
    let shown: Vec<String> = all.take(16).map(|value| value.to_string()).collect();
    format!("{}{}", shown.join(" "), if size > 16 { " …" } else { "" })
}
