//! Complement, divide and product: tiles, and where they repeat.

use tilewright_layout::{
    Layout, Tiler, complement as complement_of, composition, filter, logical_divide,
    logical_product,
};

use super::board::Board;
use super::values;

/// The steps of `complement(a, size)`.
pub fn complement(board: &mut Board, a: &Layout, size: i64) -> bool {
    board.step(format!(
        "Wanted: the offsets by which copies of a fill [0, {size}) without overlap"
    ));
    board.note(format!("a covers {}", values(a)));
    let mut modes: Vec<(i64, i64)> = a
        .leaves()
        .filter(|(s, d)| **s != 1 && **d != 0)
        .map(|(s, d)| (*s, *d))
        .collect();
    modes.sort_by_key(|(_, stride)| *stride);
    let shown: Vec<String> = modes.iter().map(|(s, d)| format!("{s}:{d}")).collect();
    board.step(format!(
        "Modes that matter, by stride: {}",
        shown.join(", ")
    ));
    board.step("Walk up: fill the gap below each stride, then step over the mode".to_owned());
    let mut filled = 1i64;
    for (extent, stride) in modes {
        if filled < 1 || stride < filled {
            board.note(format!(
                "{extent}:{stride}: the stride {stride} is below the {filled} filled so far"
            ));
            return true;
        }
        board.note(gap_below(extent, stride, filled));
        let Some(next) = stride.checked_mul(extent) else {
            return true;
        };
        board.note(format!("   filled up to {extent} x {stride} = {next}"));
        filled = next;
    }
    let left = size / filled + i64::from(size % filled != 0);
    board.note(format!(
        "rest: {size} over {filled} rounded up: mode {left}:{filled}"
    ));
    true
}

/// What lies below a stride, where so many offsets are filled.
fn gap_below(extent: i64, stride: i64, filled: i64) -> String {
    let mode = match stride / filled {
        1 => String::new(),
        gap => format!(": mode {gap}:{filled}"),
    };
    match (stride / filled, stride % filled) {
        (1, 0) => format!("{extent}:{stride}: no gap below {stride}"),
        (gap, 0) => format!("{extent}:{stride}: a gap of {gap} steps of {filled}{mode}"),
        (steps, over) => format!(
            "{extent}:{stride}: {stride} is no multiple of {filled}: {steps} x {filled} fit below \
             it{mode}, and {over} more offsets are in no copy"
        ),
    }
}

/// Most offsets that are looked at for those that no copy holds, and most that are named.
const MOST_OFFSETS: i64 = 1 << 16;
const MOST_NAMED: usize = 8;

/// The offsets of `[0, size)` that no copy of `a` at the values of `rest` holds, in words; `None`
/// where there are none, or too many to look.
pub fn unfilled(a: &Layout, rest: &Layout, size: i64) -> Option<String> {
    let count = filter(a)
        .ok()?
        .size()
        .ok()?
        .checked_mul(rest.size().ok()?)?;
    if count.max(size) > MOST_OFFSETS {
        return None;
    }
    let block: Vec<i64> = a.offsets().ok()?.collect();
    let mut held = vec![false; usize::try_from(size).ok()?];
    for start in rest.offsets().ok()? {
        for offset in &block {
            let at = usize::try_from(start.checked_add(*offset)?).ok()?;
            if let Some(held) = held.get_mut(at) {
                *held = true;
            }
        }
    }
    let left: Vec<String> = (0..)
        .zip(&held)
        .filter(|(_, held)| !**held)
        .map(|(offset, _): (i64, _)| offset.to_string())
        .collect();
    let named = left.get(..MOST_NAMED).unwrap_or(&left).join(", ");
    match left.len() {
        0 => None,
        1..=MOST_NAMED => Some(named),
        all => Some(format!("{named}, … ({all} in all)")),
    }
}

