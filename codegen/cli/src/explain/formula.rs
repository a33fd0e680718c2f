//! A kernel's formula and its places in the skeleton, as text.
//!
//! In: what is known. Out: lines of at most 100 columns where no expression is longer.

use std::fmt::Write as _;

use tilewright_codegen::explain::sockets::{Socket, Sockets};

use crate::terminal::{Table, wrapped};

/// The formula, the skeleton, what is computed where, and what each mode is.
pub fn render(sockets: &Sockets) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for statement in &sockets.formula {
        let _ = writeln!(text, "  {statement}");
    }
    let does = format!("{}: {}.", skeleton(sockets), sockets.does);
    let _ = writeln!(text, "{}", wrapped(&does));
    let wide = |of: fn(&Socket) -> &str| {
        let cells = sockets.sockets.iter().map(of);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let place = wide(|socket| socket.place);
    let expression = wide(|socket| &socket.expression);
    for socket in &sockets.sockets {
        let (first, more) = socket.by.split_first().unzip();
        let first: &str = first.map_or("", String::as_str);
        let (at, what) = (socket.place, &socket.expression);
        let line = format!("  {at:<place$}  {what:<expression$}  {first}");
        let _ = writeln!(text, "{}", line.trim_end());
        for id in more.unwrap_or_default() {
            let _ = writeln!(text, "  {:<place$}  {:<expression$}  {id}", "", "");
        }
    }
    text.push_str(&modes(sockets));
    text
}

/// What computes it.
pub fn skeleton(sockets: &Sockets) -> String {
    format!("form {}; {}", sockets.form, sockets.skeleton)
}

fn modes(sockets: &Sockets) -> String {
    let operands = sockets.modes.first().map_or(&[][..], |mode| &mode.strides);
    let operands = operands.iter().map(|(operand, _)| format!("in {operand}"));
    let heads = ["mode", "is", "tile"].map(str::to_owned);
    let mut table = Table::new(heads.into_iter().chain(operands));
    for mode in &sockets.modes {
        let strides = mode.strides.iter();
        let strides = strides.map(|(_, stride)| match stride {
            Some(stride) => stride.clone(),
            None => "-".to_owned(),
        });
        let own = [mode.mode.clone(), mode.is.to_owned(), mode.tile.to_string()];
        table.row(own.into_iter().chain(strides));
    }
    let note = "Strides are in elements; `-` is an operand without the mode.\n";
    table.render() + note
}
