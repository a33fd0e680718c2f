//! Inverses, and coalescing.

use tilewright_layout::{Layout, coalesce as coalesced};

use super::board::Board;
use super::values;

/// A mode with the index step it stands for.
struct Placed {
    extent: i64,
    stride: i64,
    index_step: i64,
}

/// The coalesced modes by stride, with the step of each in the index; without extent 1.
fn placed(a: &Layout) -> Option<Vec<Placed>> {
    let mut index_step = 1i64;
    let mut modes = Vec::new();
    for (&extent, &stride) in coalesced(a).ok()?.leaves() {
        if extent > 1 {
            modes.push(Placed {
                extent,
                stride,
                index_step,
            });
        }
        index_step = index_step.checked_mul(extent)?;
    }
    modes.sort_by_key(|mode| mode.stride);
    Some(modes)
}

/// The steps of `right_inverse(a)`.
pub fn right(board: &mut Board, a: &Layout) -> bool {
    let Some(modes) = placed(a) else {
        return false;
    };
    board.step(
        "Wanted: the longest r with l(r(i)) = i: where do the offsets 0, 1, 2, … lie?".to_owned(),
    );
    board.note(format!("l gives {}", values(a)));
    list(board, &modes);
    board.step("Follow the strides 1, then where that mode ends, and so on".to_owned());
    let mut reached = 1i64;
    while let Some(mode) = modes.iter().find(|mode| mode.stride == reached) {
        let Placed {
            extent,
            stride,
            index_step,
        } = mode;
        board.note(format!(
            "stride {stride}: the mode {extent}:{stride} is next; in r it is {extent}:{index_step}"
        ));
        match reached.checked_mul(*extent) {
            Some(next) => reached = next,
            None => break,
        }
    }
    board.note(format!(
        "offsets 0 to {} are reached in one chain of strides",
        reached - 1
    ));
    true
}

/// The steps of `left_inverse(a)`.
pub fn left(board: &mut Board, a: &Layout) -> bool {
    let Some(mut modes) = placed(a) else {
        return false;
    };
    modes.sort_by_key(|mode| mode.stride.unsigned_abs());
    board.step("Wanted: r with r(l(i)) = i: which index has this offset?".to_owned());
    board.note(format!("l gives {}", values(a)));
    list(board, &modes);
    if modes.iter().any(|mode| mode.stride < 0) {
        board.step(
            "Some offsets lie below 0. Digits round down: only the last one, which has no limit, \
             is below 0 with them"
                .to_owned(),
        );
        let last = modes.len() - 1;
        if modes[..last].iter().any(|mode| mode.stride < 0) {
            board.note("a mode counts down before a farther one, and borrows from it".to_owned());
            board.note("extents are tried, and the strides for them solved for".to_owned());
            return true;
        }
    }
    board.step("Walk up the offsets: between two strides only the lower mode has moved".to_owned());
    for (at, mode) in modes.iter().enumerate() {
        let Placed {
            extent,
            stride,
            index_step,
        } = mode;
        let Some(next) = modes.get(at + 1) else {
            board.note(format!(
                "from {stride} on: each step of {stride} is {index_step} in the index"
            ));
            break;
        };
        let room = (next.stride.unsigned_abs() / stride.unsigned_abs().max(1)) as i64;
        let gap = match room.cmp(extent) {
            std::cmp::Ordering::Equal => "exactly its extent".to_owned(),
            std::cmp::Ordering::Greater => format!("more than its {extent}: a gap, free to choose"),
            std::cmp::Ordering::Less => format!("fewer than its {extent}: the modes overlap"),
        };
        board.note(format!(
            "from {stride} to {}: {room} steps of {stride}, {gap}; each is {index_step} in the \
             index",
            next.stride
        ));
    }
    true
}

fn list(board: &mut Board, modes: &[Placed]) {
    let shown: Vec<String> = modes
        .iter()
        .map(|m| format!("{}:{} (index step {})", m.extent, m.stride, m.index_step))
        .collect();
    board.step(format!("Coalesced modes by stride: {}", shown.join(", ")));
}

/// The steps of `coalesce(a)`.
pub fn coalesce(board: &mut Board, a: &Layout) -> bool {
    board.step("Neighbours s:d and t:e are one mode st:d exactly when e = s x d".to_owned());
    let mut merged: Option<(i64, i64)> = None;
    for (&extent, &stride) in a.leaves() {
        if extent == 1 {
            board.note(format!("{extent}:{stride} has one index and goes away"));
            continue;
        }
        let Some((s, d)) = merged else {
            board.note(format!("begin with {extent}:{stride}"));
            merged = Some((extent, stride));
            continue;
        };
        let (Some(next), Some(both)) = (s.checked_mul(d), s.checked_mul(extent)) else {
            return true;
        };
        merged = Some(if next == stride {
            board.note(format!(
                "{s}:{d} and {extent}:{stride}: {s} x {d} = {stride}, so {both}:{d}"
            ));
            (both, d)
        } else {
            board.note(format!(
                "{s}:{d} and {extent}:{stride}: {s} x {d} = {next}, not {stride}: kept apart"
            ));
            (extent, stride)
        });
    }
    true
}