/// The steps of `logical_divide(a, b)`.
pub fn divide(board: &mut Board, a: &Layout, b: &Layout) -> bool {
    let Ok(size) = a.size() else {
        return false;
    };
    board.step(format!(
        "b = {b} picks one tile of the {size} indices of a: {}",
        values(b)
    ));
    let rest = match complement_of(b, &size) {
        Ok(rest) => rest,
        Err(error) => {
            board.note(format!("but it has no complement: {error}"));
            return true;
        }
    };
    board.step(format!(
        "complement(b, {size}) = {rest} says where the tile repeats: {}",
        values(&rest)
    ));
    board.step(match unfilled(b, &rest, size) {
        None => format!("Together ({b}, {rest}) number all indices: tile first, then tiles"),
        Some(left) => format!(
            "Together ({b}, {rest}) number the indices, tile first, then tiles, but for those that \
             are in no tile: {left}"
        ),
    });
    board.step("Composed with a, mode by mode".to_owned());
    for (name, part) in [("tile", b), ("rest", &rest)] {
        match composition(a, part) {
            Ok(part) => board.note(format!("{name}: a o {name} = {part}")),
            Err(error) => board.note(format!("{name}: {error}")),
        }
    }
    true
}

/// The steps of `logical_product(a, b)`.
pub fn product(board: &mut Board, a: &Layout, b: &Layout) -> bool {
    let (Ok(size), Ok(cosize)) = (a.size(), b.cosize()) else {
        return false;
    };
    let Some(room) = size.checked_mul(cosize) else {
        return false;
    };
    board.step(format!(
        "a = {a} is the block, of {size} values; b = {b} says where copies go"
    ));
    board.step(format!(
        "Room for them: size(a) x cosize(b) = {size} x {cosize} = {room}"
    ));
    let places = match complement_of(a, &room) {
        Ok(places) => places,
        Err(error) => {
            board.note(format!("but a has no complement there: {error}"));
            return true;
        }
    };
    board.step(format!(
        "complement(a, {room}) = {places}: the free places for whole copies"
    ));
    match composition(&places, b) {
        Ok(copies) => {
            board.step(format!(
                "b picks among the places: {places} o {b} = {copies}"
            ));
            board.note(format!("copies start at {}", values(&copies)));
        }
        Err(error) => board.step(format!("b picks among the places: {error}")),
    }
    board.step("The product is (block, copies)".to_owned());
    true
}

/// The steps of a blocked or raked product.
pub fn paired_product(board: &mut Board, name: &str, a: &Layout, b: &Layout) -> bool {
    let rank = a.rank().max(b.rank());
    board.step(format!(
        "Both brought to {rank} modes, the missing ones 1:0"
    ));
    let Ok(product) = logical_product(a, b) else {
        return product(board, a, b);
    };
    board.step(format!(
        "logical_product(a, b) = {product}: (block, copies)"
    ));
    let order = match name {
        "blocked_product" => "(block_i, copies_i): whole blocks side by side",
        _ => "(copies_i, block_i): blocks interleaved, one element apart",
    };
    board.step(format!("Mode i pairs them as {order}"));
    true
}

/// The steps of an operation with a tiler: each mode by its own entry.
pub fn by_mode(board: &mut Board, name: &str, a: &Layout, tilers: &[Tiler]) -> bool {
    board.step(format!(
        "The tiler has {} entries for the {} modes of {a}",
        tilers.len(),
        a.rank()
    ));
    board.step("Each mode by its own entry".to_owned());
    for (index, mode) in a.modes().enumerate() {
        let told = match tilers.get(index) {
            Some(Tiler::Layout(b)) if name == "composition" => match composition(&mode, b) {
                Ok(part) => format!("{mode} o {b} = {part}"),
                Err(error) => error.to_string(),
            },
            Some(Tiler::Layout(b)) => match logical_divide(&mode, b) {
                Ok(part) => format!("logical_divide({mode}, {b}) = {part}: (tile, rest)"),
                Err(error) => error.to_string(),
            },
            Some(Tiler::Modes(_)) => format!("{mode}: by the nested tiler, in the same way"),
            Some(Tiler::Keep) | None => format!("{mode} stays as it is"),
        };
        board.note(format!("mode {index}: {told}"));
    }
    let regrouped = match name {
        "zipped_divide" => "((all tiles), (all rests))",
        "tiled_divide" => "((all tiles), rest, rest, …)",
        "flat_divide" => "(tile, tile, …, rest, rest, …)",
        _ => return true,
    };
    board.step(format!("Regrouped as {regrouped}"));
    true
}
