//! A layout behind a swizzle: what each of its three parts does to an index.

use tilewright_layout::ComposedLayout;

use super::board::Board;
use super::values;

/// Indices that are followed all the way.
const FOLLOWED: i64 = 8;

/// The walk through `Sw o offset o layout`.
pub fn walk(all: &ComposedLayout) -> String {
    let ComposedLayout {
        swizzle,
        offset,
        inner,
    } = all;
    let mut board = Board::new(&all.to_string());
    board.step(format!("The layout {inner} takes an index to an element"));
    board.note(format!("it gives {}", values(inner)));
    board.step(format!(
        "The offset {offset} is added: it lies inside the swizzle, whose map is not linear"
    ));
    board.step(format!(
        "{swizzle} changes the bits {:#x} of that by those at {:#x}, {} bits away",
        swizzle.target_mask(),
        swizzle.source_mask(),
        swizzle.shift().abs()
    ));
    let size = inner.size().unwrap_or(0);
    let follow = |index: i64| {
        let element = inner.at(index).ok()?.checked_add(*offset)?;
        let bits = element & swizzle.source_mask();
        let to = all.at(index).ok()?;
        Some(format!("{index} -> {element} ({bits:#x} there) -> {to}"))
    };
    board.step("The first indices, followed".to_owned());
    for line in (0..size.min(FOLLOWED)).map_while(follow) {
        board.note(line);
    }
    board.step(format!(
        "So {all} has the shape {} of its layout, {size} coordinates",
        inner.shape()
    ));
    board.text()
}
